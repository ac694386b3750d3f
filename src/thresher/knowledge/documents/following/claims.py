"""Claims on sources: which daemon follows a source, until when, and for whom.

Invariant: a claim that is not renewed lapses; only its owner renews it or gives it back.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.knowledge.documents.queries import NO_TENANT, REMOVING
from thresher.store import Database
from thresher.store.tables import repository


async def source_caller(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> Caller | None:
    """The caller in whose place the source of a repository is read again; None if it is gone or being removed."""
    query = select(repository.c.owner, repository.c.keyed).where(_of(tenant, repository_id))
    row = (await connection.execute(query.where(repository.c.state != REMOVING))).first()
    return None if row is None else Caller(tenant, row.owner, keyed=row.keyed)


async def take_up_sources(database: Database, seconds: float, most: int, claimant: str) -> list[tuple[int, int]]:
    """Take up the sources that are due, of all tenants, as (tenant, repository): no other daemon does for a while."""
    async with database.transaction(NO_TENANT) as connection:
        rows = await connection.exec_driver_sql("select * from take_up_sources(%s, %s, %s)", (seconds, most, claimant))
        return [(row.tenant, row.source) for row in rows]


async def keep_source(
    connection: AsyncConnection, tenant: Tenant, repository_id: int, seconds: float, claimant: str
) -> bool:
    """Let no daemon take up a source before this many seconds from now.

    Returns:
        False if it is not followed any more, or another daemon has taken it up.
    """
    after = func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    mine = _of(tenant, repository_id) & (repository.c.claimed_by == claimant)
    followed = mine & repository.c.check_seconds.is_distinct_from(0)
    query = update(repository).where(followed, repository.c.state != REMOVING).values(check_at=after)
    return (await connection.execute(query.returning(repository.c.id))).first() is not None


def _of(tenant: Tenant, repository_id: int) -> Any:
    return (repository.c.tenant_id == tenant.id) & (repository.c.id == repository_id)
