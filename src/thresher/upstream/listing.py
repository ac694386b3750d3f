"""Reads everything that a server lists - tools, resources, templates, prompts - page by page, within limits.

Invariant: a listing of tools is complete or an error, never silently cut; unusable definitions are reported, and
a failure in one kind does not affect the tools. The time for a schema is linear in its size, and nesting is bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import mcp_types as types
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import METHOD_NOT_FOUND
from pydantic import BaseModel, ValidationError

from thresher.core import JSON, Tool, UpstreamError, event, first_problem
from thresher.upstream.connection import ServerConnection
from thresher.upstream.failures import Failures, RequestRefused
from thresher.upstream.records import Listing
from thresher.upstream.transport.messages import encoded

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties")
_DEPTH = 64


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Why a tool's input schema is not a valid JSON Schema of an object; empty if its structure is valid."""
    kind: Any = schema.get("type", "object")
    if kind not in ("object", ["object"]):
        return f"inputSchema: its type is {str(kind)[:40]!r} and not 'object'"
    return next(_problems(schema, "inputSchema", 0), "")


def _problems(schema: Any, where: str, depth: int) -> Iterator[str]:
    if depth > _DEPTH:
        yield f"{where}: it is nested too deeply"
        return
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{where}: it is not a schema"
        return
    found = cast("Mapping[str, Any]", schema)
    yield from _keywords(found, where)
    for name, part in _parts(found):
        yield from _problems(part, f"{where}.{name}", depth + 1)


def _keywords(schema: Mapping[str, Any], where: str) -> Iterator[str]:
    kinds: object = schema.get("type", [])
    for kind in cast("list[object]", kinds) if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in _TYPES:
            yield f"{where}.type: {str(kind)[:40]!r} is not a type"
    required: object = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in cast("list[object]", required)):
        yield f"{where}.required: it is not a list of names"
    if not isinstance(schema.get("enum", []), list):
        yield f"{where}.enum: it is not a list"
    for name in _MAPS:
        if not isinstance(schema.get(name, {}), Mapping):
            yield f"{where}.{name}: it is not an object"
    for name in _LISTS:
        if not isinstance(schema.get(name, []), list):
            yield f"{where}.{name}: it is not a list"


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _MAPS:
        for key, part in _entries(schema.get(name)):
            # In old drafts a dependency was a list of names.
            yield f"{name}.{key}", part
    for name in _LISTS:
        value: object = schema.get(name)
        if isinstance(value, list):
            yield from ((f"{name}.{at}", part) for at, part in enumerate(cast("list[Any]", value)))
    for name in _SINGLE:
        if name in schema:
            yield name, schema[name]
    items: object = schema.get("items", True)
    # A list of schemas was allowed up to draft 2019-09.
    several = cast("list[Any]", items) if isinstance(items, list) else [items]
    yield from (("items", part) for part in several)


def _entries(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), part) for key, part in cast("Mapping[Any, Any]", value).items())


MAX_PAGES = 200
MAX_TOOLS = 20_000
"""Maximum tools of one server: twice the catalogue of the benchmarks."""
MAX_LISTING_BYTES = 64 * 1024 * 1024
MAX_DEFINITION_BYTES = 256 * 1024
"""Maximum size of one tool, resource or prompt: a larger one is useless to a model, and scanning it delays others."""
_MAX_PROBLEMS = 100
_logger = logging.getLogger("thresher.upstream")


@dataclass(frozen=True, slots=True)
class _ComponentKind:
    """A kind of component: how it is listed, its identifying field, and the model that checks a definition."""

    method: str
    field: str
    key: str
    model: type[BaseModel]
    capability: str


_TOOLS = _ComponentKind("tools/list", "tools", "name", types.Tool, "tools")
_RESOURCES = _ComponentKind("resources/list", "resources", "uri", types.Resource, "resources")
_TEMPLATES = _ComponentKind(
    "resources/templates/list", "resourceTemplates", "uriTemplate", types.ResourceTemplate, "resources"
)
_PROMPTS = _ComponentKind("prompts/list", "prompts", "name", types.Prompt, "prompts")


@dataclass(slots=True)
class _ComponentList:
    """The components of one kind."""

    items: dict[str, JSON] = field(default_factory=dict[str, JSON])
    models: dict[str, BaseModel] = field(default_factory=dict[str, BaseModel])
    problems: list[str] = field(default_factory=list[str])
    first: Mapping[str, Any] = field(default_factory=dict[str, Any])
    failed: bool = False


async def read_listing(
    server: str, connection: ServerConnection, failures: Failures, seconds: float, redact: Callable[[str], str]
) -> Listing:
    """List all components of a server.

    Raises:
        UpstreamRefused: The list of tools exceeds a bound, repeats a page, or holds no usable tool.
        UpstreamError: As `ServerConnection.request` raises.
    """
    reader = _Reader(server, connection, failures, seconds, redact)
    tools, resources, templates, prompts = await asyncio.gather(
        reader.tools(), reader.others(_RESOURCES), reader.others(_TEMPLATES), reader.others(_PROMPTS)
    )
    parts = {"resources": resources, "templates": templates, "prompts": prompts}
    agreement = connection.agreement
    ttl, scope = tools.first.get("ttlMs"), tools.first.get("cacheScope")
    return Listing(
        tools=tuple(_tool(server, cast("types.Tool", model)) for model in tools.models.values()),
        instructions=agreement.instructions,
        version=agreement.server_version,
        protocol=agreement.version,
        capabilities=agreement.capabilities,
        resources=tuple(resources.items.values()),
        templates=tuple(templates.items.values()),
        prompts=tuple(prompts.items.values()),
        problems=tuple(problem for part in (tools, *parts.values()) for problem in part.problems),
        partial=frozenset(name for name, part in parts.items() if part.failed),
        ttl_ms=max(0, int(ttl)) if isinstance(ttl, int | float) and agreement.stateless else None,
        cache_scope=scope if scope in ("public", "private") and agreement.stateless else "",
    )


