"""The SQL of uses and of what is trained on them: reading and removing, and whether uses rank tools.

Invariant: every change of a tenant's uses, or of what was decided about them, raises the tenant's version in
`tool_learning` in the same transaction. A caller that is one user reads and removes only that user's rows.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.knowledge.tools.models import Use
from thresher.search import Adapter


@dataclass(frozen=True, slots=True)
class LearningRow:
    """A row of `tool_learning`."""

    version: int = 0
    removals: int = 0
    mode: str | None = None
    decided_by: str = ""
    decided_at: dt.datetime | None = None


_COLUMNS: Final = ", ".join(Use.__slots__)
_OWNED: Final = "tenant_id = :tenant and (cast(:owner as text) is null or owner = :owner)"
_LEARNING: Final = text(
    "select version, removals, mode, decided_by, decided_at from tool_learning where tenant_id = :tenant"
)
_UNUSED: Final = {"trace_id": "''", "offered": "'{}'", "standings": "'{}'", "message": "null"}
"""Columns that say nothing about the ranking, and what stands in their place."""
_USES: Final = """
    select id, {columns}
    from (select *, row_number() over (partition by voter order by id desc) as newer
          from tool_use where {owned} and id > :after) numbered
    where newer <= :each order by id desc limit :most
"""
_WHOLE_USES: Final = text(_USES.format(columns=_COLUMNS, owned=_OWNED))
_RANKING_USES: Final = text(
    _USES.format(columns=", ".join(_UNUSED.get(name, name) for name in Use.__slots__), owned=_OWNED)
)
_IDS: Final = text(f"""
    select distinct tool_id from invocation where {_OWNED} and name = :name and tool_id is not null
""")  # noqa: S608 - all values are bound
_FORGET: Final = text(f"""
    delete from tool_use
    where {_OWNED} and (cast(:tool as bigint) is null or tool_id = :tool)
""")  # noqa: S608 - all values are bound
_FORGET_AGAINST: Final = text(f"""
    update tool_use set passed = array_remove(passed, :tool), failed = array_remove(failed, :tool)
    where {_OWNED} and (:tool = any(passed) or :tool = any(failed))
""")  # noqa: S608 - all values are bound
_REMOVED: Final = text("""
    insert into tool_learning (tenant_id, version, removals) values (:tenant, 1, 1)
    on conflict (tenant_id) do update
    set version = tool_learning.version + 1, removals = tool_learning.removals + 1
""")
_CHANGED: Final = text("""
    insert into tool_learning (tenant_id, version) values (:tenant, 1)
    on conflict (tenant_id) do update set version = tool_learning.version + 1 returning removals
""")
_DECIDE: Final = text("""
    insert into tool_learning (tenant_id, version, mode, decided_by, decided_at)
    values (:tenant, 1, :mode, :by, now())
    on conflict (tenant_id) do update
    set version = tool_learning.version + 1, mode = :mode, decided_by = :by, decided_at = now()
    where tool_learning.mode is null or not :undecided
""")


_ADAPTER: Final = text("""
    select model, tools, case when made_at is distinct from :known then offsets end, figures, made_by, made_at, log_at
    from tool_adapter where tenant_id = :tenant
""")
_THERE: Final = text("select exists (select from tool where tenant_id = :tenant and id = any(:tools))")
_PUT_ADAPTER: Final = text("""
    insert into tool_adapter (tenant_id, model, tools, offsets, figures, made_by, log_at)
    values (:tenant, :model, :tools, :offsets, cast(:figures as json), :by, :log_at)
    on conflict (tenant_id) do update
    set model = :model, tools = :tools, offsets = :offsets, figures = cast(:figures as json), made_by = :by,
        made_at = clock_timestamp(), log_at = :log_at
""")
_DELETE_ADAPTER: Final = text("""
    delete from tool_adapter
    where tenant_id = :tenant and (cast(:before as timestamptz) is null or log_at <= :before)
""")


@dataclass(frozen=True, slots=True)
class AdapterRow:
    """A row of `tool_adapter`; `offsets` is None if it is the known one."""

    model: str
    tools: Sequence[int]
    offsets: bytes | None
    figures: Mapping[str, Any]
    made_by: str
    made_at: dt.datetime
    log_at: dt.datetime | None


async def read_adapter(
    connection: AsyncConnection, tenant: Tenant, known: dt.datetime | None = None
) -> AdapterRow | None:
    """Return a tenant's adapter; without its offsets if it was made when the known one was."""
    row = (await connection.execute(_ADAPTER, {"tenant": tenant.id, "known": known})).one_or_none()
    return None if row is None else AdapterRow(*row)


