"""Shows the stored catalogue to FastMCP: the few tools that are listed, and every enabled one by name.

Invariant: listing and resolving cost the same at 10 tools and at 10,000, and no upstream server is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from fastmcp.server.providers import Provider
from fastmcp.tools import Tool
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.versions import VersionSpec

from thresher.core import Caller
from thresher.gateway.callers import current_caller
from thresher.gateway.components import GatewayTool, upstream_tool
from thresher.gateway.meta import meta_tools
from thresher.services import Services

Expose: TypeAlias = Literal["meta", "all"]


class CatalogueProvider(Provider):
    """The source of all tools of the gateway.

    Args:
        services: What the tools work with.
        expose: `meta` lists the gateway's own tools and the core tools; `all` the whole catalogue as well.
    """

    def __init__(self, services: Services, expose: Expose) -> None:
        super().__init__()
        self._services = services
        self._expose = expose
        self._meta = {tool.name: tool for tool in meta_tools(services)}
        self._listed: dict[tuple[int, str | None], tuple[int, list[Tool]]] = {}

    async def _list_tools(self) -> Sequence[Tool]:
        caller = current_caller(self._services)
        owner = caller.tenant.id, caller.user
        version = await self._services.tools.version(caller)
        known = self._listed.get(owner)
        if known is None or known[0] != version:
            known = self._listed[owner] = (version, [*self._meta.values(), *await self._catalogue(caller)])
        return known[1]

    async def _catalogue(self, caller: Caller) -> list[GatewayTool]:
        tools = self._services.tools
        shown = await tools.core_tools(caller) if self._expose == "meta" else await tools.all_tools(caller)
        return [upstream_tool(self._services, definition) for definition in shown]

    async def _get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:  # noqa: ARG002 - the library's signature
        if (meta := self._meta.get(name)) is not None:
            return meta
        found = await self._services.tools.describe_tools(current_caller(self._services), [name])
        return upstream_tool(self._services, found.tools[0])

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        """No tool runs as a background task; the library's own way reads the whole catalogue to learn that."""
        return []
