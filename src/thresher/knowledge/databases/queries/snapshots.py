"""Schemas as they are stored, one a connection.

Invariant: a schema is written under a lock of its connection's row, with the edition that the row then gets, so that
replicas that read a schema at the same time number its tables alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.store import Database
from thresher.store.tables import connection, schema_snapshot

_READ: Final = b"""
    select edition, digest, document, relations, indexed from schema_snapshot
    where tenant_id = %(tenant)s and connection_id = %(id)s"""


@dataclass(frozen=True, slots=True)
class Stored:
    """A schema as it is stored.

    Attributes:
        edition: The connection's, when it was written.
        digest: Of the schema.
        document: The schema, packed.
        relations: What relates in it, packed.
        indexed: What of it was put into the index wholly.
    """

    edition: int
    digest: str
    document: bytes = field(repr=False)
    relations: bytes = field(repr=False)
    indexed: str


async def read_snapshot(database: Database, tenant: Tenant, number: int) -> Stored | None:
    """The schema of a connection; one round trip. None where it was never read."""
    values = {"tenant": tenant.id, "id": number}
    rows = await database.once(tenant, lambda driver: driver.execute(_READ, values, prepare=True, binary=True))
    return Stored(rows[0][0], rows[0][1], bytes(rows[0][2]), bytes(rows[0][3]), rows[0][4]) if rows else None


async def lock_connection(link: AsyncConnection, tenant: Tenant, number: int, changes: int) -> int | None:
    """Hold a connection until the transaction ends; its edition, or None where it is gone or has another address."""
    query = (
        select(connection.c.edition)
        .where(
            connection.c.tenant_id == tenant.id,
            connection.c.id == number,
            connection.c.state != "removing",
            connection.c.changes == changes,
        )
        .with_for_update()
    )
    return (await link.execute(query)).scalar()


async def read_numbers(link: AsyncConnection, tenant: Tenant, number: int) -> Stored | None:
    """The same as `read_snapshot`, inside a transaction."""
    query = select(
        schema_snapshot.c.edition,
        schema_snapshot.c.digest,
        schema_snapshot.c.document,
        schema_snapshot.c.relations,
        schema_snapshot.c.indexed,
    ).where(_of(tenant, number))
    row = (await link.execute(query)).first()
    return None if row is None else Stored(row[0], row[1], bytes(row[2]), bytes(row[3]), row[4])


async def write_snapshot(link: AsyncConnection, tenant: Tenant, number: int, stored: Stored) -> None:
    """Store a schema in place of the one before."""
    values = {
        "edition": stored.edition,
        "digest": stored.digest,
        "document": stored.document,
        "relations": stored.relations,
        "indexed": stored.indexed,
    }
    row = insert(schema_snapshot).values(tenant_id=tenant.id, connection_id=number, **values)
    keys = [schema_snapshot.c.tenant_id, schema_snapshot.c.connection_id]
    await link.execute(row.on_conflict_do_update(index_elements=keys, set_=values))


async def write_relations(
    link: AsyncConnection, tenant: Tenant, number: int, digest: str, *, edition: int, relations: bytes
) -> bool:
    """Store what relates in a schema, where that is still the one it was found in."""
    query = update(schema_snapshot).where(_of(tenant, number), schema_snapshot.c.digest == digest)
    found = query.values(relations=relations, edition=edition).returning(schema_snapshot.c.edition)
    return (await link.execute(found)).first() is not None


async def set_indexed(link: AsyncConnection, tenant: Tenant, number: int, digest: str, indexed: str) -> None:
    """Note that a schema was put into the index wholly, where it is still the one that is stored."""
    query = update(schema_snapshot).where(_of(tenant, number), schema_snapshot.c.digest == digest)
    await link.execute(query.values(indexed=indexed))


def _of(tenant: Tenant, number: int) -> Any:
    return (schema_snapshot.c.tenant_id == tenant.id) & (schema_snapshot.c.connection_id == number)
