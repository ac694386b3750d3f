"""Copies and prunes threads, row by row in the database: this process reads no value.

Invariant: a thread is locked while it is copied or pruned, and what is kept of it is readable as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

import psycopg
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.agent.threads.lineage import CheckpointNode, Key, ancestry, latest
from thresher.agent.threads.records import unknown
from thresher.core import Caller, Conflict, NotFound
from thresher.store import Database, driver, run_retrying

Nodes: TypeAlias = Mapping[Key, CheckpointNode]
_Driver: TypeAlias = psycopg.AsyncConnection[Any]

_HOLD: Final = b"""
    select id from thread
    where tenant_id = %(tenant)s and id = %(thread)s and owner is not distinct from %(owner)s::text for update"""
_SHAPE: Final = b"""
    select c.ns, c.id, c.parent_id, c.metadata->>'run_id', c.metadata->'parents'->>'',
           array(select jsonb_object_keys(
             case jsonb_typeof(c.metadata->'counters_since_delta_snapshot')
             when 'object' then c.metadata->'counters_since_delta_snapshot' end)),
           array(select b.channel from jsonb_each_text(c.state->'channel_versions') v (channel, version)
                 join checkpoint_blob b on b.tenant_id = c.tenant_id and b.thread_id = c.thread_id and b.ns = c.ns
                   and b.channel = v.channel and b.version = v.version)
    from checkpoint c where c.tenant_id = %(tenant)s and c.thread_id = %(thread)s"""
_MAKE: Final = b"""
    insert into thread (tenant_id, id, owner, title, settings, forked_from, forked_at, last_checkpoint)
    select tenant_id, %(target)s, owner, coalesce(%(title)s, title), settings, id, %(at)s::uuid, %(at)s::uuid
    from thread where tenant_id = %(tenant)s and id = %(thread)s
    on conflict (tenant_id, id) do nothing returning id"""
_FILL: Final = b"""
    update thread set last_checkpoint = %(at)s::uuid, updated_at = now()
    where tenant_id = %(tenant)s and id = %(target)s and owner is not distinct from %(owner)s::text returning id"""
_FILLED: Final = b"select exists (select from checkpoint where tenant_id = %(tenant)s and thread_id = %(target)s)"
_CHOSEN: Final = "unnest(%(spaces)s::text[], %(ids)s::uuid[]) chosen (ns, id)"
_COPY: Final = f"""
    insert into checkpoint (tenant_id, thread_id, ns, id, parent_id, state, metadata)
    select c.tenant_id, %(target)s, c.ns, c.id, c.parent_id, c.state, c.metadata
    from {_CHOSEN} join checkpoint c on c.ns = chosen.ns and c.id = chosen.id
    where c.tenant_id = %(tenant)s and c.thread_id = %(thread)s"""  # noqa: S608 - columns are ours
_COPY_BLOBS: Final = b"""
    insert into checkpoint_blob (tenant_id, thread_id, ns, channel, version, type, data)
    select b.tenant_id, %(target)s, b.ns, b.channel, b.version, b.type, b.data from checkpoint_blob b
    where b.tenant_id = %(tenant)s and b.thread_id = %(thread)s and (b.ns, b.channel, b.version) in (
      select c.ns, v.key, v.value from checkpoint c, jsonb_each_text(c.state->'channel_versions') v
      where c.tenant_id = %(tenant)s and c.thread_id = %(target)s)"""
_COPY_WRITES: Final = f"""
    insert into checkpoint_write (
      tenant_id, thread_id, ns, checkpoint_id, task_id, idx, task_path, channel, type, data)
    select w.tenant_id, %(target)s, w.ns, w.checkpoint_id, w.task_id, w.idx, w.task_path, w.channel, w.type, w.data
    from {_CHOSEN} join checkpoint_write w on w.ns = chosen.ns and w.checkpoint_id = chosen.id
    where w.tenant_id = %(tenant)s and w.thread_id = %(thread)s"""  # noqa: S608 - columns are ours
_COPY_ARTIFACTS: Final = b"""
    insert into artifact (tenant_id, thread_id, id, turn, kind, tool, content, created_at)
    select a.tenant_id, %(target)s, a.id, a.turn, a.kind, a.tool, a.content, a.created_at from artifact a
    where a.tenant_id = %(tenant)s and a.thread_id = %(thread)s"""
"""Also those of states after the copied one: nothing refers to them, and they are removed with the thread."""
_DROP: Final = (
    f"""
    delete from checkpoint c using {_CHOSEN}
    where c.tenant_id = %(tenant)s and c.thread_id = %(thread)s and c.ns = chosen.ns and c.id = chosen.id""",  # noqa: S608 - columns are ours
    f"""
    delete from checkpoint_write w using {_CHOSEN}
    where w.tenant_id = %(tenant)s and w.thread_id = %(thread)s and w.ns = chosen.ns
      and w.checkpoint_id = chosen.id""",  # noqa: S608 - as above
    """
    delete from checkpoint_blob b
    where b.tenant_id = %(tenant)s and b.thread_id = %(thread)s and (b.ns, b.channel, b.version) not in (
      select c.ns, v.key, v.value from checkpoint c, jsonb_each_text(c.state->'channel_versions') v
      where c.tenant_id = %(tenant)s and c.thread_id = %(thread)s)""",
    """
    update thread t set last_checkpoint = (
      select c.id from checkpoint c where c.tenant_id = t.tenant_id and c.thread_id = t.id and c.ns = ''
      order by c.id desc limit 1)
    where t.tenant_id = %(tenant)s and t.id = %(thread)s""",
)
_OF_RUNS: Final = b"""
    select distinct c.thread_id from checkpoint c join thread t on t.tenant_id = c.tenant_id and t.id = c.thread_id
    where c.tenant_id = %(tenant)s and t.owner is not distinct from %(owner)s::text
      and c.metadata->>'run_id' = any(%(runs)s)"""


async def fork_thread(
    database: Database, caller: Caller, source: UUID, target: UUID, at: UUID | None, title: str | None
) -> None:
    """Create a thread from another one's state at a checkpoint, or from its last state.

    Writes after a checkpoint that is not the last one led on from it and are not copied; after the last one they wait,
    such as for an approval, and are copied.

    Raises:
        NotFound: The caller has no such thread, or it has no such checkpoint.
    """

    async def work(connection: AsyncConnection) -> None:
        raw, nodes = await _held(connection, caller, source)
        newest = latest(nodes.values()).get("")
        head = newest if at is None else nodes.get(("", at))
        if at is not None and head is None:
            raise NotFound(f"The thread has no checkpoint {at}.", hint="Its history lists them.")
        values = _values(caller, thread=source, target=target, title=title, at=head and head.id)
        await raw.execute(_MAKE, values)
        if head is not None:
            chosen = ancestry(nodes, head)
            await _copy(raw, values, chosen, chosen if head is newest else chosen - {head.key})

    await run_retrying(database, caller.tenant, work)


async def copy_thread(database: Database, caller: Caller, source: UUID, target: UUID) -> None:
    """Copy a whole thread into another one, which is new or has no checkpoint yet.

    Raises:
        NotFound: The caller has no such thread, or does not own the other one.
        Conflict: The other one has checkpoints.
    """

    async def work(connection: AsyncConnection) -> None:
        raw, nodes = await _held(connection, caller, source)
        newest = latest(nodes.values()).get("")
        values = _values(caller, thread=source, target=target, title=None, at=newest and newest.id)
        if await (await raw.execute(_MAKE, values)).fetchone() is None:
            if await (await raw.execute(_FILL, values)).fetchone() is None:
                raise unknown(target)
            if (await (await raw.execute(_FILLED, values)).fetchone() or [False])[0]:
                raise Conflict(f"Thread {target} has checkpoints.", hint="Copy into a new one.")
        await _copy(raw, values, nodes.keys(), nodes.keys())

    await run_retrying(database, caller.tenant, work)


async def keep(database: Database, caller: Caller, thread: UUID, chosen: Callable[[Nodes], set[Key]]) -> None:
    """Remove all but the chosen checkpoints of a thread; a thread that is not the caller's is not touched."""

    async def work(connection: AsyncConnection) -> None:
        try:
            raw, nodes = await _held(connection, caller, thread)
        except NotFound:
            return
        values = _values(caller, thread=thread) | _keys(nodes.keys() - chosen(nodes))
        for statement in _DROP:
            await raw.execute(statement.encode(), values)

    await run_retrying(database, caller.tenant, work)


