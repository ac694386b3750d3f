"""Serves the lists - tools, resources, resource templates, prompts, skills - from what is stored.

Invariant: a list depends on the caller's tenant, user and project, on the exposure that its client was started with,
and on what is stored; never on earlier requests. Its order is fixed. No server is asked, and an unchanged list is not
built again. Clients of the handshake era cannot negotiate the Skills extension (SEP-2640); they get the same files as
resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from cachetools import LRUCache
from fastmcp.server.extensions import MethodBinding, ServerExtension
from fastmcp.skills import GetSkillResult, ListSkillsResult
from fastmcp.skills.models import GetSkillParams, ListSkillsParams
from mcp.server.context import ServerRequestContext
from mcp_types import (
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from thresher.core import JSON, Caller, CursorCodec, Expose, acting_or
from thresher.core import Tool as Known
from thresher.gateway.errors import explained
from thresher.gateway.packs import PackTools
from thresher.gateway.prompts import agent_prompts, listed_packs, pack_prompts
from thresher.gateway.skills import TEMPLATE, Skills
from thresher.knowledge.intents import Packs
from thresher.knowledge.tools import Component, Components
from thresher.services import Services

Context: TypeAlias = ServerRequestContext[Any, Any]

M = TypeVar("M", bound=BaseModel)
_Key: TypeAlias = tuple[int, str | None, Expose | None, str, frozenset[str], tuple[str, ...]]

PAGE = 500
"""The most entries of a list in one answer."""
TTL_MS = 30_000
"""How long a client may cache a list; one that listens learns of a change at once."""

_LISTS = 64
_CURSOR: Final[CursorCodec[int]] = CursorCodec("MCP list", int)


@dataclass(frozen=True, slots=True)
class ListState:
    """What the lists of one caller are built from.

    Attributes:
        version: The catalogue's change count.
        packs: The packs that the caller sees and that are available now.
        digest: The digest of all the caller's packs.
        local: The servers inside this process that it sees.
        names: The names of the packs.
    """

    version: int
    packs: Packs = field(compare=False)
    digest: str
    local: frozenset[str]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Made(Generic[M]):
    state: ListState
    entries: Sequence[M]


class _Lists(Generic[M]):
    """One kind of list for each tenant, user, exposure and set of packs, rebuilt when the catalogue has changed."""

    def __init__(self, name: str, make: Callable[[Caller, ListState], Awaitable[Sequence[M]]]) -> None:
        self.name = name
        self._make = make
        self._made: LRUCache[_Key, _Made[M]] = LRUCache(_LISTS)

    async def of(self, caller: Caller, state: ListState) -> Sequence[M]:
        """Return the caller's list for a state."""
        key = (caller.tenant.id, caller.user, caller.expose, state.digest, state.local, state.names)
        if (made := self._made.get(key)) is None or made.state != state:
            made = self._made[key] = _Made(state, await self._make(caller, state))
        return made.entries


class Lists:
    """Serves the list requests of all clients.

    Args:
        services: What is listed.
        components: What servers offer in addition to tools.
        packs: The tools of packs.
        skills: The files of packs.
        expose: What `tools/list` shows to clients that were not started with another exposure.
    """

    def __init__(
        self, services: Services, components: Components, packs: PackTools, skills: Skills, expose: Expose
    ) -> None:
        self._services = services
        self._components = components
        self._packs = packs
        self._skills = skills
        self._expose: Expose = expose
        self._meta = [_tool(one.name, one) for one in services.calling.own]
        self._tools = _Lists("tools", self._all_tools)
        self._resources = _Lists("resources", self._all_resources)
        self._templates = _Lists("resource templates", self._all_templates)
        self._prompts = _Lists("prompts", self._all_prompts)

    async def tools(self, _: Context, params: PaginatedRequestParams) -> ListToolsResult:
        """Serve `tools/list`."""
        page, cursor = await explained(self._page(self._tools, params))
        return ListToolsResult(tools=page, next_cursor=cursor, ttl_ms=TTL_MS, cache_scope="private")

    async def resources(self, _: Context, params: PaginatedRequestParams) -> ListResourcesResult:
        """Serve `resources/list`."""
        page, cursor = await explained(self._page(self._resources, params))
        return ListResourcesResult(resources=page, next_cursor=cursor, ttl_ms=TTL_MS, cache_scope="private")

    async def templates(self, _: Context, params: PaginatedRequestParams) -> ListResourceTemplatesResult:
        """Serve `resources/templates/list`."""
        page, cursor = await explained(self._page(self._templates, params))
        return ListResourceTemplatesResult(
            resource_templates=page, next_cursor=cursor, ttl_ms=TTL_MS, cache_scope="private"
        )

    async def prompts(self, _: Context, params: PaginatedRequestParams) -> ListPromptsResult:
        """Serve `prompts/list`."""
        page, cursor = await explained(self._page(self._prompts, params))
        return ListPromptsResult(prompts=page, next_cursor=cursor, ttl_ms=TTL_MS, cache_scope="private")

    async def state(self, caller: Caller, *, wait: bool = False) -> ListState:
        """Return what the caller's lists are built from now.

        Args:
            caller: The tenant, user and project of the lists.
            wait: Whether to wait, for a bounded time, for tools of packs that have just changed.
        """
        packs = await self._packs.ready(caller, wait=wait)
        used, tools = self._packs.in_use(caller, packs), self._services.tools
        used = replace(used, active=await self._services.context.within_reach(caller, used.active))
        names = tuple(pack.name for pack in used.active)
        return ListState(await tools.version(caller), used, packs.digest, tools.offered(caller), names)

    async def digest(self, caller: Caller, state: ListState) -> dict[str, int]:
        """Return a hash of each of the caller's lists, by the kind that a notification names."""
        resources = [*await self._resources.of(caller, state), *await self._templates.of(caller, state)]
        lists: dict[str, Sequence[BaseModel]] = {
            "tools": await self._tools.of(caller, state),
            "resources": resources,
            "prompts": await self._prompts.of(caller, state),
        }
        # For a large catalogue this takes about a second.
        return await asyncio.to_thread(_digests, lists)

    async def _page(self, lists: _Lists[M], params: PaginatedRequestParams) -> tuple[list[M], str | None]:
        caller = acting_or(self._services.caller)
        return page_of(lists.name, await lists.of(caller, await self.state(caller, wait=True)), params.cursor)

    async def _all_tools(self, caller: Caller, _: ListState) -> Sequence[Tool]:
        listed = await self._services.calling.listed(caller, caller.expose or self._expose)
        return [*self._meta, *(_tool(one.name, one.tool) for one in listed)]

    async def _all_resources(self, caller: Caller, state: ListState) -> Sequence[Resource]:
        offered = await self._components.offered(caller, state.version)
        ours = [one for one in self._skills.resources(state.packs) if one.uri not in offered.resources]
        return [*_read(Resource, offered.resources.values()), *ours]

    async def _all_templates(self, caller: Caller, state: ListState) -> Sequence[ResourceTemplate]:
        offered = await self._components.offered(caller, state.version)
        return [*_read(ResourceTemplate, offered.templates.values()), *([TEMPLATE] if state.packs.active else [])]

    async def _all_prompts(self, caller: Caller, state: ListState) -> Sequence[Prompt]:
        offered = await self._components.offered(caller, state.version)
        agent = agent_prompts(self._services.prompts.shipped, offered.prompts)
        packs = pack_prompts(state.packs, {*offered.prompts, *agent})
        return [*_read(Prompt, offered.prompts.values()), *listed_packs(packs)]


