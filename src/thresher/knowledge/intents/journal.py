"""The log of decisions: which message got which rules, and what the calls after it say of that.

Invariant: no answer waits for its row. A message is in a row as a keyed hash, and as text only where the setting says
so, without its secrets.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.core import Caller, Settings, Tenant
from thresher.knowledge.intents import queries
from thresher.knowledge.intents.models import Decision
from thresher.knowledge.intents.queries import DecisionRow, Given, SignalRow
from thresher.knowledge.intents.sessions import LastDecision, Sessions, session_of
from thresher.store import Database, Journal, SecretBox, clean, message_of

UNSURE: Final = 0.5
"""A decision of less confidence counts as unsure."""
_BEST: Final = 5
"""Intents in a row beside those that matched."""


@dataclass(frozen=True, slots=True)
class _Decided:
    """A decision on its way, and what is done when the newest version of what people decided is known."""

    row: DecisionRow
    confirm: Callable[[int], object]


_Row: TypeAlias = _Decided | SignalRow | Given


class DecisionLog:
    """The log of one process."""

    def __init__(self, database: Database, secrets: SecretBox, settings: Settings) -> None:
        self._database = database
        self._secrets = secrets
        self._settings = settings
        self._journal: Journal[_Row] = Journal(self._write)
        self.sessions = Sessions()

    @property
    def lost(self) -> int:
        """Rows that this process could not write."""
        return self._journal.lost

    def decided(self, caller: Caller, message: str, decision: Decision, confirm: Callable[[int], object]) -> None:
        """Note a decision.

        Args:
            caller: For whom.
            message: What was decided on.
            decision: The decision.
            confirm: Told the version of thresholds and approvals that the database has when the row is written.
        """
        names = tuple(score.intent for score in decision.matched)
        self.sessions.told(session_of(caller), LastDecision(names, decision.trace_id))
        scope = f"decision {caller.tenant.id}"
        row = _row(
            caller,
            decision,
            self._secrets.keyed_hash(message, scope).hex(),
            message_of([message], self._settings),
        )
        self._journal.add(caller.tenant, _Decided(row, confirm))

    def given(self, caller: Caller, intents: Iterable[str]) -> None:
        """Note that a session was given the rules of some intents."""
        names = tuple(intents)
        session = session_of(caller)
        self.sessions.give(session, names)
        for name in names:
            self._journal.add(caller.tenant, Given(_now(), caller.user, session[2], session[3], name))

    def called(self, caller: Caller, packs: Sequence[str], tool: str) -> None:
        """Note a call of a pack's tool, if it is the first after a decision and that decision did not see it coming."""
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
        """Wait until every row is written, or given up with a warning."""
        await self._journal.settle()

    def _signal(self, caller: Caller, kind: str, last: LastDecision, pack: str, tool: str) -> None:
        row = SignalRow(
            at=_now(),
            owner=caller.user,
            client=clean(caller.client),
            trace_id=last.trace_id,
            kind=kind,
            decided=last.intents,
            pack=pack,
            tool=clean(tool),
        )
        self._journal.add(caller.tenant, row)

    async def _write(self, tenant: Tenant, rows: Sequence[_Row]) -> None:
        decided = [row for row in rows if isinstance(row, _Decided)]
        signals = [row for row in rows if isinstance(row, SignalRow)]
        given = [row for row in rows if isinstance(row, Given)]
        version = await queries.write_log(self._database, tenant, [row.row for row in decided], signals, given)
        if version is not None:
            for row in decided:
                row.confirm(version)


def _row(caller: Caller, decision: Decision, message_hash: str, message: str | None) -> DecisionRow:
    matched = len(decision.matched)
    kept = decision.scores[: max(_BEST, matched)]
    return DecisionRow(
        at=_now(),
        owner=caller.user,
        client=clean(caller.client),
        trace_id=decision.trace_id,
        message_hash=message_hash,
        message=message,
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


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
