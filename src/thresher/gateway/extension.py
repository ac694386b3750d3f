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
from thresher.gateway.listing import TTL_MS, Lists, page_of
from thresher.gateway.skills import Skills
from thresher.services import Services

Context = ServerRequestContext[Any, Any]


class SkillsExtension(ServerExtension):
    """Serves `skills/list` and `skills/get`.

    Args:
        services: The packs.
        skills: Their files.
        lists: Which of them are of use now.
    """

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, services: Services, skills: Skills, lists: Lists) -> None:
        self._services = services
        self._skills = skills
        self._lists = lists

    def methods(self) -> Sequence[MethodBinding]:
        """The extension's methods, for clients of the stateless era."""
        modern = frozenset(MODERN_PROTOCOL_VERSIONS)
        return (
            MethodBinding("skills/list", ListSkillsParams, self._list, modern),
            MethodBinding("skills/get", GetSkillParams, self._get, modern),
        )

    async def _list(self, _: Context, params: ListSkillsParams) -> ListSkillsResult:
        stand = await explained(self._lists.stand(current_caller(self._services), wait=True))
        page, cursor = page_of(self._skills.entries(stand.packs), params.cursor)
        return ListSkillsResult(skills=page, next_cursor=cursor, ttl_ms=TTL_MS, cache_scope="private")

    async def _get(self, _: Context, params: GetSkillParams) -> GetSkillResult:
        return await explained(self._one(params.uri))

    async def _one(self, uri: str) -> GetSkillResult:
        packs = await self._services.intents.packs(current_caller(self._services))
        return GetSkillResult(skill=self._skills.entry(packs, uri), ttl_ms=TTL_MS, cache_scope="private")
