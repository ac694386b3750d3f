"""How many things wait for a caller, for the badge of every page's navigation.

Invariant: no page waits for it. A page shows what is known, and if that is older than `FRESH` seconds, looks again when
it has been sent. What is known is a copy, for a short time, in each process.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.core import Caller, ThresherError
from thresher.insight import Attention
from thresher.services import Services
from thresher.verbs import INSIGHT, Request

FRESH: Final = 5.0
_KEPT: Final = 300.0
_MOST: Final = 1_000
_logger = logging.getLogger("thresher.console")
_Key: TypeAlias = tuple[int, int, str | None]


@dataclass(frozen=True, slots=True)
class _Known:
    at: float
    count: int


_known: dict[_Key, _Known] = {}


def _key(services: Services, caller: Caller) -> _Key:
    return id(services), caller.tenant.id, caller.user


def _now() -> float:
    return asyncio.get_running_loop().time()


def waiting(services: Services, caller: Caller) -> int:
    """How many things waited for a caller when somebody last looked; 0 if nobody has for a while."""
    known = _known.get(_key(services, caller))
    return known.count if known is not None and _now() - known.at < _KEPT else 0


def is_stale(services: Services, caller: Caller) -> bool:
    """Whether it is time to look again."""
    known = _known.get(_key(services, caller))
    return known is None or _now() - known.at > FRESH


def noted(services: Services, caller: Caller, found: Attention) -> None:
    """Keep what a page has just found."""
    key = _key(services, caller)
    _known.pop(key, None)
    _known[key] = _Known(_now(), found.count)
    if len(_known) > _MOST:
        del _known[next(iter(_known))]


async def look(request: Request) -> None:
    """Look again; a failure is for the log, and leaves what is known."""
    services, caller = request.services, request.caller
    key = _key(services, caller)
    before = _known.get(key)
    _known[key] = _Known(_now(), before.count if before else 0)  # others need not ask meanwhile
    try:
        noted(services, caller, await INSIGHT["attention"].run(request, {}))
    except ThresherError as error:
        _logger.warning("what waits for a person is not known: %s", error.message)
