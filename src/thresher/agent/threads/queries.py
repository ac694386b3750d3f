"""The SQL of threads themselves.

Invariant: a thread belongs to one user, or to callers without a user. A turn is taken in one statement, which checks
whether the process that holds the thread is alive at the moment it has the row.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from thresher.agent.exchange import TurnProgress
from thresher.agent.threads.records import Point, Thread
from thresher.core import Caller, Tenant
from thresher.store import Database, prepared

LOCK_CLASS: Final = 1_953_459_812
"""Class of the advisory locks that show which processes are alive; a number that no other program uses."""

_NOBODY: Final = Tenant(0, "")
"""Sees no tenant's rows; the database function goes through all tenants itself."""
_COLUMNS: Final = "id, title, settings, created_at, updated_at, forked_from, forked_at, last_checkpoint"
_MINE: Final = "tenant_id = %(tenant)s and owner is not distinct from %(owner)s::text"


def _lives(number: str) -> str:
    """Whether a process of this number is alive now; evaluated for each row."""
    return f"""exists (
      select from pg_locks l
      where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.classid::bigint = {LOCK_CLASS}
        and l.objid::bigint = {number}
        and l.database = (select d.oid from pg_database d where d.datname = current_database()))"""  # noqa: S608 - our own words


_FREE: Final = f"(t.holder is null or not {_lives('t.holder')})"

_CREATE: Final = f"""
    insert into thread (tenant_id, id, owner, title, settings)
    values (%(tenant)s, %(thread)s, %(owner)s, %(title)s, %(settings)s::jsonb)
    returning {_COLUMNS}"""  # noqa: S608 - columns are ours
_FIND: Final = f"select {_COLUMNS} from thread where {_MINE} and id = %(thread)s"  # noqa: S608 - as above
_LIST: Final = f"""
    select {_COLUMNS} from thread
    where {_MINE} and (updated_at, id) < (%(at)s::timestamptz, %(after)s::uuid)
      and (%(words)s::text = '' or position(lower(%(words)s::text) in lower(title)) > 0)
    order by updated_at desc, id desc limit %(limit)s"""  # noqa: S608 - as above
_RENAME: Final = f"""
    update thread set title = %(title)s where {_MINE} and id = %(thread)s returning {_COLUMNS}"""  # noqa: S608 - as above
_CONFIGURE: Final = f"""
    update thread set settings = %(settings)s::jsonb where {_MINE} and id = %(thread)s returning {_COLUMNS}"""  # noqa: S608 - as above
_DELETE: Final = f"""
    with gone as (delete from thread t where {_MINE} and t.id = %(thread)s and {_FREE} returning t.id),
    forgotten as (
      delete from assistant_session
      where {_MINE} and name = %(thread)s::uuid::text and exists (select from gone))
    select exists (select from gone), exists (select from thread where {_MINE} and id = %(thread)s)"""  # noqa: S608 - as above

# A turn that has the row already is this one: it was sent twice over a lost connection.
_TAKE: Final = f"""
    with taken as (
      insert into thread as t (tenant_id, id, owner, holder, turn)
      select %(tenant)s, %(thread)s, %(owner)s, %(holder)s, %(turn)s where {_lives("%(holder)s")}
      on conflict (tenant_id, id) do update
      set holder = excluded.holder, turn = excluded.turn, updated_at = now()
      where t.owner is not distinct from excluded.owner and (t.turn = excluded.turn or {_FREE})
      returning t.id)
    select exists (select from taken), {_lives("%(holder)s")},
           (select owner is not distinct from %(owner)s::text from thread
            where tenant_id = %(tenant)s and id = %(thread)s),
           (select title from thread where {_MINE} and id = %(thread)s),
           exists (select from artifact
            where tenant_id = %(tenant)s and thread_id = %(thread)s and kind = 'draft')"""  # noqa: S608 - as above
_LEAVE: Final = b"""
    update thread set holder = null, turn = null
    where tenant_id = %(tenant)s and id = %(thread)s and turn = %(turn)s returning id"""
_STOP: Final = f"update thread set holder = null, turn = null where {_MINE} and id = %(thread)s returning id"  # noqa: S608 - as above
_HOLDS: Final = (
    "select exists (select from thread where tenant_id = %(tenant)s and id = %(thread)s and turn = %(turn)s)"
)
_PROGRESS: Final = f"""
    select not {_FREE}, t.last_checkpoint, a.content from thread t
    left join artifact a on a.tenant_id = t.tenant_id and a.thread_id = t.id and a.kind = 'draft'
    where t.tenant_id = %(tenant)s and t.id = %(thread)s and t.owner is not distinct from %(owner)s::text
    order by a.created_at desc limit 1"""  # noqa: S608 - as above

_POINTS: Final = b"""
    select c.id, c.parent_id, c.state->>'ts', c.metadata->>'source', c.metadata->>'step'
    from checkpoint c
    where c.tenant_id = %(tenant)s and c.thread_id = %(thread)s and c.ns = '' and c.id < %(before)s::uuid
    order by c.id desc limit %(limit)s"""
