"""Puts tables into the search index and removes them, and the job that embeds the tables of a large schema.

An entry holds the table's name as words, its columns, comments, and the tables that it is joined to. A stored schema is
found by words at once; vectors follow, for a large schema in a worker.

Invariant: equal tables with equal neighbours have equal texts, so that they are embedded once. A schema that was put
completely is marked, so that an interrupted run is repeated at the next use. The job keeps nothing between
runs and reaches only our own database.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.connectors import Table
from thresher.core import EncoderError, Tenant, event, shortened
from thresher.jobs import Jobs, Work
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.cache import catalog_of
from thresher.knowledge.databases.catalog import Catalog, unpacked
from thresher.knowledge.databases.queries import StoredConnection, StoredSchema
from thresher.search import Entry, Filter, Progress, SearchIndex
from thresher.store import Database, run_retrying

KIND: Final = "table"
"""The collection of the index that holds tables."""
NUMBER_BITS: Final = 24
"""A table's id in the index is its connection's id, shifted by this, plus its number, so that no lookup is needed."""
_CONNECTION: Final = "connection:"
_COLUMNS: Final = 60
"""Columns named in the text for the encoder, which reads about 500 tokens."""
_NEIGHBOURS: Final = 12
_COMMENT: Final = 300
_COLUMN_COMMENT: Final = 80
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z\d_]+|\d+|[^\W\d_]+")


def table_id(connection: int, number: int) -> int:
    """A table's id in the index."""
    return connection << NUMBER_BITS | number


def key_of(entry: int) -> tuple[int, int]:
    """A table's connection and number, from its id in the index."""
    return entry >> NUMBER_BITS, entry & (1 << NUMBER_BITS) - 1


def facet_of(connection: int) -> str:
    """The label of a connection's tables."""
    return f"{_CONNECTION}{connection}"


def facets_of(connections: Iterable[int]) -> frozenset[str]:
    """The labels of some connections' tables."""
    return frozenset(facet_of(one) for one in connections)


def words_of(name: str) -> str:
    """Split a name into words: `SupportRepId`, `support_rep_id` and `SUPPORT_REP_ID` all give `support rep id`."""
    return " ".join(word.lower() for word in _WORD.findall(name))


def entries_of(
    catalog: Catalog, connection: int, owner: str | None, numbers: Iterable[int] | None = None
) -> Iterator[Entry]:
    """The entries of a connection's tables.

    Args:
        catalog: The connection's schema.
        connection: The connection's id.
        owner: The only user who may find them; None for all users of the tenant.
        numbers: Only tables with these numbers; missing ones are left out.
    """
    facets = frozenset({facet_of(connection)})
    for number in catalog.by_number if numbers is None else numbers:
        if (table := catalog.by_number.get(number)) is not None:
            yield _entry(catalog, table, table_id(connection, number), facets, owner)


def _entry(catalog: Catalog, table: Table, number: int, facets: frozenset[str], owner: str | None) -> Entry:
    name = words_of(table.name)
    if table.schema and table.schema != catalog.schema.default_schema:
        name = f"{words_of(table.schema)} {name}"
    columns = [_column(one.name, one.comment) for one in table.columns]
    joined = [words_of(one.rpartition(".")[2]) for one in catalog.neighbours(table)[:_NEIGHBOURS]]
    comment = shortened(" ".join(table.comment.split()), _COMMENT)
    text = f"{table.kind} {name}" + (f": {comment}" if comment else "")
    text += f"\ncolumns: {', '.join(columns[:_COLUMNS])}"
    if joined:
        text += f"\nbelongs with: {', '.join(joined)}"
    fields = {"name": f"{table.name} {name}", "columns": " ".join(columns), "comment": comment}
    return Entry(number, (text,), fields=fields | {"joined": " ".join(joined)}, facets=facets, owner=owner)


def _column(name: str, comment: str) -> str:
    words = words_of(name)
    return f"{words} ({shortened(' '.join(comment.split()), _COLUMN_COMMENT)})" if comment.strip() else words


TASK: Final = "databases.embed"


class EmbedTask:
    """The job that embeds tables that have no vectors yet.

    Args:
        database: Stores schemas.
        index: Finds tables.
    """

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._database = database
        self._index = index

    @property
    def name(self) -> str:
        """See `Task.name`."""
        return TASK

    async def run(self, work: Work) -> None:
        """See `Task.run`."""
        await embed(
            self._database,
            self._index,
            work.tenant,
            work.subject,
            progress=lambda done, total: work.report("embedding", done, total),
        )


