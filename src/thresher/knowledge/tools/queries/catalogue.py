"""Tools: names for the snapshot, definitions by id, switches.

Invariant: whatever changes what a snapshot shows also counts the change (`raise_version`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger

from thresher.core import Caller, Tenant, Tool
from thresher.knowledge.tools.queries.versions import raise_version, visible
from thresher.knowledge.tools.trust import GONE
from thresher.scanner import Finding
from thresher.store.tables import server, tool

_PAGE = 500
"""Names read at once: some 10 ms of decoding."""


@dataclass(frozen=True, slots=True)
class NameRow:
    """What the snapshot keeps of a tool: enough to name, count, filter and compare it, no definition.

    `enabled` says that neither the tool nor its server is switched off; `held` why it waits for approval, if it does;
    `warnings` how much the scanner has to say of its newest definition.
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


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A tool's definition as stored."""

    id: int
    owner: str | None
    server_id: int
    tool: Tool
    enabled: bool
    findings: tuple[Finding, ...] = ()


async def set_tool(connection: AsyncConnection, tenant: Tenant, tool_id: int, values: Mapping[str, bool]) -> None:
    """Switch one tool and count the change."""
    await connection.execute(update(tool).where(tool.c.tenant_id == tenant.id, tool.c.id == tool_id).values(**values))
    await raise_version(connection, tenant)


async def names(connection: AsyncConnection, caller: Caller) -> list[NameRow]:
    """All tools that the caller may see, oldest first; disabled, held and vanished ones included."""
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
)
"""The columns of a definition, and what the scanner says of it."""


def definition_of(row: Any, server_name: str) -> Tool:
    """A row's definition."""
    return Tool(server_name, row.name, row.title, row.description, row.input_schema, row.output_schema, row.annotations)


async def tools(
    connection: AsyncConnection, tenant: Tenant, servers: Mapping[int, str], *, ids: Iterable[int] | None = None
) -> list[StoredTool]:
    """Definitions by id, or all of some servers that they still have, in the order of their ids.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: Whose tools.
        servers: Names of the servers by id; a join would tempt the planner to walk all tools of all of them.
        ids: Which tools; all of these servers unless given.
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
        )
        for row in await connection.execute(query)
        if row.server_id in servers
    ]


async def tool_ids(connection: AsyncConnection, tenant: Tenant, server_ids: Iterable[int]) -> list[int]:
    """The ids of all tools that these servers still have."""
    of_them = tool.c.tenant_id == tenant.id, tool.c.server_id == any_of(server_ids), tool.c.held != GONE
    return list((await connection.execute(select(tool.c.id).where(*of_them))).scalars())


async def findable(connection: AsyncConnection, tenant: Tenant, server_ids: Iterable[int]) -> dict[int, bool]:
    """The ids of these servers' tools that belong into the index now, and whether each is held back."""
    query = (
        select(tool.c.id, tool.c.held != "")
        .join(server, (server.c.tenant_id == tool.c.tenant_id) & (server.c.id == tool.c.server_id))
        .where(tool.c.tenant_id == tenant.id, tool.c.enabled, server.c.enabled, tool.c.held != GONE)
        .where(tool.c.server_id == any_of(server_ids))
    )
    return {row[0]: row[1] for row in await connection.execute(query)}


def any_of(ids: Iterable[int]) -> Any:
    """`= ANY (ids)`: one parameter, however many there are."""
    return func.any(bindparam(None, list(ids), type_=ARRAY(BigInteger)))
