"""Servers and tools: the catalogue's rows.

Invariant: whatever changes what a snapshot shows also counts the change (`raise_version`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, case, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger, LargeBinary

from thresher.core import JSON, Caller, Tenant, Tool
from thresher.knowledge.tools.formatting import compact
from thresher.store.tables import collection, server, tool

_CATALOGUE = "catalogue"
"""The kind under which `collection` counts the changes of the catalogue itself."""


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A row of `server`."""

    id: int
    owner: str | None
    name: str
    config: JSON
    sealed: bytes | None
    description: str
    enabled: bool
    state: str
    error: str
    listed_at: dt.datetime | None
    tools: int


@dataclass(frozen=True, slots=True)
class NameRow:
    """What the snapshot keeps of a tool: enough to name, count, filter and compare it, no definition."""

    id: int
    server_id: int
    server: str
    name: str
    enabled: bool
    core: bool
    tokens: int
    digest: bytes
    line: str


@dataclass(frozen=True, slots=True)
class ToolWrite:
    """A tool on its way into the catalogue."""

    tool: Tool
    enriched: str
    content_hash: bytes
    definition_hash: bytes
    tokens: int
    line: str


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A tool's definition as stored."""

    id: int
    owner: str | None
    server_id: int
    tool: Tool
    enabled: bool


def _visible(caller: Caller, table: Any) -> Any:
    shared = table.c.owner.is_(None)
    mine = shared if caller.user is None else shared | (table.c.owner == caller.user)
    return (table.c.tenant_id == caller.tenant.id) & mine


async def version(connection: AsyncConnection, tenant: Tenant) -> int:
    """How often the catalogue has changed; 0 for a new tenant."""
    found = await connection.execute(
        select(collection.c.version).where(collection.c.tenant_id == tenant.id, collection.c.kind == _CATALOGUE)
    )
    return found.scalar() or 0


async def raise_version(connection: AsyncConnection, tenant: Tenant) -> None:
    """Count one more change; snapshots with an older count are read anew."""
    row = insert(collection).values(tenant_id=tenant.id, kind=_CATALOGUE, model="", version=1)
    await connection.execute(
        row.on_conflict_do_update(index_elements=["tenant_id", "kind"], set_={"version": collection.c.version + 1})
    )


async def servers(connection: AsyncConnection, caller: Caller, name: str | None = None) -> list[ServerRow]:
    """The servers that the caller may see, in the order in which they were added."""
    counted = (
        select(func.count())
        .select_from(tool)
        .where(tool.c.tenant_id == server.c.tenant_id, tool.c.server_id == server.c.id)
        .scalar_subquery()
    )
    query = select(server, counted.label("tools")).where(_visible(caller, server)).order_by(server.c.id)
    if name is not None:
        query = query.where(server.c.name == name)
    return [_server_row(row) for row in await connection.execute(query)]


def _server_row(row: Any) -> ServerRow:
    return ServerRow(**{name: getattr(row, name) for name in ServerRow.__slots__})


async def put_server(
    connection: AsyncConnection,
    caller: Caller,
    name: str,
    *,
    config: JSON,
    sealed: bytes | None,
    description: str,
    enabled: bool,
) -> int:
    """Insert a shared server, or give the one of that name a new configuration; returns its id."""
    values: dict[str, Any] = {"config": config, "sealed": sealed, "description": description, "enabled": enabled}
    row = insert(server).values(tenant_id=caller.tenant.id, owner=None, name=name, **values)
    found = await connection.execute(
        row.on_conflict_do_update(index_elements=["tenant_id", "owner", "name"], set_=values).returning(server.c.id)
    )
    await raise_version(connection, caller.tenant)
    return int(found.scalar_one())


async def set_server(connection: AsyncConnection, tenant: Tenant, server_id: int, **values: Any) -> None:
    """Change columns of one server."""
    await connection.execute(
        update(server).where(server.c.tenant_id == tenant.id, server.c.id == server_id).values(**values)
    )


async def lock_server(connection: AsyncConnection, tenant: Tenant, server_id: int) -> bool:
    """Keep other writers of this server waiting until the transaction ends; False when it is gone."""
    query = select(server.c.id).where(server.c.tenant_id == tenant.id, server.c.id == server_id).with_for_update()
    return (await connection.execute(query)).first() is not None


