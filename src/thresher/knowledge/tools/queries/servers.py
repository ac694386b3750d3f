"""Servers: the catalogue's first table.

Invariant: whatever changes what a snapshot shows also counts the change (`raise_version`); a server is written under
its owner, so that no user's server ever takes the place of the tenant's, or of another user's.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import JSON, Caller, Tenant
from thresher.knowledge.tools.queries.versions import raise_version, visible
from thresher.knowledge.tools.trust import FREE, GONE, WAITING
from thresher.store.tables import server, tool


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A row of `server`, and what its tools amount to.

    Attributes:
        tools: How many tools it has.
        held: How many of these wait for approval.
        warned: How many of those in use the scanner says something of.
        listing: Hash of the last good listing and of all that judging it hung on; None: list it anew.
    """

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
    auto_approve: bool
    trusted: bool
    tools: int
    held: int
    warned: int = 0
    listing: bytes | None = None


async def servers(connection: AsyncConnection, caller: Caller, name: str | None = None) -> list[ServerRow]:
    """The servers that the caller may see, in the order in which they were added."""
    counted = _count(tool.c.held != GONE).label("tools"), _count(tool.c.held.in_(WAITING)).label("held")
    warned = _count((tool.c.held == FREE) & (tool.c.findings != text("'[]'::jsonb"))).label("warned")
    query = select(server, *counted, warned).where(visible(caller, server)).order_by(server.c.id)
    if name is not None:
        query = query.where(server.c.name == name)
    return [_server_row(row) for row in await connection.execute(query)]


def _count(which: Any) -> Any:
    """How many of a server's tools are of a sort."""
    ours = (tool.c.tenant_id == server.c.tenant_id) & (tool.c.server_id == server.c.id)
    return select(func.count()).select_from(tool).where(ours, which).scalar_subquery()


def _server_row(row: Any) -> ServerRow:
    return ServerRow(**{name: getattr(row, name) for name in ServerRow.__slots__})


async def put_server(connection: AsyncConnection, caller: Caller, name: str, **values: Any) -> int:
    """Insert a server of the caller's user (shared where it has none), or configure the one of that name anew.

    Args:
        connection: Inside a transaction of the tenant.
        caller: Whose server.
        name: Its name.
        values: Columns: config, sealed, description, enabled, auto_approve, trusted.

    Returns:
        Its id.
    """
    row = insert(server).values(tenant_id=caller.tenant.id, owner=caller.user, name=name, **values)
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


async def switch_server(connection: AsyncConnection, tenant: Tenant, server_id: int, **values: bool) -> None:
    """Set switches of one server (enabled, auto_approve, trusted) and count the change."""
    await set_server(connection, tenant, server_id, **values)
    await raise_version(connection, tenant)


async def mark_listed(connection: AsyncConnection, tenant: Tenant, server_id: int, digest: bytes, problem: str) -> bool:
    """Note that a server has listed once more what is stored; False when something else is stored by now.

    What snapshots show has not changed, so no change is counted.
    """
    same = server.c.tenant_id == tenant.id, server.c.id == server_id, server.c.listing == digest
    listed: dict[str, Any] = {"state": "ready", "error": problem, "listed_at": func.now()}
    found = await connection.execute(update(server).where(*same).values(**listed).returning(server.c.id))
    return found.first() is not None


async def lock_server(connection: AsyncConnection, tenant: Tenant, server_id: int) -> bool:
    """Keep other writers of this server waiting until the transaction ends; False when it is gone."""
    query = select(server.c.id).where(server.c.tenant_id == tenant.id, server.c.id == server_id).with_for_update()
    return (await connection.execute(query)).first() is not None


async def delete_server(connection: AsyncConnection, tenant: Tenant, server_id: int) -> None:
    """Remove a server with all its tools and count the change."""
    await connection.execute(delete(server).where(server.c.tenant_id == tenant.id, server.c.id == server_id))
    await raise_version(connection, tenant)


async def mark_failed(connection: AsyncConnection, tenant: Tenant, server_id: int, error: str) -> None:
    """Keep the last good list of a server that could not be listed, and say why: stale, or failed when it has none."""
    has_tools = (
        select(tool.c.id)
        .where(tool.c.tenant_id == tenant.id, tool.c.server_id == server_id, tool.c.held != GONE)
        .exists()
    )
    state = case((has_tools, "stale"), else_="failed")
    await set_server(connection, tenant, server_id, state=state, error=error)
    await raise_version(connection, tenant)
