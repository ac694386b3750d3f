"""Connections: what there is, whose, and how far its schema is known.

Invariant: a connection is written under its owner, so that no user's takes the place of the tenant's, or of another
user's; one that is being removed is shown to nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.connectors import SchemaDialect
from thresher.core import Caller, Tenant
from thresher.knowledge.databases.models import Connection
from thresher.store import Database
from thresher.store.tables import connection, schema_snapshot

REMOVING: Final = "removing"
"""The state of a connection whose tables are being taken out of the index."""

_COLUMNS: Final = """id, owner, name, dialect, location, account, sealed, samples, description, functions, configured,
    changes, state, problem, version, writable, tables, stamp, edition, schema_at, workspace, keyed"""

_HELD: Final = f"""
    select {_COLUMNS} from connection
    where tenant_id = %(tenant)s and (owner is null or owner = %(user)s::text) and state <> 'removing'
    order by name, workspace is null, owner nulls first""".encode()  # noqa: S608 - names of columns, which stand above

_LOCK: Final = "select pg_advisory_xact_lock(hashtext('thresher.connections'), %(tenant)s)"


@dataclass(frozen=True, slots=True)
class Held:
    """A connection with what only this process may know of it.

    Attributes:
        connection: What everybody may know.
        sealed: Its address.
        functions: Of the database's users, that may be called.
        configured: Whether it comes from a file.
        changes: Raised whenever the address or what a session may do was changed.
        stamp: Of the schema, when it was read.
        edition: Of the schema and what relates in it.
        keyed: Whether somebody with a key gave its address.
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
        """Its row's."""
        return self.connection.id


@dataclass(frozen=True, slots=True)
class Write:
    """A connection to be written."""

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
        """Column to value."""
        return {
            "name": self.name,
            "dialect": self.dialect,
            "location": self.location,
            "account": self.account,
            "sealed": self.sealed,
            "samples": self.samples,
            "description": self.description,
            "functions": list(self.functions),
            "configured": self.configured,
            "workspace": self.workspace,
            "keyed": self.keyed,
        }


async def held(database: Database, caller: Caller) -> dict[str, Held]:
    """The connections that the caller sees, by name; one round trip.

    A user's own hides the tenant's, and one that somebody added hides what a workspace provides.
    """
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_HELD, _seen(caller), prepare=True))
    return _by_name(rows)


async def held_in(link: AsyncConnection, caller: Caller) -> dict[str, Held]:
    """The same, inside a transaction."""
    return _by_name(tuple(row) for row in await link.exec_driver_sql(_HELD.decode(), _seen(caller)))


async def lock_names(link: AsyncConnection, tenant: Tenant) -> None:
    """Keep other workspaces from choosing names of connections of this tenant until the transaction ends."""
    await link.exec_driver_sql(_LOCK, {"tenant": tenant.id})


def _seen(caller: Caller) -> dict[str, Any]:
    return {"tenant": caller.tenant.id, "user": caller.user}


def _by_name(rows: Iterable[tuple[Any, ...]]) -> dict[str, Held]:
    return {one.connection.name: one for one in map(_held, rows)}


async def connection_by_id(link: AsyncConnection, tenant: Tenant, number: int) -> Held | None:
    """One connection, whoever owns it; None where it is gone or going."""
    query = select(*_columns()).where(_of(tenant, number), connection.c.state != REMOVING)
    row = (await link.execute(query)).first()
    return None if row is None else _held(tuple(row))


async def own_connection(link: AsyncConnection, caller: Caller, name: str) -> Held | None:
    """The caller's own connection of a name (the tenant's where it has no user); None where there is none."""
    owner = connection.c.owner.is_(None) if caller.user is None else connection.c.owner == caller.user
    query = select(*_columns()).where(
        connection.c.tenant_id == caller.tenant.id, owner, connection.c.name == name, connection.c.state != REMOVING
    )
    row = (await link.execute(query)).first()
    return None if row is None else _held(tuple(row))


async def configured(link: AsyncConnection, tenant: Tenant) -> list[Held]:
    """The tenant's connections that come from a file."""
    query = select(*_columns()).where(
        connection.c.tenant_id == tenant.id,
        connection.c.owner.is_(None),
        connection.c.configured,
        connection.c.state != REMOVING,
    )
    return [_held(tuple(row)) for row in await link.execute(query)]


