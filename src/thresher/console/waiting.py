"""How many things wait for a caller, for the badge of every page's navigation.

Invariant: no page waits for it. A page shows what is known, and if that is older than `FRESH` seconds, looks again when
it has been sent. What is known is a copy, for a short time, in each process.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from thresher.core import Caller, ThresherError
from thresher.insight import Attention
from thresher.services import Services
from thresher.store import Database
from thresher.verbs import INSIGHT, Request

FRESH: Final = 5.0
_KEPT: Final = 300.0
_MOST: Final = 1_000
_logger = logging.getLogger("thresher.console")
_Who: TypeAlias = tuple[int, str | None]
"""A tenant, and one of its users."""


@dataclass(frozen=True, slots=True)
class _Known:
    at: float
    count: int


_known: WeakKeyDictionary[Database, dict[_Who, _Known]] = WeakKeyDictionary()


def _known_of(services: Services) -> dict[_Who, _Known]:
    return _known.setdefault(services.database, {})


def _who(caller: Caller) -> _Who:
    return caller.tenant.id, caller.user


def _now() -> float:
    return asyncio.get_running_loop().time()


def waiting(services: Services, caller: Caller) -> int:
    """How many things waited for a caller when somebody last looked; 0 if nobody has for a while."""
    known = _known_of(services).get(_who(caller))
    return known.count if known is not None and _now() - known.at < _KEPT else 0


def is_stale(services: Services, caller: Caller) -> bool:
    """Whether it is time to look again."""
    known = _known_of(services).get(_who(caller))
    return known is None or _now() - known.at > FRESH


def noted(services: Services, caller: Caller, found: Attention) -> None:
    """Keep what a page has just found."""
    known, who = _known_of(services), _who(caller)
    known.pop(who, None)
    known[who] = _Known(_now(), found.count)
    if len(known) > _MOST:
        del known[next(iter(known))]


async def look(request: Request) -> None:
    """Look again; a failure is for the log, and leaves what is known."""
    services, caller = request.services, request.caller
    known, who = _known_of(services), _who(caller)
    before = known.get(who)
    known[who] = _Known(_now(), before.count if before else 0)  # others need not ask meanwhile
    try:
        noted(services, caller, await INSIGHT["attention"].run(request, {}))
    except ThresherError as error:
        _logger.warning("what waits for a person is not known: %s", error.message)
