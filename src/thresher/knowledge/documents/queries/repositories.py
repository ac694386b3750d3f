"""Repositories and how far they are indexed.

Invariant: a repository is written under its owner, so that a user's repository never replaces the tenant's or another
user's; a repository that is being removed is visible to no caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.knowledge.documents.models import Origin, Repository
from thresher.knowledge.documents.summary import description_of
from thresher.store import Database
from thresher.store.tables import document, repository

REMOVING: Final = "removing"
"""The state of a repository whose documents are being taken out of the index."""

_HEADS: Final = b"""
    select id, owner, name, edition, state, documents, chunks, embedded, left(guide, 1000) from repository
    where tenant_id = %(tenant)s and (owner is null or owner = %(user)s::text) and state <> 'removing'
    order by owner nulls first, id"""

_RECOUNT: Final = b"""
    update repository r set edition = r.edition + 1, documents = c.documents, chunks = c.chunks, tokens = c.tokens
    from (select count(*) as documents, coalesce(sum(d.chunks), 0) as chunks, coalesce(sum(d.tokens), 0) as tokens
          from document d where d.tenant_id = %(tenant)s and d.repository_id = %(id)s and d.current) c
    where r.tenant_id = %(tenant)s and r.id = %(id)s"""


@dataclass(frozen=True, slots=True)
class RepositoryHead:
    """What an answer needs of a repository before it looks into it."""

    id: int
    owner: str | None
    name: str
    edition: int
    state: str
    documents: int
    chunks: int
    embedded: int
    lead: str
    """Beginning of its guide."""


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that was not read.

    Attributes:
        path: Path inside the repository.
        reason: One of the reasons of `Skipped`.
        detail: A sentence for people.
        blob: Its blob id, if its bytes were the reason; else empty.
        format: The format edition of the run that refused it.
    """

    path: str
    reason: str
    detail: str
    blob: str = ""
    format: int = 0


async def heads(database: Database, caller: Caller) -> list[RepositoryHead]:
    """The repositories that the caller may see, the tenant's before the user's own; one round trip."""
    values = {"tenant": caller.tenant.id, "user": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_HEADS, values, prepare=True))
    return [RepositoryHead(*row) for row in rows]


async def repositories(connection: AsyncConnection, caller: Caller) -> list[Repository]:
    """The repositories that the caller may see, with all their fields."""
    mine = repository.c.owner.is_(None)
    if caller.user is not None:
        mine |= repository.c.owner == caller.user
    query = (
        select(repository)
        .where(repository.c.tenant_id == caller.tenant.id, mine, repository.c.state != REMOVING)
        .order_by(repository.c.owner.nulls_first(), repository.c.name)
    )
    return [_repository(row) for row in await connection.execute(query)]


async def repository_by_id(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> Repository | None:
    """One repository of any owner; None if it is gone or being removed."""
    query = select(repository).where(_of(tenant, repository_id), repository.c.state != REMOVING)
    row = (await connection.execute(query)).first()
    return None if row is None else _repository(row)


async def removing(connection: AsyncConnection, tenant: Tenant) -> list[int]:
    """Ids of the repositories whose removal has begun."""
    query = select(repository.c.id).where(repository.c.tenant_id == tenant.id, repository.c.state == REMOVING)
    return list((await connection.execute(query)).scalars())


async def add_repository(connection: AsyncConnection, caller: Caller, name: str, origin: Origin) -> int | None:
    """Insert a repository of the caller's user (shared if there is none); None if the name is taken."""
    row = insert(repository).values(
        tenant_id=caller.tenant.id,
        owner=caller.user,
        name=name,
        **_origin(origin),
    )
    found = await connection.execute(row.on_conflict_do_nothing().returning(repository.c.id))
    return found.scalar()


async def set_repository(connection: AsyncConnection, tenant: Tenant, repository_id: int, **values: Any) -> bool:
    """Change columns of a repository that is not being removed; False if there is none."""
    query = update(repository).where(_of(tenant, repository_id), repository.c.state != REMOVING).values(**values)
    return (await connection.execute(query.returning(repository.c.id))).first() is not None


async def set_origin(connection: AsyncConnection, tenant: Tenant, repository_id: int, origin: Origin) -> None:
    """Set the origin that the next run reads."""
    await set_repository(connection, tenant, repository_id, **_origin(origin))


def _origin(origin: Origin) -> dict[str, Any]:
    return {
        "kind": origin.kind,
        "location": origin.location,
        "ref": origin.ref,
        "include": list(origin.include),
        "exclude": list(origin.exclude),
    }


async def set_refused(
    connection: AsyncConnection,
    tenant: Tenant,
    repository_id: int,
    refused: Iterable[RefusedFile],
    counts: Mapping[str, int],
) -> None:
    """Store which files were not read, and the number for each reason."""
    rows = [[one.path, one.reason, one.detail, one.blob, one.format] for one in refused]
    await set_repository(connection, tenant, repository_id, skipped=rows, skipped_counts=dict(counts))


async def refused_files(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> list[RefusedFile]:
    """Files that were not read; if there are many, the first of them."""
    rows = (await connection.execute(select(repository.c.skipped).where(_of(tenant, repository_id)))).scalar()
    return [RefusedFile(*row) for row in rows or ()]


async def acronyms(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> dict[str, str]:
    """Acronyms that the repository explains, with their long forms."""
    found = await connection.execute(select(repository.c.acronyms).where(_of(tenant, repository_id)))
    return dict(found.scalar() or {})


async def lock_repository(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> bool:
    """Lock a repository until the transaction ends; False if it is gone or being removed."""
    query = select(repository.c.id).where(_of(tenant, repository_id), repository.c.state != REMOVING)
    return (await connection.execute(query.with_for_update())).first() is not None


async def recount(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Count the current documents, and raise the edition."""
    await connection.exec_driver_sql(_RECOUNT.decode(), {"tenant": tenant.id, "id": repository_id})


async def begin_removal(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Hide the repository from now on; its name becomes free."""
    gone = func.concat(repository.c.name, "\n", repository.c.id)
    await connection.execute(
        update(repository).where(_of(tenant, repository_id)).values(state=REMOVING, name=gone, guide="")
    )


async def delete_repository(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
    """Delete a repository with all its documents."""
    await connection.execute(delete(repository).where(_of(tenant, repository_id)))


async def outlines(connection: AsyncConnection, tenant: Tenant, repository_id: int) -> list[tuple[str, str, Any]]:
    """Path, title and outline of each current document, by path."""
    query = (
        select(document.c.path, document.c.title, document.c.outline)
        .where(document.c.tenant_id == tenant.id, document.c.repository_id == repository_id, document.c.current)
        .order_by(document.c.path)
    )
    return [(row.path, row.title, row.outline) for row in await connection.execute(query)]


def _of(tenant: Tenant, repository_id: int) -> Any:
    return (repository.c.tenant_id == tenant.id) & (repository.c.id == repository_id)


def _repository(row: Any) -> Repository:
    origin = Origin(row.kind, row.location, row.ref, tuple(row.include), tuple(row.exclude))
    return Repository(
        id=row.id,
        name=row.name,
        owner=row.owner,
        origin=origin,
        version=row.version,
        guide=row.guide,
        guide_by=row.guide_by,
        documents=row.documents,
        chunks=row.chunks,
        tokens=row.tokens,
        skipped=row.skipped_counts,
        embedded=row.embedded,
        state=row.state,
        problem=row.problem,
        job=row.job,
        indexed_at=row.indexed_at,
        edition=row.edition,
        description=description_of(row.guide),
    )
