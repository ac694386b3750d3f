"""Fitted routers by content.

Invariant: two processes that fit the same write the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.store.tables import intent_fit


@dataclass(frozen=True, slots=True)
class StoredFit:
    """A fit as it lies in the database.

    Attributes:
        packed: The router.
        fit_ms: How long fitting took.
    """

    packed: bytes
    fit_ms: float


async def read_fit(connection: AsyncConnection, tenant: Tenant, digest: bytes) -> StoredFit | None:
    """The tenant's fit of that content; None when it has none."""
    columns = intent_fit.c.packed, intent_fit.c.fit_ms
    which = intent_fit.c.tenant_id == tenant.id, intent_fit.c.digest == digest
    row = (await connection.execute(select(*columns).where(*which))).first()
    return None if row is None else StoredFit(bytes(row.packed), row.fit_ms)


async def touch_fit(connection: AsyncConnection, tenant: Tenant, digest: bytes) -> bool:
    """Note that a fit is in use; False when the tenant has none of that content."""
    which = intent_fit.c.tenant_id == tenant.id, intent_fit.c.digest == digest
    return (await connection.execute(update(intent_fit).where(*which).values(used_at=func.now()))).rowcount > 0


async def put_fit(
    connection: AsyncConnection, tenant: Tenant, digest: bytes, model: str, hashes: Sequence[bytes], fit: StoredFit
) -> None:
    """Keep a fit, in the place of one of the same content."""
    row = insert(intent_fit).values(
        tenant_id=tenant.id,
        digest=digest,
        model=model,
        packed=fit.packed,
        hashes=list(hashes),
        fit_ms=fit.fit_ms,
    )
    fresh = {"packed": row.excluded.packed, "hashes": row.excluded.hashes, "used_at": func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=["tenant_id", "digest"], set_=fresh))
