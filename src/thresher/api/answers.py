"""The answers of the HTTP API that are more than the record of their verb.

Invariant: `/v1/openapi.json` describes what is sent.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from thresher.context import ContextBlock, Prompt, prompt_data
from thresher.core import Arm, ContextPack, LeftOut, NotFound, Tool
from thresher.knowledge.tools import FindResult
from thresher.knowledge.tools import FoundTool as Found
from thresher.verbs import Request


def _without_empty(record: type) -> Any:
    """A record as it is in an answer where what is empty is absent, for the description."""
    made: Any = TypedDict  # its type checker's form allows no fields that are named by a value
    partial = made(record.__name__, get_type_hints(record), total=False)
    partial.__doc__ = record.__doc__
    partial.__pydantic_config__ = ConfigDict(json_schema_extra={"required": []})
    return partial


if TYPE_CHECKING:
    _ContextBlock = ContextBlock
    _LeftOut = LeftOut
else:
    _ContextBlock = _without_empty(ContextBlock)
    _LeftOut = _without_empty(LeftOut)


class ArmScore(BaseModel):
    """The result of one arm of the search."""

    rank: int = Field(description="1 is the best.")
    score: float | None = Field(description="Cosine of the semantic arm, BM25 of the lexical one; null if unknown.")


class Reasons(BaseModel):
    """Why a tool was chosen."""

    semantic: ArmScore | None = Field(description="Null if the arm did not return the tool.")
    lexical: ArmScore | None = Field(description="Null if the arm did not return the tool.")
    terms: list[str] = Field(description="Words of the query that the tool matched, strongest first.")
    query: int = Field(description="Which query or part of the message found it best; 0 is the first.")
    own_words: list[str] = Field(description="Those of the terms that are among the owner's words for the tool.")
    minor_terms: list[str] = Field(
        description="Those of the terms that the tool does not have itself, but that people probably use for it."
    )
    question_terms: list[str] = Field(
        description="Others that it does not have itself: words of questions that a model wrote for the tool."
    )
    learned: float = Field(description="What earlier use added to its score in the ranking; 0 without any.")
    uses: int = Field(description="How often it was used after like messages.")
    trained: float = Field(description="What training on the tenant's own messages added to its score; 0 without any.")


class FoundTool(BaseModel):
    """One tool of an answer, with what a model needs to call it."""

    name: str = Field(description="The name to call it by.")
    server: str = Field(description="The server that offers it.")
    title: str | None = Field(None, description="A name for people.")
    description: str | None = Field(None, description="The server's own description.")
    score: float = Field(
        ge=0, le=1, description="Probability that it fits; 0 for a core tool that was not searched for."
    )
    similarity: float | None = Field(description="Cosine with the query; null if no vector was compared.")
    source: Literal["semantic", "lexical", "hybrid", "written", "core", "fallback", "shadow", "off"] = Field(
        description="What found it; `written`: the message has its name; `shadow` or `off`: it was not chosen."
    )
    why: Reasons
    form: Literal["full", "name"] = Field(description="Whether the text has its line, or its name and gist alone.")
    line: str = Field(description="Signature and what it does, for a model; untyped parameters are strings.")
    gist: str = Field(description="A few words that tell it from others.")
    write: bool = Field(description="Whether it may change something.")
    also: list[str] = Field(description="Names of copies, which are left out.")
    input_schema: dict[str, Any] | None = Field(None, serialization_alias="inputSchema")


class FindResponse(BaseModel):
    """The answer to `find_tools`, best tool first."""

    tools: list[FoundTool]
    text: str = Field(description="The tools as a model reads them, within the budget.")
    tokens_sent: int = Field(description="Tokens of `text`.")
    total_searched: int = Field(description="Enabled tools inside the server filter.")
    duration_ms: float
    embedding_generated: bool = Field(description="Whether the search used an embedding of the question.")
    abstained: bool = Field(description="No tool is likely enough; `tools` then contains only core tools.")
    probability: float = Field(description="Probability that any tool fits.")
    degraded: str = Field(description="Why the search ran with less than both arms; empty if it did not.")
    fallback: bool = Field(description="The search could not run: these are the first enabled tools, not chosen ones.")
    selection: Literal["on", "shadow", "off"] = Field(
        description="`shadow`: all tools follow the chosen ones; `off`: nothing was searched, and all tools are here."
    )
    left_out: int = Field(description="Tools that were not chosen and did not fit in the answer.")
    held_back: list[str] = Field(description="Tools that would have been chosen if they were approved.")
    trace_id: str = Field(description="Identifies the request in the logs.")


class MatchedIntent(BaseModel):
    """An intent of the message."""

    name: str
    score: float = Field(description="Probability that the message asks for it.")
    threshold: float = Field(description="The least score that matches.")
    why: str = Field(description="What the score is based on.")


class RulesInFull(BaseModel):
    """The full text behind a short form."""

    tokens: int = Field(description="The cost of the full text.")
    cursor: str = Field(description="Send it to `/v1/context`, with the same message, for the full text.")


class GivenRules(BaseModel):
    """The rules of one pack."""

    pack: str
    source: str = Field(description="Where the pack was found.")
    text: str = Field(description="The rules, variables filled: other people's words, meant to be followed.")
    in_full: RulesInFull | None = Field(None, description="Present if `text` is the pack's short form.")
    score: float | None = Field(None, description="Probability that the message needs them.")
    why: str | None = Field(None, description="What the score is based on.")


class OfferedTool(BaseModel):
    """One tool."""

    name: str = Field(description="The name to call it by.")
    signature: str | None = Field(None, description="Parameters and what it does; absent for one given by name.")
    gist: str | None = Field(None, description="A few words on one that is given by name.")
    score: float | None = Field(
        None, description="Probability that it fits; 0 for one that a pack names and no search returned."
    )
    why: str | None = Field(None, description="What the score is based on.")
    write: bool = Field(False, description="It may change something: call it with `call_tool_write`.")


class GivenPassage(BaseModel):
    """A passage of a document, verbatim."""

    repository: str
    document: str = Field(description="Its path in the repository.")
    heading_path: list[str] = Field(description="The headings above it, outermost first.")
    lines: tuple[int, int] = Field(description="Its first and last line.")
    text: str
    why: str


class GivenSchema(BaseModel):
    """The part of a database's schema that fits the message."""

    connection: str
    dialect: str
    tables: list[str] = Field(description="The tables that are shown.")
    schema_text: str = Field(alias="schema", description="Tables, columns, keys and joins, as a model reads them.")
    left_out: str = Field("", description="In words; `query_database_schema` returns it.")


