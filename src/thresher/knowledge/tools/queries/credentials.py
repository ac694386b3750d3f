"""Sign-ins at upstream servers: the rows of `credential`.

Invariant: a row belongs to one server and one owner, a user or the tenant as a whole; nobody else's is ever read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.store.tables import credential, server

_KEY = ("tenant_id", "server_id", "owner")


async def _server_id(connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None) -> int | None:
    """The server that an owner means by a name: his own, or else the tenant's."""
    query = (
        select(server.c.id)
        .where(server.c.tenant_id == tenant.id, server.c.name == name)
        .where(server.c.owner.is_(None) | (server.c.owner == owner))
        .order_by(server.c.owner.nulls_last())
        .limit(1)
    )
    return (await connection.execute(query)).scalar()


def _row(tenant: Tenant, server_id: int | None, owner: str | None) -> Any:
    owned = credential.c.owner.is_not_distinct_from(owner)
    return (credential.c.tenant_id == tenant.id) & (credential.c.server_id == server_id) & owned


async def read_credential(connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None) -> bytes | None:
    """What is sealed for an owner, a user or None for the tenant, at the server of that name; None when nothing is."""
    server_id = await _server_id(connection, tenant, name, owner)
    return (await connection.execute(select(credential.c.sealed).where(_row(tenant, server_id, owner)))).scalar()


async def put_credential(
    connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None, sealed: bytes
) -> bool:
    """Write it, whatever was there; False when the server is gone."""
    server_id = await _server_id(connection, tenant, name, owner)
    if server_id is not None:
        row = insert(credential).values(tenant_id=tenant.id, server_id=server_id, owner=owner, sealed=sealed)
        values = {"sealed": sealed, "updated_at": func.now()}
        await connection.execute(row.on_conflict_do_update(index_elements=_KEY, set_=values))
    return server_id is not None


async def exchange_credential(
    connection: AsyncConnection,
    tenant: Tenant,
    name: str,
    owner: str | None,
    expected: Callable[[bytes | None], bool],
    sealed: bytes,
) -> bool:
    """Write it if what is there is as expected, in one step for every process.

    Args:
        connection: In a transaction, which holds the row until it ends.
        tenant: Whose.
        name: Which server's.
        owner: The user, or None for the tenant as a whole.
        expected: Judges what is there, None when nothing is.
        sealed: What to write.

    Returns:
        Whether it was written; it is not when the server is gone.
    """
    server_id = await _server_id(connection, tenant, name, owner)
    where = _row(tenant, server_id, owner)
    held = (await connection.execute(select(credential.c.sealed).where(where).with_for_update())).scalar()
    if server_id is None or not expected(held):
        return False
    if held is not None:
        await connection.execute(update(credential).where(where).values(sealed=sealed, updated_at=func.now()))
        return True
    row = insert(credential).values(tenant_id=tenant.id, server_id=server_id, owner=owner, sealed=sealed)
    written = await connection.execute(row.on_conflict_do_nothing(index_elements=_KEY).returning(credential.c.id))
    return written.scalar() is not None  # another process may have been first


async def delete_credential(connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None) -> None:
    """Remove it."""
    server_id = await _server_id(connection, tenant, name, owner)
    await connection.execute(delete(credential).where(_row(tenant, server_id, owner)))
