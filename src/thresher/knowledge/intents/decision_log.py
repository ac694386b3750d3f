"""The log of decisions: which message got which rules, what later calls show about that, and its statistics.

Rules given over a connection count as given for that connection; those given to a client without sessions count for
that client and an hour; those given without a known client, as by a prompt hook, for all clients of the same caller and
project and an hour.

Invariant: no answer waits for its row. A row holds a message as a keyed hash, and as text without secrets only if the
setting says so. Counts are of one tenant; a share is None if there was nothing to count.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from cachetools import LRUCache
from psycopg.errors import ForeignKeyViolation

from thresher.core import FINGERPRINT, Caller, Settings, Tenant
from thresher.knowledge.intents.models import Decision
from thresher.knowledge.intents.queries.statistics import (
    DecisionCounts,
    IntentCount,
    SignalCount,
    UnsureMessage,
    decision_counts,
    intent_counts,
    signal_counts,
    unsure_messages,
)
from thresher.store import (
    Database,
    LogQueue,
    SecretBox,
    age_limit,
    clean,
    message_of,
    period_start,
    prepared,
    purge_rows,
)

LIFE_SECONDS: Final = 3600.0
"""How long rules count as given if no connection shows that the same model still has them."""
_SESSIONS: Final = 4_096
Session: TypeAlias = tuple[int, str | None, str, str]


@dataclass(frozen=True, slots=True)
class LastDecision:
    """The last decision of a session: the matched intents, and the trace id."""

    intents: tuple[str, ...]
    trace_id: str


def session_of(caller: Caller) -> Session:
    """Return the session of a caller: its connection or client, or its project if neither is known."""
    client = clean(caller.client)
    return caller.tenant.id, caller.user, client, "" if client else clean(caller.project)


class SessionMemory:
    """What each session of this process was given and decided last; bounded, least recently used first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given: LRUCache[Session, dict[str, float]] = LRUCache(_SESSIONS)
        self._last: LRUCache[Session, LastDecision] = LRUCache(_SESSIONS)

    def give(self, session: Session, intents: Iterable[str]) -> None:
        """Note what a session was given."""
        now = self._clock()
        self._given.setdefault(session, {}).update(dict.fromkeys(intents, now))

    def has(self, caller: Caller, intent: str) -> bool:
        """Return whether the caller's session was given an intent's rules, as far as this process knows."""
        own = session_of(caller)
        return self._held(own, intent) or (bool(own[2]) and self._held(_without_connection(caller), intent))

    def note_decision(self, session: Session, decision: LastDecision) -> None:
        """Note a session's last decision; it replaces the former one."""
        self._last[session] = decision

    def take_last(self, caller: Caller) -> LastDecision | None:
        """Return the last decision of the caller's session, only once: the next call is compared with it."""
        own = self._last.pop(session_of(caller), None)
        return own if own is not None or not caller.client else self._last.pop(_without_connection(caller), None)

    def _held(self, session: Session, intent: str) -> bool:
        at = self._given.get(session, {}).get(intent)
        is_connection = bool(session[2]) and not session[2].startswith(
            FINGERPRINT
        )  # a conversation does not outlive it
        return at is not None and (is_connection or self._clock() - at <= LIFE_SECONDS)


def _without_connection(caller: Caller) -> Session:
    return caller.tenant.id, caller.user, "", clean(caller.project)


@dataclass(frozen=True, slots=True)
class IntentStatistics:
    """The figures of a period.

    Attributes:
        since: Its start; it ends now.
        decisions: Messages that were routed.
        pass_through_rate: Share of those that no intent fitted; null without any, as all shares and times below.
        unsure_share: Share of those decided with low confidence.
        clarified_share: Share of those for which a question was suggested.
        degraded_share: Share of those decided with less than the whole router.
        cached_share: Share of those that had been decided before.
        several_share: Share of those that needed the rules of more than one intent.
        bases: How many rested on `head`, `prototype` or `words`.
        latency_p50_ms: Median duration.
        latency_p95_ms: 95th percentile of the duration.
        latency_p99_ms: 99th percentile of the duration.
        embedding_p50_ms: Median time in the encoder, of those that were not cached.
        intents: How often each intent matched, the most frequent first.
        unused: Intents in use that nothing matched, by name.
        unsure: Messages of low confidence, the most frequent first.
        wrong_tool_rate: Share of decisions followed by a call of another pack's tool.
        signals: What calls showed about decisions, the most frequent first.
        lost_rows: Log rows that this process had to drop because the database did not take them.
    """

    since: dt.datetime
    decisions: int
    pass_through_rate: float | None
    unsure_share: float | None
    clarified_share: float | None
    degraded_share: float | None
    cached_share: float | None
    several_share: float | None
    bases: Mapping[str, int]
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    embedding_p50_ms: float | None
    intents: Sequence[IntentCount]
    unused: Sequence[str]
    unsure: Sequence[UnsureMessage]
    wrong_tool_rate: float | None
    signals: Sequence[SignalCount]
    lost_rows: int


