"""Rows about packs: fitted routers, rules that a session was given, trust and thresholds.

Rules given over a connection count for that connection; those given without a known client, for all clients of the
caller and project.

Invariant: every statement runs under the tenant's policy. Every write of thresholds and trust increases the tenant's
version, so that other processes see that their copy is out of date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import FINGERPRINT, Caller, Tenant
from thresher.store import Database
from thresher.store.tables import intent_fit, intent_threshold, pack_trust

_GIVEN: Final = f"""
    select coalesce(array_agg(distinct intent), '{{}}') from rules_given
    where tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text
      and (client = %(client)s or client = '')
      and (client <> '' or project = %(project)s)
      and ((client <> '' and not starts_with(client, '{FINGERPRINT}')) or at > now() - make_interval(secs => %(life)s))
    """.encode()  # noqa: S608 - a constant of ours


async def given_rules(database: Database, caller: Caller, client: str, project: str, life: float) -> frozenset[str]:
    """Return the intents whose rules a caller was given: over its connection, or otherwise within so many seconds."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "client": client, "project": project, "life": life}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_GIVEN, values, prepare=True))
    return frozenset(rows[0][0])


KIND: Final = "intents"
"""The kind under which `collection` counts these changes."""

# A user's own threshold stands before the tenant's. One statement, so that version and values belong together.
_READ: Final = b"""
    select coalesce((select version from collection where tenant_id = %(tenant)s and kind = 'intents'), 0),
           (select coalesce(json_object_agg(intent, value), '{}') from (
              select distinct on (intent) intent, value from intent_threshold
              where tenant_id = %(tenant)s and (owner is null or owner = %(owner)s::text)
              order by intent, owner nulls last) set_by_hand),
           (select coalesce(json_object_agg(path, digest), '{}') from pack_trust
            where tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text)"""

_RAISE: Final = text("""
    insert into collection (tenant_id, kind, model, version) values (:tenant, 'intents', '', 1)
    on conflict (tenant_id, kind) do update set version = collection.version + 1""")


@dataclass(frozen=True, slots=True)
class StandingRow:
    """The thresholds and approvals that apply to a caller.

    Attributes:
        version: The tenant's number of changes.
        thresholds: By intent, those set by hand.
        trusted: By path, the digest that a person approved.
    """

    version: int
    thresholds: Mapping[str, float]
    trusted: Mapping[str, str]


async def read_standing(database: Database, caller: Caller) -> StandingRow:
    """Read thresholds and approvals, in one round trip."""
    values = {"tenant": caller.tenant.id, "owner": caller.user}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_READ, values, prepare=True))
    return StandingRow(*rows[0])


async def put_threshold(connection: AsyncConnection, caller: Caller, intent: str, value: float) -> None:
    """Set a threshold: a user's own, or the tenant's."""
    row = insert(intent_threshold).values(tenant_id=caller.tenant.id, owner=caller.user, intent=intent, value=value)
    written = row.on_conflict_do_update(
        index_elements=["tenant_id", "owner", "intent"], set_={"value": row.excluded.value, "set_at": text("now()")}
    )
    await connection.execute(written)
    await _raise_version(connection, caller)


async def delete_threshold(connection: AsyncConnection, caller: Caller, intent: str) -> bool:
    """Restore the fitted threshold; returns False if this caller had set none."""
    table = intent_threshold.c
    which = table.tenant_id == caller.tenant.id, table.owner.is_not_distinct_from(caller.user), table.intent == intent
    gone = (await connection.execute(delete(intent_threshold).where(*which))).rowcount > 0
    if gone:
        await _raise_version(connection, caller)
    return gone


async def put_trust(
    connection: AsyncConnection, caller: Caller, path: str, digest: str, texts: Mapping[str, str | None]
) -> None:
    """Record that exactly this content of a pack is approved, with the texts that it has."""
    row = insert(pack_trust).values(
        tenant_id=caller.tenant.id, owner=caller.user, path=path, digest=digest, texts=dict(texts)
    )
    written = row.on_conflict_do_update(
        index_elements=["tenant_id", "owner", "path"],
        set_={"digest": row.excluded.digest, "texts": row.excluded.texts, "trusted_at": text("now()")},
    )
    await connection.execute(written)
    await _raise_version(connection, caller)


async def trusted_texts(connection: AsyncConnection, caller: Caller, path: str) -> Mapping[str, str | None] | None:
    """Return the texts of a pack as it was approved; None if it never was, or they were not kept."""
    table = pack_trust.c
    mine = table.tenant_id == caller.tenant.id, table.owner.is_not_distinct_from(caller.user)
    return (await connection.execute(select(table.texts).where(*mine, table.path == path))).scalar()


async def delete_trust(connection: AsyncConnection, caller: Caller, paths: Sequence[str]) -> None:
    """Delete approvals."""
    table = pack_trust.c
    mine = table.tenant_id == caller.tenant.id, table.owner.is_not_distinct_from(caller.user)
    await connection.execute(delete(pack_trust).where(*mine, table.path.in_(paths)))
    await _raise_version(connection, caller)


async def _raise_version(connection: AsyncConnection, caller: Caller) -> None:
    await connection.execute(_RAISE, {"tenant": caller.tenant.id})


@dataclass(frozen=True, slots=True)
class StoredFit:
    """A fit in the database.

    Attributes:
        packed: The router.
        fit_ms: How long fitting took.
    """

    packed: bytes
    fit_ms: float


async def read_fit(connection: AsyncConnection, tenant: Tenant, digest: bytes) -> StoredFit | None:
    """Return the tenant's fit of that content; None without one."""
    columns = intent_fit.c.packed, intent_fit.c.fit_ms
    which = intent_fit.c.tenant_id == tenant.id, intent_fit.c.digest == digest
    row = (await connection.execute(select(*columns).where(*which))).first()
    return None if row is None else StoredFit(bytes(row.packed), row.fit_ms)


async def touch_fit(connection: AsyncConnection, tenant: Tenant, digest: bytes) -> bool:
    """Record that a fit is in use; returns False if the tenant has none of that content."""
    which = intent_fit.c.tenant_id == tenant.id, intent_fit.c.digest == digest
    return (await connection.execute(update(intent_fit).where(*which).values(used_at=func.now()))).rowcount > 0


async def put_fit(
    connection: AsyncConnection, tenant: Tenant, digest: bytes, model: str, hashes: Sequence[bytes], fit: StoredFit
) -> None:
    """Store a fit; it replaces one of the same content."""
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