class PromptResponse(BaseModel):
    """The answer to `process_prompt`."""

    text: str = Field(description="What to put before the model; exactly `PASS_THROUGH` if no rules fit.")
    pass_through: bool
    confidence: float = Field(description="Probability that the choice of rules is right.")
    trace_id: str = Field(description="Identifies the request in the logs.")
    intents: list[MatchedIntent] = []
    rules: list[GivenRules] = []
    context: _ContextBlock | None = None
    request: str = Field("", description="The user's words; very long ones are shortened.")
    tools: list[OfferedTool] = []
    notes: list[str] = Field([], description="What is missing, cut or degraded, and questions to ask.")
    without_value: list[str] = Field([], description="Variables without a value; their lines are left out.")
    unknown_variables: dict[str, list[str]] = Field({}, description="Undefined variables, by pack.")
    timings: dict[str, float] = Field({}, description="Milliseconds of each part.")


class GivenShare(BaseModel):
    """The share of a kind in a context."""

    kind: str = Field(description="`rules`, `tools`, `passages`, `schemas` or `endpoints`.")
    offered: int = Field(description="Pieces that its search offered.")
    taken: int = Field(description="Pieces that were delivered.")
    probability: float = Field(description="Probability that the message needs the kind.")
    tokens: int = Field(description="What the delivered pieces cost about.")
    why: str = Field(description="Why it got as much.")


