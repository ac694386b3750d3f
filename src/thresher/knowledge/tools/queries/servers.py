"""The SQL of servers, the sign-ins at them, the marks of what the index holds of them, and their health.

Invariant: every change of what a snapshot shows also raises the version (`raise_version`). A server is written under
its owner, so that no user's server replaces the tenant's, or another user's. A mark exists only between a finished
write of the index and the beginning of the next one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Text, bindparam, case, delete, func, select, text, true, update
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import JSON, Caller, Tenant
from thresher.knowledge.tools.queries.catalogue import raise_version, visible
from thresher.knowledge.tools.trust import FREE, GONE, WAITING
from thresher.store.tables import credential, server, tool, tool_health, tool_text


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A row of `server`, and counts of its tools.

    Attributes:
        tools: The number of its tools.
        held: How many of these wait for approval.
        warned: How many of those in use have findings of the scanner.
        listing: Hash of the last good listing and of everything that its judgement depends on; None: judge it again.
    """

    id: int
    owner: str | None
    name: str
    config: JSON
    sealed: bytes | None
    description: str
    enabled: bool
    state: str
    error: str
    listed_at: dt.datetime | None
    auto_approve: bool
    trusted: bool
    tools: int
    held: int
    warned: int = 0
    listing: bytes | None = None


async def servers(connection: AsyncConnection, caller: Caller, name: str | None = None) -> list[ServerRow]:
    """Return the servers that the caller may see, in the order in which they were added."""
    ours = (tool.c.tenant_id == server.c.tenant_id) & (tool.c.server_id == server.c.id)
    counts = {
        "tools": tool.c.held != GONE,
        "held": tool.c.held.in_(WAITING),
        "warned": (tool.c.held == FREE) & (tool.c.findings != text("'[]'::jsonb")),
    }
    each = (func.count().filter(which).label(label) for label, which in counts.items())
    counted = select(*each).select_from(tool).where(ours).lateral("counted")
    query = select(server, *counted.c).join(counted, true()).where(visible(caller, server)).order_by(server.c.id)
    if name is not None:
        query = query.where(server.c.name == name)
    return [_server_row(row) for row in await connection.execute(query)]


def _server_row(row: Any) -> ServerRow:
    return ServerRow(**{name: getattr(row, name) for name in ServerRow.__slots__})


async def put_server(connection: AsyncConnection, caller: Caller, name: str, **values: Any) -> int:
    """Insert a server of the caller's user (shared if it has none), or replace the configuration of that name.

    Args:
        connection: Inside a transaction of the tenant.
        caller: The owner.
        name: Its name.
        values: Columns: config, sealed, description, enabled, auto_approve, trusted.

    Returns:
        Its id.
    """
    row = insert(server).values(tenant_id=caller.tenant.id, owner=caller.user, name=name, **values)
    found = await connection.execute(
        row.on_conflict_do_update(index_elements=["tenant_id", "owner", "name"], set_=values).returning(server.c.id)
    )
    await raise_version(connection, caller.tenant)
    return int(found.scalar_one())


async def set_server(connection: AsyncConnection, tenant: Tenant, server_id: int, **values: Any) -> None:
    """Change columns of one server."""
    await connection.execute(
        update(server).where(server.c.tenant_id == tenant.id, server.c.id == server_id).values(**values)
    )


async def switch_server(connection: AsyncConnection, tenant: Tenant, server_id: int, **values: bool) -> None:
    """Set switches of one server (enabled, auto_approve, trusted) and count the change."""
    await set_server(connection, tenant, server_id, **values)
    await raise_version(connection, tenant)


async def mark_listed(connection: AsyncConnection, tenant: Tenant, server_id: int, digest: bytes, problem: str) -> bool:
    """Record that a server has listed again what is stored; False if something else is stored by now.

    What snapshots show has not changed, so no change is counted.
    """
    same = server.c.tenant_id == tenant.id, server.c.id == server_id, server.c.listing == digest
    listed: dict[str, Any] = {"state": "ready", "error": problem, "listed_at": func.now()}
    found = await connection.execute(update(server).where(*same).values(**listed).returning(server.c.id))
    return found.first() is not None


