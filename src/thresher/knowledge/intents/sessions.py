"""What each session has been given and told last, as far as this process knows.

Invariant: what was given over a connection is remembered for that connection; what was given to a client without
sessions, for that client and for an hour. What was given where no client is known, as by a prompt hook, counts for all
clients of the same caller and project, for an hour.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from thresher.core import FINGERPRINT, Caller
from thresher.store import clean

LIFE_SECONDS: Final = 3600.0
"""How long rules count as given where no connection tells that the same model still has them."""
_SESSIONS: Final = 4_096
Session: TypeAlias = tuple[int, str | None, str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LastDecision:
    """The last decision of a session: what it matched, and the trace that names it."""

    intents: tuple[str, ...]
    trace_id: str


def session_of(caller: Caller) -> Session:
    """The session of a caller: its connection or client, or where neither is known its project."""
    client = clean(caller.client)
    return caller.tenant.id, caller.user, client, "" if client else clean(caller.project)


class Sessions:
    """The sessions of one process; the least recently used ones are forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given: OrderedDict[Session, dict[str, float]] = OrderedDict()
        self._last: OrderedDict[Session, LastDecision] = OrderedDict()

    def give(self, session: Session, intents: Iterable[str]) -> None:
        """Note what a session was given."""
        now = self._clock()
        self._given.setdefault(session, {}).update(dict.fromkeys(intents, now))
        _used(self._given, session)

    def has(self, caller: Caller, intent: str) -> bool:
        """Whether the caller's session was given an intent's rules, as far as this process knows."""
        own = session_of(caller)
        return self._held(own, intent) or (bool(own[2]) and self._held(_without_connection(caller), intent))

    def told(self, session: Session, decision: LastDecision) -> None:
        """Note a session's last decision; none before it counts any more."""
        self._last[session] = decision
        _used(self._last, session)

    def take_last(self, caller: Caller) -> LastDecision | None:
        """The last decision of the caller's session, once: what is called next is compared with it."""
        own = self._last.pop(session_of(caller), None)
        return own if own is not None or not caller.client else self._last.pop(_without_connection(caller), None)

    def _held(self, session: Session, intent: str) -> bool:
        at = self._given.get(session, {}).get(intent)
        return at is not None and (_ends_by_itself(session) or self._clock() - at <= LIFE_SECONDS)


def _ends_by_itself(session: Session) -> bool:
    """Whether it is a connection, which a conversation does not outlive."""
    return bool(session[2]) and not session[2].startswith(FINGERPRINT)


def _without_connection(caller: Caller) -> Session:
    return caller.tenant.id, caller.user, "", clean(caller.project)


def _used(kept: OrderedDict[Session, T], session: Session) -> None:
    kept.move_to_end(session)
    while len(kept) > _SESSIONS:
        kept.popitem(last=False)