async def provided(link: AsyncConnection, caller: Caller, workspace: str) -> list[Held]:
    """The caller's own connections (the tenant's where it has no user) that a workspace provides, by name."""
    owner = connection.c.owner.is_(None) if caller.user is None else connection.c.owner == caller.user
    query = select(*_columns()).where(
        connection.c.tenant_id == caller.tenant.id,
        owner,
        connection.c.workspace == workspace,
        connection.c.state != REMOVING,
    )
    return [_held(tuple(row)) for row in await link.execute(query.order_by(connection.c.name))]


async def removing(link: AsyncConnection, tenant: Tenant) -> list[int]:
    """Ids of the connections whose removal was begun."""
    query = select(connection.c.id).where(connection.c.tenant_id == tenant.id, connection.c.state == REMOVING)
    return list((await link.execute(query)).scalars())


async def add_connection(link: AsyncConnection, caller: Caller, write: Write) -> int | None:
    """Insert a connection of the caller's user (shared where it has none); None where the name is taken."""
    row = insert(connection).values(tenant_id=caller.tenant.id, owner=caller.user, **write.values)
    return (await link.execute(row.on_conflict_do_nothing().returning(connection.c.id))).scalar()


async def replace_connection(link: AsyncConnection, tenant: Tenant, number: int, write: Write) -> None:
    """Give a connection another address or other rights; its schema is read anew, and keeps its tables' numbers."""
    fresh: dict[str, Any] = {"state": "new", "problem": "", "stamp": "", "version": "", "writable": []}
    query = update(connection).where(_of(tenant, number))
    await link.execute(query.values(**write.values, **fresh, changes=connection.c.changes + 1))
    snapshot = (schema_snapshot.c.tenant_id == tenant.id) & (schema_snapshot.c.connection_id == number)
    await link.execute(update(schema_snapshot).where(snapshot).values(digest="", indexed=""))


async def set_connection(link: AsyncConnection, tenant: Tenant, number: int, changes: int, **values: Any) -> bool:
    """Change columns of a connection that still has this address and is not being removed; False where there is none.

    Args:
        link: The transaction.
        tenant: Whose it is.
        number: Its id.
        changes: The connection's, when that was learned which is written.
        values: Column to value.
    """
    query = update(connection).where(
        _of(tenant, number), connection.c.state != REMOVING, connection.c.changes == changes
    )
    return (await link.execute(query.values(**values).returning(connection.c.id))).first() is not None


async def begin_removal(link: AsyncConnection, tenant: Tenant, number: int) -> None:
    """Show the connection to nobody from now on; its name is free, its address forgotten."""
    gone = func.concat(connection.c.name, "\n", connection.c.id)
    values = {"state": REMOVING, "name": gone, "sealed": b"", "configured": False, "workspace": None}
    await link.execute(update(connection).where(_of(tenant, number)).values(**values))


async def delete_connection(link: AsyncConnection, tenant: Tenant, number: int) -> bool:
    """Remove a connection with what is known of its schema; whether it was there."""
    done = cast("CursorResult[Any]", await link.execute(delete(connection).where(_of(tenant, number))))
    return bool(done.rowcount)


def _of(tenant: Tenant, number: int) -> Any:
    return (connection.c.tenant_id == tenant.id) & (connection.c.id == number)


def _columns() -> list[Any]:
    return [connection.c[name.strip()] for name in _COLUMNS.split(",")]


def _held(row: tuple[Any, ...]) -> Held:
    (
        number,
        owner,
        name,
        dialect,
        location,
        account,
        sealed,
        samples,
        description,
        functions,
        configured,
        changes,
        state,
        problem,
        version,
        writable,
        tables,
        stamp,
        edition,
        schema_at,
        workspace,
        keyed,
    ) = row
    known = Connection(
        id=number,
        name=name,
        dialect=cast("SchemaDialect", dialect),
        location=location,
        user=account,
        owner=owner,
        samples=samples,
        description=description,
        state=state,
        problem=problem,
        version=version,
        tables=tables,
        schema_at=schema_at,
        writable=tuple(writable),
        workspace=workspace,
    )
    return Held(known, bytes(sealed), tuple(functions), configured, changes, stamp, edition, _keyed(keyed, owner))


def _keyed(keyed: bool | None, owner: str | None) -> bool:
    """Of a connection that is older than the column, its owner tells: the machine's user is none."""
    return owner is not None if keyed is None else keyed
