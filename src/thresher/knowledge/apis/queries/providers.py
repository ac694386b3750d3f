"""SQL of providers and their versions.

Invariant: a provider is written under its owner, so that one user's never replaces the tenant's or another user's. A
provider that is being removed is not returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.knowledge.apis.heads import ProviderHead, VersionHead
from thresher.knowledge.apis.models import Provider, SyncCounts, Version
from thresher.openapi import Problem, SourceLocation, base_address
from thresher.store import Database
from thresher.store.tables import api_provider, api_version

_HEADS: Final = b"""
    select p.id, p.owner, p.name, p.display_name, p.aliases, p.base_url, p.active,
           v.id, v.label, v.edition, v.digest, v.operations, v.title, v.dialect, v.servers, v.source
    from api_provider p left join api_version v
      on v.tenant_id = p.tenant_id and v.provider_id = p.id and not v.removing
    where p.tenant_id = %(tenant)s and (p.owner is null or p.owner = %(user)s::text) and not p.removing
    order by p.owner nulls first, p.name, v.label desc"""

NOW: Final = func.now()
"""The time of the transaction, as a column value."""

_LOCK: Final = "select pg_advisory_xact_lock(hashtext('thresher.apis'), %(tenant)s)"


@dataclass(frozen=True, slots=True)
class SyncState:
    """A version and how far its import is.

    Attributes:
        id: Row id.
        provider: Row id of the provider.
        owner: Owner of the provider.
        name: Name of the provider.
        label: Label of the version.
        source: Path or URL.
        etag: `ETag` that the server last sent.
        modified: `Last-Modified` that the server last sent.
        digest: Digest of the bytes in use.
        wanted: Digest of newer bytes; empty if there are none.
        form: Format of the stored operations.
        indexed: What the index holds completely.
        edition: Incremented when the operations change.
        state: State of the indexing.
        keyed: Whether a caller with a key chose the source.
        check_seconds: How often it is checked for changes; None for the setting, 0 never.
    """

    id: int
    provider: int
    owner: str | None
    name: str
    label: str
    source: str
    etag: str
    modified: str
    digest: str
    wanted: str
    form: str
    indexed: str
    edition: int
    state: str
    keyed: bool
    check_seconds: int | None


async def heads(database: Database, caller: Caller) -> tuple[ProviderHead, ...]:
    """Return the providers that the caller sees, by name; a user's own hides the tenant's. One round trip."""
    values = {"tenant": caller.tenant.id, "user": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_HEADS, values, prepare=True))
    versions: dict[int, list[VersionHead]] = {}
    for row in rows:
        if row[7] is not None:
            number, label, edition, digest, operations, title, dialect, servers, source = row[7:]
            head = VersionHead(number, label, edition, digest, operations, title, dialect, tuple(servers), source)
            versions.setdefault(row[0], []).append(head)
    found = {row[2]: row for row in rows}
    return tuple(
        ProviderHead(row[0], row[1], name, row[3], tuple(row[4]), row[5], row[6], tuple(versions.get(row[0], ())))
        for name, row in sorted(found.items())
    )


async def lock_names(connection: AsyncConnection, tenant: Tenant) -> None:
    """Keep others from naming providers of this tenant until the transaction ends."""
    await connection.exec_driver_sql(_LOCK, {"tenant": tenant.id})


async def providers(connection: AsyncConnection, caller: Caller) -> list[Provider]:
    """Return the providers that the caller sees with all their fields, the tenant's first."""
    query = (
        select(api_provider)
        .where(api_provider.c.tenant_id == caller.tenant.id, _seen(caller), ~api_provider.c.removing)
        .order_by(api_provider.c.owner.nulls_first(), api_provider.c.name)
    )
    rows = (await connection.execute(query)).all()
    versions = await _versions(connection, caller.tenant, [row.id for row in rows])
    return [_provider(row, tuple(versions.get(row.id, ()))) for row in rows]


async def _versions(connection: AsyncConnection, tenant: Tenant, ids: list[int]) -> dict[int, list[Version]]:
    query = (
        select(api_version)
        .where(api_version.c.tenant_id == tenant.id, api_version.c.provider_id.in_(ids), ~api_version.c.removing)
        .order_by(api_version.c.label)
    )
    found: dict[int, list[Version]] = {}
    for row in await connection.execute(query):
        found.setdefault(row.provider_id, []).append(_version(row))
    return found


async def add_provider(connection: AsyncConnection, caller: Caller, values: Mapping[str, Any]) -> int:
    """Insert a provider of the caller's user, or a shared one if it has none; the name must be free."""
    row = insert(api_provider).values(tenant_id=caller.tenant.id, owner=caller.user, **values)
    return (await connection.execute(row.returning(api_provider.c.id))).scalar_one()


async def set_provider(connection: AsyncConnection, tenant: Tenant, provider: int, **values: Any) -> bool:
    """Update a provider that is not being removed; return False if there is none."""
    query = update(api_provider).where(_of(api_provider, tenant, provider), ~api_provider.c.removing)
    return (await connection.execute(query.values(**values).returning(api_provider.c.id))).first() is not None


async def put_version(connection: AsyncConnection, caller: Caller, provider: int, label: str, *, source: str) -> int:
    """Insert a version of a provider, or update the one with this label; return its id."""
    values = {"source": source, "keyed": caller.keyed}
    row = insert(api_version).values(tenant_id=caller.tenant.id, provider_id=provider, label=label, **values)
    keys = [api_version.c.tenant_id, api_version.c.provider_id, api_version.c.label]
    written = row.on_conflict_do_update(index_elements=keys, set_=values)
    return (await connection.execute(written.returning(api_version.c.id))).scalar_one()


