"""Finds tables by any words, lists them by name, and shows the columns and relations of a schema.

Invariant: only existing tables of connections that the caller sees are found; equal arguments give equal pages as long
as the schema is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from thresher.connectors import Table
from thresher.core import (
    Caller,
    CursorCodec,
    InvalidInput,
    NotFound,
    Why,
    check_limit,
    did_you_mean,
    nearest,
    shortened,
)
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.indexing import KIND, facets_of, key_of, words_of
from thresher.knowledge.databases.models import FoundTable, FoundTables, Relations, TableBrief, TableColumns, TableList
from thresher.knowledge.databases.queries import StoredConnection
from thresher.search import Filter, SearchIndex, terms

MOST_LISTED: Final = 1_000
_CURSOR: Final[CursorCodec[int]] = CursorCodec("sql_list_tables", int)
_SEARCH_CHARACTERS: Final = 200


def listed(
    held: StoredConnection,
    catalog: Catalog,
    *,
    search: str | None,
    schema: str | None,
    limit: int,
    cursor: str | None,
    notes: tuple[str, ...],
) -> TableList:
    """See `DatabaseService.list_tables`."""
    check_limit(limit, MOST_LISTED)
    words = (str(held.id), str(catalog.edition), search or "", schema or "")
    (first,) = _CURSOR.decode(cursor, words) if cursor else (0,)
    within = _of_schema(catalog, schema)
    found = _matching(within, search) if search and search.strip() else within
    end = first + limit
    return TableList(
        held.connection.name,
        held.connection.dialect,
        tuple(table_brief(table) for table in found[first:end]),
        len(found),
        _CURSOR.encode(end, question=words) if end < len(found) else None,
        notes,
    )


def columns_of(held: StoredConnection, table: Table) -> TableColumns:
    """See `DatabaseService.get_table_columns`."""
    return TableColumns(
        held.connection.name,
        table.schema,
        table.name,
        table.columns,
        table.primary_key,
        table.foreign_keys,
        table.comment,
        table.rows,
    )


def relations_of(held: StoredConnection, catalog: Catalog, notes: tuple[str, ...]) -> Relations:
    """See `DatabaseService.find_relations`."""
    declared = tuple((catalog.name_of(table), key) for table in catalog.schema.tables for key in table.foreign_keys)
    return Relations(held.connection.name, declared, catalog.known.potential, catalog.known.sampled, notes)


def _of_schema(catalog: Catalog, schema: str | None) -> list[Table]:
    if schema is None:
        return list(catalog.schema.tables)
    known = catalog.schemas()
    named = [one for one in known if one == schema] or [one for one in known if one.casefold() == schema.casefold()]
    if not named:
        listed = f"There are: {', '.join(known[:20])}." if any(known) else "Its tables have no schema: leave it out."
        raise NotFound(
            f"There is no schema '{schema[:80]}' with tables in this connection.",
            hint=did_you_mean(nearest(schema[:80], known)) or listed,
        )
    return [table for table in catalog.schema.tables if table.schema in named]


def _matching(tables: list[Table], search: str) -> list[Table]:
    """Tables that contain all words: matches in names first, then in comments and columns."""
    wanted = search[:_SEARCH_CHARACTERS].casefold().split()
    ranked = [(rank, number) for number, one in enumerate(tables) if (rank := _rank(one, wanted)) is not None]
    return [tables[number] for _, number in sorted(ranked)]


def _rank(table: Table, wanted: list[str]) -> int | None:
    name = f"{table.schema}.{table.name} {words_of(table.name)}".casefold()
    if all(word in name for word in wanted):
        return 0 if table.name.casefold() == " ".join(wanted) else 1
    wider = f"{name} {table.comment.casefold()}"
    if all(word in wider for word in wanted):
        return 2
    columns = " ".join(column.name.casefold() for column in table.columns)
    return 3 if all(word in wider or word in columns for word in wanted) else None


MOST_FOUND: Final = 50
QUERY_CHARACTERS: Final = 2_000
_SHOWN_COLUMNS: Final = 12


@dataclass(frozen=True, slots=True)
class RankedTables:
    """Tables that fit some words.

    Attributes:
        tables: Connection id, table, probability and reasons, best first.
        degraded: How the search was degraded, in words; empty if it was not.
    """

    tables: tuple[tuple[int, Table, float, Why], ...]
    degraded: str


class TableSearcher:
    """Searches tables.

    Args:
        index: The search index.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._index = index

    async def ranked(self, caller: Caller, query: str, catalogs: Mapping[int, Catalog], limit: int) -> RankedTables:
        """Find tables of some connections, best first.

        Args:
            caller: The tenant and user.
            query: Any words; a very long text is cut.
            catalogs: Schemas by connection id.
            limit: Maximum tables.
        """
        words = shortened(query.strip(), QUERY_CHARACTERS)
        if not words:
            raise InvalidInput("There is nothing to search for.", hint="Say what the table holds, in any words.")
        scope = Filter(facets_of(catalogs))
        found = await self._index.search(caller, KIND, [words], limit=limit, filter=scope, threshold=0.0, split=False)
        tables = [
            (connection, table, hit.score, hit.why)
            for hit in found.hits
            for connection, number in [key_of(hit.id)]
            if connection in catalogs and (table := catalogs[connection].by_number.get(number)) is not None
        ]
        return RankedTables(tuple(tables), found.degraded)

    async def search(
        self, caller: Caller, query: str, sources: Mapping[int, tuple[StoredConnection, Catalog]], limit: int
    ) -> FoundTables:
        """Find tables; see `DatabaseService.search_schema`."""
        catalogs = {number: catalog for number, (_, catalog) in sources.items()}
        found = await self.ranked(caller, query, catalogs, limit)
        asked = frozenset(terms(query))
        tables = tuple(
            FoundTable(
                sources[connection][0].connection.name,
                table_brief(table),
                _met_first(table, asked),
                round(score, 4),
                why_text(why),
            )
            for connection, table, score, why in found.tables
        )
        return FoundTables(query, tables, found.degraded)


def table_brief(table: Table) -> TableBrief:
    """A table's entry in lists."""
    return TableBrief(table.schema, table.name, table.kind, len(table.columns), table.rows, table.comment)


def why_text(why: Why) -> str:
    """The reasons for a hit, in a few words."""
    words = ", ".join(why.terms[:4])
    meaning = "" if why.dense.score is None else f"meaning {why.dense.score:.2f}"
    return "; ".join(part for part in (f"words: {words}" if words else "", meaning) if part)


def _met_first(table: Table, asked: frozenset[str]) -> tuple[str, ...]:
    """Names of columns, those with a word of the question first."""
    names = [column.name for column in table.columns]
    names.sort(key=lambda name: asked.isdisjoint(terms(words_of(name))))
    return tuple(names[:_SHOWN_COLUMNS])
