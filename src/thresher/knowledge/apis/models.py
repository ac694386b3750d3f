"""The records of the APIs kind: providers, what is found of their operations, and what was asked of them.

Invariant: frozen; texts of descriptions are other people's words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from thresher.core import Why
from thresher.openapi import Finding, Patch, Problem, Score

DEFAULT_LIMIT: Final = 10
LIMIT_CAP: Final = 50
DEFAULT_BUDGET: Final = 4_000

TimeRange: TypeAlias = Literal["1d", "7d", "30d", "90d"]
FeedbackType: TypeAlias = Literal["clarity", "examples", "structure", "errors", "security"]
State: TypeAlias = Literal["waiting", "indexing", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class SyncCounts:
    """What the last sync did to the operations of a description."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Version:
    """One description of a provider.

    Attributes:
        label: What tells it from the provider's others, such as `v2`; from the file's name or its `info.version`.
        source: Path or address it was read from, without a credential.
        dialect: `2.0`, `3.0`, `3.1` or `3.2`.
        declared: `info.version` as written.
        operations: How many.
        embedded: How many of them are found by meaning.
        digest: SHA-256 of its bytes.
        synced_at: When it was last read; None before that.
        problems: What could not be read, the first ones.
        problem_count: How many in all.
        state: Where its indexing stands.
        failure: Why the last sync failed; empty else.
        job: Id of the job that reads or embeds it; 0 without one.
        counts: What the last sync that found another text did.
        title: `info.title` as written.
        id: Row id.
    """

    label: str
    source: str
    dialect: str = ""
    declared: str = ""
    operations: int = 0
    embedded: int = 0
    digest: str = ""
    synced_at: dt.datetime | None = None
    problems: tuple[Problem, ...] = ()
    problem_count: int = 0
    state: State = "waiting"
    failure: str = ""
    job: int = 0
    counts: SyncCounts = SyncCounts()
    title: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Provider:
    """An API, or a family of its versions.

    Attributes:
        id: Row id.
        name: Short, lower case, unique for whoever sees it: `jira`.
        display_name: As people write it.
        aliases: Other words for it in a question: `jira cloud`, `k8s`.
        base_url: Where its operations are called, where the description does not say.
        active: An inactive one is absent from search.
        owner: The only user who sees it; None for everybody in the tenant.
        versions: Its descriptions.
        operations: In all of them.
    """

    id: int
    name: str
    display_name: str
    aliases: tuple[str, ...] = ()
    base_url: str = ""
    active: bool = True
    owner: str | None = None
    versions: tuple[Version, ...] = ()
    operations: int = 0


