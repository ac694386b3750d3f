"""Lists of tables, the columns of one, and what relates: answers that need no budget.

Invariant: pure; equal arguments give equal pages while the schema stays.
"""

from __future__ import annotations

from typing import Final

from thresher.connectors import Table
from thresher.core import NotFound, check_limit, did_you_mean, nearest
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.entries import words_of
from thresher.knowledge.databases.models import Relations, TableColumns, TableList
from thresher.knowledge.databases.paging import cursor_of, place_of
from thresher.knowledge.databases.queries import Held
from thresher.knowledge.databases.searching import brief

MOST_LISTED: Final = 1_000
_SEARCH_CHARACTERS: Final = 200


def listed(
    held: Held,
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
    words = (str(held.id), str(catalog.edition), search or "", schema or "", "list")
    first = place_of(cursor, words) if cursor else 0
    within = _of_schema(catalog, schema)
    found = _matching(within, search) if search and search.strip() else within
    end = first + limit
    return TableList(
        held.connection.name,
        held.connection.dialect,
        tuple(brief(table) for table in found[first:end]),
        len(found),
        cursor_of(end, words) if end < len(found) else None,
        notes,
    )


def columns_of(held: Held, table: Table) -> TableColumns:
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


def relations_of(held: Held, catalog: Catalog, notes: tuple[str, ...]) -> Relations:
    """See `DatabaseService.find_relations`."""
    declared = tuple((catalog.name_of(table), key) for table in catalog.schema.tables for key in table.foreign_keys)
    return Relations(held.connection.name, declared, catalog.known.potential, catalog.known.sampled, notes)


def _of_schema(catalog: Catalog, schema: str | None) -> list[Table]:
    if schema is None:
        return list(catalog.schema.tables)
    known = catalog.schemas()
    named = [one for one in known if one == schema] or [one for one in known if one.casefold() == schema.casefold()]
    if not named:
        listed = f"There are: {', '.join(known[:20])}." if any(known) else "Its tables stand in none: leave it away."
        raise NotFound(
            f"There is no schema '{schema[:80]}' with tables in this connection.",
            hint=did_you_mean(nearest(schema[:80], known)) or listed,
        )
    return [table for table in catalog.schema.tables if table.schema in named]


def _matching(tables: list[Table], search: str) -> list[Table]:
    """Tables that hold all words, in their names the first ones, then in comments and columns."""
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
