"""`/v1/process_prompt`, `/v1/context` and `/v1/ai/query`: enrichment, and answers without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from thresher.agent import Assistant, IntentType
from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.context import DEFAULT_BUDGET, LARGEST_BUDGET, ContextService, prompt_data
from thresher.verbs import RequestBody


class PromptRequest(RequestBody):
    """What `process_prompt` takes."""

    prompt: str = Field(description="The person's words.")
    history: list[str] = Field([], description="The last turns, oldest first.")
    queries: list[str] = Field([], description="Short action phrases, one for each task.")
    files: list[str] = Field([], description="Files that matter, as the client names them.")


class ContextRequest(RequestBody):
    """What `get_context` takes."""

    message: str = Field(description="The person's words.")
    budget: int = Field(
        DEFAULT_BUDGET, ge=1, le=LARGEST_BUDGET, strict=True, description="Tokens (o200k) of the answer at most."
    )
    history: list[str] = Field([], description="The last turns, oldest first.")
    queries: list[str] = Field([], description="Short action phrases, one for each task.")
    files: list[str] = Field([], description="Files that matter, as the client names them.")
    cursor: str = Field("", description="Of the last answer to the same question: fetches what it left out.")


class MatchedIntent(BaseModel):
    """An intent that the message has."""

    name: str
    score: float = Field(description="Probability that the message asks for it.")
    threshold: float = Field(description="The least score that matches.")
    why: str = Field(description="What it rests on.")


class RulesInFull(BaseModel):
    """What a short form is short for."""

    tokens: int = Field(description="What the whole costs.")
    cursor: str = Field(description="Give it to `/v1/context`, with the same message, for the whole.")


class GivenRules(BaseModel):
    """The rules of one pack."""

    pack: str
    source: str = Field(description="Where the pack was found.")
    text: str = Field(description="The rules, variables filled: other people's words, meant to be followed.")
    in_full: RulesInFull | None = Field(None, description="Present where `text` is the pack's short form.")
    score: float | None = Field(None, description="Probability that the message needs them.")
    why: str | None = Field(None, description="What that rests on.")


class OfferedTool(BaseModel):
    """One tool."""

    name: str = Field(description="The name to call it by.")
    signature: str = Field(description="Parameters and first sentence.")
    score: float = Field(description="Probability that it fits; 0 for one that a pack names and no search returned.")
    why: str
    write: bool = Field(False, description="It may change something: call it with `call_tool_write`.")


class GivenPassage(BaseModel):
    """A passage of a document, word for word."""

    repository: str
    document: str = Field(description="Its path in the repository.")
    heading_path: list[str] = Field(description="The headings above it, outermost first.")
    lines: tuple[int, int] = Field(description="Its first and last line.")
    text: str
    why: str


class Surroundings(BaseModel):
    """The context block."""

    project: str = Field("", description="The active project; absent where it is not known.")
    solution: str = Field("", description="The active solution or module; absent where it is not known.")
    servers: list[str] = Field(description="Connected servers of the packs.")


class GivenSchema(BaseModel):
    """The part of a database's schema that fits the message."""

    connection: str
    dialect: str
    tables: list[str] = Field(description="That are shown.")
    schema_text: str = Field(alias="schema", description="Tables, columns, keys and joins, as a model reads them.")
    left_out: str = Field("", description="In words; `query_database_schema` gives it.")


class PromptResponse(BaseModel):
    """The answer to `process_prompt`."""

    text: str = Field(description="What to put before the model; `PASS_THROUGH`, exactly, when no rules fit.")
    pass_through: bool
    confidence: float = Field(description="Probability that the choice of rules is right.")
    trace_id: str = Field(description="What the log calls this request.")
    intents: list[MatchedIntent] = []
    rules: list[GivenRules] = []
    context: Surroundings | None = None
    request: str = Field("", description="The person's words; very long ones are shortened.")
    tools: list[OfferedTool] = []
    notes: list[str] = Field([], description="What is missing, cut or weaker than it could be, and questions to ask.")
    without_value: list[str] = Field([], description="Variables without a value; their lines are left out.")
    unknown_variables: dict[str, list[str]] = Field({}, description="By pack: variables that nobody knows.")
    timings: dict[str, float] = Field({}, description="Milliseconds of each part.")