async def threads_of_runs(database: Database, caller: Caller, runs: Sequence[str]) -> list[UUID]:
    """Return the caller's threads in which some runs left checkpoints."""
    values = _values(caller, runs=list(runs))
    return [row[0] for row in await database.once(caller.tenant, lambda raw: raw.execute(_OF_RUNS, values))]


async def _held(connection: AsyncConnection, caller: Caller, thread: UUID) -> tuple[_Driver, Nodes]:
    """Return the shape of a thread, locked until the transaction ends."""
    raw = await driver(connection)
    values = _values(caller, thread=thread)
    if await (await raw.execute(_HOLD, values)).fetchone() is None:
        raise unknown(thread)
    rows = await (await raw.execute(_SHAPE, values)).fetchall()
    nodes = [CheckpointNode(*row[:5], deltas=frozenset(row[5]), stored=frozenset(row[6])) for row in rows]
    return raw, {node.key: node for node in nodes}


async def _copy(raw: _Driver, values: dict[str, Any], chosen: Collection[Key], written: Collection[Key]) -> None:
    await raw.execute(_COPY.encode(), values | _keys(chosen))
    await raw.execute(_COPY_BLOBS, values)
    await raw.execute(_COPY_WRITES.encode(), values | _keys(written))
    await raw.execute(_COPY_ARTIFACTS, values)


def _keys(chosen: Collection[Key]) -> dict[str, Any]:
    return {"spaces": [space for space, _ in chosen], "ids": [one for _, one in chosen]}


def _values(caller: Caller, **more: Any) -> dict[str, Any]:
    return {"tenant": caller.tenant.id, "owner": caller.user, **more}
