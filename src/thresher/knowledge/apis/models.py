"""Records of the APIs kind: providers, search results, explanations, usage and improvements.

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
    """Effect of the last sync on the operations of a description."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a provider's description.

    Attributes:
        label: Tells it from the provider's other versions, such as `v2`; from the file name or `info.version`.
        source: Path or URL it was read from, without a credential.
        dialect: `2.0`, `3.0`, `3.1` or `3.2`.
        declared: `info.version` as written.
        operations: Number of operations.
        embedded: Number of operations that have vectors.
        digest: SHA-256 of its bytes.
        synced_at: When the source was last read; None before that.
        problems: The first parts that could not be read.
        problem_count: Number of all such parts.
        state: State of its indexing.
        failure: Why the last sync failed; empty if it did not.
        job: Id of the job that imports it; 0 if there is none.
        counts: Effect of the last sync that found changed bytes.
        title: `info.title` as written.
        servers: Base addresses as the description names them.
        base_url: The address of its operations: the first server, made absolute; empty if none is known.
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
    servers: tuple[str, ...] = ()
    base_url: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class Provider:
    """An API with its versions.

    Attributes:
        id: Row id.
        name: Short lower-case name, unique among the providers that a user sees: `jira`.
        display_name: Its name as people write it.
        aliases: Other names for it in a question: `jira cloud`, `k8s`.
        base_url: Address of its operations if the description names none.
        active: Whether search includes it.
        owner: The only user who sees it; None if everyone in the tenant does.
        versions: Its versions.
        operations: Number of operations in all versions.
        check_seconds: How often its sources are checked for changes; None for the setting, 0 never.
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
    check_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class FoundEndpoint:
    """An operation found by search.

    Attributes:
        id: Digest of provider, version, method and path (`op_...`), which never changes; `get_api_endpoint` takes it.
        title: Its summary, or a title made from its path.
        description: The first sentences, clipped.
        provider: Name of the provider.
        version: Label of the version.
        method: Upper case.
        path: As in the description.
        operation_id: Empty if there is none.
        tags: As written.
        deprecated: Whether the description marks it as deprecated.
        relevance: Calibrated probability, 0 to 1.
        why: Ranks, matched terms, clause.
        tips: Facts about how it is used: safe, idempotent, paginated, needs scope X.
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
    """A tag of a provider with the number of its operations."""

    provider: str
    tag: str
    description: str
    operations: int


@dataclass(frozen=True, slots=True)
class FoundEndpoints:
    """The answer of `search_api_docs`.

    Attributes:
        query: The query after cleaning.
        mode: `search`, or `browse` if tags or the operations of a tag are listed.
        endpoints: Best first.
        tags: Tags, in mode `browse`.
        total: Number of matching operations on all pages.
        cursor: Cursor of the next page; empty on the last.
        providers: Names of the providers searched: those requested or detected.
        methods: HTTP methods searched: those requested or detected.
        clauses: The tasks that the query was split into.
        degraded: What is weaker than usual; empty if nothing is.
        notes: How the query was read, and what was left out.
        embedding_ms: Time spent on embedding.
        search_ms: All other time.
        reranked: Whether the cross-encoder reordered the best.
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
        endpoint: The operation as search shows it, with relevance 1.
        content: Markdown for a model within the budget: parameters, request, responses, auth, schemas, samples.
        parameters: Parameters as data: name, in, required, description, schema in brief.
        request: Example of the body, given or built from its schema; None without a body.
        responses: Status, description, example or schema in brief.
        auth: Ways to authenticate, in words.
        schemas: Name to JSON Schema, of the schemas that request and responses reach, as far as the budget goes.
        samples: Language to code: `curl`, `python`.
        left_out: What was left out, and how to get it.
        budget: Maximum tokens.
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
    """A query, folded, and its count; `before` is its count in the preceding period."""

    query: str
    count: int
    before: int = 0


@dataclass(frozen=True, slots=True)
class EndpointCount:
    """An operation and how often it was read."""

    endpoint: str
    operation: str
    provider: str
    count: int


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The answer of `analyze_api_usage`; a field without data is None or empty, never estimated.

    Attributes:
        provider: Name of the only provider counted; empty for all.
        time_range: Length of the period.
        since: Start of the period.
        searches: Number of searches.
        reads: Number of endpoint reads.
        top_queries: Most frequent first.
        rising_queries: Queries that grew most since the preceding period.
        zero_result_queries: Queries without results.
        read_rate: Share of searches after which a found endpoint was read, 0 to 1.
        endpoints: Most read first.
        latency_p50_ms: Median latency of searches.
        latency_p95_ms: 95th percentile of the latency of searches.
        errors: Error code to count.
        per_provider: Provider to its searches, reads and read rate.
        per_day: Day (ISO date, UTC) to searches, reads and errors.
        no_data: Metrics without data.
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
        provider: Name of the provider.
        version: Label of the version.
        score: Score of the whole description.
        per_tag: Tag to score.
        per_endpoint: Endpoint id to score, the worst first.
        findings: The requested findings, worst first.
        total: Number of findings on all pages.
        by_rule: Rule to number of findings.
        patch: Changes that keep the contract; None if there are none.
        worded_by: `rules`, or the name of the model.
        left_out: What was left out, and how to get it.
        cursor: Cursor of the next page of findings; empty on the last.
        markdown: The same for people, if that was requested.
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
