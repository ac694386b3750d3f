"""The SQL of consents: a person's remembered yes to calls of one tool, for exactly one definition of it.

Invariant: a yes to another definition than the one in use is as if it were not there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import BigInteger, LargeBinary, Text, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant

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
    """A tool that claims to only read: the hash of its definition, and whether the caller's yes holds for it."""

    id: int
    definition_hash: bytes
    agreed: bool


@dataclass(frozen=True, slots=True)
class ConsentRow:
    """A remembered yes. `holds`: the tool still has the definition that it was given for."""

    tool_id: int
    definition_hash: bytes
    created_at: dt.datetime
    holds: bool


async def claims(connection: AsyncConnection, caller: Caller, tools: Iterable[int]) -> list[ClaimRow]:
    """Those of some tools that claim to only read."""
    rows = await connection.execute(_CLAIMS, _of(caller) | {"tools": list(tools)})
    return [ClaimRow(row.id, row.definition_hash, row.agreed) for row in rows]


async def put_consent(connection: AsyncConnection, caller: Caller, tool: int, digest: bytes) -> bool:
    """Remember a yes; False when the tool has another definition by now."""
    given = _of(caller) | {"tool": tool, "digest": digest}
    return (await connection.execute(_PUT, given)).first() is not None


async def consents(connection: AsyncConnection, caller: Caller) -> list[ConsentRow]:
    """What the caller has agreed to, oldest first."""
    rows = await connection.execute(_LIST, _of(caller))
    return [ConsentRow(row.tool_id, row.definition_hash, row.created_at, row.holds) for row in rows]


async def delete_consent(connection: AsyncConnection, caller: Caller, tool: int) -> bool:
    """Forget a yes; False when there is none."""
    return (await connection.execute(_DELETE, _of(caller) | {"tool": tool})).first() is not None


async def end_consents(connection: AsyncConnection, tenant: Tenant, server: int) -> None:
    """Forget everybody's yes to the tools of a server."""
    await connection.execute(_END, {"tenant": tenant.id, "server": server})


def _of(caller: Caller) -> dict[str, object]:
    return {"tenant": caller.tenant.id, "owner": caller.user}
