"""The SQL of tools and components: names for the snapshot, definitions by id, switches, and the change count.

Invariant: every change of what a snapshot shows also raises the version (`raise_version`), by which snapshots know that
they are outdated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, false, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger

from thresher.core import JSON, Caller, Tenant, Tool
from thresher.knowledge.tools.trust import GONE
from thresher.scanner import Finding
from thresher.store.tables import collection, component, server, tool

_PAGE = 500
"""Names read at once: about 10 ms of decoding."""


@dataclass(frozen=True, slots=True)
class NameRow:
    """What the snapshot keeps of a tool: enough to name, count, filter and compare it, no definition.

    `enabled` is true if neither the tool nor its server is disabled; `held` is why it waits for approval, if it does;
    `warnings` is the number of the scanner's findings on its newest definition; `body` is the hash of the definition
    without its name; `reads` is its claim that it only reads.
    """

    id: int
    server_id: int
    server: str
    name: str
    enabled: bool
    core: bool
    tokens: int
    digest: bytes
    line: str
    held: str = ""
    warnings: int = 0
    gist: str = ""
    body: bytes = b""
    reads: bool = False


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A tool's definition as stored; `digest` is its hash."""

    id: int
    owner: str | None
    server_id: int
    tool: Tool
    enabled: bool
    findings: tuple[Finding, ...] = ()
    digest: bytes = b""


async def set_tool(connection: AsyncConnection, tenant: Tenant, tool_id: int, values: Mapping[str, bool]) -> None:
    """Switch one tool and count the change."""
    await connection.execute(update(tool).where(tool.c.tenant_id == tenant.id, tool.c.id == tool_id).values(**values))
    await raise_version(connection, tenant)


async def names(connection: AsyncConnection, caller: Caller) -> list[NameRow]:
    """Return all tools that the caller may see, oldest first; disabled, held and vanished ones included."""
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
            tool.c.held,
            func.jsonb_array_length(tool.c.findings),
            tool.c.gist,
            tool.c.body_hash,
            func.coalesce(tool.c.annotations.op("->>")("readOnlyHint") == "true", false()),
        )
        .join(server, (server.c.tenant_id == tool.c.tenant_id) & (server.c.id == tool.c.server_id))
        .where(visible(caller, tool))
        .order_by(tool.c.id)
        .limit(_PAGE)
    )
    rows: list[NameRow] = []
    while True:
        page = await connection.execute(query.where(tool.c.id > rows[-1].id) if rows else query)
        more = [NameRow(*row) for row in page]
        rows += more
        if len(more) < _PAGE:
            return rows


DEFINITION = (
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
    tool.c.findings,
    tool.c.definition_hash,
)
"""The columns of a definition, of the scanner's findings and of the definition's hash."""


def definition_of(row: Any, server_name: str) -> Tool:
    """Return a row's definition."""
    return Tool(server_name, row.name, row.title, row.description, row.input_schema, row.output_schema, row.annotations)


async def tools(
    connection: AsyncConnection, tenant: Tenant, servers: Mapping[int, str], *, ids: Iterable[int] | None = None
) -> list[StoredTool]:
    """Return definitions by id, or all current ones of some servers, in the order of their ids.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: The tenant of the tools.
        servers: Names of the servers by id; a join would make the planner walk all tools of all of them.
        ids: Which tools; by default all of these servers.
    """
    query = select(*DEFINITION).where(tool.c.tenant_id == tenant.id, tool.c.held != GONE).order_by(tool.c.id)
    query = query.where(tool.c.server_id == any_of(servers) if ids is None else tool.c.id == any_of(ids))
    return [
        StoredTool(
            row.id,
            row.owner,
            row.server_id,
            definition_of(row, servers[row.server_id]),
            row.enabled,
            tuple(Finding(**finding) for finding in row.findings),
            row.definition_hash,
        )
        for row in await connection.execute(query)
        if row.server_id in servers
    ]


async def tool_ids(connection: AsyncConnection, tenant: Tenant, server_ids: Iterable[int]) -> list[int]:
    """Return the ids of all current tools of these servers."""
    of_them = tool.c.tenant_id == tenant.id, tool.c.server_id == any_of(server_ids), tool.c.held != GONE
    return list((await connection.execute(select(tool.c.id).where(*of_them))).scalars())


