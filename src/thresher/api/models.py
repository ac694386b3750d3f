"""The bodies of requests and answers.

Invariant: what `/v1/openapi.json` says is what is taken and sent; a field that nobody knows is an error, not ignored.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from thresher.verbs import RequestBody

Source = Literal["semantic", "lexical", "hybrid", "core", "fallback", "shadow", "off"]


class FindRequest(RequestBody):
    """What `find_tools` takes: `queries` or `message`; with both, the message is context."""

    queries: list[str] | str | None = Field(None, description="Short action phrases, one for each step of the task.")
    message: str | None = Field(None, description="The user's own words, which may hold several tasks.")
    history: list[str] = Field(
        [], description="The last turns, oldest first; used when the message alone is too short."
    )
    servers: list[str] | None = Field(None, description="Only tools of these servers.")
    limit: int | None = Field(None, ge=1, le=10, description="At most so many tools, core tools included.")
    threshold: float | None = Field(None, ge=0, le=1, description="The least probability that anything fits.")
    include_core_tools: bool = Field(True, description="Whether core tools are always part of the answer.")


class RefreshRequest(RequestBody):
    """What to list again: some servers, one tool, or everything."""

    servers: list[str] | None = Field(None, description="These servers; all unless given.")
    tool: str | None = Field(None, description="One tool, by the name that clients call it by.")


class ArmScore(BaseModel):
    """What one arm of the search said."""

    rank: int = Field(description="1 is the best.")
    score: float | None = Field(description="Cosine of the semantic arm, BM25 of the lexical one; null: not known.")


class Reasons(BaseModel):
    """Why a tool was chosen."""

    semantic: ArmScore | None = Field(description="Null: the arm did not return the tool.")
    lexical: ArmScore | None = Field(description="Null: the arm did not return the tool.")
    terms: list[str] = Field(description="Words of the query that the tool matched, strongest first.")
    query: int = Field(description="Which query or part of the message found it best; 0 is the first.")


class FoundTool(BaseModel):
    """One tool of an answer, with what a model needs to call it."""

    name: str = Field(description="The name to call it by.")
    server: str = Field(description="Whose tool it is.")
    title: str | None = Field(None, description="A name for people.")
    description: str | None = Field(None, description="What the server says of it.")
    score: float = Field(
        ge=0, le=1, description="Probability that it fits; 0 for a core tool that was not searched for."
    )
    similarity: float | None = Field(description="Cosine with the query; null where no vector was compared.")
    source: Source = Field(description="What found it; `shadow` or `off`: it was not chosen, and is here all the same.")
    why: Reasons
    line: str = Field(description="Signature and first sentence, for a model.")
    input_schema: dict[str, Any] | None = Field(None, serialization_alias="inputSchema")


class FindResponse(BaseModel):
    """The answer to `find_tools`, best tool first."""

    tools: list[FoundTool]
    total_searched: int = Field(description="Enabled tools inside the server filter.")
    duration_ms: float
    embedding_generated: bool = Field(description="Whether the search went by meaning too; false: by words alone.")
    abstained: bool = Field(description="No tool is likely enough; `tools` then holds core tools alone.")
    probability: float = Field(description="That any tool fits at all.")
    degraded: str = Field(description="Why the search worked with less than both arms; empty when it did not.")
    fallback: bool = Field(description="The search could not run: these are the first enabled tools, not chosen ones.")
    selection: Literal["on", "shadow", "off"] = Field(
        description="`shadow`: all tools follow the chosen ones; `off`: nothing was searched, and all tools are here."
    )
    left_out: int = Field(description="Tools that were not chosen and found no room in the answer.")
    held_back: list[str] = Field(description="Tools that would have been chosen, were they not waiting for approval.")
    trace_id: str = Field(description="What the log calls this request.")


class RefreshResponse(BaseModel):
    """What a refresh did."""

    embedded: int = Field(description="Tools embedded anew.")
    kept: int = Field(description="Tools that had not changed.")
    removed: int = Field(description="Tools that are gone.")
    failures: dict[str, str] = Field(description="Servers that could not be listed, and why; their last list stays.")
    held: list[str] = Field(description="Tools of these servers that wait for a person's approval.")


class ConsentResponse(BaseModel):
    """A person's remembered yes to calls of one tool."""

    model_config = ConfigDict(from_attributes=True)

    tool: str
    server: str
    definition: str = Field(description="The beginning of the SHA-256 of the definition that was agreed to.")
    since: dt.datetime
    holds: bool = Field(description="Whether the tool still has that definition; else you will be asked again.")


class ConsentsResponse(BaseModel):
    """What you have agreed to, oldest first."""

    consents: list[ConsentResponse]


class Readiness(BaseModel):
    """Whether requests can be answered."""

    status: Literal["ready", "not ready"]
    reasons: list[str] = Field(description="Why not, in words; empty when ready.")
    encoder: str = Field(description="`ready`, `not loaded yet`, or why searches go by words alone.")


class WrongField(BaseModel):
    """A field of a body that does not fit."""

    field: str
    message: str


class ProblemDocument(BaseModel):
    """A problem document, RFC 9457."""

    type: str = Field(description="`urn:thresher:problem:` and the kind of problem.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What happened.")
    hint: str = Field(description="What to do about it; empty when nothing can be done.")
    trace_id: str = Field(description="What the log calls this request.")
    errors: list[WrongField] | None = Field(None, description="The fields that do not fit, of a wrong body.")
