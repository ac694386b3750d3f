"""The SQL of definitions that wait for approval, and of consents to tools that claim to only read.

Invariant: exactly the definition whose hash was given is approved or rejected; if another one has arrived, nothing is
changed. A consent to another definition than the one in use does not count.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, LargeBinary, Text, bindparam, func, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import JSON, Caller, Tenant, Tool
from thresher.knowledge.tools.queries.catalogue import DEFINITION, any_of, definition_of, raise_version, visible
from thresher.knowledge.tools.queries.listing import ToolWrite, put_tools
from thresher.knowledge.tools.queries.servers import lock_server, set_server
from thresher.knowledge.tools.trust import FREE, REJECTED, WAITING, TrustVerdict
from thresher.store.tables import server, tool


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A tool that waits: the stored definition, the pending one, and the scanner's findings on the latter."""

    id: int
    server_id: int
    stored: Tool
    held: str
    pending: JSON
    findings: tuple[JSON, ...]
    since: dt.datetime


async def held_tools(connection: AsyncConnection, caller: Caller, ids: Iterable[int] | None = None) -> list[HeldRow]:
    """Return the caller's tools that wait, oldest first."""
    query = (
        select(*DEFINITION, server.c.name.label("server"), tool.c.held, tool.c.pending, _SINCE)
        .join(server, (server.c.tenant_id == tool.c.tenant_id) & (server.c.id == tool.c.server_id))
        .where(visible(caller, tool), tool.c.held.in_(WAITING), tool.c.pending.is_not(None))
        .order_by(tool.c.id)
    )
    if ids is not None:
        query = query.where(tool.c.id == any_of(ids))
    return [
        HeldRow(
            row.id,
            row.server_id,
            definition_of(row, row.server),
            row.held,
            row.pending,
            tuple(row.findings),
            row.since,
        )
        for row in await connection.execute(query)
    ]


_SINCE = tool.c.updated_at.label("since")


async def approve(connection: AsyncConnection, tenant: Tenant, held: HeldRow, write: ToolWrite) -> bool:
    """Put a pending definition into use; False if another one, or none, is pending now."""
    if not await lock_server(connection, tenant, held.server_id):
        return False
    approved = update(tool).where(*_still(tenant, held)).values(approved_hash=write.definition_hash)
    if (await connection.execute(approved.returning(tool.c.id))).first() is None:
        return False
    await put_tools(connection, tenant, held.server_id, [(write, TrustVerdict(FREE, stored=True))])
    await _decided(connection, tenant, held)
    return True


async def reject(connection: AsyncConnection, tenant: Tenant, held: HeldRow) -> bool:
    """Keep a tool held and do not ask about this definition again; False if another one, or none, is pending now."""
    if not await lock_server(connection, tenant, held.server_id):
        return False
    rejected = update(tool).where(*_still(tenant, held)).values(held=REJECTED, updated_at=func.now())
    if (await connection.execute(rejected.returning(tool.c.id))).first() is None:
        return False
    await _decided(connection, tenant, held)
    return True


async def _decided(connection: AsyncConnection, tenant: Tenant, held: HeldRow) -> None:
    """Count the change; the server's next listing is judged again."""
    await set_server(connection, tenant, held.server_id, listing=None)
    await raise_version(connection, tenant)


def _still(tenant: Tenant, held: HeldRow) -> tuple[Any, ...]:
    """The condition that the tool still waits with the definition that was shown."""
    same = tool.c.pending.op("->>")("hash") == held.pending["hash"]
    return tool.c.tenant_id == tenant.id, tool.c.id == held.id, tool.c.held.in_(WAITING), same


_MINE = "c.tenant_id = :tenant AND c.owner IS NOT DISTINCT FROM CAST(:owner AS text)"
_CLAIMS = text(
    f"""
    SELECT t.id, t.definition_hash, c.id IS NOT NULL AS agreed
    FROM tool t LEFT JOIN consent c ON c.tool_id = t.id AND c.definition_hash = t.definition_hash AND {_MINE}
    WHERE t.tenant_id = :tenant AND t.id = ANY (:tools) AND CAST(t.annotations -> 'readOnlyHint' AS text) = 'true'
    """  # noqa: S608 - our own words
).bindparams(bindparam("tools", type_=ARRAY(BigInteger)), bindparam("owner", type_=Text))
_PUT = text(
    """
    INSERT INTO consent (tenant_id, owner, tool_id, definition_hash)
    SELECT t.tenant_id, :owner, t.id, t.definition_hash FROM tool t
    WHERE t.tenant_id = :tenant AND t.id = :tool AND t.definition_hash = :digest
    ON CONFLICT (tenant_id, owner, tool_id) DO UPDATE
    SET definition_hash = excluded.definition_hash, created_at = now()
    RETURNING id
    """
).bindparams(bindparam("owner", type_=Text), bindparam("digest", type_=LargeBinary))
_LIST = text(
    f"""
    SELECT c.tool_id, c.definition_hash, c.created_at, c.definition_hash = t.definition_hash AS holds
    FROM consent c JOIN tool t ON t.tenant_id = c.tenant_id AND t.id = c.tool_id WHERE {_MINE} ORDER BY c.created_at
    """  # noqa: S608 - as above
).bindparams(bindparam("owner", type_=Text))
_DELETE = text(f"DELETE FROM consent c WHERE {_MINE} AND c.tool_id = :tool RETURNING c.id").bindparams(  # noqa: S608 - as above
    bindparam("owner", type_=Text)
)
_END = text(
    """
    DELETE FROM consent c USING tool t
    WHERE c.tenant_id = :tenant AND t.tenant_id = c.tenant_id AND t.id = c.tool_id AND t.server_id = :server
    """
)


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A tool that claims to only read: the hash of its definition, and whether the caller has agreed to it."""

    id: int
    definition_hash: bytes
    agreed: bool


@dataclass(frozen=True, slots=True)
class ConsentRow:
    """A remembered consent. `holds`: whether the tool still has the definition that it was given for."""

    tool_id: int
    definition_hash: bytes
    created_at: dt.datetime
    holds: bool


async def claims(connection: AsyncConnection, caller: Caller, tools: Iterable[int]) -> list[ClaimRow]:
    """Return those of some tools that claim to only read."""
    rows = await connection.execute(_CLAIMS, _of(caller) | {"tools": list(tools)})
    return [ClaimRow(row.id, row.definition_hash, row.agreed) for row in rows]


async def put_consent(connection: AsyncConnection, caller: Caller, tool: int, digest: bytes) -> bool:
    """Store a consent; False if the tool has another definition by now."""
    given = _of(caller) | {"tool": tool, "digest": digest}
    return (await connection.execute(_PUT, given)).first() is not None


async def consents(connection: AsyncConnection, caller: Caller) -> list[ConsentRow]:
    """Return the caller's consents, oldest first."""
    rows = await connection.execute(_LIST, _of(caller))
    return [ConsentRow(row.tool_id, row.definition_hash, row.created_at, row.holds) for row in rows]


async def delete_consent(connection: AsyncConnection, caller: Caller, tool: int) -> bool:
    """Delete a consent; False if there is none."""
    return (await connection.execute(_DELETE, _of(caller) | {"tool": tool})).first() is not None


async def end_consents(connection: AsyncConnection, tenant: Tenant, server: int) -> None:
    """Delete all users' consents to the tools of a server."""
    await connection.execute(_END, {"tenant": tenant.id, "server": server})


def _of(caller: Caller) -> dict[str, object]:
    return {"tenant": caller.tenant.id, "owner": caller.user}
