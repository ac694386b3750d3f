"""What the search index holds of each server, in a few bytes: whether anything has to be written is asked first.

Invariant: a mark stands only between a write that was finished and the next one that begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import BigInteger, Text, bindparam, text, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.knowledge.tools.trust import GONE
from thresher.store.tables import server

_MARKS = text(
    """
    SELECT s.id, s.indexed, coalesce(t.ids, '{}') AS tools,
           sha256(convert_to(:edition, 'UTF8') || convert_to(coalesce(s.owner, ''), 'UTF8')
                  || convert_to(s.description, 'UTF8') || coalesce(t.sum, '')) AS value
    FROM server s LEFT JOIN LATERAL (
      SELECT array_agg(o.id ORDER BY o.id) AS ids,
             string_agg(int8send(o.id) || o.content_hash || o.definition_hash || convert_to(o.held, 'UTF8'), ''
                        ORDER BY o.id) AS sum
      FROM tool o
      WHERE o.tenant_id = s.tenant_id AND o.server_id = s.id AND o.enabled AND s.enabled AND o.held <> :gone) t ON true
    WHERE s.tenant_id = :tenant AND s.id = ANY (:servers)
    """
).bindparams(bindparam("servers", type_=ARRAY(BigInteger)), bindparam("edition", type_=Text))


@dataclass(frozen=True, slots=True)
class Mark:
    """A server's tools, as the index would hold them.

    Attributes:
        value: The mark.
        stands: Whether the server has it: the last finished write put these very tools into the index.
        tools: Their ids.
    """

    value: bytes
    stands: bool
    tools: list[int]


async def marks(connection: AsyncConnection, tenant: Tenant, servers: Sequence[int], edition: str) -> dict[int, Mark]:
    """The marks of some servers.

    Args:
        connection: Inside a transaction of the tenant.
        tenant: Whose servers.
        servers: Which; those that are gone are left out.
        edition: Names everything else that what is written hangs on; empty where that is not known, and none stands.
    """
    given = {"tenant": tenant.id, "servers": list(servers), "edition": edition, "gone": GONE}
    rows = await connection.execute(_MARKS, given)
    return {row.id: Mark(row.value, bool(edition) and row.indexed == row.value, row.tools) for row in rows}


async def mark(connection: AsyncConnection, tenant: Tenant, indexed: Mapping[int, bytes | None]) -> None:
    """Write marks, or take them away."""
    for server_id, value in indexed.items():
        which = server.c.tenant_id == tenant.id, server.c.id == server_id
        await connection.execute(update(server).where(*which).values(indexed=value))