class _Reader:
    def __init__(
        self,
        server: str,
        connection: ServerConnection,
        failures: Failures,
        seconds: float,
        redact: Callable[[str], str],
    ) -> None:
        self._server = server
        self._connection = connection
        self._failures = failures
        self._seconds = seconds
        self._redact = redact

    async def tools(self) -> _ComponentList:
        """List the tools; a list without any usable tool is an error, so that not all tools disappear."""
        listed = _ComponentList()
        try:
            await self._read(_TOOLS, listed)
        except RequestRefused as refusal:
            if refusal.rpc_code != METHOD_NOT_FOUND or self._connection.agreement.offers("tools"):
                raise
        if listed.problems and not listed.items:
            raise self._failures.malformed(_TOOLS.method, listed.problems[0].rstrip("."))
        return listed

    async def others(self, kind: _ComponentKind) -> _ComponentList:
        """List the components of another kind, if the server declares it."""
        listed = _ComponentList()
        if kind.capability not in self._connection.agreement.capabilities:
            return listed
        try:
            async with asyncio.timeout(self._seconds):
                await self._read(kind, listed)
        except (UpstreamError, TimeoutError) as error:
            if isinstance(error, RequestRefused) and error.rpc_code == METHOD_NOT_FOUND:
                return listed
            reason = error.message if isinstance(error, UpstreamError) else f"no end within {self._seconds:g} s."
            listed = _ComponentList(problems=[f"{kind.method} failed: {reason}"], failed=True)
        return listed

    async def _read(self, kind: _ComponentKind, listed: _ComponentList) -> None:
        cursor: str | None = None
        size = 0
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            params = {"cursor": cursor} if cursor else {}
            page = await self._connection.request(kind.method, params, seconds=self._seconds)
            listed.first = listed.first or page
            size += await self._add(kind, page, listed)
            if len(listed.items) > MAX_TOOLS or size > MAX_LISTING_BYTES:
                limit = f"{MAX_TOOLS:,} {kind.field} and {MAX_LISTING_BYTES // 2**20} MiB"
                raise self._failures.malformed(kind.method, f"a list of more than {limit}")
            following = page.get("nextCursor")
            if not isinstance(following, str) or not following:
                return
            if following in seen:
                raise self._failures.malformed(kind.method, "pages in a circle")
            seen.add(following)
            cursor = following
        raise self._failures.malformed(kind.method, f"a list of more than {MAX_PAGES} pages")

    async def _add(self, kind: _ComponentKind, page: Mapping[str, Any], listed: _ComponentList) -> int:
        """Add one page, yielding to other tasks in between; returns its size in bytes."""
        entries: object = page.get(kind.field)
        if not isinstance(entries, list):
            raise self._failures.malformed(kind.method, f"{kind.field} is not a list")
        size = checked = 0
        for entry in cast("list[object]", entries):
            length = len(encoded(entry=entry))
            size += length
            problem = self._taken(kind, entry, length, listed)
            if problem and len(listed.problems) < _MAX_PROBLEMS:
                listed.problems.append(self._redact(problem))
                event(_logger, "upstream_definition_left_out", level=logging.WARNING, server=self._server, why=problem)
            if size - checked > MAX_DEFINITION_BYTES:
                checked = size
                await asyncio.sleep(0)
        return size

    def _taken(self, kind: _ComponentKind, entry: object, length: int, listed: _ComponentList) -> str:
        """Add one definition of this size, or return why it cannot be used."""
        one = kind.field.removesuffix("s")
        if not isinstance(entry, dict):
            return f"A {one} is left out: it is not an object."
        definition = cast("dict[str, Any]", entry)
        name = str(definition.get(kind.key, "?"))[:200]
        if length > MAX_DEFINITION_BYTES:
            bound = f"{MAX_DEFINITION_BYTES // 1024} KiB are allowed"
            return f"The {one} '{name}' is left out: its definition has {length / 1024:,.0f} KiB; {bound}."
        try:
            model = kind.model.model_validate(definition, by_name=False)
        except ValidationError as error:
            return f"The {one} '{name}' is left out: {first_problem(error)}."
        if isinstance(model, types.Tool) and (wrong := self._unfit(model)):
            return f"The {one} '{name}' is left out: {wrong}."
        if name in listed.items:
            event(_logger, "upstream_duplicate", level=logging.WARNING, server=self._server, kind=one, which=name)
            return ""
        listed.items[name] = definition
        listed.models[name] = model
        return ""

    def _unfit(self, tool: types.Tool) -> str:
        if not tool.name.strip():
            return "it has no name"
        if self._connection.agreement.stateless and (wrong := find_invalid_x_mcp_header(tool.input_schema)):
            return wrong  # a client of 2026-07-28 must drop such a tool
        return schema_problem(tool.input_schema)


def _tool(server: str, listed: types.Tool) -> Tool:
    annotations: dict[str, Any] = (
        listed.annotations.model_dump(by_alias=True, exclude_none=True, mode="json") if listed.annotations else {}
    )
    return Tool(
        server=server,
        name=listed.name,
        title=listed.title or str(annotations.get("title", "")),
        description=listed.description or "",
        input_schema=listed.input_schema,
        output_schema=listed.output_schema,
        annotations=annotations,
    )
