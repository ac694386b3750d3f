"""Resources, resource templates and prompts of the last good listing of each server.

Invariant: a write replaces whole kinds of one server, and counts a change only where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import JSON, Caller, Tenant
from thresher.knowledge.tools.queries.versions import raise_version, visible
from thresher.store.tables import component


@dataclass(frozen=True, slots=True)
class ComponentRow:
    """One component as its server listed it; `key` is its address, its address template or its name."""

    id: int
    server_id: int
    kind: str
    key: str
    definition: JSON


async def components(connection: AsyncConnection, caller: Caller) -> list[ComponentRow]:
    """All that the caller may see, oldest first."""
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
    """Make a server's components what it listed, row by row, so that those that stay keep their place.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: Whose server.
        server_id: The server.
        owner: Its owner, who owns its components too.
        listed: By kind, the definitions by key; kinds that are left out stay as they are.

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
