"""Which columns are worth a sample before relations are looked for a second time.

Invariant: pure and bounded: a schema of any size gives at most a fixed number of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from thresher.connectors import Table
from thresher.knowledge.databases.relations.finder import find_relations
from thresher.knowledge.databases.relations.keys import BASE_KINDS, KEYABLE
from thresher.knowledge.databases.relations.lexicon import KEY_WORDS
from thresher.knowledge.databases.relations.naming import column_prefix, read_column

ColumnPlace: TypeAlias = tuple[str, str, str]
"""Schema, table and column."""

MOST: Final = 4_000
DOUBTFUL: Final = 0.05
"""Pairs down to this score on names alone; samples may raise them above the threshold."""


def columns_wanted(tables: Sequence[Table], *, most: int = MOST) -> frozenset[ColumnPlace]:
    """The columns that samples would tell something of, the most doubtful pairs' first.

    Args:
        tables: The schema.
        most: Columns at most.
    """
    found: dict[ColumnPlace, None] = {}
    for place in _places(tables):
        if len(found) >= most:
            break
        found[place] = None
    return frozenset(found)


def _places(tables: Sequence[Table]) -> Iterator[ColumnPlace]:
    doubtful = find_relations(tables, threshold=DOUBTFUL)
    for one in sorted(doubtful, key=lambda one: abs(one.score - 0.5)):
        yield from ((one.schema, one.table, column) for column in one.columns)
        yield from ((one.target_schema, one.target_table, column) for column in one.target_columns)
    yield from _told_by_values(tables)


def _told_by_values(tables: Sequence[Table]) -> Iterator[ColumnPlace]:
    """Keys of text and columns that are called like a key: their values may tell what their names do not."""
    for table in tables:
        if table.kind not in BASE_KINDS:
            continue
        prefix = column_prefix(table)
        for column in table.columns:
            if column.family in KEYABLE and column.family != "decimal":
                named = any(name.kind in KEY_WORDS.values() for name in read_column(column.name, prefix))
                if named and column.family in ("text", "uuid"):
                    yield (table.schema, table.name, column.name)
