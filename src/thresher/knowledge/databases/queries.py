"""All SQL of the databases kind on our own store.

Invariant: every statement runs inside `Database.transaction(tenant)` or `Database.once`; the tenant in each WHERE helps
the planner, and the row-level policy separates tenants even without it. A connection is written under its owner, so
that a user's connection never replaces the tenant's or another user's; one that is being removed is hidden. A schema
is written under a lock of its connection's row with the row's new edition, so that replicas that read a schema at the
same time assign the same numbers to its tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final, cast

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.knowledge.databases.models import Connection
from thresher.store import Database, prepared, shared
from thresher.store.tables import connection, schema_snapshot

REMOVING: Final = "removing"
"""The state of a connection whose tables are being removed from the index."""

_COLUMNS: Final = """id, owner, name, dialect, location, account, sealed, samples, description, functions, configured,
    changes, state, problem, version, writable, tables, stamp, edition, schema_at, workspace, keyed"""
_NAMES: Final = tuple(name.strip() for name in _COLUMNS.split(","))
_PUBLIC: Final = tuple(one.name for one in fields(Connection) if one.name in {*_NAMES} - {"writable"})
"""Columns that are fields of the public record under the same name and with the same value."""

_HELD: Final = f"""
    select {_COLUMNS} from connection
    where tenant_id = %(tenant)s and (owner is null or owner = %(user)s::text) and state <> 'removing'
    order by name, workspace is null, owner nulls first"""  # noqa: S608 - the constant names of columns above

_LOCK: Final = "select pg_advisory_xact_lock(hashtext('thresher.connections'), %(tenant)s)"


@dataclass(frozen=True, slots=True)
class StoredConnection:
    """A stored connection with its internal fields.

    Attributes:
        connection: The public record.
        sealed: The sealed address.
        functions: User-defined functions that statements may call.
        configured: Whether it comes from a configuration file.
        changes: Incremented when the address or the rights of sessions change.
        stamp: The stamp of the schema when it was read.
        edition: The edition of the schema and its relations.
        keyed: Whether a caller with a key set its address.
    """

    connection: Connection
    sealed: bytes = field(repr=False)
    functions: tuple[str, ...]
    configured: bool
    changes: int
    stamp: str
    edition: int
    keyed: bool

    @property
    def id(self) -> int:
        """The row's id."""
        return self.connection.id


@dataclass(frozen=True, slots=True)
class ConnectionValues:
    """The values of a connection to write."""

    name: str
    dialect: str
    location: str
    account: str
    sealed: bytes = field(repr=False)
    samples: bool
    description: str
    functions: tuple[str, ...]
    configured: bool = False
    workspace: str | None = None
    keyed: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """Values by column."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**values, "functions": list(self.functions)}


async def held(database: Database, caller: Caller) -> dict[str, StoredConnection]:
    """The connections that the caller sees, by name; one round trip.

    A user's own hides the tenant's, and one that a user added hides what a workspace provides.
    """
    key = "databases", caller.tenant.id, caller.user
    statement = prepared(_HELD, tenant=caller.tenant.id, user=caller.user)
    rows = await shared(key, lambda: database.once(caller.tenant, statement))
    return {one.connection.name: one for one in map(_held, rows)}


async def held_in(link: AsyncConnection, caller: Caller) -> dict[str, StoredConnection]:
    """The same as `held`, inside a transaction."""
    rows = await link.exec_driver_sql(_HELD, {"tenant": caller.tenant.id, "user": caller.user})
    return {one.connection.name: one for one in (_held(tuple(row)) for row in rows)}


async def lock_names(link: AsyncConnection, tenant: Tenant) -> None:
    """Prevent concurrent choices of connection names in this tenant until the transaction ends."""
    await link.exec_driver_sql(_LOCK, {"tenant": tenant.id})


async def connection_by_id(link: AsyncConnection, tenant: Tenant, number: int) -> StoredConnection | None:
    """A connection of any owner; None if it was removed or is being removed."""
    query = select(*_columns()).where(_of(tenant, number), connection.c.state != REMOVING)
    row = (await link.execute(query)).first()
    return None if row is None else _held(tuple(row))


async def own_connection(link: AsyncConnection, caller: Caller, name: str) -> StoredConnection | None:
    """The caller's own connection (the tenant's if it has no user) of a name; None without one."""
    owner = connection.c.owner.is_(None) if caller.user is None else connection.c.owner == caller.user
    query = select(*_columns()).where(
        connection.c.tenant_id == caller.tenant.id, owner, connection.c.name == name, connection.c.state != REMOVING
    )
    row = (await link.execute(query)).first()
    return None if row is None else _held(tuple(row))


async def configured(link: AsyncConnection, tenant: Tenant) -> list[StoredConnection]:
    """The tenant's connections from a configuration file."""
    query = select(*_columns()).where(
        connection.c.tenant_id == tenant.id,
        connection.c.owner.is_(None),
        connection.c.configured,
        connection.c.state != REMOVING,
    )
    return [_held(tuple(row)) for row in await link.execute(query)]


