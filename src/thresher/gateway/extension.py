"""The Skills extension, `io.modelcontextprotocol/skills` (SEP-2640): packs as skills that a client can take over.

Invariant: what it lists is what `resources/read` gives, byte for byte. Clients of the handshake era cannot negotiate
extensions; they have the same files as resources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastmcp.server.extensions import MethodBinding, ServerExtension
from fastmcp.skills import GetSkillResult, ListSkillsResult
from fastmcp.skills.models import GetSkillParams, ListSkillsParams
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from thresher.gateway.callers import current_caller
from thresher.gateway.errors import explained
from thresher.gateway.listing import TTL_MS, page_of
from thresher.gateway.skills import Skills
from thresher.knowledge.intents import Packs
from thresher.services import Services

Context = ServerRequestContext[Any, Any]


class SkillsExtension(ServerExtension):
    """Serves `skills/list` and `skills/get`.

    Args:
        services: The packs.
        skills: Their files.
    """

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, services: Services, skills: Skills) -> None:
        self._services = services
        self._skills = skills

    def methods(self) -> Sequence[MethodBinding]:
        """The extension's methods, for clients of the stateless era."""
        modern = frozenset(MODERN_PROTOCOL_VERSIONS)
        return (
            MethodBinding("skills/list", ListSkillsParams, self._list, modern),
            MethodBinding("skills/get", GetSkillParams, self._get, modern),
        )

    async def _list(self, _: Context, params: ListSkillsParams) -> ListSkillsResult:
        packs = await explained(self._packs())
        page, cursor = page_of(self._skills.entries(packs), params.cursor)
        return ListSkillsResult(skills=page, next_cursor=cursor, ttl_ms=TTL_MS, cache_scope="private")

    async def _get(self, _: Context, params: GetSkillParams) -> GetSkillResult:
        return await explained(self._one(params.uri))

    async def _one(self, uri: str) -> GetSkillResult:
        entry = self._skills.entry(await self._packs(), uri)
        return GetSkillResult(skill=entry, ttl_ms=TTL_MS, cache_scope="private")

    async def _packs(self) -> Packs:
        return await self._services.intents.packs(current_caller(self._services))