async def lock_server(connection: AsyncConnection, tenant: Tenant, server_id: int) -> bool:
    """Block other writers of this server until the transaction ends; False if it is gone."""
    query = select(server.c.id).where(server.c.tenant_id == tenant.id, server.c.id == server_id).with_for_update()
    return (await connection.execute(query)).first() is not None


async def delete_server(connection: AsyncConnection, tenant: Tenant, server_id: int) -> None:
    """Remove a server with all its tools and count the change; words and rewrites of its tools stay."""
    left = (
        update(tool_text)
        .where(tool_text.c.tenant_id == tenant.id, server.c.tenant_id == tenant.id, server.c.id == server_id)
        .where(tool_text.c.server == server.c.name, tool_text.c.owner.is_not_distinct_from(server.c.owner))
    )
    await connection.execute(left.values(there_at=func.now()))
    await connection.execute(delete(server).where(server.c.tenant_id == tenant.id, server.c.id == server_id))
    await raise_version(connection, tenant)


async def mark_failed(connection: AsyncConnection, tenant: Tenant, server_id: int, error: str) -> None:
    """Keep the last good list of a server that could not be listed, and record why: stale, or failed without one."""
    has_tools = (
        select(tool.c.id)
        .where(tool.c.tenant_id == tenant.id, tool.c.server_id == server_id, tool.c.held != GONE)
        .exists()
    )
    state = case((has_tools, "stale"), else_="failed")
    await set_server(connection, tenant, server_id, state=state, error=error)
    await raise_version(connection, tenant)


_MARKS = text(
    """
    SELECT s.id, s.indexed, coalesce(t.ids, '{}') AS tools,
           sha256(convert_to(:edition, 'UTF8') || convert_to(coalesce(s.owner, ''), 'UTF8')
                  || convert_to(s.description, 'UTF8') || coalesce(t.sum, '') || coalesce(x.sum, '')) AS value
    FROM server s LEFT JOIN LATERAL (
      SELECT array_agg(o.id ORDER BY o.id) AS ids,
             string_agg(int8send(o.id) || o.content_hash || o.definition_hash || convert_to(o.held, 'UTF8'), ''
                        ORDER BY o.id) AS sum
      FROM tool o
      WHERE o.tenant_id = s.tenant_id AND o.server_id = s.id AND o.enabled AND s.enabled AND o.held <> :gone) t ON true
    LEFT JOIN LATERAL (
      SELECT string_agg(int8send(o.id), '' ORDER BY o.id) AS sum
      FROM tool_text o
      WHERE o.tenant_id = s.tenant_id AND o.server = s.name AND o.owner IS NOT DISTINCT FROM s.owner) x ON true
    WHERE s.tenant_id = :tenant AND s.id = ANY (:servers)
    """
).bindparams(bindparam("servers", type_=ARRAY(BigInteger)), bindparam("edition", type_=Text))


@dataclass(frozen=True, slots=True)
class Mark:
    """A server's tools, as the index would hold them.

    Attributes:
        value: The mark.
        stands: Whether the server has it: the last finished write indexed exactly these tools.
        tools: Their ids.
    """

    value: bytes
    stands: bool
    tools: list[int]


async def marks(connection: AsyncConnection, tenant: Tenant, servers: Sequence[int], edition: str) -> dict[int, Mark]:
    """Return the marks of some servers, in a few bytes: they are read before anything is written to the index.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: The tenant of the servers.
        servers: Their ids; those that are gone are left out.
        edition: Identifies everything else that the index depends on; empty if unknown, and no mark is valid.
    """
    given = {"tenant": tenant.id, "servers": list(servers), "edition": edition, "gone": GONE}
    rows = await connection.execute(_MARKS, given)
    return {row.id: Mark(row.value, bool(edition) and row.indexed == row.value, row.tools) for row in rows}


async def mark(connection: AsyncConnection, tenant: Tenant, indexed: Mapping[int, bytes | None]) -> None:
    """Write marks, or remove them."""
    for server_id, value in indexed.items():
        which = server.c.tenant_id == tenant.id, server.c.id == server_id
        await connection.execute(update(server).where(*which).values(indexed=value))


_KEY = ("tenant_id", "server_id", "owner")


