"""The SQL of checkpoints, one statement for each of LangGraph's operations.

So a killed process leaves all of an operation or nothing.

Invariant: a writer owns the thread, and if a turn is given, the thread is still in that turn. Rows of another owner are
not visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import psycopg

from thresher.agent.threads.records import unknown
from thresher.core import Caller
from thresher.store import Database, Send, prepared

_OWN: Final = "t.owner is not distinct from %(owner)s::text"
_IN_TURN: Final = "(%(turn)s::uuid is null or t.turn = %(turn)s::uuid)"

# The writes of a turn do not restore a thread that was deleted meanwhile.
_PUT: Final = f"""
    with home as (
      insert into thread as t (tenant_id, id, owner, last_checkpoint)
      select %(tenant)s, %(thread)s, %(owner)s, %(last)s::uuid
      where %(turn)s::uuid is null or exists (
        select from thread o where o.tenant_id = %(tenant)s and o.id = %(thread)s and o.turn = %(turn)s::uuid)
      on conflict (tenant_id, id) do update
      set updated_at = now(), last_checkpoint = coalesce(excluded.last_checkpoint, t.last_checkpoint)
      where {_OWN} and {_IN_TURN}
      returning t.id
    ), valued as (
      insert into checkpoint_blob (tenant_id, thread_id, ns, channel, version, type, data)
      select %(tenant)s, home.id, %(ns)s, blob.*
      from home, unnest(%(channels)s::text[], %(versions)s::text[], %(types)s::text[], %(datas)b::bytea[]) blob
      on conflict do nothing)
    insert into checkpoint (tenant_id, thread_id, ns, id, parent_id, state, metadata)
    select %(tenant)s, home.id, %(ns)s, %(id)s, %(parent)s::uuid, %(state)s::jsonb, %(metadata)s::jsonb from home
    on conflict (tenant_id, thread_id, ns, id) do update
    set parent_id = excluded.parent_id, state = excluded.state, metadata = excluded.metadata
    returning id"""  # noqa: S608 - conditions are ours

# A task's first write stays; errors, interrupts and their resumption (below 0) are replaced.
_WRITE: Final = f"""
    with home as (
      select t.id from thread t
      where t.tenant_id = %(tenant)s and t.id = %(thread)s and {_OWN} and {_IN_TURN}
    ), made as (
      insert into thread (tenant_id, id, owner)
      select %(tenant)s, %(thread)s, %(owner)s where %(turn)s::uuid is null and not exists (select from home)
      on conflict do nothing returning id
    ), place as (
      select id from home union all select id from made
    ), written as (
      insert into checkpoint_write (
        tenant_id, thread_id, ns, checkpoint_id, task_id, task_path, idx, channel, type, data)
      select %(tenant)s, place.id, %(ns)s, %(id)s, %(task)s, %(path)s, entry.*
      from place, unnest(%(places)s::int[], %(channels)s::text[], %(types)s::text[], %(datas)b::bytea[]) entry
      on conflict (tenant_id, thread_id, ns, checkpoint_id, task_id, idx) do update
      set channel = excluded.channel, type = excluded.type, data = excluded.data, task_path = excluded.task_path
      where checkpoint_write.idx < 0)
    select id from place"""  # noqa: S608 - conditions are ours

_READ: Final = """
    select c.thread_id, c.ns, c.id, c.parent_id, c.state, c.metadata, held.channels, held.types, held.datas,
           written.tasks, written.paths, written.places, written.channels, written.types, written.datas
    from {source} c
    left join lateral (
      select array_agg(b.channel) as channels, array_agg(b.type) as types, array_agg(b.data) as datas
      from jsonb_each_text(c.state->'channel_versions') v (channel, version)
      join checkpoint_blob b on b.tenant_id = c.tenant_id and b.thread_id = c.thread_id and b.ns = c.ns
        and b.channel = v.channel and b.version = v.version {only_blobs}
    ) held on true
    left join lateral (
      select array_agg(w.task_id) as tasks, array_agg(w.task_path) as paths, array_agg(w.idx) as places,
             array_agg(w.channel) as channels, array_agg(w.type) as types, array_agg(w.data) as datas
      from checkpoint_write w
      where w.tenant_id = c.tenant_id and w.thread_id = c.thread_id and w.ns = c.ns and w.checkpoint_id = c.id
        {only_writes}
    ) written on true
    order by {order}"""
_ALL: Final = {"only_blobs": "", "only_writes": ""}
_ONLY: Final = {"only_blobs": "and b.channel = any(%(only)s)", "only_writes": "and w.channel = any(%(only)s)"}
_FOUND: Final = f"""(
    select s.* from checkpoint s join thread t on t.tenant_id = s.tenant_id and t.id = s.thread_id
    where s.tenant_id = %(tenant)s and {_OWN} and {{condition}}
    order by s.id desc, s.thread_id desc, s.ns desc limit %(limit)s)"""  # noqa: S608 - conditions are ours
_NEWEST_FIRST: Final = "c.id desc, c.thread_id desc, c.ns desc"
_CONDITIONS: Final = {
    "thread": "s.thread_id = %(thread)s",
    "ns": "s.ns = %(ns)s",
    "id": "s.id = %(id)s",
    "before": "s.id < %(before)s",
    "filter": "s.metadata @> %(filter)s::jsonb",
    "after": "(s.id, s.thread_id, s.ns) < (%(after)s, %(after_thread)s, %(after_ns)s)",
}
_CHAIN: Final = (
    f"""
    with recursive chain as (
      select s.*, 1 as depth from checkpoint s join thread t on t.tenant_id = s.tenant_id and t.id = s.thread_id
      where s.tenant_id = %(tenant)s and {_OWN} and s.thread_id = %(thread)s and s.ns = %(ns)s and s.id = %(id)s
      union all
      select p.*, n.depth + 1 from chain n
      join checkpoint p on p.tenant_id = n.tenant_id and p.thread_id = n.thread_id and p.ns = n.ns
        and p.id = n.parent_id
      where n.depth < %(limit)s)"""  # noqa: S608 - conditions are ours
    + _READ.format(source="chain", order="c.depth", **_ONLY)
)


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored value. `type`: the encoding of `data`."""

    channel: str
    version: str
    type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A value that a task wrote. `place`: its index in one write, below 0 if it replaces the one before."""

    task: str
    path: str
    place: int
    channel: str
    type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A stored checkpoint, with the values of its channels and the writes after it."""

    thread: UUID
    ns: str
    id: UUID
    parent: UUID | None
    state: dict[str, Any]
    metadata: dict[str, Any]
    values: tuple[tuple[str, str, bytes], ...]
    writes: tuple[WrittenValue, ...]