async def measure(
    database: Database, caller: Caller, active: Sequence[str], days: float, lost_rows: int
) -> IntentStatistics:
    """Compute the statistics of a period that ends now.

    Args:
        database: The database of the log.
        caller: The tenant whose rows count, or the one user in it.
        active: The current intents.
        days: Length of the period.
        lost_rows: Rows that this process could not log.

    Raises:
        InvalidInput: The length is out of bounds.
    """
    start = period_start(days)
    async with database.transaction(caller.tenant) as connection:
        counts = await decision_counts(connection, caller, start)
        intents = await intent_counts(connection, caller, start)
        unsure = await unsure_messages(connection, caller, start)
        signals = await signal_counts(connection, caller, start)
    return statistics(start, active, counts, intents, unsure, signals, lost_rows)


def statistics(
    since: dt.datetime,
    active: Sequence[str],
    counts: DecisionCounts,
    intents: Sequence[IntentCount],
    unsure: Sequence[UnsureMessage],
    signals: Sequence[SignalCount],
    lost_rows: int,
) -> IntentStatistics:
    """Compute the statistics from the counts."""
    matched = {count.intent for count in intents}
    wrong = sum(signal.count for signal in signals if signal.kind != "unread")
    return IntentStatistics(
        since=since,
        decisions=counts.total,
        pass_through_rate=_share(counts.passed, counts.total),
        unsure_share=_share(counts.unsure, counts.total),
        clarified_share=_share(counts.clarified, counts.total),
        degraded_share=_share(counts.degraded, counts.total),
        cached_share=_share(counts.cached, counts.total),
        several_share=_share(counts.several, counts.total),
        bases={"head": counts.head, "prototype": counts.prototype, "words": counts.words},
        latency_p50_ms=counts.p50_ms,
        latency_p95_ms=counts.p95_ms,
        latency_p99_ms=counts.p99_ms,
        embedding_p50_ms=counts.embedding_p50_ms,
        intents=intents,
        unused=sorted(name for name in active if name not in matched),
        unsure=unsure,
        wrong_tool_rate=_share(wrong, counts.total),
        signals=signals,
        lost_rows=lost_rows,
    )


async def purge(database: Database, caller: Caller, days: float) -> int:
    """Remove the caller's rows that are at least so many days old; returns their number.

    Raises:
        InvalidInput: The age is negative or too large.
    """
    return await purge_rows(database, caller, ("decision", "intent_signal"), age_limit(days))


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


UNSURE: Final = 0.5
"""A decision of less confidence counts as unsure."""
_BEST: Final = 5
"""Intents in a row besides those that matched."""


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A row of `decision`; `message_hash` in hex."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    message_hash: str
    message: str | None
    intents: Sequence[str]
    scores: Sequence[float]
    matched: int
    confidence: float
    margin: float
    unsure: bool
    clarified: bool
    basis: str
    degraded: str
    cached: bool
    clauses: int
    duration_ms: float
    embedding_ms: float


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A row of `intent_signal`."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    kind: str
    decided: Sequence[str]
    pack: str
    tool: str


@dataclass(frozen=True, slots=True)
class RulesGivenRow:
    """A row of `rules_given`."""

    at: dt.datetime
    owner: str | None
    client: str
    project: str
    intent: str


_TYPES: Final = {
    "at": "timestamptz",
    "intents": "text[]",
    "scores": "float8[]",
    "decided": "text[]",
    "matched": "int",
    "clauses": "int",
    "unsure": "boolean",
    "clarified": "boolean",
    "cached": "boolean",
    "confidence": "float8",
    "margin": "float8",
    "duration_ms": "float8",
    "embedding_ms": "float8",
}
"""PostgreSQL's types of the columns that are not text."""


def _insert(table: str, record: type[DecisionRow | SignalRow | RulesGivenRow]) -> str:
    columns = ", ".join(record.__slots__)
    values = ", ".join("decode(message_hash, 'hex')" if name == "message_hash" else name for name in record.__slots__)
    typed = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in record.__slots__)
    return f"""
        insert into {table} (tenant_id, {columns})
        select %(tenant)s, {values} from json_to_recordset(%({table})s::json) as given ({typed})"""  # noqa: S608 - from the names of our own records


# As JSON, for a batch in which every row has lists of its own. Log rows are not worth a wait for the disk; after a
# crash of the server the last ones may be missing.
_WRITE: Final = f"""
    with decisions as ({_insert("decision", DecisionRow)}), signals as ({_insert("intent_signal", SignalRow)}),
         given as ({_insert("rules_given", RulesGivenRow)}
                   on conflict (tenant_id, owner, client, project, intent) do update set at = excluded.at)
    select set_config('synchronous_commit', 'off', true),
           (select version from collection where tenant_id = %(tenant)s and kind = 'intents')"""  # noqa: S608 - from the names of our own records