@dataclass(frozen=True, slots=True)
class FoundEndpoint:
    """An operation found.

    Attributes:
        id: Stable: a digest of provider, version, method and path (`op_...`); `get_api_endpoint` takes it.
        title: Its summary, or what its path says.
        description: The first sentences, clipped.
        provider: The provider's name.
        version: The description's label.
        method: Upper case.
        path: As in the description.
        operation_id: Empty without.
        tags: As written.
        deprecated: Whether it should no longer be used.
        relevance: Calibrated probability, 0 to 1.
        why: Ranks, matched terms, clause.
        tips: How it is used, from facts: safe, idempotent, paginated, needs scope X.
    """

    id: str
    title: str
    description: str
    provider: str
    version: str
    method: str
    path: str
    operation_id: str
    tags: tuple[str, ...]
    deprecated: bool
    relevance: float
    why: Why
    tips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag of a provider, and how many operations carry it."""

    provider: str
    tag: str
    description: str
    operations: int


@dataclass(frozen=True, slots=True)
class FoundEndpoints:
    """The answer of `search_api_docs`.

    Attributes:
        query: As searched, cleaned.
        mode: `search`, or `browse` where tags or all operations of a tag are listed.
        endpoints: Best first.
        tags: When browsing.
        total: Operations that fit, on all pages.
        cursor: Of the next page; empty on the last.
        providers: Which were searched, by name; detected ones or those asked for.
        methods: Likewise.
        clauses: The tasks that the query was cut into.
        degraded: What is weaker than it should be, in words.
        notes: What was understood of the query and what was left out, in words.
        embedding_ms: Time spent on embedding.
        search_ms: All other time.
        reranked: Whether the best were read closely.
    """

    query: str
    mode: Literal["search", "browse"]
    endpoints: tuple[FoundEndpoint, ...] = ()
    tags: tuple[TagCount, ...] = ()
    total: int = 0
    cursor: str = ""
    providers: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    degraded: str = ""
    notes: tuple[str, ...] = ()
    embedding_ms: float = 0.0
    search_ms: float = 0.0
    reranked: bool = False


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """The answer of `get_api_endpoint`.

    Attributes:
        endpoint: The operation in brief; relevance 1.
        content: What a model reads, Markdown within the budget: parameters, request, responses, auth, schemas, samples.
        parameters: As data: name, in, required, description, schema in brief.
        request: An example of the body, built from its schema or given; None without a body.
        responses: Status, description, example or schema in brief.
        auth: Ways to be let in, in words.
        schemas: Name to JSON Schema: those that the request and the answers reach, as far as the budget goes.
        samples: Language to code: `curl`, `python`.
        left_out: What was cut, named, and how to get it.
        budget: Tokens allowed.
        spent: Tokens of `content`.
    """

    endpoint: FoundEndpoint
    content: str
    parameters: tuple[Mapping[str, Any], ...]
    request: Any
    responses: tuple[Mapping[str, Any], ...]
    auth: tuple[str, ...]
    schemas: Mapping[str, Any]
    samples: Mapping[str, str]
    left_out: tuple[str, ...]
    budget: int
    spent: int


@dataclass(frozen=True, slots=True)
class QueryCount:
    """A query, cleaned, and how often it was asked; `before` in the period before."""

    query: str
    count: int
    before: int = 0


@dataclass(frozen=True, slots=True)
class EndpointCount:
    """An operation, and how often it was read."""

    endpoint: str
    operation: str
    provider: str
    count: int


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The answer of `analyze_api_usage`; None or empty where there is no data, never a guess.

    Attributes:
        provider: Which; empty for all.
        time_range: How far back.
        since: When it begins.
        searches: How many.
        reads: How many endpoints were read.
        top_queries: Most asked first.
        rising_queries: Those that grew most against the period before.
        zero_result_queries: Those that found nothing.
        read_rate: Share of searches after which a found endpoint was read, 0 to 1.
        endpoints: Most read first.
        latency_p50_ms: Of searches.
        latency_p95_ms: Of searches.
        errors: Error code to count.
        per_provider: Provider to its searches, reads and read rate.
        per_day: Day (ISO date, UTC) to searches, reads and errors.
        no_data: Metrics for which there is none.
    """

    provider: str
    time_range: TimeRange
    since: dt.datetime
    searches: int = 0
    reads: int = 0
    top_queries: tuple[QueryCount, ...] = ()
    rising_queries: tuple[QueryCount, ...] = ()
    zero_result_queries: tuple[QueryCount, ...] = ()
    read_rate: float | None = None
    endpoints: tuple[EndpointCount, ...] = ()
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    per_provider: Mapping[str, Mapping[str, float | int | None]] = field(
        default_factory=dict[str, Mapping[str, float | int | None]]
    )
    per_day: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    no_data: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Improvements:
    """The answer of `suggest_api_improvements`.

    Attributes:
        provider: Whose description.
        version: Which of its descriptions.
        score: Of the whole description.
        per_tag: Tag to score.
        per_endpoint: Endpoint id to score, the worst first.
        findings: Worst first, filtered as asked.
        total: Findings in all, before the cut.
        by_rule: Rule to how many.
        patch: What can be set without changing the contract; None where nothing can.
        worded_by: `rules`, or the model's name.
        left_out: What was cut, and how to get it.
        cursor: Of the next page of findings; empty on the last.
        markdown: The same for people, if that was asked for.
    """

    provider: str
    version: str
    score: Score
    per_tag: Mapping[str, Score]
    per_endpoint: Mapping[str, Score]
    findings: tuple[Finding, ...]
    total: int
    by_rule: Mapping[str, int]
    patch: Patch | None = None
    worded_by: str = "rules"
    left_out: tuple[str, ...] = ()
    cursor: str = ""
    markdown: str = ""
