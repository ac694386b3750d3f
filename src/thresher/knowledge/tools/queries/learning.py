"""The SQL of uses: reading and removing them, and whether they rank tools.

Invariant: every change of a tenant's uses, or of what was decided about them, raises the tenant's version in
`tool_learning` in the same transaction. A caller that is one user reads and removes only that user's rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.knowledge.tools.models import Use


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
_DECIDE: Final = text("""
    insert into tool_learning (tenant_id, version, mode, decided_by, decided_at)
    values (:tenant, 1, :mode, :by, now())
    on conflict (tenant_id) do update
    set version = tool_learning.version + 1, mode = :mode, decided_by = :by, decided_at = now()
    where tool_learning.mode is null or not :undecided
""")


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