@dataclass(frozen=True, slots=True)
class _DecisionEntry:
    """A decision to be written, and the function to call with the newest version of thresholds and approvals."""

    row: DecisionRow
    confirm: Callable[[int], object]


_Row: TypeAlias = _DecisionEntry | SignalRow | RulesGivenRow


class DecisionLog:
    """The log of one process."""

    def __init__(self, database: Database, secrets: SecretBox, settings: Settings) -> None:
        self._database = database
        self._secrets = secrets
        self._settings = settings
        self._queue: LogQueue[_Row] = LogQueue(self._write)
        self.sessions = SessionMemory()

    @property
    def lost(self) -> int:
        """Rows that this process could not write."""
        return self._queue.lost

    def decided(self, caller: Caller, message: str, decision: Decision, confirm: Callable[[int], object]) -> None:
        """Note a decision.

        Args:
            caller: The caller of the decision.
            message: The message that was routed.
            decision: The decision.
            confirm: Called with the database's version of thresholds and approvals when the row is written.
        """
        names = tuple(score.intent for score in decision.matched)
        self.sessions.note_decision(session_of(caller), LastDecision(names, decision.trace_id))
        scope = f"decision {caller.tenant.id}"
        matched = len(decision.matched)
        kept = decision.scores[: max(_BEST, matched)]
        row = DecisionRow(
            at=dt.datetime.now(dt.UTC),
            owner=caller.user,
            client=clean(caller.client),
            trace_id=decision.trace_id,
            message_hash=self._secrets.keyed_hash(message, scope).hex(),
            message=message_of([message], self._settings),
            intents=[score.intent for score in kept],
            scores=[round(score.score, 4) for score in kept],
            matched=matched,
            confidence=decision.confidence,
            margin=decision.margin,
            unsure=decision.confidence < UNSURE,
            clarified=bool(decision.clarify),
            basis=decision.basis,
            degraded=clean(decision.degraded),
            cached=decision.cached,
            clauses=len(decision.clauses),
            duration_ms=decision.duration_ms,
            embedding_ms=decision.embedding_ms,
        )
        self._queue.add(caller.tenant, _DecisionEntry(row, confirm))

    def given(self, caller: Caller, intents: Iterable[str]) -> None:
        """Note that a session was given the rules of some intents."""
        names = tuple(intents)
        session = session_of(caller)
        self.sessions.give(session, names)
        now = dt.datetime.now(dt.UTC)
        for name in names:
            self._queue.add(caller.tenant, RulesGivenRow(now, caller.user, session[2], session[3], name))

    def called(self, caller: Caller, packs: Sequence[str], tool: str) -> None:
        """Note a call of a pack's tool if it is the first after a decision that did not match the pack."""
        if caller.assisted:
            return
        last = self.sessions.take_last(caller)
        if last is not None and not set(packs) & set(last.intents):
            self._signal(caller, "other" if last.intents else "missed", last, packs[0], tool)

    def unread(self, caller: Caller, pack: str, tool: str) -> None:
        """Note that a tool was called in a session that had not been given its pack's rules."""
        if caller.assisted:
            return
        self._signal(caller, "unread", LastDecision((), ""), pack, tool)

    async def settle(self) -> None:
        """Wait until every row is written, or dropped with a warning."""
        await self._queue.settle()

    def _signal(self, caller: Caller, kind: str, last: LastDecision, pack: str, tool: str) -> None:
        row = SignalRow(
            at=dt.datetime.now(dt.UTC),
            owner=caller.user,
            client=clean(caller.client),
            trace_id=last.trace_id,
            kind=kind,
            decided=last.intents,
            pack=pack,
            tool=clean(tool),
        )
        self._queue.add(caller.tenant, row)

    async def _write(self, tenant: Tenant, rows: Sequence[_Row]) -> None:
        decided = [row for row in rows if isinstance(row, _DecisionEntry)]
        signals = [row for row in rows if isinstance(row, SignalRow)]
        given = [row for row in rows if isinstance(row, RulesGivenRow)]
        # A row may be written once in a statement.
        newest = {(row.owner, row.client, row.project, row.intent): row for row in given}
        statement = prepared(
            _WRITE,
            tenant=tenant.id,
            decision=_as_json([row.row for row in decided]),
            intent_signal=_as_json(signals),
            rules_given=_as_json(list(newest.values())),
        )
        try:
            found = await self._database.once(tenant, statement)
        except ForeignKeyViolation:  # the tenant is gone
            return
        for row in decided:
            row.confirm(found[0][1] or 0)


def _as_json(records: Sequence[DecisionRow | SignalRow | RulesGivenRow]) -> str:
    return json.dumps([{name: getattr(record, name) for name in record.__slots__} for record in records], default=str)
