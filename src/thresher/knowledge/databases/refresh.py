"""Reads schemas, reads them again after changes, and provides them for answers.

An answer waits for the database only if nothing is known yet: otherwise it uses the stored schema, and says if that may
be old.

Invariant: a process reads a schema once at a time; a schema that cannot be read again stays as it was and records
why; after an interruption the next use continues from what is stored. Relations are found in a thread; sampling is
limited in columns and in time.
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
from thresher.core import Caller, DatabaseUnavailable, NotFound, Tenant, ThresherError, event
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.cache import SchemaCache
from thresher.knowledge.databases.catalog import (
    NOT_LOOKED_FOR,
    Catalog,
    KnownRelations,
    digest_of,
    packed,
    packed_relations,
    snapshot_of,
    unpacked,
    unpacked_relations,
)
from thresher.knowledge.databases.connections import Connections
from thresher.knowledge.databases.indexing import TableIndexer
from thresher.knowledge.databases.models import PotentialRelation
from thresher.knowledge.databases.queries import StoredConnection, StoredSchema
from thresher.knowledge.databases.relations import columns_to_sample, find_relations
from thresher.knowledge.databases.sessions import ConnectorPool
from thresher.store import Database, clean, run_retrying

_BEING_READ = "the schema is being read again and may have changed; ask again in a moment"


@dataclass(frozen=True, slots=True)
class SchemaLookup:
    """Provides the schemas of connections for answers.

    Attributes:
        connections: Which connections a caller sees.
        cache: Schemas that are stored.
        refresher: Reads schemas.
    """

    connections: Connections
    cache: SchemaCache
    refresher: Refresher

    async def of(self, caller: Caller, name: str) -> tuple[StoredConnection, Catalog, tuple[str, ...]]:
        """The schema of a connection, with warnings.

        Raises:
            NotFound: There is no such connection.
            DatabaseUnavailable: The schema was never read, and the database cannot be reached.
            QueryFailed: The schema was never read, and the catalog cannot be read.
        """
        held = await self.connections.held(caller, name)
        if held.connection.state == "new" or (catalog := await self.cache.catalog(caller.tenant, held)) is None:
            await self.refresher.read(caller.tenant, held)
            held = await self.connections.held(caller, name)
            catalog = await self.cache.catalog(caller.tenant, held)
        elif (looked := await self.refresher.look(caller.tenant, held)) != "same":
            if looked == "reading":
                return held, catalog, (_BEING_READ, *_notes(held, catalog))
            held = await self.connections.held(caller, name)
            catalog = await self.cache.catalog(caller.tenant, held)
        if catalog is None:
            raise DatabaseUnavailable(
                f"The schema of '{name}' is not known yet.", hint="Ask again, or refresh the connection."
            )
        return held, catalog, _notes(held, catalog)

    async def several(self, caller: Caller, name: str | None) -> dict[int, tuple[StoredConnection, Catalog]]:
        """The schema of one connection, or the stored schemas of all connections that the caller sees."""
        if name is not None:
            held, catalog, _ = await self.of(caller, name)
            return {held.id: (held, catalog)}
        known = await self.connections.all_held(caller)
        found = await asyncio.gather(*(self._known(caller, held) for held in known))
        return {held.id: (held, catalog) for held, catalog in zip(known, found, strict=True) if catalog is not None}

    async def _known(self, caller: Caller, held: StoredConnection) -> Catalog | None:
        try:
            return await self.cache.catalog(caller.tenant, held)
        except ThresherError:
            return None


def _notes(held: StoredConnection, catalog: Catalog) -> tuple[str, ...]:
    notes: list[str] = []
    if held.connection.state == "stale":
        read = held.connection.schema_at
        since = f", as of {read:%Y-%m-%d %H:%M} UTC" if read is not None else ""
        notes.append(f"the schema could not be read again{since}: {held.connection.problem}")
    if not catalog.known.complete:
        notes.append("potential relations are still being looked for; ask again in a moment")
    if catalog.schema.left_out:
        notes.append(f"{catalog.schema.left_out:,} tables beyond the limit are not known here")
    return tuple(notes)


SAMPLE_SECONDS: Final = 30.0


def related(schema: Schema) -> tuple[PotentialRelation, ...]:
    """Find potential relations by names, types and keys alone."""
    return tuple(find_relations(schema.tables))


async def related_by_values(connector: Connector, schema: Schema) -> tuple[PotentialRelation, ...]:
    """Find potential relations with sampled values, as far as these can be read in time."""
    wanted = await asyncio.to_thread(columns_to_sample, schema.tables)
    profiles = await connector.profiles(schema, wanted, SAMPLE_SECONDS)
    return tuple(await asyncio.to_thread(find_relations, schema.tables, profiles))


Freshness: TypeAlias = Literal["same", "reading", "read"]
"""Whether a schema is unchanged, is being read again, or was read again while the answer waited."""
_logger = logging.getLogger("thresher.knowledge")

LOOK_SECONDS: Final = 30.0
"""Seconds between checks for changes of a schema in use."""
LOOK_WAIT: Final = 0.15
"""How long an answer waits for the check."""
FOLDER_WAIT: Final = 2.0
"""How long an answer waits for changed column information: local files, which are checked at every use."""
UNSTAMPED_SECONDS: Final = 600.0
"""Seconds after which a schema is read again if its engine has no stamp."""
MOST_TABLES: Final = 20_000
RELATED_AT_ONCE: Final = 1_000
"""Maximum tables for which potential relations are found before the first answer, in half a second; for larger schemas
they follow later."""
_READ_SECONDS: Final = 300.0


@dataclass(slots=True)
class _RefreshState:
    """The background work for one connection."""

    looked: float = float("-inf")
    reading: asyncio.Task[None] | None = None
    deepening: asyncio.Task[None] | None = None
    looking: asyncio.Task[None] | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class Refresher:
    """Keeps schemas up to date.

    Args:
        database: Stores schemas.
        sessions: Opens the databases.
        indexing: Indexes tables.
    """

    def __init__(self, database: Database, sessions: ConnectorPool, indexing: TableIndexer) -> None:
        self._database = database
        self._sessions = sessions
        self._indexing = indexing
        self._watches: dict[tuple[int, int, int], _RefreshState] = {}

    async def read(self, tenant: Tenant, held: StoredConnection, *, deeply: bool = False) -> None:
        """Read a schema now.

        Args:
            tenant: The connection's tenant.
            held: The connection.
            deeply: Whether to wait until its tables are indexed and values are sampled.

        Raises:
            ThresherError: It cannot be read; the stored schema is kept, and the connection records why.
        """
        watch = self._watch(tenant, held)
        if watch.reading is None or watch.reading.done():
            watch.reading = self._begin(watch, self._read(tenant, held, watch))
        await asyncio.shield(watch.reading)
        if deeply and watch.deepening is not None:
            await asyncio.shield(watch.deepening)

    def begin(self, tenant: Tenant, held: StoredConnection) -> None:
        """Read a schema in the background."""
        self._begin(self._watch(tenant, held), _quietly(lambda: self.read(tenant, held)))

    async def look(self, tenant: Tenant, held: StoredConnection) -> Freshness:
        """Check from time to time whether a schema in use has changed, and read it again in the background.

        Returns:
            The result of the check; with `reading`, an answer from the stored schema may be old.
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
        """End the work for a connection that was removed."""
        gone = [key for key in self._watches if key[:2] == (tenant.id, connection)]
        await _ended([task for key in gone for task in self._watches.pop(key).tasks])

    async def close(self) -> None:
        """End all background work."""
        await _ended([task for watch in self._watches.values() for task in watch.tasks])

    def _watch(self, tenant: Tenant, held: StoredConnection) -> _RefreshState:
        return self._watches.setdefault((tenant.id, held.id, held.changes), _RefreshState())

    def _begin(self, watch: _RefreshState, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        watch.tasks.add(task)
        task.add_done_callback(watch.tasks.discard)
        return task

    async def _look(self, tenant: Tenant, held: StoredConnection, watch: _RefreshState) -> None:
        """Ask the database whether its schema has changed, and continue interrupted work."""
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
            await asyncio.sleep(0)  # so that reading has begun when the caller checks
        elif watch.deepening is None:
            watch.deepening = self._begin(watch, _quietly(lambda: self._deepen(tenant, held)))

    async def _read(self, tenant: Tenant, held: StoredConnection, watch: _RefreshState) -> None:
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

    async def _store(self, tenant: Tenant, held: StoredConnection, schema: Schema) -> None:
        digest = await asyncio.to_thread(digest_of, schema)
        stored = await queries.read_snapshot(self._database, tenant, held.id)
        if stored is not None and stored.digest == digest:
            await self._note(tenant, held, schema, {})
            return
        known = NOT_LOOKED_FOR
        if len(schema.tables) <= RELATED_AT_ONCE:
            known = KnownRelations(await asyncio.to_thread(related, schema))
        await self._write(tenant, held, schema, digest, known)
        event(_logger, "schema read", tenant=tenant.id, connection=held.connection.name, tables=len(schema.tables))

    async def _write(
        self, tenant: Tenant, held: StoredConnection, schema: Schema, digest: str, known: KnownRelations
    ) -> None:
        """Store a schema; its tables keep their numbers."""
        relations = await asyncio.to_thread(packed_relations, known)

        async def write(link: Any) -> None:
            edition = await queries.lock_connection(link, tenant, held.id, held.changes)
            if edition is None:
                raise NotFound("The connection was removed or changed meanwhile.", hint="List the connections.")
            before = await queries.read_snapshot_in(link, tenant, held.id)
            if before is not None and before.digest == digest:
                return
            document = await asyncio.to_thread(_document, schema, before)
            new = StoredSchema(edition + 1, digest, document, relations, "")
            await queries.write_snapshot(link, tenant, held.id, new)
            values = {**_noted(schema), "edition": edition + 1}
            await queries.set_connection(link, tenant, held.id, held.changes, **values)

        await run_retrying(self._database, tenant, write)

    async def _note(self, tenant: Tenant, held: StoredConnection, schema: Schema, more: dict[str, Any]) -> None:
        values = {**_noted(schema), **more}
        await run_retrying(
            self._database,
            tenant,
            lambda link: queries.set_connection(link, tenant, held.id, held.changes, **values),
        )

    async def _deepen(self, tenant: Tenant, held: StoredConnection) -> None:
        """Index the tables, and sample values if allowed."""
        await self._indexing.put(tenant, held)
        await self._relate(tenant, held)
        async with self._sessions.use(tenant, held) as connector:
            await self._warn(tenant, held, connector)
            if held.connection.samples:
                await self._sample(tenant, held, connector)

    async def _relate(self, tenant: Tenant, held: StoredConnection) -> None:
        """Find potential relations if that was postponed."""
        found = await self._stored(tenant, held)
        if found is not None and not found[2].complete:
            stored, schema, _ = found
            await self._rewrite(tenant, held, stored, KnownRelations(await asyncio.to_thread(related, schema)))

    async def _stored(
        self, tenant: Tenant, held: StoredConnection
    ) -> tuple[StoredSchema, Schema, KnownRelations] | None:
        stored = await queries.read_snapshot(self._database, tenant, held.id)
        if stored is None:
            return None
        snapshot = await asyncio.to_thread(unpacked, stored.document)
        return stored, snapshot.schema, await asyncio.to_thread(unpacked_relations, stored.relations)

    async def _rewrite(
        self, tenant: Tenant, held: StoredConnection, stored: StoredSchema, known: KnownRelations
    ) -> None:
        """Replace the stored relations of a schema."""
        relations = await asyncio.to_thread(packed_relations, known)

        async def write(link: Any) -> None:
            edition = await queries.lock_connection(link, tenant, held.id, held.changes)
            if edition is not None and await queries.write_relations(
                link, tenant, held.id, stored.digest, edition=edition + 1, relations=relations
            ):
                await queries.set_connection(link, tenant, held.id, held.changes, edition=edition + 1)

        await run_retrying(self._database, tenant, write)

    async def _warn(self, tenant: Tenant, held: StoredConnection, connector: Connector) -> None:
        """Record what the role could change."""
        health = await connector.test()
        if health.ok and tuple(health.writable) != held.connection.writable:
            await run_retrying(
                self._database,
                tenant,
                lambda link: queries.set_connection(
                    link, tenant, held.id, held.changes, writable=list(health.writable)
                ),
            )

    async def _sample(self, tenant: Tenant, held: StoredConnection, connector: Connector) -> None:
        """Find relations with sampled values, unless that was done for this schema."""
        found = await self._stored(tenant, held)
        if found is not None and not found[2].sampled:
            stored, schema, _ = found
            known = KnownRelations(await related_by_values(connector, schema), sampled=True)
            await self._rewrite(tenant, held, stored, known)

    async def _fail(self, tenant: Tenant, held: StoredConnection, problem: str) -> None:
        """Record a problem if possible; the stored schema is kept."""
        state = "failed" if held.connection.state in ("new", "failed") else "stale"
        values = {"state": state, "problem": clean(problem)}
        await _quietly(
            lambda: run_retrying(
                self._database,
                tenant,
                lambda link: queries.set_connection(link, tenant, held.id, held.changes, **values),
            )
        )


def _document(schema: Schema, before: StoredSchema | None) -> bytes:
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
    """Run background work; a failure is logged, and the work itself has recorded it."""
    try:
        await work()
    except (ThresherError, TimeoutError) as error:
        event(_logger, "schema not read", level=logging.WARNING, reason=str(error))


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
