"""The bodies of requests and answers of APIs.

Invariant: as for every body: what `/v1/openapi.json` says is what is taken and sent.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from thresher.knowledge.apis import DEFAULT_BUDGET, DEFAULT_LIMIT, LIMIT_CAP, FeedbackType, PatchForm, TimeRange
from thresher.openapi import Severity
from thresher.verbs import RequestBody

Named = Annotated[str, Field(description="Name or alias of an API; all that you see unless given.")]
Label = Annotated[str, Field(description="Label of one of its versions.")]
Rate = Annotated[float | None, Field(description="0 to 1; null where there is no data.")]


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class AddRequest(RequestBody):
    """An API to keep."""

    name: str = Field(description="Short and lower case: letters, digits, hyphens.")
    sources: list[str] = Field(min_length=1, description="Addresses, or paths of the machine that Thresher runs on.")
    display_name: str = Field("", description="As people write it.")
    aliases: list[str] = Field([], description="Other words for it in questions.")
    base_url: str = Field("", description="Where it is called, if its description does not say.")
    version: str = Field("", description="What to call this version.")
    replace: bool = Field(False, description="Whether an API of this name takes these sources.")


class ActiveRequest(RequestBody):
    """Whether an API can be found."""

    active: bool


class SyncRequest(RequestBody):
    """What to read again."""

    version: Label = ""


class SearchApisRequest(RequestBody):
    """What `search_api_docs` takes."""

    query: str = Field("", description="What shall be done, in any words; empty lists tags.")
    providers: list[str] = Field([], description="Only these APIs; else those that the query names, or all.")
    methods: list[str] = Field([], description="Only these HTTP methods.")
    tags: list[str] = Field([], description="Only operations of these tags; `*` for all, listed tag by tag.")
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=LIMIT_CAP, description="Operations at most.")
    cursor: str = Field("", description="Of the last answer to the same: the next ones.")
    rerank: bool = Field(False, description="Read the best candidates closely; slower.")


class EndpointRequest(RequestBody):
    """What `get_api_endpoint` takes: an id, or an API with method and path, or an operation's own name."""

    endpoint_id: str = Field("", description="`op_...`, as `search_api_docs` gives it.")
    provider: Named = ""
    method: str = ""
    path: str = Field("", description="As described, or with values filled in.")
    operation_id: str = Field("", description="As the description names it.")
    version: Label = ""
    budget: int = Field(DEFAULT_BUDGET, strict=True, ge=1, le=200_000, description="Tokens (o200k) of `content`.")


class UsageRequest(RequestBody):
    """What `analyze_api_usage` takes."""

    provider: Named = ""
    time_range: TimeRange = "7d"
    metrics: list[str] = Field([], description="Only these figures.")


class ImprovementsRequest(RequestBody):
    """What `suggest_api_improvements` takes."""

    provider: Named = ""
    endpoint_id: str = Field("", description="Only this operation.")
    version: Label = ""
    feedback_type: FeedbackType | Literal["all"] = "all"
    min_severity: Severity = "hint"
    format: Literal["json", "markdown"] = "json"
    patch: PatchForm = Field("none", description="With a change of descriptions and examples, in this form.")
    limit: int = Field(50, ge=1, le=500, description="Findings at most.")
    cursor: str = Field("", description="Of the last answer to the same: the next ones.")


class PlaceResponse(_Record):
    """Where something stands in a description."""

    pointer: str = Field(description="JSON pointer.")
    line: int = Field(description="From 1; 0 where it is not known.")
    column: int


class ProblemResponse(_Record):
    """A part that could not be read; the rest was kept."""

    code: str
    message: str
    place: PlaceResponse


class VersionResponse(_Record):
    """One description of an API."""

    label: str
    source: str
    dialect: str
    declared: str
    operations: int
    embedded: int = Field(description="How many of them are found by meaning.")
    digest: str
    synced_at: dt.datetime | None
    problems: list[ProblemResponse] = Field(description="The first ones.")
    problem_count: int
    state: str = Field(description="`waiting`, `indexing`, `ready` or `failed`.")
    failure: str = Field(description="Why it was not read the last time.")
    job: int


