"""Puts the rules of a pack before the first call of one of its tools.

Invariant: a call is held up at most once a session for each pack, and never by a pack that the caller does not see. A
call that was held up has not been run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent

from thresher.core import Caller, event
from thresher.gateway.packs import ADMIN, server_of
from thresher.gateway.rules import rules_text
from thresher.knowledge.intents import Pack, Packs
from thresher.knowledge.tools import Resolved
from thresher.services import Services

logger = logging.getLogger("thresher.gateway")

RULES_META = "thresher/rules"
"""Names, in the `_meta` of an answer that holds rules in place of a result, the packs whose rules they are."""

GATHER_SECONDS = 0.1
"""How long the answer to a first call waits for others that were made together with it: a model has not read the rules
when it sends those. A client that waits for each answer before it calls again never notices."""

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
    """Looks at each call before it is run; one per process."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._on = services.settings.rules_first == "on"
        self._owners: OrderedDict[str, _Owners] = OrderedDict()
        self._answered: OrderedDict[tuple[Any, ...], float] = OrderedDict()

    async def look(self, caller: Caller, packs: Packs, name: str, resolved: Resolved) -> CallToolResult | None:
        """The answer to give in place of running a tool; None to run it.

        Args:
            caller: Who calls.
            packs: What it sees.
            name: The tool's exposed name.
            resolved: The tool.
        """
        owners = self._of(packs).of(name, resolved.tool.server)
        if not owners:
            return None
        intents, names = self._services.intents, [pack.name for pack in owners]
        came = time.monotonic()
        free = resolved.read_only and all(pack.reads_freely for pack in owners)
        if free or not self._on or await self._given(caller, names):
            intents.note_call(caller, names, name)
            return None
        await asyncio.sleep(GATHER_SECONDS)
        if not (together := self._is_answered(caller, names, came)):
            intents.mark_given(caller, names)
        for pack in owners:
            intents.note_unread(caller, pack.name, name)
        event(logger, "rules_first", tenant=caller.tenant.id, tool=name, packs=names, together=together)
        text = _together(name, names) if together else await self._before(caller, name, owners)
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            is_error=True,
            _meta={RULES_META: names},  # pyright: ignore[reportCallIssue] - the field's alias
        )

    async def _given(self, caller: Caller, names: Sequence[str]) -> bool:
        """Whether the session has been given the rules of one of these packs."""
        for name in names:
            if await self._services.intents.was_given(caller, name):
                return True
        return False

    def _is_answered(self, caller: Caller, names: Sequence[str], since: float) -> bool:
        """Whether the session has been answered with these rules since a moment; from now on it has."""
        key = (caller.tenant.id, caller.user, caller.client or caller.project, *names)
        answered = self._answered.get(key, _NEVER) >= since
        if not answered:
            self._answered[key] = time.monotonic()
            self._answered.move_to_end(key)
            while len(self._answered) > _SESSIONS:
                self._answered.popitem(last=False)
        return answered

    async def _before(self, caller: Caller, name: str, owners: Sequence[Pack]) -> str:
        rules = await rules_text(self._services, caller, owners)
        packs = _listed([pack.name for pack in owners])
        return (
            f"'{name}' was NOT run yet. It belongs to {packs}, whose rules this session has not been given. They "
            f"follow. Read them, then call '{name}' again with arguments that fit them.\n\n{rules}"
        )

    def _of(self, packs: Packs) -> _Owners:
        """Made once for each set of packs: a call looks names up and walks over nothing."""
        if (owners := self._owners.get(packs.digest)) is None:
            owners = self._owners[packs.digest] = _owners(packs)
            while len(self._owners) > _OWNERS:
                self._owners.popitem(last=False)
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