@dataclass(frozen=True, slots=True)
class CheckpointLocation:
    """Where to write: a checkpoint of a caller's thread, in a turn of it if one is given."""

    caller: Caller
    thread: UUID
    ns: str
    id: UUID
    turn: UUID | None = None

    def values(self) -> dict[str, Any]:
        """The parameters of statements."""
        place = {"thread": self.thread, "ns": self.ns, "id": self.id, "turn": self.turn}
        return {"tenant": self.caller.tenant.id, "owner": self.caller.user, **place}


@dataclass(frozen=True, slots=True)
class TaskWrites:
    """The values that a task wrote after a checkpoint."""

    place: CheckpointLocation
    task: str
    path: str
    entries: Sequence[WrittenValue]


async def put_checkpoint(
    database: Database,
    place: CheckpointLocation,
    parent: UUID | None,
    state: str,
    metadata: str,
    blobs: Sequence[Blob],
    writes: Sequence[TaskWrites] = (),
) -> bool:
    """Write a checkpoint and its new values; returns whether the caller may write there.

    Args:
        database: The database.
        place: Of the checkpoint; its thread is created if it does not exist.
        parent: The one before it.
        state: Everything but the values, in JSON.
        metadata: In JSON.
        blobs: The values.
        writes: What tasks wrote before it; it is committed first, in the same round trip.
    """
    values = place.values() | {"parent": parent, "state": state, "metadata": metadata}
    values |= {"last": None if place.ns else place.id, "versions": [blob.version for blob in blobs]}
    return await _written(database, place, *map(_write, writes), prepared(_PUT, **values, **_columns(blobs)))


async def put_written(database: Database, *writes: TaskWrites) -> bool:
    """Write what tasks wrote after a checkpoint; returns whether the caller may write there."""
    place, statements = writes[0].place, list(map(_write, writes))
    # The second attempt sees a thread that another task has created meanwhile.
    return await _written(database, place, *statements) or await _written(database, place, *statements)


def _write(writes: TaskWrites) -> Send:
    values = writes.place.values() | {"task": writes.task, "path": writes.path}
    values |= {"places": [entry.place for entry in writes.entries]}
    return prepared(_WRITE, **values, **_columns(writes.entries))


def _columns(entries: Sequence[Blob] | Sequence[WrittenValue]) -> dict[str, Any]:
    return {
        "channels": [entry.channel for entry in entries],
        "types": [entry.type for entry in entries],
        "datas": [entry.data for entry in entries],
    }


async def find_checkpoints(database: Database, caller: Caller, *, limit: int, **asked: Any) -> list[StoredCheckpoint]:
    """Return the caller's checkpoints, newest first.

    Args:
        database: The database.
        caller: The owner.
        limit: Most checkpoints.
        asked: Any of `thread`, `ns`, `id`, `before` (an id), `filter` (JSON that the metadata contain) and `after` (the
            last one of an earlier page).
    """
    conditions = " and ".join(_CONDITIONS[name] for name in asked) or "true"
    values = {"tenant": caller.tenant.id, "owner": caller.user, "limit": limit, **asked}
    if (after := asked.get("after")) is not None:
        values |= {"after": after.id, "after_thread": after.thread, "after_ns": after.ns}
    statement = _READ.format(source=_FOUND.format(condition=conditions), order=_NEWEST_FIRST, **_ALL).encode()
    return _stored(
        await database.once(caller.tenant, lambda driver: driver.execute(statement, values, prepare=True, binary=True))
    )


async def find_chain(
    database: Database, place: CheckpointLocation, channels: Sequence[str], limit: int
) -> list[StoredCheckpoint]:
    """Return a checkpoint and those before it, nearest first, restricted to some channels."""
    values = place.values() | {"only": list(channels), "limit": limit}
    return _stored(
        await database.once(
            place.caller.tenant, lambda driver: driver.execute(_CHAIN.encode(), values, prepare=True, binary=True)
        )
    )


async def _written(database: Database, place: CheckpointLocation, *statements: Send) -> bool:
    """Run statements in order, in one round trip; returns whether each has written."""
    try:
        return all(await database.together(place.caller.tenant, *statements))
    except psycopg.errors.ForeignKeyViolation:
        raise unknown(place.thread) from None  # it was deleted at this moment


def _stored(rows: Iterable[tuple[Any, ...]]) -> list[StoredCheckpoint]:
    return [
        StoredCheckpoint(
            *row[:6],
            values=tuple(zip(*row[6:9], strict=True)) if row[6] else (),
            writes=tuple(map(WrittenValue, *row[9:15])) if row[9] else (),
        )
        for row in rows
    ]
