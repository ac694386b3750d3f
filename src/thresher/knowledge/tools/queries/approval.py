"""Definitions that wait for a person.

Invariant: what is approved or rejected is the very definition whose hash was given; if another has come meanwhile,
nothing is changed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import JSON, Caller, Tenant, Tool
from thresher.knowledge.tools.queries.catalogue import DEFINITION, any_of, definition_of
from thresher.knowledge.tools.queries.listing import ToolWrite, put_tools
from thresher.knowledge.tools.queries.servers import lock_server, set_server
from thresher.knowledge.tools.queries.versions import raise_version, visible
from thresher.knowledge.tools.trust import FREE, REJECTED, WAITING, Verdict
from thresher.store.tables import server, tool


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A tool that waits: the stored definition, the pending one, and what the scanner says of the latter."""

    id: int
    server_id: int
    stored: Tool
    held: str
    pending: JSON
    findings: tuple[JSON, ...]
    since: dt.datetime


async def held_tools(connection: AsyncConnection, caller: Caller, ids: Iterable[int] | None = None) -> list[HeldRow]:
    """The tools of the caller that wait, oldest first."""
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
    """Put a pending definition into use; False when another one is pending by now, or none."""
    if not await lock_server(connection, tenant, held.server_id):
        return False
    approved = update(tool).where(*_still(tenant, held)).values(approved_hash=write.definition_hash)
    if (await connection.execute(approved.returning(tool.c.id))).first() is None:
        return False
    await put_tools(connection, tenant, held.server_id, [(write, Verdict(FREE, stored=True))])
    await _decided(connection, tenant, held)
    return True


async def reject(connection: AsyncConnection, tenant: Tenant, held: HeldRow) -> bool:
    """Keep a tool held, and ask no more about this definition; False when another one is pending by now, or none."""
    if not await lock_server(connection, tenant, held.server_id):
        return False
    rejected = update(tool).where(*_still(tenant, held)).values(held=REJECTED, updated_at=func.now())
    if (await connection.execute(rejected.returning(tool.c.id))).first() is None:
        return False
    await _decided(connection, tenant, held)
    return True


async def _decided(connection: AsyncConnection, tenant: Tenant, held: HeldRow) -> None:
    """Count the change; the server's next listing is judged anew."""
    await set_server(connection, tenant, held.server_id, listing=None)
    await raise_version(connection, tenant)


def _still(tenant: Tenant, held: HeldRow) -> tuple[Any, ...]:
    """The condition that the tool still waits with the definition that was shown."""
    same = tool.c.pending.op("->>")("hash") == held.pending["hash"]
    return tool.c.tenant_id == tenant.id, tool.c.id == held.id, tool.c.held.in_(WAITING), same