_PURGE: Final = b"select purge_threads(%(before)s::timestamptz)"


@dataclass(frozen=True, slots=True)
class TurnClaim:
    """The result of requesting a turn.

    Attributes:
        taken: Whether the caller has the turn.
        lives: Whether the asking process's number is locked for it.
        mine: Whether the existing thread is the caller's; None if it did not exist.
        title: Of that thread; None if it is not the caller's, or did not exist.
        drafts: Whether drafts of answers are kept beside it.
    """

    taken: bool
    lives: bool
    mine: bool | None
    title: str | None
    drafts: bool


async def create_thread(database: Database, caller: Caller, thread: UUID, title: str, settings: str) -> Thread:
    """Write a new thread. If it is sent twice, the second one fails, and the thread exists."""
    rows = await _rows(database, caller, _CREATE, thread=thread, title=title, settings=settings)
    return Thread(*rows[0])


async def find_thread(database: Database, caller: Caller, thread: UUID) -> Thread | None:
    """Return the caller's thread of this id."""
    return _one(await _rows(database, caller, _FIND, thread=thread))


async def list_threads(
    database: Database, caller: Caller, before: tuple[str, UUID], limit: int, words: str = ""
) -> list[Thread]:
    """Return the caller's threads before a moment and an id, newest first; with words only those with such a title."""
    at, after = before
    rows = await _rows(database, caller, _LIST, at=at, after=after, limit=limit, words=words)
    return [Thread(*row) for row in rows]


async def rename_thread(database: Database, caller: Caller, thread: UUID, title: str) -> Thread | None:
    """Change a thread's title; None if it does not exist."""
    return _one(await _rows(database, caller, _RENAME, thread=thread, title=title))


async def configure_thread(database: Database, caller: Caller, thread: UUID, settings: str) -> Thread | None:
    """Replace a thread's settings, as JSON; None if it does not exist."""
    return _one(await _rows(database, caller, _CONFIGURE, thread=thread, settings=settings))


async def delete_thread(database: Database, caller: Caller, thread: UUID) -> tuple[bool, bool]:
    """Remove a thread without a turn in progress; returns whether it is gone, and whether it existed."""
    gone, there = (await _rows(database, caller, _DELETE, thread=thread))[0]
    return gone, there


async def take_turn(database: Database, caller: Caller, thread: UUID, holder: int, turn: UUID) -> TurnClaim:
    """Begin a turn of a thread, which is created if it does not exist."""
    return TurnClaim(*(await _rows(database, caller, _TAKE, thread=thread, holder=holder, turn=turn))[0])


async def leave_turn(database: Database, tenant: Tenant, thread: UUID, turn: UUID) -> None:
    """End a turn; does nothing if it has ended."""
    values = {"tenant": tenant.id, "thread": thread, "turn": turn}
    await database.once(tenant, lambda driver: driver.execute(_LEAVE, values, prepare=True))


async def holds_turn(database: Database, caller: Caller, thread: UUID, turn: UUID) -> bool:
    """Return whether a turn still has its thread."""
    return bool((await _rows(database, caller, _HOLDS, thread=thread, turn=turn))[0][0])


async def stop_turn(database: Database, caller: Caller, thread: UUID) -> bool:
    """Take a thread from the turn that has it, if one does; returns whether the caller has such a thread."""
    return bool(await _rows(database, caller, _STOP, thread=thread))


async def turn_progress(database: Database, caller: Caller, thread: UUID) -> TurnProgress | None:
    """Return how far a thread's last turn is; None if the caller has no such thread."""
    rows = await _rows(database, caller, _PROGRESS, thread=thread)
    if not rows:
        return None
    running, checkpoint, draft = rows[0]
    return TurnProgress(running, checkpoint, **json.loads(draft)) if draft else TurnProgress(running, checkpoint)


async def points_of(database: Database, caller: Caller, thread: UUID, before: UUID, limit: int) -> list[Point]:
    """Return the states of a thread that are older than one, newest first."""
    rows = await _rows(database, caller, _POINTS.decode(), thread=thread, before=before, limit=limit)
    return [Point(row[0], row[1], dt.datetime.fromisoformat(row[2]), row[3] or "", int(row[4] or 0)) for row in rows]


async def purge_threads(database: Database, before: dt.datetime) -> int:
    """Remove some threads of each tenant without a turn since a moment; returns their number."""
    rows = await database.once(_NOBODY, lambda driver: driver.execute(_PURGE, {"before": before}))
    return int(rows[0][0])


async def _rows(database: Database, caller: Caller, statement: str, **values: object) -> list[tuple[Any, ...]]:
    send = prepared(statement, tenant=caller.tenant.id, owner=caller.user, **values)
    return await database.once(caller.tenant, send)


def _one(rows: list[tuple[Any, ...]]) -> Thread | None:
    return Thread(*rows[0]) if rows else None
