"""SQL of hosts and credentials: what calls of a provider may reach, and how they prove who they are.

Invariant: a row is written and removed under the caller's own name; the tenant's rows are read by every user.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller
from thresher.knowledge.apis.calls.models import ApiCredential, ApiHost, SealedCredential
from thresher.knowledge.apis.heads import ProviderHead
from thresher.store.tables import api_credential, api_host, api_version


async def hosts(connection: AsyncConnection, caller: Caller, provider: ProviderHead) -> tuple[ApiHost, ...]:
    """Return the hosts that the caller's calls of a provider may reach, the tenant's first."""
    table = api_host.c
    query = (
        select(table.origin, table.private, table.owner)
        .where(table.tenant_id == caller.tenant.id, table.provider_id == provider.id)
        .where(table.owner.is_(None) | (table.owner == caller.user))
        .order_by(table.owner.nulls_first(), table.origin)
    )
    rows = (await connection.execute(query)).all()
    return tuple(ApiHost(provider.name, row.origin, row.private, row.owner) for row in rows)


async def put_host(
    connection: AsyncConnection, caller: Caller, provider: ProviderHead, origin: str, *, private: bool
) -> None:
    """Allow a host for the caller."""
    row = {"tenant_id": caller.tenant.id, "provider_id": provider.id, "owner": caller.user, "origin": origin}
    write = insert(api_host).values(**row, private=private)
    await connection.execute(
        write.on_conflict_do_update(
            index_elements=["tenant_id", "provider_id", "owner", "origin"], set_={"private": private}
        )
    )


async def delete_host(connection: AsyncConnection, caller: Caller, provider: ProviderHead, origin: str) -> bool:
    """Disallow a host for the caller; return whether it was allowed."""
    table = api_host.c
    statement = delete(api_host).where(
        table.tenant_id == caller.tenant.id,
        table.provider_id == provider.id,
        table.owner.is_not_distinct_from(caller.user),
        table.origin == origin,
    )
    return (await connection.execute(statement)).rowcount > 0


async def credentials(
    connection: AsyncConnection, caller: Caller, provider: ProviderHead
) -> tuple[SealedCredential, ...]:
    """Return the credentials of the caller's calls of a provider, the tenant's first."""
    table = api_credential.c
    query = (
        select(table.id, table.scheme, table.about, table.sealed, table.owner, table.updated_at)
        .where(table.tenant_id == caller.tenant.id, table.provider_id == provider.id)
        .where(table.owner.is_(None) | (table.owner == caller.user))
        .order_by(table.owner.nulls_first(), table.scheme)
    )
    rows = (await connection.execute(query)).all()
    return tuple(
        SealedCredential(row.id, _about(provider.name, row.scheme, row.about, row.owner, row.updated_at), row.sealed)
        for row in rows
    )


def _about(provider: str, scheme: str, about: dict[str, Any], owner: str | None, updated_at: Any) -> ApiCredential:
    fields: dict[str, Any] = {**about, "scopes": tuple(about["scopes"])}
    return ApiCredential(provider, scheme, **fields, owner=owner, updated_at=updated_at)


async def put_credential(
    connection: AsyncConnection, caller: Caller, provider: ProviderHead, credential: ApiCredential, sealed: bytes
) -> None:
    """Store a credential for the caller."""
    about = {
        "type": credential.type,
        "place": credential.place,
        "name": credential.name,
        "token_url": credential.token_url,
        "scopes": list(credential.scopes),
    }
    row = {"tenant_id": caller.tenant.id, "provider_id": provider.id, "owner": caller.user, "scheme": credential.scheme}
    new = {"about": about, "sealed": sealed, "updated_at": func.now()}
    write = insert(api_credential).values(**row, **new)
    await connection.execute(
        write.on_conflict_do_update(index_elements=["tenant_id", "provider_id", "owner", "scheme"], set_=new)
    )


async def delete_credentials(
    connection: AsyncConnection, caller: Caller, provider: ProviderHead, scheme: str | None
) -> int:
    """Remove the caller's credential of a scheme, or all of them; return how many there were."""
    table = api_credential.c
    statement = delete(api_credential).where(
        table.tenant_id == caller.tenant.id,
        table.provider_id == provider.id,
        table.owner.is_not_distinct_from(caller.user),
        *(() if scheme is None else (table.scheme == scheme,)),
    )
    return (await connection.execute(statement)).rowcount


async def source_of(connection: AsyncConnection, caller: Caller, version: int) -> str:
    """Return where a description was read; empty if it is gone."""
    table = api_version.c
    query = select(table.source).where(table.tenant_id == caller.tenant.id, table.id == version)
    return (await connection.execute(query)).scalar_one_or_none() or ""
