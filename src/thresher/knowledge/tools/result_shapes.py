"""What results of tools without an output schema have looked like: types and names of fields, never a value.

Invariant: a tenant's shapes are learned from its own calls, and go with the tool.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from cachetools import LRUCache
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import JSON, Caller, Tenant, dumps
from thresher.knowledge.tools.catalogue import CatalogueCache
from thresher.knowledge.tools.models import Resolved
from thresher.programs import merged, shape_of
from thresher.store import Database, LogQueue

_KNOWN = 4_096
_CHARACTERS = 20_000
"""Of a shape; a larger one is not kept."""
_READ: Final = text("select tool_id, shape from tool_shape where tenant_id = :tenant and tool_id = any(:tools)")
_WRITE: Final = text("""
    insert into tool_shape (tenant_id, tool_id, shape)
    select :tenant, id, cast(:shape as json) from tool where tenant_id = :tenant and id = :tool
    on conflict (tenant_id, tool_id) do update set shape = excluded.shape, at = now()""")


class ResultShapes:
    """The shapes of all tenants, in the database. One per process.

    Args:
        database: The database.
        catalogues: Knows which tool has which name.
    """

    def __init__(self, database: Database, catalogues: CatalogueCache) -> None:
        self._database = database
        self._catalogues = catalogues
        self._known: LRUCache[tuple[int, int], JSON] = LRUCache(_KNOWN)
        self._queue: LogQueue[tuple[int, JSON]] = LogQueue(self._write)

    def note(self, caller: Caller, resolved: Resolved, value: object) -> None:
        """Learn from a result of a tool without an output schema; written in the background, if it tells something."""
        if resolved.tool.output_schema is not None:
            return
        tool_id = resolved.id
        key = (caller.tenant.id, tool_id)
        shape = shape_of(value)
        known = self._known.get(key)
        if known is not None and (shape := merged(known, shape)) == known:
            return
        self._known[key] = shape
        self._queue.add(caller.tenant, (tool_id, shape))

    async def of(self, caller: Caller, names: Iterable[str]) -> Mapping[str, JSON]:
        """Return what results of these tools have looked like, as JSON Schemas by exposed name, where it is known."""
        catalogue = await self._catalogues.current(caller)
        ids = {found.row.id: name for name in names if (found := catalogue.find(name)) is not None}
        async with self._database.transaction(caller.tenant) as connection:
            return {ids[tool]: shape for tool, shape in (await _read(connection, caller.tenant, ids)).items()}

    async def settle(self) -> None:
        """Wait until what was learned is written."""
        await self._queue.settle()

    async def _write(self, tenant: Tenant, rows: Sequence[tuple[int, JSON]]) -> None:
        async with self._database.transaction(tenant) as connection:
            shapes = dict(await _read(connection, tenant, {tool for tool, _ in rows}))
            for tool, shape in rows:
                shapes[tool] = merged(shapes[tool], shape) if tool in shapes else shape
            for tool, shape in shapes.items():
                if len(written := dumps(shape)) <= _CHARACTERS:
                    await connection.execute(_WRITE, {"tenant": tenant.id, "tool": tool, "shape": written})


async def _read(connection: AsyncConnection, tenant: Tenant, tools: Collection[int]) -> dict[int, JSON]:
    rows = await connection.execute(_READ, {"tenant": tenant.id, "tools": list(tools)})
    return {tool: json.loads(shape) if isinstance(shape, str) else shape for tool, shape in rows}
