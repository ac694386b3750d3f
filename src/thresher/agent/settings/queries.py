"""The SQL of settings.

Invariant: what is changed at the same moment in another field stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from thresher.core import Caller, dumps
from thresher.store import Database

_OWNED: Final = "tenant_id = %(tenant)s and owner is not distinct from %(user)s::text"
_CHANGED: Final = "(settings || %(given)s::jsonb) - %(dropped)s::text[]"

_LAYERS: Final = f"""
    select (select settings from chat_setting where {_OWNED}),
           (select settings from thread where {_OWNED} and id = %(thread)s::uuid),
           exists (select from thread where {_OWNED} and id = %(thread)s::uuid)"""  # noqa: S608 - our own words
_CHANGE: Final = f"""
    insert into chat_setting as s (tenant_id, owner, settings)
    values (%(tenant)s, %(user)s, %(given)s::jsonb)
    on conflict (tenant_id, owner) do update
    set settings = {_CHANGED.replace("settings", "s.settings")}, updated_at = now()
    returning id"""  # noqa: S608 - as above
_CHANGE_THREAD: Final = f"""
    update thread set settings = {_CHANGED} where {_OWNED} and id = %(thread)s::uuid returning id"""  # noqa: S608 - as above


async def layers(database: Database, caller: Caller, thread: UUID | None) -> tuple[Any, Any, bool]:
    """What the caller has chosen for all threads, what for one, None where nothing was; and whether that is his."""
    owner, own, there = (await _sent(database, caller, _LAYERS, thread=thread))[0]
    return owner, own, there


async def change(
    database: Database, caller: Caller, given: dict[str, Any], dropped: Sequence[str], thread: UUID | None
) -> bool:
    """Set some fields and drop others; False where the caller has no such thread."""
    statement = _CHANGE if thread is None else _CHANGE_THREAD
    values = {"given": dumps(given), "dropped": list(dropped), "thread": thread}
    return bool(await _sent(database, caller, statement, **values))


async def _sent(database: Database, caller: Caller, statement: str, **values: object) -> Sequence[tuple[Any, ...]]:
    given = {"tenant": caller.tenant.id, "user": caller.user, **values}
    return await database.once(caller.tenant, lambda driver: driver.execute(statement.encode(), given, prepare=True))