def _digests(lists: Mapping[str, Sequence[BaseModel]]) -> dict[str, int]:
    return {kind: hash(tuple(entry.model_dump_json() for entry in entries)) for kind, entries in lists.items()}


def _tool(name: str, tool: Known) -> Tool:
    """Return a tool as listed: its own definition under the exposed name."""
    return Tool(
        name=name,
        title=tool.title or None,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=_output_schema(tool.output_schema),
        annotations=_annotations(tool.annotations),
    )


def _output_schema(schema: JSON | None) -> dict[str, Any] | None:
    # A client checks structured content against it; a schema of anything but an object would fail every answer.
    return dict(schema) if schema is not None and schema.get("type") == "object" else None


def _annotations(annotations: JSON) -> ToolAnnotations | None:
    try:
        return ToolAnnotations.model_validate(dict(annotations)) if annotations else None
    except ValidationError:
        return None  # no client could read these hints


def _read(model: type[M], components: Sequence[Component] | Any) -> list[M]:
    """Return definitions as their models; one that no client could read is left out."""
    entries: list[M] = []
    for component in components:
        try:
            entries.append(model.model_validate(dict(component.definition), by_name=False))
        except ValidationError:
            continue
    return entries


def page_of(name: str, entries: Sequence[M], cursor: str | None) -> tuple[list[M], str | None]:
    """Return one page of a list, and the cursor of the next.

    Raises:
        InvalidCursor: The cursor is not of this list.
    """
    (start,) = (0,) if cursor is None else _CURSOR.decode(cursor, [name])
    end = start + PAGE
    return list(entries[start:end]), _CURSOR.encode(end, question=[name]) if end < len(entries) else None


class SkillsExtension(ServerExtension):
    """Serves `skills/list` and `skills/get`.

    Args:
        services: The packs.
        skills: Their files.
        lists: Which of them are available now.
    """

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, services: Services, skills: Skills, lists: Lists) -> None:
        self._services = services
        self._skills = skills
        self._lists = lists

    def methods(self) -> Sequence[MethodBinding]:
        """Return the extension's methods, for clients of the stateless era."""
        modern = frozenset(MODERN_PROTOCOL_VERSIONS)
        return (
            MethodBinding("skills/list", ListSkillsParams, self._list, modern),
            MethodBinding("skills/get", GetSkillParams, self._get, modern),
        )

    async def _list(self, _: Context, params: ListSkillsParams) -> ListSkillsResult:
        page, cursor = await explained(self._page(params.cursor))
        return ListSkillsResult(skills=page, next_cursor=cursor, ttl_ms=TTL_MS, cache_scope="private")

    async def _page(self, cursor: str | None) -> tuple[list[Any], str | None]:
        state = await self._lists.state(acting_or(self._services.caller), wait=True)
        return page_of("skills", self._skills.entries(state.packs), cursor)

    async def _get(self, _: Context, params: GetSkillParams) -> GetSkillResult:
        return await explained(self._one(params.uri))

    async def _one(self, uri: str) -> GetSkillResult:
        packs = await self._services.intents.packs(acting_or(self._services.caller))
        return GetSkillResult(skill=self._skills.entry(packs, uri), ttl_ms=TTL_MS, cache_scope="private")
