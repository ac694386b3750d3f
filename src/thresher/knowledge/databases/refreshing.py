"""Reads schemas, and reads them again when they have changed.

An answer never waits for that, unless nothing is known yet: what was read before is answered from, and the answer says
that it may be old.

Invariant: a schema is read once at a time in this process; one that could not be read again stays as it was, and says
why; whatever is killed, the next use goes on from what is stored. Relations are found in a thread; what is sampled is
bounded in columns and in time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from thresher.connectors import Connector, Schema
from thresher.core import NotFound, Tenant, ThresherError, event
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.indexing import Indexing
from thresher.knowledge.databases.models import PotentialRelation
from thresher.knowledge.databases.queries import Held, Stored
from thresher.knowledge.databases.relations import columns_wanted, find_relations
from thresher.knowledge.databases.sessions import Sessions
from thresher.knowledge.databases.snapshots import (
    NOT_LOOKED_FOR,
    Known,
    digest_of,
    packed,
    packed_relations,
    snapshot_of,
    unpacked,
    unpacked_relations,
)
from thresher.store import Database, clean, run_retrying

SAMPLE_SECONDS: Final = 30.0


def related(schema: Schema) -> tuple[PotentialRelation, ...]:
    """Potential relations by names, types and keys alone."""
    return tuple(find_relations(schema.tables))


async def related_by_values(connector: Connector, schema: Schema) -> tuple[PotentialRelation, ...]:
    """The same by values too, as far as these can be read in time."""
    wanted = await asyncio.to_thread(columns_wanted, schema.tables)
    profiles = await connector.profiles(schema, wanted, SAMPLE_SECONDS)
    return tuple(await asyncio.to_thread(find_relations, schema.tables, profiles))


Looked: TypeAlias = Literal["same", "reading", "read"]
"""Whether a schema is as it was, is being read again now, or was read again while the answer waited."""
_logger = logging.getLogger("thresher.knowledge")

LOOK_SECONDS: Final = 30.0
"""How often a schema that is used is asked whether it has changed."""
LOOK_WAIT: Final = 0.15
"""How long an answer waits for that."""
FOLDER_WAIT: Final = 2.0
"""How long an answer waits for column information that has changed: files of this machine, asked at every use."""
UNSTAMPED_SECONDS: Final = 600.0
"""How often a schema is read again whose engine cannot say that it has changed."""
MOST_TABLES: Final = 20_000
RELATED_AT_ONCE: Final = 1_000
"""Tables among which potential relations are looked for before the first answer: half a second; of more it comes
without them."""
_READ_SECONDS: Final = 300.0


@dataclass(slots=True)
class _Watch:
    """What this process knows of one connection."""

    looked: float = float("-inf")
    reading: asyncio.Task[None] | None = None
    deepening: asyncio.Task[None] | None = None
    looking: asyncio.Task[None] | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class Refresher:
    """Keeps schemas up to date.

    Args:
        database: Where they are stored.
        sessions: With the databases themselves.
        indexing: Has their tables found.
    """

    def __init__(self, database: Database, sessions: Sessions, indexing: Indexing) -> None:
        self._database = database
        self._sessions = sessions
        self._indexing = indexing
        self._watches: dict[tuple[int, int, int], _Watch] = {}

    async def read(self, tenant: Tenant, held: Held, *, deeply: bool = False) -> None:
        """Read a schema now.

        Args:
            tenant: Whose connection it is.
            held: Which.
            deeply: Whether to wait until its tables are in the index, and values were looked at.

        Raises:
            ThresherError: It cannot be read; what was known stays, and the connection says why.
        """
        watch = self._watch(tenant, held)
        if watch.reading is None or watch.reading.done():
            watch.reading = self._begin(watch, self._read(tenant, held, watch))
        await asyncio.shield(watch.reading)
        if deeply and watch.deepening is not None:
            await asyncio.shield(watch.deepening)

    def begin(self, tenant: Tenant, held: Held) -> None:
        """Read a schema in the background."""
        self._begin(self._watch(tenant, held), _quietly(lambda: self.read(tenant, held)))

    async def look(self, tenant: Tenant, held: Held) -> Looked:
        """Have a schema that is used read again, in the background, where it has changed; now and then.

        Returns:
            `reading`: an answer from what is known may be old.
        """
        watch = self._watch(tenant, held)
        every, wait = (LOOK_SECONDS, LOOK_WAIT) if held.connection.live else (0.0, FOLDER_WAIT)
        if time.monotonic() - watch.looked >= every and (watch.looking is None or watch.looking.done()):
            watch.looked = time.monotonic()
            watch.looking = self._begin(watch, _quietly(lambda: self._look(tenant, held, watch)))
        if watch.looking is not None and not watch.looking.done():
            await asyncio.wait([watch.looking], timeout=wait)
        if watch.reading is None or watch.reading.done():
            return "same"
        if not held.connection.live:
            await asyncio.wait([watch.reading], timeout=wait)
        return "read" if watch.reading.done() else "reading"

    async def settle(self) -> None:
        """Wait until nothing is being read; for measurements and tests."""
        while pending := [task for watch in self._watches.values() for task in watch.tasks]:
            await asyncio.wait(pending)

    async def forget(self, tenant: Tenant, connection: int) -> None:
        """End what is being done for a connection that is gone."""
        gone = [key for key in self._watches if key[:2] == (tenant.id, connection)]
        await _ended([task for key in gone for task in self._watches.pop(key).tasks])

    async def close(self) -> None:
        """End what runs."""
        await _ended([task for watch in self._watches.values() for task in watch.tasks])

    def _watch(self, tenant: Tenant, held: Held) -> _Watch:
        return self._watches.setdefault((tenant.id, held.id, held.changes), _Watch())

    def _begin(self, watch: _Watch, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        watch.tasks.add(task)
        task.add_done_callback(watch.tasks.discard)
        return task

    async def _look(self, tenant: Tenant, held: Held, watch: _Watch) -> None:
        """Ask the database whether its schema has changed, and go on with what was broken off."""
        try:
            async with self._sessions.use(tenant, held) as connector:
                stamp = await connector.stamp()
        except ThresherError as error:
            await self._fail(tenant, held, str(error))
            raise
        age = (datetime.now(UTC) - held.connection.schema_at).total_seconds() if held.connection.schema_at else None
        old = age is None or age > UNSTAMPED_SECONDS
        if stamp != held.stamp or (not stamp and old) or held.connection.state != "ready":
            self.begin(tenant, held)
            await asyncio.sleep(0)  # so that the reading has begun when the answer asks
        elif watch.deepening is None:
            watch.deepening = self._begin(watch, _quietly(lambda: self._deepen(tenant, held)))

    async def _read(self, tenant: Tenant, held: Held, watch: _Watch) -> None:
        watch.looked = time.monotonic()
        try:
            async with asyncio.timeout(_READ_SECONDS), self._sessions.use(tenant, held) as connector:
                schema = await connector.reflect(MOST_TABLES)
            await self._store(tenant, held, schema)
        except TimeoutError:
            await self._fail(tenant, held, f"Its catalog was not read in {_READ_SECONDS:.0f} seconds.")
            raise
        except ThresherError as error:
            await self._fail(tenant, held, str(error))
            raise
        if watch.deepening is not None and not watch.deepening.done():
            watch.deepening.cancel()
        watch.deepening = self._begin(watch, _quietly(lambda: self._deepen(tenant, held)))

    async def _store(self, tenant: Tenant, held: Held, schema: Schema) -> None:
        digest = await asyncio.to_thread(digest_of, schema)
        stored = await queries.read_snapshot(self._database, tenant, held.id)
        if stored is not None and stored.digest == digest:
            await self._note(tenant, held, schema, {})
            return
        known = NOT_LOOKED_FOR
        if len(schema.tables) <= RELATED_AT_ONCE:
            known = Known(await asyncio.to_thread(related, schema))
        await self._write(tenant, held, schema, digest, known)
        event(_logger, "schema read", tenant=tenant.id, connection=held.connection.name, tables=len(schema.tables))

    async def _write(self, tenant: Tenant, held: Held, schema: Schema, digest: str, known: Known) -> None:
        """Store a schema under the numbers that its tables have."""
        relations = await asyncio.to_thread(packed_relations, known)

        async def write(link: Any) -> None:
            edition = await queries.lock_connection(link, tenant, held.id, held.changes)
            if edition is None:
                raise NotFound("The connection was removed or changed meanwhile.", hint="List the connections.")
            before = await queries.read_numbers(link, tenant, held.id)
            if before is not None and before.digest == digest:
                return
            document = await asyncio.to_thread(_document, schema, before)
            new = Stored(edition + 1, digest, document, relations, "")
            await queries.write_snapshot(link, tenant, held.id, new)
            values = {**_noted(schema), "edition": edition + 1}
            await queries.set_connection(link, tenant, held.id, held.changes, **values)

        await run_retrying(self._database, tenant, write)

    async def _note(self, tenant: Tenant, held: Held, schema: Schema, more: dict[str, Any]) -> None:
        values = {**_noted(schema), **more}
        await run_retrying(
            self._database,
            tenant,
            lambda link: queries.set_connection(link, tenant, held.id, held.changes, **values),
        )

    async def _deepen(self, tenant: Tenant, held: Held) -> None:
        """Have the tables found, and look at values where that is allowed."""
        await self._indexing.put(tenant, held)
        await self._relate(tenant, held)
        async with self._sessions.use(tenant, held) as connector:
            await self._warn(tenant, held, connector)
            if held.connection.samples:
                await self._sample(tenant, held, connector)

    async def _relate(self, tenant: Tenant, held: Held) -> None:
        """Look for potential relations where that was put off."""
        found = await self._stored(tenant, held)
        if found is not None and not found[2].complete:
            stored, schema, _ = found
            await self._rewrite(tenant, held, stored, Known(await asyncio.to_thread(related, schema)))

    async def _stored(self, tenant: Tenant, held: Held) -> tuple[Stored, Schema, Known] | None:
        stored = await queries.read_snapshot(self._database, tenant, held.id)
        if stored is None:
            return None
        snapshot = await asyncio.to_thread(unpacked, stored.document)
        return stored, snapshot.schema, await asyncio.to_thread(unpacked_relations, stored.relations)

    async def _rewrite(self, tenant: Tenant, held: Held, stored: Stored, known: Known) -> None:
        """Store other relations of a schema."""
        relations = await asyncio.to_thread(packed_relations, known)

        async def write(link: Any) -> None:
            edition = await queries.lock_connection(link, tenant, held.id, held.changes)
            if edition is not None and await queries.write_relations(
                link, tenant, held.id, stored.digest, edition=edition + 1, relations=relations
            ):
                await queries.set_connection(link, tenant, held.id, held.changes, edition=edition + 1)

        await run_retrying(self._database, tenant, write)

    async def _warn(self, tenant: Tenant, held: Held, connector: Connector) -> None:
        """Note what the role could change."""
        health = await connector.test()
        if health.ok and tuple(health.writable) != held.connection.writable:
            await run_retrying(
                self._database,
                tenant,
                lambda link: queries.set_connection(
                    link, tenant, held.id, held.changes, writable=list(health.writable)
                ),
            )

    async def _sample(self, tenant: Tenant, held: Held, connector: Connector) -> None:
        """Find relations again, by values too, where that was not done for this schema."""
        found = await self._stored(tenant, held)
        if found is not None and not found[2].sampled:
            stored, schema, _ = found
            known = Known(await related_by_values(connector, schema), sampled=True)
            await self._rewrite(tenant, held, stored, known)

    async def _fail(self, tenant: Tenant, held: Held, problem: str) -> None:
        """Say what is wrong, where that can be said; what was known stays."""
        state = "failed" if held.connection.state in ("new", "failed") else "stale"
        values = {"state": state, "problem": clean(problem)}
        await _quietly(
            lambda: run_retrying(
                self._database,
                tenant,
                lambda link: queries.set_connection(link, tenant, held.id, held.changes, **values),
            )
        )


def _document(schema: Schema, before: Stored | None) -> bytes:
    return packed(snapshot_of(schema, unpacked(before.document) if before is not None else None))


def _noted(schema: Schema) -> dict[str, Any]:
    return {
        "state": "ready",
        "problem": "",
        "version": clean(schema.version),
        "tables": len(schema.tables) + schema.left_out,
        "stamp": clean(schema.stamp),
        "schema_at": datetime.now(UTC),
    }


async def _quietly(work: Callable[[], Awaitable[Any]]) -> None:
    """Do work in the background; that it failed is logged, and what it is about says so."""
    try:
        await work()
    except (ThresherError, TimeoutError) as error:
        event(_logger, "schema not read", level=logging.WARNING, reason=str(error))


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
