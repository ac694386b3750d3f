"""Gives a session the rules of a pack in place of its first call of one of the pack's tools.

Invariant: a call is held up at most once a session for each pack, and never by a pack that the caller does not see. A
call that was held up has not been run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache

from thresher.calling.records import ADMIN, RULES_META, Result, server_of
from thresher.context import ContextService, rulebook_text
from thresher.core import Caller, event
from thresher.knowledge.intents import IntentService, Pack, Packs
from thresher.knowledge.tools import Resolved

logger = logging.getLogger("thresher.calling")

GATHER_SECONDS = 0.1
"""How long the answer to a first call waits for other calls made at the same time: the model had not read the rules
when it sent them. A client that waits for each answer before it calls again is not slowed down."""

_OWNERS = 64
_SESSIONS = 1_024
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class _Owners:
    """Which packs own a tool: by the server that their own tools form, by its exposed name, by its server."""

    own: Mapping[str, Sequence[Pack]]
    tools: Mapping[str, Sequence[Pack]]
    servers: Mapping[str, Sequence[Pack]]

    def of(self, name: str, server: str) -> Sequence[Pack]:
        """The packs of one tool; those that claim it most narrowly, where several do."""
        return self.own.get(server) or self.tools.get(name) or self.servers.get(server) or ()


class RulesFirst:
    """Looks at each call before it is run; one per process.

    Args:
        intents: Knows which session has been given which rules.
        context: Writes rules.
        enabled: Whether calls are held up at all.
    """

    def __init__(self, intents: IntentService, context: ContextService, *, enabled: bool = True) -> None:
        self._intents = intents
        self._context = context
        self._enabled = enabled
        self._owners: LRUCache[str, _Owners] = LRUCache(_OWNERS)
        self._answered: LRUCache[tuple[Any, ...], float] = LRUCache(_SESSIONS)

    async def look(self, caller: Caller, packs: Packs, name: str, resolved: Resolved) -> Result | None:
        """The result to give in place of running a tool; None to run it.

        Args:
            caller: Who calls.
            packs: The packs that it sees.
            name: The tool's exposed name.
            resolved: The tool.
        """
        owners = self._of(packs).of(name, resolved.tool.server)
        if not owners:
            return None
        intents, names = self._intents, [pack.name for pack in owners]
        came = time.monotonic()
        free = resolved.read_only and all(pack.reads_freely for pack in owners)
        if free or not self._enabled or await self._given(caller, names):
            intents.note_call(caller, names, name)
            return None
        await asyncio.sleep(GATHER_SECONDS)
        if not (together := self._is_answered(caller, names, came)):
            intents.mark_given(caller, names)
        for pack in owners:
            intents.note_unread(caller, pack.name, name)
        event(logger, "rules_first", tenant=caller.tenant.id, tool=name, packs=names, together=together)
        text = _together(name, names) if together else await self._before(caller, name, owners)
        return Result.of(text, is_error=True, meta={RULES_META: names})

    async def _given(self, caller: Caller, names: Sequence[str]) -> bool:
        """Whether the session has been given the rules of one of these packs."""
        for name in names:
            if await self._intents.was_given(caller, name):
                return True
        return False

    def _is_answered(self, caller: Caller, names: Sequence[str], since: float) -> bool:
        """Whether the session has been answered with these rules since a moment; from now on it has."""
        key = (caller.tenant.id, caller.user, caller.client or caller.project, *names)
        answered = self._answered.get(key, _NEVER) >= since
        if not answered:
            self._answered[key] = time.monotonic()
        return answered

    async def _before(self, caller: Caller, name: str, owners: Sequence[Pack]) -> str:
        rules = rulebook_text(await self._context.rules_of(caller, owners))
        packs = _listed([pack.name for pack in owners])
        return (
            f"'{name}' was NOT run yet. It belongs to {packs}, whose rules this session has not been given. They "
            f"follow. Read them, then call '{name}' again with arguments that fit them.\n\n{rules}"
        )

    def _of(self, packs: Packs) -> _Owners:
        """Built once for each set of packs, so that a call only looks names up."""
        if (owners := self._owners.get(packs.digest)) is None:
            owners = self._owners[packs.digest] = _owners(packs)
        return owners


def _owners(packs: Packs) -> _Owners:
    own: defaultdict[str, list[Pack]] = defaultdict(list)
    tools: defaultdict[str, list[Pack]] = defaultdict(list)
    servers: defaultdict[str, list[Pack]] = defaultdict(list)
    for pack in packs.active:
        if pack.code is not None:
            own[server_of(pack)].append(pack)
            own[server_of(pack, ADMIN)].append(pack)
        for name in pack.tools:
            tools[name].append(pack)
        for name in pack.servers:
            servers[name].append(pack)
    return _Owners(own, tools, servers)


def _together(name: str, packs: Sequence[str]) -> str:
    return (
        f"'{name}' was NOT run yet. It belongs to {_listed(packs)}, whose rules are in the answer to another call that "
        f"was made at the same time. Read them, then call '{name}' again with arguments that fit them."
    )


def _listed(packs: Sequence[str]) -> str:
    names = " and ".join(f"'{name}'" for name in packs)
    return f"the pack {names}" if len(packs) == 1 else f"the packs {names}"