async def provided(link: AsyncConnection, caller: Caller, workspace: str) -> list[StoredConnection]:
    """The caller's own connections (the tenant's if it has no user) that a workspace provides, sorted by name."""
    owner = connection.c.owner.is_(None) if caller.user is None else connection.c.owner == caller.user
    query = select(*_columns()).where(
        connection.c.tenant_id == caller.tenant.id,
        owner,
        connection.c.workspace == workspace,
        connection.c.state != REMOVING,
    )
    return [_held(tuple(row)) for row in await link.execute(query.order_by(connection.c.name))]


async def removing(link: AsyncConnection, tenant: Tenant) -> list[int]:
    """Ids of connections that are being removed."""
    query = select(connection.c.id).where(connection.c.tenant_id == tenant.id, connection.c.state == REMOVING)
    return list((await link.execute(query)).scalars())


async def add_connection(link: AsyncConnection, caller: Caller, write: ConnectionValues) -> int | None:
    """Insert a connection of the caller's user (of the tenant if it has none); None if the name is taken."""
    row = insert(connection).values(tenant_id=caller.tenant.id, owner=caller.user, **write.values)
    return (await link.execute(row.on_conflict_do_nothing().returning(connection.c.id))).scalar()


async def replace_connection(link: AsyncConnection, tenant: Tenant, number: int, write: ConnectionValues) -> None:
    """Change a connection's address or rights; its schema is read again, and its tables keep their numbers."""
    fresh: dict[str, Any] = {"state": "new", "problem": "", "stamp": "", "version": "", "writable": []}
    query = update(connection).where(_of(tenant, number))
    await link.execute(query.values(**write.values, **fresh, changes=connection.c.changes + 1))
    snapshot = (schema_snapshot.c.tenant_id == tenant.id) & (schema_snapshot.c.connection_id == number)
    await link.execute(update(schema_snapshot).where(snapshot).values(digest="", indexed=""))


async def set_connection(link: AsyncConnection, tenant: Tenant, number: int, changes: int, **values: Any) -> bool:
    """Update a connection, unless its address has changed or it is being removed; returns whether it was updated.

    Args:
        link: The transaction.
        tenant: The connection's tenant.
        number: The connection's id.
        changes: The connection's `changes` when the values were determined.
        values: Values by column.
    """
    query = update(connection).where(
        _of(tenant, number), connection.c.state != REMOVING, connection.c.changes == changes
    )
    return (await link.execute(query.values(**values).returning(connection.c.id))).first() is not None


async def begin_removal(link: AsyncConnection, tenant: Tenant, number: int) -> None:
    """Hide a connection, free its name, and delete its address."""
    gone = func.concat(connection.c.name, "\n", connection.c.id)
    values = {"state": REMOVING, "name": gone, "sealed": b"", "configured": False, "workspace": None}
    await link.execute(update(connection).where(_of(tenant, number)).values(**values))