async def embed(
    database: Database, index: SearchIndex, tenant: Tenant, connection: int, *, progress: Progress | None = None
) -> int:
    """Embed the tables of a connection that have no vectors; returns how many, 0 if the connection was removed.

    Raises:
        EncoderError: The encoder does not answer; vectors written before are kept.
        StoreError: The database does not answer.
    """
    async with database.transaction(tenant) as link:
        held = await queries.connection_by_id(link, tenant, connection)
        stored = await queries.read_snapshot_in(link, tenant, connection)
    if held is None or stored is None:
        return 0
    catalog, owner = catalog_of(stored), held.connection.owner

    async def entries(ids: Sequence[int]) -> list[Entry]:
        return list(entries_of(catalog, connection, owner, [key_of(one)[1] for one in ids]))

    scope = Filter(facets_of([connection]))
    return await index.embed_pending(tenant, KIND, entries, filter=scope, progress=progress)


_logger = logging.getLogger("thresher.knowledge")

EMBEDDED_HERE: Final = 128
"""Maximum tables that are embedded in this process, in a second or two; a worker embeds more."""
_PUT: Final = 1_024


class TableIndexer:
    """The tables of all connections in the index.

    Args:
        database: Stores schemas.
        index: Finds tables.
        jobs: Embeds large schemas.
    """

    def __init__(self, database: Database, index: SearchIndex, jobs: Jobs) -> None:
        self._database = database
        self._index = index
        self._jobs = jobs

    def is_due(self, stored: StoredSchema) -> bool:
        """Whether a schema was not indexed completely, or with another model's vectors."""
        digest, _, edition = stored.indexed.partition(" ")
        now = self._index.edition(KIND)
        return digest != stored.digest or bool(now and edition != now)

    async def put(self, tenant: Tenant, held: StoredConnection) -> None:
        """Index the tables of a connection's stored schema."""
        stored = await queries.read_snapshot(self._database, tenant, held.id)
        if stored is None or not self.is_due(stored):
            return
        catalog = await asyncio.to_thread(catalog_of, stored)
        snapshot = await asyncio.to_thread(unpacked, stored.document)
        gone = set(range(snapshot.following)) - set(catalog.by_number)
        await self._index.remove(tenant, KIND, [table_id(held.id, number) for number in sorted(gone)])
        entries = await asyncio.to_thread(lambda: list(entries_of(catalog, held.id, held.connection.owner)))
        for first in range(0, len(entries), _PUT):
            await self._index.put(tenant, KIND, entries[first : first + _PUT], embed=False)
        await self._embed(tenant, held, len(entries))
        indexed = f"{stored.digest} {self._index.edition(KIND)}"
        await run_retrying(
            self._database,
            tenant,
            lambda link: queries.set_indexed(link, tenant, held.id, stored.digest, indexed),
        )

    async def _embed(self, tenant: Tenant, held: StoredConnection, tables: int) -> None:
        if tables > EMBEDDED_HERE:
            await run_retrying(self._database, tenant, lambda link: self._defer(link, tenant, held))
            return
        try:
            await embed(self._database, self._index, tenant, held.id)
        except EncoderError as error:
            event(_logger, "tables not embedded", level=logging.WARNING, tenant=tenant.id, reason=str(error))

    async def _defer(self, link: AsyncConnection, tenant: Tenant, held: StoredConnection) -> None:
        job = await self._jobs.defer(link, tenant, TASK, held.id, owner=held.connection.owner)
        await queries.set_connection(link, tenant, held.id, held.changes, job=job.id)

    async def embedded(self, tenant: Tenant, connection: int) -> int:
        """The number of tables of a connection that have vectors."""
        return await self._index.embedded(tenant, KIND, Filter(facets_of([connection])))

    async def remove(self, tenant: Tenant, connection: int) -> None:
        """Finish the removal of a connection: delete its index entries and rows. May be repeated."""
        stored = await queries.read_snapshot(self._database, tenant, connection)
        if stored is not None:
            snapshot = await asyncio.to_thread(unpacked, stored.document)
            ids = [table_id(connection, number) for number in range(snapshot.following)]
            await self._index.remove(tenant, KIND, ids)
        await run_retrying(self._database, tenant, lambda link: queries.delete_connection(link, tenant, connection))

    async def remove_left(self, tenant: Tenant) -> None:
        """Finish removals that were interrupted."""
        async with self._database.transaction(tenant) as link:
            left = await queries.removing(link, tenant)
        for connection in left:
            await self.remove(tenant, connection)