async def set_version(connection: AsyncConnection, tenant: Tenant, version: int, **values: Any) -> bool:
    """Update a version that is not being removed; return False if there is none."""
    query = update(api_version).where(_of(api_version, tenant, version), ~api_version.c.removing)
    return (await connection.execute(query.values(**values).returning(api_version.c.id))).first() is not None


async def set_schedule(connection: AsyncConnection, tenant: Tenant, provider: int, seconds: int | None) -> None:
    """Set how often the sources of a provider are checked; the first time is now."""
    await set_provider(connection, tenant, provider, check_seconds=seconds)
    mine = (api_version.c.tenant_id == tenant.id) & (api_version.c.provider_id == provider)
    await connection.execute(update(api_version).where(mine).values(check_at=func.now()))


async def sync_states(
    connection: AsyncConnection, tenant: Tenant, *, version: int = 0, provider: int = 0, lock: bool = False
) -> list[SyncState]:
    """Return a version, or all of a provider, except those being removed.

    Args:
        connection: The transaction.
        tenant: The owner of the version.
        version: Row id of the version, or 0.
        provider: Row id of the provider, or 0.
        lock: Whether other writers wait until the transaction ends.
    """
    v, p = api_version, api_provider
    query = (
        select(
            *(v.c.id, v.c.provider_id, p.c.owner, p.c.name, v.c.label, v.c.source, v.c.etag, v.c.modified),
            *(v.c.digest, v.c.wanted, v.c.form, v.c.indexed, v.c.edition, v.c.state, v.c.keyed),
            p.c.check_seconds,
        )
        .join(p, (p.c.tenant_id == v.c.tenant_id) & (p.c.id == v.c.provider_id))
        .where(v.c.tenant_id == tenant.id, ~v.c.removing, ~p.c.removing)
        .order_by(v.c.label)
    )
    query = query.where(v.c.id == version) if version else query.where(v.c.provider_id == provider)
    if lock:
        query = query.with_for_update(of=v)
    return [SyncState(*row) for row in await connection.execute(query)]


async def begin_removal(connection: AsyncConnection, tenant: Tenant, provider: int) -> None:
    """Hide a provider and free its name."""
    gone = func.concat(api_provider.c.name, "\n", api_provider.c.id)
    query = update(api_provider).where(_of(api_provider, tenant, provider))
    await connection.execute(query.values(removing=True, name=gone, aliases=[]))


async def begin_version_removal(connection: AsyncConnection, tenant: Tenant, version: int) -> None:
    """Hide a version and free its label."""
    gone = func.concat(api_version.c.label, "\n", api_version.c.id)
    query = update(api_version).where(_of(api_version, tenant, version))
    await connection.execute(query.values(removing=True, label=gone))


async def removing(connection: AsyncConnection, tenant: Tenant) -> list[int]:
    """Return the ids of versions that are being removed, themselves or with their provider."""
    v, p = api_version, api_provider
    query = (
        select(v.c.id)
        .join(p, (p.c.tenant_id == v.c.tenant_id) & (p.c.id == v.c.provider_id))
        .where(v.c.tenant_id == tenant.id, v.c.removing | p.c.removing)
    )
    return list((await connection.execute(query)).scalars())


async def delete_version(connection: AsyncConnection, tenant: Tenant, version: int) -> None:
    """Delete a version with its document and operations."""
    await connection.execute(delete(api_version).where(_of(api_version, tenant, version)))


async def delete_providers(connection: AsyncConnection, tenant: Tenant) -> None:
    """Delete the providers that are being removed and have no versions left."""
    versions = select(api_version.c.id).where(
        api_version.c.tenant_id == tenant.id, api_version.c.provider_id == api_provider.c.id
    )
    query = delete(api_provider).where(
        api_provider.c.tenant_id == tenant.id, api_provider.c.removing, ~versions.exists()
    )
    await connection.execute(query)


def _seen(caller: Caller) -> Any:
    mine = api_provider.c.owner.is_(None)
    return mine if caller.user is None else mine | (api_provider.c.owner == caller.user)


def _of(table: Any, tenant: Tenant, number: int) -> Any:
    return (table.c.tenant_id == tenant.id) & (table.c.id == number)


def _provider(row: Any, versions: tuple[Version, ...]) -> Provider:
    versions = tuple(replace(one, base_url=base_address(one.servers, row.base_url, one.source)) for one in versions)
    return Provider(
        id=row.id,
        name=row.name,
        display_name=row.display_name,
        aliases=tuple(row.aliases),
        base_url=row.base_url,
        active=row.active,
        owner=row.owner,
        check_seconds=row.check_seconds,
        versions=versions,
        operations=sum(one.operations for one in versions),
    )


def _version(row: Any) -> Version:
    return Version(
        label=row.label,
        source=row.source,
        dialect=row.dialect,
        declared=row.declared,
        operations=row.operations,
        digest=row.digest,
        synced_at=row.synced_at,
        problems=tuple(Problem(code, message, SourceLocation(*place)) for code, message, *place in row.problems),
        problem_count=row.problem_count,
        state=row.state,
        failure=row.failure,
        job=row.job,
        counts=SyncCounts(**row.counts),
        title=row.title,
        servers=tuple(row.servers),
        id=row.id,
    )