async def delete_server(connection: AsyncConnection, tenant: Tenant, server_id: int) -> None:
    """Remove a server with all its tools and count the change."""
    await connection.execute(delete(server).where(server.c.tenant_id == tenant.id, server.c.id == server_id))
    await raise_version(connection, tenant)


_UPSERT = text(
    """
    INSERT INTO tool AS t (tenant_id, server_id, owner, name, title, description, input_schema, output_schema,
                           annotations, enriched, content_hash, definition_hash, tokens, line)
    SELECT :tenant, :server, s.owner, n.name, n.title, n.description, n.input_schema::json, n.output_schema::json,
           n.annotations::json, n.enriched, n.content_hash, n.definition_hash, n.tokens, n.line
    FROM unnest(CAST(:names AS text[]), CAST(:titles AS text[]), CAST(:descriptions AS text[]),
                CAST(:inputs AS text[]), CAST(:outputs AS text[]), CAST(:annotations AS text[]),
                CAST(:enriched AS text[]), :hashes, :digests, CAST(:tokens AS int[]),
                CAST(:lines AS text[]))
         AS n(name, title, description, input_schema, output_schema, annotations, enriched, content_hash,
              definition_hash, tokens, line)
    CROSS JOIN (SELECT owner FROM server WHERE tenant_id = :tenant AND id = :server) s
    ON CONFLICT (tenant_id, server_id, name) DO UPDATE
    SET title = excluded.title, description = excluded.description, input_schema = excluded.input_schema,
        output_schema = excluded.output_schema, annotations = excluded.annotations, enriched = excluded.enriched,
        content_hash = excluded.content_hash, definition_hash = excluded.definition_hash, tokens = excluded.tokens,
        line = excluded.line, updated_at = now()
    WHERE t.content_hash <> excluded.content_hash OR t.definition_hash <> excluded.definition_hash
    """
).bindparams(bindparam("hashes", type_=ARRAY(LargeBinary)), bindparam("digests", type_=ARRAY(LargeBinary)))

_UPSERT_ROWS = 2_000


async def put_tools(connection: AsyncConnection, tenant: Tenant, server_id: int, writes: Sequence[ToolWrite]) -> None:
    """Insert or update a server's tools in batches; unchanged rows and the switches of changed ones stay."""
    for start in range(0, len(writes), _UPSERT_ROWS):
        batch = writes[start : start + _UPSERT_ROWS]
        await connection.execute(
            _UPSERT,
            {
                "tenant": tenant.id,
                "server": server_id,
                "names": [w.tool.name for w in batch],
                "titles": [w.tool.title for w in batch],
                "descriptions": [w.tool.description for w in batch],
                "inputs": [compact(w.tool.input_schema) for w in batch],
                "outputs": [None if w.tool.output_schema is None else compact(w.tool.output_schema) for w in batch],
                "annotations": [compact(w.tool.annotations) for w in batch],
                "enriched": [w.enriched for w in batch],
                "hashes": [w.content_hash for w in batch],
                "digests": [w.definition_hash for w in batch],
                "tokens": [w.tokens for w in batch],
                "lines": [w.line for w in batch],
            },
        )


async def delete_tools(
    connection: AsyncConnection,
    tenant: Tenant,
    server_id: int,
    *,
    but: Collection[str] | None = None,
    only: str | None = None,
) -> list[int]:
    """Remove a server's tools: all `but` the named ones, or `only` one; returns their ids."""
    query = delete(tool).where(tool.c.tenant_id == tenant.id, tool.c.server_id == server_id)
    if but is not None:
        query = query.where(tool.c.name != func.all(list(but)))
    if only is not None:
        query = query.where(tool.c.name == only)
    return list((await connection.execute(query.returning(tool.c.id))).scalars())


async def write_listing(
    connection: AsyncConnection,
    tenant: Tenant,
    server_id: int,
    writes: Sequence[ToolWrite],
    *,
    only: str | None,
    description: str,
) -> list[int] | None:
    """Store a good listing whole: upsert, remove what is no longer listed, mark the server ready, count the change.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: Whose server it is.
        server_id: The server.
        writes: All its tools, or with `only` at most that one.
        only: The one tool that is refreshed; the others stay.
        description: What the server is for.

    Returns:
        Ids of the removed tools; None when the server itself is gone.
    """
    if not await lock_server(connection, tenant, server_id):
        return None
    await put_tools(connection, tenant, server_id, writes)
    listed = [write.tool.name for write in writes]
    removed: list[int] = []
    if only is None and listed:  # an empty listing never deletes
        removed = await delete_tools(connection, tenant, server_id, but=listed)
    elif only is not None and not listed:
        removed = await delete_tools(connection, tenant, server_id, only=only)
    ready: dict[str, Any] = {"state": "ready", "error": "", "listed_at": func.now(), "description": description}
    await set_server(connection, tenant, server_id, **ready)
    await raise_version(connection, tenant)
    return removed