class ProviderResponse(_Record):
    """An API."""

    name: str
    display_name: str
    aliases: list[str]
    base_url: str
    active: bool = Field(description="An inactive one is absent from search.")
    owner: str | None = Field(description="The user whose it is; null: everybody's in the tenant.")
    versions: list[VersionResponse]
    operations: int


class ProvidersResponse(BaseModel):
    """The APIs that you see."""

    providers: list[ProviderResponse]


class FoundResponse(_Record):
    """An operation found."""

    id: str
    title: str
    description: str
    provider: str
    version: str
    method: str
    path: str
    operation_id: str
    tags: list[str]
    deprecated: bool
    relevance: float = Field(description="Calibrated probability, 0 to 1.")
    why: Any = Field(description="Ranks, matched terms, clause.")
    tips: list[str]


class TagResponse(_Record):
    """A tag, and how many operations carry it."""

    provider: str
    tag: str
    description: str
    operations: int


class SearchApisResponse(_Record):
    """The answer of `search_api_docs`."""

    query: str
    mode: str = Field(description="`search`, or `browse` where tags or all operations of a tag are listed.")
    endpoints: list[FoundResponse]
    tags: list[TagResponse]
    total: int
    cursor: str = Field(description="Of the next page; empty on the last.")
    providers: list[str]
    methods: list[str]
    clauses: list[str]
    degraded: str
    notes: list[str]
    embedding_ms: float
    search_ms: float
    reranked: bool


class EndpointResponse(_Record):
    """The answer of `get_api_endpoint`."""

    endpoint: FoundResponse
    content: str = Field(description="What to put before a model, Markdown within the budget.")
    parameters: list[dict[str, Any]]
    request: Any = Field(description="An example of the body; null without one.")
    responses: list[dict[str, Any]]
    auth: list[str]
    schemas: dict[str, Any]
    samples: dict[str, str]
    left_out: list[str] = Field(description="What was cut, and how to get it.")
    budget: int
    spent: int


class QueryCountResponse(_Record):
    """A query, and how often it was asked."""

    query: str
    count: int
    before: int = Field(description="In the period before.")


class EndpointCountResponse(_Record):
    """An operation, and how often it was read."""

    endpoint: str
    operation: str
    provider: str
    count: int


class UsageResponse(_Record):
    """The answer of `analyze_api_usage`; null or empty where there is no data."""

    provider: str
    time_range: str
    since: dt.datetime
    searches: int
    reads: int
    top_queries: list[QueryCountResponse]
    rising_queries: list[QueryCountResponse]
    zero_result_queries: list[QueryCountResponse]
    read_rate: Rate
    endpoints: list[EndpointCountResponse]
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    errors: dict[str, int]
    per_provider: dict[str, dict[str, float | None]]
    per_day: dict[str, dict[str, int]]
    no_data: list[str] = Field(description="Figures for which there is none.")


class ScoreResponse(_Record):
    """How good a description is."""

    value: int = Field(description="0 to 100.")
    formula: str


class FindingResponse(_Record):
    """What a rule has to say."""

    rule: str
    kind: str
    severity: str
    message: str
    place: PlaceResponse
    why: str
    fix: str
    evidence: str
    operation: str


class EditResponse(_Record):
    """A text to be set."""

    pointer: str
    value: Any
    rule: str
    by: str = Field(description="`rule` or `model`.")


class PatchResponse(_Record):
    """A change of descriptions and examples."""

    edits: list[EditResponse]
    overlay: dict[str, Any] = Field(description="An OpenAPI Overlay 1.0 document, where that was asked for.")
    diff: str = Field(description="A unified diff of the source, where that was asked for.")
    before: ScoreResponse
    after: ScoreResponse
    mended: list[FindingResponse]
    dropped: list[tuple[EditResponse, str]] = Field(description="Edits that failed a check, and why.")


class ImprovementsResponse(_Record):
    """The answer of `suggest_api_improvements`."""

    provider: str
    version: str
    score: ScoreResponse
    per_tag: dict[str, ScoreResponse]
    per_endpoint: dict[str, ScoreResponse]
    findings: list[FindingResponse]
    total: int
    by_rule: dict[str, int]
    patch: PatchResponse | None
    worded_by: str
    left_out: list[str]
    cursor: str = Field(description="Of the next page of findings; empty on the last.")
    markdown: str = Field("", description="The same for people, where `format` asks for it.")