class LeftOutEntry(BaseModel):
    """What fits the message and found no room: one thing, or, where names would take too much, a count."""

    kind: str
    name: str | None = Field(None, description="Absent in a count.")
    count: int | None = Field(None, description="Present in a count.")
    tokens: int = Field(description="What it would cost about.")
    why: str
    cursor: str | None = Field(None, description="Fetches just this.")


class ContextResponse(BaseModel):
    """The answer to `get_context`: a context pack."""

    text: str = Field(description="What to put before the model.")
    rules: list[GivenRules]
    tools: list[OfferedTool]
    passages: list[GivenPassage] = Field([], description="Of documents; absent where no repository is indexed.")
    schemas: list[GivenSchema] = Field([], description="Of databases; absent where their rules were not chosen.")
    left_out: list[LeftOutEntry]
    next: str = Field("", description="The cursor that fetches what was left out; absent when nothing was.")
    intents: dict[str, float] = Field(description="The intents of the message, with their probabilities.")
    confidence: float = Field(description="Probability that the choice of rules is right.")
    notes: list[str] = Field([], description="What is missing or weaker than it could be, and questions to ask.")
    timings: dict[str, float] = Field(description="Milliseconds of each part.")
    budget: int = Field(description="Tokens that neither `text` nor the other fields as JSON exceed.")
    spent: int = Field(description="Tokens of the larger of the two.")
    trace_id: str = Field(description="What the log calls this request.")


class AskRequest(RequestBody):
    """A question."""

    query: str = Field(description="The question, in any words; it may go on from the last ones of its conversation.")
    context: str | None = Field(None, description="What the conversation is about.")
    session_id: str | None = Field(None, description="Names the conversation, as its last answer did; none begins one.")


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class IntentResponse(_Record):
    """What the question wants."""

    type: IntentType
    confidence: float = Field(description="0 to 1; a search that nothing speaks for has a low one.")
    tools: list[str] = Field(description="The tools that were called, in order.")


class ReplyResponse(_Record):
    """What was found."""

    type: IntentType | Literal["error"] = Field(description="The intent's; `error` where no tool could answer.")
    results: list[dict[str, Any]] = Field(description="Each with its `kind` and the `tool` that gave it.")
    total: int = Field(description="How many there are, also those not shown.")
    query: str = Field(description="As it was understood, with what the conversation adds.")
    filters_applied: dict[str, Any] = Field(description="Providers, methods and the like, read out of the question.")
    text: str = Field(description="The formatted answer, Markdown.")
    notes: list[str] = Field(description="What is degraded, guessed or left out.")


class AskResponse(_Record):
    """The answer to a question."""

    query: str = Field(description="As asked.")
    intent: IntentResponse
    response: ReplyResponse
    session_id: str = Field(description="Names the conversation; it ends a day after its last question.")


def assistant_router(assistant: Assistant) -> APIRouter:
    """The route of questions.

    Args:
        assistant: Answers them.
    """
    router = APIRouter(prefix="/v1/ai", tags=["assistant"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/query")
    async def query(body: AskRequest, caller: Asking) -> AskResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What is known about a question, over every kind that is installed; and how to go on."""
        given = {"context": body.context or "", "session_id": body.session_id or ""}
        return AskResponse.model_validate(await assistant.ask(caller, body.query, **given))

    return router


def context_router(context: ContextService) -> APIRouter:
    """The routes.

    Args:
        context: Answers them.
    """
    router = APIRouter(prefix="/v1", tags=["context"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/process_prompt", response_model_exclude_unset=True)
    async def process_prompt(body: PromptRequest, caller: Asking) -> PromptResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The rules that a prompt needs, with the tools of their packs; `PASS_THROUGH` where none fit."""
        prompt = await context.process_prompt(caller, **body.model_dump())
        data = {name: value for name, value in prompt_data(prompt).items() if name != "result"}
        return PromptResponse.model_validate({**data, "text": prompt.text})

    @router.post("/context", response_model_exclude_unset=True)
    async def get_context(body: ContextRequest, caller: Asking) -> ContextResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What a message needs of everything that is known, inside one token budget."""
        pack = await context.get_context(caller, **body.model_dump())
        told: Mapping[str, Any] = {**pack.data, "text": pack.text, "budget": pack.budget}
        return ContextResponse.model_validate(told)

    return router