class ContextResponse(BaseModel):
    """The answer to `get_context`: a context pack."""

    text: str = Field(description="What to put before the model.")
    rules: list[GivenRules]
    tools: list[OfferedTool]
    passages: list[GivenPassage] = Field([], description="Of documents.")
    schemas: list[GivenSchema] = Field([], description="Of databases.")
    endpoints: list[dict[str, Any]] = Field([], description="Operations of APIs.")
    why: list[GivenShare] = Field(description="What each kind that was searched got, and why.")
    left_out: list[_LeftOut] = Field(description="One thing each, or, if names cost too much, a count.")
    next: str = Field("", description="The cursor that returns what was left out; absent if nothing was.")
    intents: dict[str, float] = Field(description="The intents of the message, with their probabilities.")
    confidence: float = Field(description="Probability that the choice of rules is right.")
    notes: list[str] = Field([], description="What is missing or degraded, and questions to ask.")
    timings: dict[str, float] = Field(description="Milliseconds of each part.")
    budget: int = Field(description="Tokens that neither `text` nor the other fields as JSON exceed.")
    spent: int = Field(description="Tokens of the larger of the two.")
    trace_id: str = Field(description="Identifies the request in the logs.")


class Readiness(BaseModel):
    """Whether requests can be answered."""

    status: Literal["ready", "not ready"]
    reasons: list[str] = Field(description="Why not, in words; empty if ready.")
    encoder: str = Field(description="`ready`, `not loaded yet`, or why searches use words alone.")


class WrongField(BaseModel):
    """A field of a body that is not valid."""

    field: str
    message: str


class ProblemDocument(BaseModel):
    """A problem document, RFC 9457."""

    type: str = Field(description="`urn:thresher:problem:` and the kind of problem.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What happened.")
    hint: str = Field(description="What to do about it; empty if nothing can be done.")
    trace_id: str = Field(description="Identifies the request in the logs.")
    errors: list[WrongField] | None = Field(None, description="The fields of the body that are not valid.")


async def found_answer(request: Request, found: FindResult) -> FindResponse:
    """The answer to `find_tools`, with definitions.

    Args:
        request: What the verb worked with.
        found: Its record.
    """
    names = [tool.name for tool in found.tools]
    try:
        described = await request.services.tools.describe_tools(request.caller, names) if names else None
    except NotFound:  # all were removed just now
        described = None
    definitions = {item.name: item.tool for item in described.tools} if described else {}
    return FindResponse(
        tools=[_tool(tool, definitions.get(tool.name)) for tool in (*found.tools, *found.unchosen)],
        text=found.text,
        tokens_sent=found.tokens_sent,
        total_searched=found.total_searched,
        duration_ms=round(found.duration_ms, 3),
        embedding_generated=found.embedding_generated,
        abstained=found.abstained,
        probability=found.probability,
        degraded=found.degraded,
        fallback=found.fallback,
        selection=found.selection,  # pyright: ignore[reportArgumentType] - validated: one of the three
        left_out=found.left_out,
        held_back=list(found.held_back),
        trace_id=found.trace_id,
    )


def _tool(found: Found, definition: Tool | None) -> FoundTool:
    why = found.why
    return FoundTool(
        name=found.name,
        server=found.tool.server,
        title=(definition and definition.title) or None,
        description=(definition and definition.description) or None,
        score=found.score,
        similarity=why.dense.score,
        source=why.source,  # pyright: ignore[reportArgumentType] - validated: one of those
        why=Reasons(
            semantic=_arm(why.dense),
            lexical=_arm(why.lexical),
            terms=list(why.terms),
            query=why.query,
            own_words=list(why.own_words),
            minor_terms=list(why.minor_terms),
            question_terms=list(why.question_terms),
            learned=why.learned,
            uses=why.uses,
            trained=why.trained,
        ),
        form=found.form,
        line=found.line,
        gist=found.gist,
        write=found.write,
        also=list(found.also),
        input_schema=dict(definition.input_schema) if definition else None,
    )


def _arm(arm: Arm) -> ArmScore | None:
    return None if arm.rank is None else ArmScore(rank=arm.rank, score=arm.score)


async def prompt_answer(_: Request, prompt: Prompt) -> dict[str, Any]:
    """The answer to `process_prompt`: what is empty is absent."""
    return {name: value for name, value in prompt_data(prompt).items() if name != "result"} | {"text": prompt.text}


async def context_answer(_: Request, pack: ContextPack) -> dict[str, Any]:
    """The answer to `get_context`: what is empty is absent."""
    return {**pack.data, "text": pack.text, "budget": pack.budget, "why": [asdict(share) for share in pack.shares]}
