"""What of a table is put into the index: its name in words, its columns, comments, and what it is joined to.

Invariant: pure; equal tables with equal neighbours have equal texts for the encoder, so that they are embedded once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from thresher.connectors import Table
from thresher.core import shortened
from thresher.knowledge.databases.catalog import Catalog
from thresher.search import Entry

KIND: Final = "table"
"""The collection of the index that holds tables."""
NUMBER_BITS: Final = 24
"""A table's id in the index is its connection's id, shifted by this, plus its number: nothing has to be looked up."""
_CONNECTION: Final = "connection:"
_COLUMNS: Final = 60
"""Named in the text for the encoder, which reads about 500 tokens."""
_NEIGHBOURS: Final = 12
_COMMENT: Final = 300
_COLUMN_COMMENT: Final = 80
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z\d_]+|\d+|[^\W\d_]+")


def table_id(connection: int, number: int) -> int:
    """The id in the index of a connection's table."""
    return connection << NUMBER_BITS | number


def key_of(entry: int) -> tuple[int, int]:
    """The connection and the number in it of a table, by its id in the index."""
    return entry >> NUMBER_BITS, entry & (1 << NUMBER_BITS) - 1


def facet_of(connection: int) -> str:
    """The label of a connection's tables."""
    return f"{_CONNECTION}{connection}"


def facets_of(connections: Iterable[int]) -> frozenset[str]:
    """The labels of some connections' tables."""
    return frozenset(facet_of(one) for one in connections)


def words_of(name: str) -> str:
    """A name as words: `SupportRepId`, `support_rep_id` and `SUPPORT_REP_ID` are all `support rep id`."""
    return " ".join(word.lower() for word in _WORD.findall(name))


def entries_of(
    catalog: Catalog, connection: int, owner: str | None, numbers: Iterable[int] | None = None
) -> Iterator[Entry]:
    """The entries of a connection's tables.

    Args:
        catalog: Its schema.
        connection: Its id.
        owner: The only user who may find them; None for everybody of the tenant.
        numbers: Only of these; those that are gone are left out.
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
