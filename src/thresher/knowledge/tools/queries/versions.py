"""The catalogue's change count, by which snapshots know that they are old."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.store.tables import collection

_CATALOGUE = "catalogue"
"""The kind under which `collection` counts the changes of the catalogue itself."""


def visible(caller: Caller, table: Any) -> Any:
    """The condition for rows that the caller may see: its tenant's shared ones, and its own."""
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