async def set_tool(connection: AsyncConnection, tenant: Tenant, tool_id: int, values: Mapping[str, bool]) -> None:
    """Switch one tool and count the change."""
    await connection.execute(update(tool).where(tool.c.tenant_id == tenant.id, tool.c.id == tool_id).values(**values))
    await raise_version(connection, tenant)


async def switch_server(connection: AsyncConnection, tenant: Tenant, server_id: int, *, enabled: bool) -> None:
    """Switch one server and count the change."""
    await set_server(connection, tenant, server_id, enabled=enabled)
    await raise_version(connection, tenant)


async def mark_failed(connection: AsyncConnection, tenant: Tenant, server_id: int, error: str) -> None:
    """Keep the last good list of a server that could not be listed, and say why: stale, or failed when it has none."""
    has_tools = select(tool.c.id).where(tool.c.tenant_id == tenant.id, tool.c.server_id == server_id).exists()
    state = case((has_tools, "stale"), else_="failed")
    await set_server(connection, tenant, server_id, state=state, error=error)
    await raise_version(connection, tenant)


async def names(connection: AsyncConnection, caller: Caller) -> list[NameRow]:
    """All tools that the caller may see, disabled ones included, oldest first."""
    query = (
        select(
            tool.c.id,
            tool.c.server_id,
            server.c.name.label("server"),
            tool.c.name,
            (tool.c.enabled & server.c.enabled).label("enabled"),
            tool.c.core,
            tool.c.tokens,
            tool.c.definition_hash,
            tool.c.line,
        )
        .join(server, (server.c.tenant_id == tool.c.tenant_id) & (server.c.id == tool.c.server_id))
        .where(_visible(caller, tool))
        .order_by(tool.c.id)
    )
    return [NameRow(*row) for row in await connection.execute(query)]


_DEFINITION = (
    tool.c.id,
    tool.c.owner,
    tool.c.server_id,
    tool.c.name,
    tool.c.title,
    tool.c.description,
    tool.c.input_schema,
    tool.c.output_schema,
    tool.c.annotations,
    tool.c.enabled,
)


def _stored(rows: Iterable[Any], servers: Mapping[int, str]) -> list[StoredTool]:
    return [
        StoredTool(row.id, row.owner, row.server_id, _definition(row, servers[row.server_id]), row.enabled)
        for row in rows
        if row.server_id in servers
    ]


def _definition(row: Any, server_name: str) -> Tool:
    return Tool(server_name, row.name, row.title, row.description, row.input_schema, row.output_schema, row.annotations)


async def tools(
    connection: AsyncConnection, tenant: Tenant, servers: Mapping[int, str], *, ids: Iterable[int] | None = None
) -> list[StoredTool]:
    """Definitions by id, or all of some servers, in the order of their ids.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: Whose tools.
        servers: Names of the servers by id; a join would tempt the planner to walk all tools of all of them.
        ids: Which tools; all of these servers unless given.
    """
    query = select(*_DEFINITION).where(tool.c.tenant_id == tenant.id).order_by(tool.c.id)
    query = query.where(tool.c.server_id == _any(servers) if ids is None else tool.c.id == _any(ids))
    return _stored(await connection.execute(query), servers)


async def enabled_ids(connection: AsyncConnection, tenant: Tenant, server_ids: Iterable[int]) -> set[int]:
    """The ids of these servers' tools that may be found now."""
    query = (
        select(tool.c.id)
        .join(server, (server.c.tenant_id == tool.c.tenant_id) & (server.c.id == tool.c.server_id))
        .where(tool.c.tenant_id == tenant.id, tool.c.enabled, server.c.enabled, tool.c.server_id == _any(server_ids))
    )
    return set((await connection.execute(query)).scalars())


def _any(ids: Iterable[int]) -> Any:
    return func.any(bindparam(None, list(ids), type_=ARRAY(BigInteger)))