async def are_there(connection: AsyncConnection, tenant: Tenant, tools: Sequence[int]) -> bool:
    """Return whether at least one of some tools is in the tenant's catalogue."""
    return bool((await connection.execute(_THERE, {"tenant": tenant.id, "tools": list(tools)})).scalar_one())


async def put_adapter(
    connection: AsyncConnection,
    tenant: Tenant,
    adapter: Adapter,
    figures: Mapping[str, Any],
    by: str,
    log_at: dt.datetime | None,
    removals: int | None,
) -> bool:
    """Store a tenant's adapter in place of the one before; returns False, and stores nothing, if uses were removed.

    Args:
        connection: In a transaction of the tenant.
        tenant: The tenant.
        adapter: The adapter.
        figures: What it gained.
        by: Who trained it.
        log_at: The time of the newest use that it was fitted on; None if it was fitted on a file.
        removals: How often uses had been removed when they were read; None if none were.
    """
    now = (await connection.execute(_CHANGED, {"tenant": tenant.id})).scalar_one()
    if removals not in (None, now):
        return False
    values = {
        "tenant": tenant.id,
        "model": adapter.model,
        "tools": adapter.ids.tolist(),
        "offsets": adapter.offsets.astype(np.float16).tobytes(),
        "figures": json.dumps(figures),
        "by": by,
        "log_at": log_at,
    }
    await connection.execute(_PUT_ADAPTER, values)
    return True


async def delete_adapter(connection: AsyncConnection, tenant: Tenant, before: dt.datetime | None = None) -> bool:
    """Remove a tenant's adapter; returns whether there was one.

    Args:
        connection: In a transaction of the tenant.
        tenant: The tenant.
        before: Only one that was fitted on uses none of which is newer.
    """
    removed = (await connection.execute(_DELETE_ADAPTER, {"tenant": tenant.id, "before": before})).rowcount
    if removed:
        await connection.execute(_CHANGED, {"tenant": tenant.id})
    return bool(removed)


async def read_learning(connection: AsyncConnection, tenant: Tenant) -> LearningRow:
    """Return a tenant's version, and what was decided."""
    row = (await connection.execute(_LEARNING, {"tenant": tenant.id})).one_or_none()
    return LearningRow() if row is None else LearningRow(*row)


MOST_USES: Final = 4_000
"""The newest uses of a tenant that count: a search compares with all of them in half a millisecond."""
MOST_EACH: Final = 1_000
"""The newest uses of one voter that count: nobody can crowd out the others."""


async def read_uses(
    connection: AsyncConnection, caller: Caller, *, after: int = -1, ranking: bool = False
) -> dict[int, Use]:
    """Return the uses that count by number, oldest first.

    Args:
        connection: In a transaction of the tenant.
        caller: Whose uses.
        after: Only those with greater numbers.
        ranking: Whether to leave out what the ranking does not need: the search, its answer and its message.
    """
    values = {"tenant": caller.tenant.id, "owner": caller.user, "after": after, "most": MOST_USES, "each": MOST_EACH}
    rows = (await connection.execute(_RANKING_USES if ranking else _WHOLE_USES, values)).all()
    return {int(row[0]): Use(*row[1:]) for row in reversed(rows)}


async def called_tools(connection: AsyncConnection, caller: Caller, name: str) -> set[int]:
    """Return the tools that a caller called by a name, those that are gone included."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "name": name}
    return set((await connection.execute(_IDS, values)).scalars())


async def forget_uses(connection: AsyncConnection, caller: Caller, tool_ids: Sequence[int] | None) -> int:
    """Remove uses of some tools, or all, and what other uses say against these tools; returns how many are gone."""
    removed = 0
    for tool in [None] if tool_ids is None else tool_ids:
        values = {"tenant": caller.tenant.id, "owner": caller.user, "tool": tool}
        removed += (await connection.execute(_FORGET, values)).rowcount
        if tool is not None:
            await connection.execute(_FORGET_AGAINST, values)
    if removed:  # what was fitted on them goes with them
        await delete_adapter(connection, caller.tenant, dt.datetime.max.replace(tzinfo=dt.UTC))
    await note_removal(connection, caller.tenant)
    return removed


async def note_removal(connection: AsyncConnection, tenant: Tenant) -> None:
    """Record that uses were removed, so that every process reads all of them again."""
    await connection.execute(_REMOVED, {"tenant": tenant.id})


async def decide_learning(
    connection: AsyncConnection, tenant: Tenant, mode: str, by: str, *, undecided: bool = False
) -> None:
    """Store whether uses rank tools.

    Args:
        connection: In a transaction of the tenant.
        tenant: The tenant.
        mode: `off`, `shadow` or `on`.
        by: Who decides.
        undecided: Whether what was decided before stays.
    """
    await connection.execute(_DECIDE, {"tenant": tenant.id, "mode": mode, "by": by, "undecided": undecided})