async def findable(connection: AsyncConnection, tenant: Tenant, server_ids: Iterable[int]) -> dict[int, bool]:
    """Return the ids of these servers' tools that belong in the index now, and whether each is held back."""
    query = (
        select(tool.c.id, tool.c.held != "")
        .join(server, (server.c.tenant_id == tool.c.tenant_id) & (server.c.id == tool.c.server_id))
        .where(tool.c.tenant_id == tenant.id, tool.c.enabled, server.c.enabled, tool.c.held != GONE)
        .where(tool.c.server_id == any_of(server_ids))
    )
    return {row[0]: row[1] for row in await connection.execute(query)}


def any_of(ids: Iterable[int]) -> Any:
    """Return `= ANY (ids)`: one parameter, however many there are."""
    return func.any(bindparam(None, list(ids), type_=ARRAY(BigInteger)))


_CATALOGUE = "catalogue"
"""The kind under which `collection` counts the changes of the catalogue itself."""


def visible(caller: Caller, table: Any) -> Any:
    """Return the condition for rows that the caller may see: its tenant's shared ones, and its own."""
    shared = table.c.owner.is_(None)
    mine = shared if caller.user is None else shared | (table.c.owner == caller.user)
    return (table.c.tenant_id == caller.tenant.id) & mine


async def version(connection: AsyncConnection, tenant: Tenant) -> int:
    """Return how often the catalogue has changed; 0 for a new tenant."""
    found = await connection.execute(
        select(collection.c.version).where(collection.c.tenant_id == tenant.id, collection.c.kind == _CATALOGUE)
    )
    return found.scalar() or 0


async def raise_version(connection: AsyncConnection, tenant: Tenant) -> None:
    """Count one more change; snapshots with an older count are read again."""
    row = insert(collection).values(tenant_id=tenant.id, kind=_CATALOGUE, model="", version=1)
    await connection.execute(
        row.on_conflict_do_update(index_elements=["tenant_id", "kind"], set_={"version": collection.c.version + 1})
    )


@dataclass(frozen=True, slots=True)
class ComponentRow:
    """One component as its server listed it; `key` is its address, its address template or its name."""

    id: int
    server_id: int
    kind: str
    key: str
    definition: JSON


async def components(connection: AsyncConnection, caller: Caller) -> list[ComponentRow]:
    """Return all components that the caller may see, oldest first."""
    query = (
        select(component.c.id, component.c.server_id, component.c.kind, component.c.key, component.c.definition)
        .where(visible(caller, component))
        .order_by(component.c.id)
    )
    return [ComponentRow(*row) for row in await connection.execute(query)]


async def write_components(
    connection: AsyncConnection,
    tenant: Tenant,
    server_id: int,
    owner: str | None,
    listed: Mapping[str, Mapping[str, JSON]],
) -> bool:
    """Replace a server's components by the listed ones, row by row, so that unchanged ones keep their order.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: The tenant of the server.
        server_id: The server.
        owner: Its owner, who owns its components too.
        listed: By kind, the definitions by key; missing kinds stay.

    Returns:
        Whether anything changed.
    """
    mine = (component.c.tenant_id == tenant.id) & (component.c.server_id == server_id)
    query = select(component.c.id, component.c.kind, component.c.key, component.c.definition).where(mine)
    held = {(row.kind, row.key): (row.id, row.definition) for row in await connection.execute(query)}
    wanted = {(kind, key): made for kind, group in listed.items() for key, made in group.items()}
    gone = [row for place, (row, _) in held.items() if place[0] in listed and place not in wanted]
    new = [place for place, made in wanted.items() if place not in held or held[place][1] != made]
    if gone:
        await connection.execute(delete(component).where(mine, component.c.id.in_(gone)))
    if new:
        shared = {"tenant_id": tenant.id, "server_id": server_id, "owner": owner}
        rows = [{**shared, "kind": kind, "key": key, "definition": dict(wanted[kind, key])} for kind, key in new]
        written = insert(component)
        place = ["tenant_id", "server_id", "kind", "key"]
        changed = written.on_conflict_do_update(index_elements=place, set_={"definition": written.excluded.definition})
        await connection.execute(changed, rows)
    if gone or new:
        await raise_version(connection, tenant)
    return bool(gone or new)