async def delete_connection(link: AsyncConnection, tenant: Tenant, number: int) -> bool:
    """Delete a connection with its schema; returns whether it existed."""
    done = cast("CursorResult[Any]", await link.execute(delete(connection).where(_of(tenant, number))))
    return bool(done.rowcount)


def _of(tenant: Tenant, number: int) -> Any:
    return (connection.c.tenant_id == tenant.id) & (connection.c.id == number)


def _columns() -> list[Any]:
    return [connection.c[name] for name in _NAMES]


def _held(row: tuple[Any, ...]) -> StoredConnection:
    value = dict(zip(_NAMES, row, strict=True))
    known = Connection(
        **{name: value[name] for name in _PUBLIC}, user=value["account"], writable=tuple(value["writable"])
    )
    return StoredConnection(
        known,
        sealed=bytes(value["sealed"]),
        functions=tuple(value["functions"]),
        **{name: value[name] for name in ("configured", "changes", "stamp", "edition")},
        # Rows that are older than the column have an owner only if a key was used.
        keyed=known.owner is not None if value["keyed"] is None else value["keyed"],
    )


_READ: Final = b"""
    select edition, digest, document, relations, indexed from schema_snapshot
    where tenant_id = %(tenant)s and connection_id = %(id)s"""


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A stored schema.

    Attributes:
        edition: The connection's edition when it was written.
        digest: Digest of the schema.
        document: The packed schema.
        relations: The packed potential relations.
        indexed: Digest and model edition that were indexed completely.
    """

    edition: int
    digest: str
    document: bytes = field(repr=False)
    relations: bytes = field(repr=False)
    indexed: str


async def read_snapshot(database: Database, tenant: Tenant, number: int) -> StoredSchema | None:
    """The stored schema of a connection; None if it was never read. One round trip."""
    values = {"tenant": tenant.id, "id": number}
    rows = await database.once(tenant, lambda driver: driver.execute(_READ, values, prepare=True, binary=True))
    return StoredSchema(rows[0][0], rows[0][1], bytes(rows[0][2]), bytes(rows[0][3]), rows[0][4]) if rows else None


async def lock_connection(link: AsyncConnection, tenant: Tenant, number: int, changes: int) -> int | None:
    """Lock a connection; returns its edition, or None if it was removed or its address changed."""
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


async def read_snapshot_in(link: AsyncConnection, tenant: Tenant, number: int) -> StoredSchema | None:
    """The same as `read_snapshot`, inside a transaction."""
    query = select(
        schema_snapshot.c.edition,
        schema_snapshot.c.digest,
        schema_snapshot.c.document,
        schema_snapshot.c.relations,
        schema_snapshot.c.indexed,
    ).where(_snapshot_of(tenant, number))
    row = (await link.execute(query)).first()
    return None if row is None else StoredSchema(row[0], row[1], bytes(row[2]), bytes(row[3]), row[4])


async def write_snapshot(link: AsyncConnection, tenant: Tenant, number: int, stored: StoredSchema) -> None:
    """Store a schema, replacing the former one."""
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
    """Store relations unless the schema has changed since; returns whether they were stored."""
    query = update(schema_snapshot).where(_snapshot_of(tenant, number), schema_snapshot.c.digest == digest)
    found = query.values(relations=relations, edition=edition).returning(schema_snapshot.c.edition)
    return (await link.execute(found)).first() is not None


async def set_indexed(link: AsyncConnection, tenant: Tenant, number: int, digest: str, indexed: str) -> None:
    """Record that a schema was indexed completely, unless it has changed since."""
    query = update(schema_snapshot).where(_snapshot_of(tenant, number), schema_snapshot.c.digest == digest)
    await link.execute(query.values(indexed=indexed))


def _snapshot_of(tenant: Tenant, number: int) -> Any:
    return (schema_snapshot.c.tenant_id == tenant.id) & (schema_snapshot.c.connection_id == number)
