"""What people have decided: thresholds by hand and trusted packs, and the count of such changes.

Invariant: every write raises the tenant's count, so that what other processes have read shows its age.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller
from thresher.store import Database
from thresher.store.tables import intent_threshold, pack_trust

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
    """What holds for a caller now.

    Attributes:
        version: The tenant's count of changes.
        thresholds: By intent, those set by hand.
        trusted: By path, the digest that a person approved.
    """

    version: int
    thresholds: Mapping[str, float]
    trusted: Mapping[str, str]


async def read_standing(database: Database, caller: Caller) -> StandingRow:
    """Read it, in one round trip."""
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
    """Let the fitted threshold hold again; False when none was set by this caller."""
    table = intent_threshold.c
    which = table.tenant_id == caller.tenant.id, table.owner.is_not_distinct_from(caller.user), table.intent == intent
    gone = (await connection.execute(delete(intent_threshold).where(*which))).rowcount > 0
    if gone:
        await _raise_version(connection, caller)
    return gone


async def put_trust(connection: AsyncConnection, caller: Caller, path: str, digest: str) -> None:
    """Record that exactly this content of a pack is approved."""
    row = insert(pack_trust).values(tenant_id=caller.tenant.id, owner=caller.user, path=path, digest=digest)
    written = row.on_conflict_do_update(
        index_elements=["tenant_id", "owner", "path"],
        set_={"digest": row.excluded.digest, "trusted_at": text("now()")},
    )
    await connection.execute(written)
    await _raise_version(connection, caller)


async def delete_trust(connection: AsyncConnection, caller: Caller, paths: Sequence[str]) -> None:
    """Take approvals back."""
    table = pack_trust.c
    mine = table.tenant_id == caller.tenant.id, table.owner.is_not_distinct_from(caller.user)
    await connection.execute(delete(pack_trust).where(*mine, table.path.in_(paths)))
    await _raise_version(connection, caller)


async def _raise_version(connection: AsyncConnection, caller: Caller) -> None:
    await connection.execute(_RAISE, {"tenant": caller.tenant.id})
