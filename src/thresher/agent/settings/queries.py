"""The SQL of settings.

Invariant: simultaneous changes of other fields are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from thresher.core import Caller, dumps
from thresher.store import Database, Send, prepared

_OWNED: Final = "tenant_id = %(tenant)s and owner is not distinct from %(user)s::text"
_CHANGED: Final = "(settings || %(given)s::jsonb) - %(dropped)s::text[]"

_LAYERS: Final = f"""
    select (select settings from chat_setting where {_OWNED}),
           (select settings from thread where {_OWNED} and id = %(thread)s::uuid),
           exists (select from thread where {_OWNED} and id = %(thread)s::uuid),
           (select floor from approval_floor where tenant_id = %(tenant)s)"""  # noqa: S608 - our own words
_CHANGE: Final = f"""
    insert into chat_setting as s (tenant_id, owner, settings)
    values (%(tenant)s, %(user)s, %(given)s::jsonb)
    on conflict (tenant_id, owner) do update
    set settings = {_CHANGED.replace("settings", "s.settings")}, updated_at = now()
    returning id"""  # noqa: S608 - as above
_CHANGE_THREAD: Final = f"""
    update thread set settings = {_CHANGED} where {_OWNED} and id = %(thread)s::uuid returning id"""  # noqa: S608 - as above


_FLOOR: Final = """
    insert into approval_floor (tenant_id, floor) values (%(tenant)s, %(floor)s)
    on conflict (tenant_id) do update set floor = excluded.floor, updated_at = now()
    returning floor"""


class Layers(NamedTuple):
    """The chosen settings of a conversation, from the outside in; None if nothing was chosen.

    Attributes:
        owner: The caller's choices for all threads.
        thread: The choices for this one.
        there: Whether the thread exists and is the caller's.
        floor: The tenant's floor for approvals.
    """

    owner: Any
    thread: Any
    there: bool
    floor: str | None


async def layers(database: Database, caller: Caller, thread: UUID | None) -> Layers:
    """Read the chosen settings, in one statement."""
    return Layers(*(await database.once(caller.tenant, layers_statement(caller, thread)))[0])


def layers_statement(caller: Caller, thread: UUID | None) -> Send:
    """Return the statement that reads them: the fields of `Layers`, in one row."""
    return prepared(_LAYERS, tenant=caller.tenant.id, user=caller.user, thread=thread)


async def set_floor(database: Database, caller: Caller, floor: str) -> None:
    """Write the tenant's floor."""
    await _sent(database, caller, _FLOOR, floor=floor)


async def change(
    database: Database, caller: Caller, given: dict[str, Any], dropped: Sequence[str], thread: UUID | None
) -> bool:
    """Set some fields and remove others; returns False if the caller has no such thread."""
    statement = _CHANGE if thread is None else _CHANGE_THREAD
    values = {"given": dumps(given), "dropped": list(dropped), "thread": thread}
    return bool(await _sent(database, caller, statement, **values))


async def _sent(database: Database, caller: Caller, statement: str, **values: object) -> Sequence[tuple[Any, ...]]:
    send = prepared(statement, tenant=caller.tenant.id, user=caller.user, **values)
    return await database.once(caller.tenant, send)