async def _server_id(connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None) -> int | None:
    """The server that an owner means by a name: the owner's, or else the tenant's."""
    query = (
        select(server.c.id)
        .where(server.c.tenant_id == tenant.id, server.c.name == name)
        .where(server.c.owner.is_(None) | (server.c.owner == owner))
        .order_by(server.c.owner.nulls_last())
        .limit(1)
    )
    return (await connection.execute(query)).scalar()


def _row(tenant: Tenant, server_id: int | None, owner: str | None) -> Any:
    owned = credential.c.owner.is_not_distinct_from(owner)
    return (credential.c.tenant_id == tenant.id) & (credential.c.server_id == server_id) & owned


async def read_credential(connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None) -> bytes | None:
    """Return the sealed sign-in of an owner (a user, or None for the tenant) at the server of that name, if any."""
    server_id = await _server_id(connection, tenant, name, owner)
    return (await connection.execute(select(credential.c.sealed).where(_row(tenant, server_id, owner)))).scalar()


async def put_credential(
    connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None, sealed: bytes
) -> bool:
    """Write it, replacing any other; False if the server is gone."""
    server_id = await _server_id(connection, tenant, name, owner)
    if server_id is not None:
        row = insert(credential).values(tenant_id=tenant.id, server_id=server_id, owner=owner, sealed=sealed)
        values = {"sealed": sealed, "updated_at": func.now()}
        await connection.execute(row.on_conflict_do_update(index_elements=_KEY, set_=values))
    return server_id is not None


async def exchange_credential(
    connection: AsyncConnection,
    tenant: Tenant,
    name: str,
    owner: str | None,
    expected: Callable[[bytes | None], bool],
    sealed: bytes,
) -> bool:
    """Write it if the stored one is as expected, atomically for all processes.

    Args:
        connection: In a transaction, which locks the row until it ends.
        tenant: The tenant.
        name: The server.
        owner: The user, or None for the tenant as a whole.
        expected: Judges what is stored, None if nothing is.
        sealed: What to write.

    Returns:
        Whether it was written; it is not if the server is gone.
    """
    server_id = await _server_id(connection, tenant, name, owner)
    where = _row(tenant, server_id, owner)
    held = (await connection.execute(select(credential.c.sealed).where(where).with_for_update())).scalar()
    if server_id is None or not expected(held):
        return False
    if held is not None:
        await connection.execute(update(credential).where(where).values(sealed=sealed, updated_at=func.now()))
        return True
    row = insert(credential).values(tenant_id=tenant.id, server_id=server_id, owner=owner, sealed=sealed)
    written = await connection.execute(row.on_conflict_do_nothing(index_elements=_KEY).returning(credential.c.id))
    return written.scalar() is not None  # another process may have been first


async def delete_credential(connection: AsyncConnection, tenant: Tenant, name: str, owner: str | None) -> None:
    """Delete it."""
    server_id = await _server_id(connection, tenant, name, owner)
    await connection.execute(delete(credential).where(_row(tenant, server_id, owner)))


@dataclass(frozen=True, slots=True)
class HealthRow:
    """A row of `tool_health`."""

    digest: bytes
    measured_at: dt.datetime
    report: JSON


async def read_health(connection: AsyncConnection, tenant: Tenant, server_id: int) -> HealthRow | None:
    """Return what is kept of the health of a server's tools."""
    columns = tool_health.c.digest, tool_health.c.measured_at, tool_health.c.report
    query = select(*columns).where(tool_health.c.tenant_id == tenant.id, tool_health.c.server_id == server_id)
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else HealthRow(*row)


_WRITE_HEALTH = text(
    """
    INSERT INTO tool_health (tenant_id, server_id, digest, measured_at, report)
    SELECT tenant_id, id, :digest, :at, :report FROM server WHERE tenant_id = :tenant AND id = :server FOR KEY SHARE
    ON CONFLICT (tenant_id, server_id) DO UPDATE
    SET digest = excluded.digest, measured_at = excluded.measured_at, report = excluded.report
    """
).bindparams(bindparam("report", type_=JSONB))


async def write_health(connection: AsyncConnection, tenant: Tenant, server_id: int, row: HealthRow) -> None:
    """Keep the health of a server's tools in place of what was kept; nothing if the server is gone."""
    values = {"tenant": tenant.id, "server": server_id, "digest": row.digest, "at": row.measured_at}
    await connection.execute(_WRITE_HEALTH, {**values, "report": row.report})
