"""LangGraph's checkpoint saver over Thresher's database.

Invariant: a saver belongs to one caller and sees and writes only that caller's threads, under the tenant's policy; no
lock makes one thread wait for another. Rows become values of an allow-list of types: no row makes this process call
anything.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, NoReturn
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from thresher.agent.threads import copying, queries, records
from thresher.agent.threads.checkpoints import (
    Blob,
    CheckpointLocation,
    StoredCheckpoint,
    TaskWrites,
    WrittenValue,
    find_chain,
    find_checkpoints,
    put_checkpoint,
    put_written,
)
from thresher.agent.threads.lineage import latest, needed, without_runs
from thresher.agent.threads.records import Turn, checkpoint_id, thread_id, unknown
from thresher.core import Caller, Conflict, InvalidInput, StoreError
from thresher.store import Database, clean_json

LARGEST: Final = 16 << 20
"""Bytes of one channel's value: far more than any model reads."""
_FORMS: Final = ("null", "bytes", "bytearray", "msgpack")
_PAGE: Final = 32
_HELD_SECONDS: Final = 0.02
"""How long a step's writes wait for the next checkpoint."""
_REACH: Final = 64
"""Ancestors that are read at once for a delta channel."""


def _synchronous(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError("ThreadSaver is asynchronous: use ainvoke, astream, aget_state and the like.")


class ThreadSaver(BaseCheckpointSaver[str]):
    """Stores the states of a caller's threads.

    Asynchronous: a graph with it is run by `ainvoke`, `astream` and the like.

    Args:
        database: The database.
        caller: The owner of the threads.
        turn: If given, only its thread can be written, and only until it has ended or was overtaken.
        types: Classes of values, besides those of LangGraph, LangChain's messages and Python's plain ones. Values of
            other classes are read back as plain data.
    """

    def __init__(
        self, database: Database, caller: Caller, turn: Turn | None = None, types: Sequence[type] = ()
    ) -> None:
        super().__init__(serde=JsonPlusSerializer(allowed_msgpack_modules=tuple(types) or None))
        self._database = database
        self._caller = caller
        self._turn = turn
        self._read: dict[Any, Sequence[StoredCheckpoint]] = {}
        self._held: list[TaskWrites] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._writing: asyncio.Task[None] | None = None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint of a configuration, or the newest one; None if the caller has none."""
        asked = _asked(config)
        await self.settle()
        if (found := self._read.get(frozenset(asked.items()))) is None:
            found = await find_checkpoints(self._database, self._caller, limit=1, **asked)
            if self._turn is not None and found:  # only this turn writes to the thread
                named = {"thread": found[0].thread, "id": found[0].id, "ns": found[0].ns}
                self._read[frozenset(asked.items())] = self._read[frozenset(named.items())] = found
        return self._tuple(found[0]) if found else None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first; of all the caller's threads if none is named.

        Args:
            config: Its thread, namespace and checkpoint, as far as it names them.
            filter: What their metadata contain.
            before: Only older ones than the checkpoint that it names.
            limit: Most checkpoints.
        """
        asked = _asked(config) if config else {}
        if config and "checkpoint_ns" not in config.get("configurable", {}):
            del asked["ns"]  # any
        if filter:
            asked["filter"] = _json(filter)
        if before and (named := get_checkpoint_id(before)):
            asked["before"] = checkpoint_id(named)
        left = limit
        while left is None or left > 0:
            page = await find_checkpoints(
                self._database, self._caller, limit=_PAGE if left is None else min(left, _PAGE), **asked
            )
            for stored in page:
                yield self._tuple(stored)
            left = None if left is None else left - len(page)
            if len(page) < _PAGE:
                return
            asked["after"] = page[-1]

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint with the new values of its channels; the thread is created if it does not exist.

        Raises:
            InvalidInput: A value is too large.
            NotFound: The thread is another caller's.
            Conflict: The saver's turn is over, or of another thread.
        """
        values = checkpoint["channel_values"]
        blobs = [
            Blob(name, str(version), *self._dumped(name, values[name]))
            for name, version in new_versions.items()
            if name in values
        ]
        state = _json({name: value for name, value in checkpoint.items() if name != "channel_values"})
        kept = _json(get_serializable_checkpoint_metadata(config, metadata))
        place = self._place(config, checkpoint["id"])
        parent = get_checkpoint_id(config)
        writes = await self._taken_back()
        self._read.clear()
        self._idle.clear()
        try:
            there = await put_checkpoint(
                self._database, place, checkpoint_id(parent) if parent else None, state, kept, blobs, writes
            )
        finally:
            self._idle.set()
        if not there:
            self._refuse(place)
        return _config(place.thread, place.ns, place.id)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Write what a task wrote after a checkpoint.

        In a turn, the writes of a step of the graph wait briefly for the next checkpoint, and are written with it.

        Raises:
            InvalidInput: A value is too large.
            NotFound: The thread is another caller's.
            Conflict: The saver's turn is over, or of another thread.
        """
        places = {WRITES_IDX_MAP.get(name, number): (name, value) for number, (name, value) in enumerate(writes)}
        entries = [
            WrittenValue(task_id, task_path, place, name, *self._dumped(name, value))
            for place, (name, value) in places.items()
        ]
        checkpoint = config.get("configurable", {})["checkpoint_id"]
        made = TaskWrites(self._place(config, checkpoint), task_id, task_path, entries)
        self._read.clear()
        if self._turn is None or not task_path or any(entry.place < 0 for entry in entries):
            await self._write([made])
            return
        self._held.append(made)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon())
            self._writing.add_done_callback(_retrieve)

    async def settle(self) -> None:
        """Write what waits for the next checkpoint.

        Raises:
            Conflict: The saver's turn is over, or of another thread.
        """
        await self._write(await self._taken_back())

    async def _write_soon(self) -> None:
        await self._idle.wait()  # the next checkpoint may include them
        await asyncio.sleep(_HELD_SECONDS)
        held, self._held = self._held, []
        await asyncio.shield(self._write(held))

    async def _taken_back(self) -> list[TaskWrites]:
        """Return what is still held, after waiting for a write in progress."""
        held, self._held = self._held, []
        writing, self._writing = self._writing, None
        if writing is not None and held:
            writing.cancel()  # it has not begun to write
        elif writing is not None:
            await writing
        return held

    async def _write(self, writes: Sequence[TaskWrites]) -> None:
        if writes and not await put_written(self._database, *writes):
            self._refuse(writes[0].place)

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread of the caller and everything kept of it; does nothing if it does not exist.

        Raises:
            Conflict: A turn of it is in progress.
        """
        asked = records.thread_id(thread_id)
        gone, there = await queries.delete_thread(self._database, self._caller, asked)
        if there and not gone:
            raise Conflict(f"A message of thread {asked} is being answered.", hint="Wait for the answer or cancel it.")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of some runs, except those that later ones depend on."""
        for thread in await copying.threads_of_runs(self._database, self._caller, run_ids) if run_ids else ():
            await copying.keep(self._database, self._caller, thread, lambda nodes: without_runs(nodes, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a whole thread into another one, which is still empty.

        Raises:
            NotFound: One of them is another caller's, or the first does not exist.
            Conflict: The second has checkpoints.
        """
        await copying.copy_thread(
            self._database, self._caller, thread_id(source_thread_id), thread_id(target_thread_id)
        )

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove the checkpoints of threads: `delete` all, `keep_latest` all but the newest and those it depends on."""
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput(f"There is no strategy '{strategy[:40]}'.", hint="Use keep_latest or delete.")
        for thread in thread_ids:
            await copying.keep(
                self._database,
                self._caller,
                thread_id(thread),
                lambda nodes: needed(nodes, latest(nodes.values()).values() if strategy == "keep_latest" else ()),
            )

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what tasks wrote to channels before a checkpoint, oldest first, since their values were last stored.

        Like LangGraph's own, but reads many ancestors at once and no values of other channels.
        """
        missing, collected = set(channels), {name: list[PendingWrite]() for name in channels}
        seeds: dict[str, Any] = {}
        here = await self.aget_tuple(config) if missing else None
        parent = here.parent_config if here else None
        while parent is not None and missing:
            place = self._place(parent, parent.get("configurable", {})["checkpoint_id"])
            key = (place.id, place.ns, *channels)
            if (chain := self._read.get(key)) is None:
                chain = await find_chain(self._database, place, channels, _REACH)
                if self._turn is not None:
                    self._read[key] = chain
            for stored in chain:
                for task, name, value in reversed(self._writes(stored.writes)):
                    if name in missing:
                        collected[name].append((task, name, value))
                found = {name: self._loaded(form, data) for name, form, data in stored.values if name in missing}
                seeds |= found
                missing -= found.keys()
            parent = _parent(chain[-1]) if chain else None
        history = {name: DeltaChannelHistory(writes=collected[name][::-1]) for name in channels}
        for name, value in seeds.items():  # a stored None is a seed too
            history[name]["seed"] = value
        return history

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002 - LangGraph's signature
        """Return a version after another one; two branches of a thread never give a value the same version."""
        number = int(str(current).partition(".")[0]) if current is not None else 0
        return f"{number + 1:08d}.{secrets.token_hex(4)}"

    get_tuple = list = put = put_writes = delete_thread = delete_for_runs = copy_thread = prune = _synchronous

    def _place(self, config: RunnableConfig, checkpoint: str) -> CheckpointLocation:
        asked = _asked(config)
        turn = self._turn.id if self._turn else None
        return CheckpointLocation(self._caller, asked["thread"], asked["ns"], checkpoint_id(checkpoint), turn)

    def _refuse(self, place: CheckpointLocation) -> NoReturn:
        if self._turn is None:
            raise unknown(place.thread)
        raise Conflict(
            "This answer is of a turn that has ended: nothing more of it is kept.",
            hint="The thread continues from its last checkpoint; send the message again.",
        )

    def _dumped(self, name: str, value: Any) -> tuple[str, bytes]:
        form, data = self.serde.dumps_typed(value)
        if len(data) > LARGEST:
            raise InvalidInput(
                f"The conversation has become too large: '{name}' has {len(data) >> 20} MB.", hint="Begin a new thread."
            )
        return form, bytes(data)

    def _loaded(self, form: str, data: bytes) -> Any:
        if form not in _FORMS:
            raise StoreError(
                f"A value of a thread is written as '{form}', which is not read.", hint="Delete the thread."
            )
        return self.serde.loads_typed((form, data))

    def _writes(self, writes: Sequence[WrittenValue]) -> list[PendingWrite]:
        """Return what tasks wrote, in the order in which a running graph applies it."""
        ordered = sorted(writes, key=lambda one: writes_sort_key(one.path, one.task, one.place))
        return [(one.task, one.channel, self._loaded(one.type, one.data)) for one in ordered]

    def _tuple(self, stored: StoredCheckpoint) -> CheckpointTuple:
        values = {name: self._loaded(form, data) for name, form, data in stored.values}
        return CheckpointTuple(
            config=_config(stored.thread, stored.ns, stored.id),
            checkpoint={**stored.state, "channel_values": values},  # pyright: ignore[reportArgumentType] - as it was put
            metadata=stored.metadata,  # pyright: ignore[reportArgumentType] - as it was put
            parent_config=_parent(stored),
            pending_writes=self._writes(stored.writes),
        )


def _retrieve(writing: asyncio.Task[None]) -> None:
    """Keep asyncio from logging a failed write: the turn's next step raises it, and a turn that ended has none."""
    if not writing.cancelled():
        writing.exception()


def _asked(config: RunnableConfig) -> dict[str, Any]:
    """Return what a configuration names: a thread, a namespace of it, perhaps a checkpoint."""
    named = config.get("configurable", {})
    asked = {"thread": thread_id(named["thread_id"]), "ns": named.get("checkpoint_ns") or ""}
    if checkpoint := get_checkpoint_id(config):
        asked["id"] = checkpoint_id(checkpoint)
    return asked


def _config(thread: UUID, ns: str, checkpoint: UUID) -> RunnableConfig:
    return {"configurable": {"thread_id": str(thread), "checkpoint_ns": ns, "checkpoint_id": str(checkpoint)}}


def _parent(stored: StoredCheckpoint) -> RunnableConfig | None:
    return _config(stored.thread, stored.ns, stored.parent) if stored.parent else None


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(clean_json(value), ensure_ascii=False)
