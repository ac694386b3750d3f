"""What was probably meant where a database does not know a column or a table.

Invariant: pure; only names of the schema are offered, in the form in which a statement has to write them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from thresher.connectors import Table
from thresher.core import InvalidInput, NotFound
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.wording import inline, must_quote, quoted

_NAME: Final = r"[\"'`\[]?(?P<name>[^\s\"'`\]:]+(?:[\"'`\]]?\.[\"'`\[]?[^\s\"'`\]:]+)*)[\"'`\]]?"
_COLUMN: Final = (
    re.compile(rf"column {_NAME} does not exist", re.I),
    re.compile(rf"no such column: {_NAME}", re.I),
    re.compile(rf"unknown column {_NAME}", re.I),
    re.compile(rf"referenced column {_NAME} not found", re.I),
    re.compile(rf"does not have a column named {_NAME}", re.I),
    re.compile(rf"{_NAME}: invalid identifier", re.I),
    re.compile(rf"invalid column name {_NAME}", re.I),
)
_TABLE: Final = (
    re.compile(rf"relation {_NAME} does not exist", re.I),
    re.compile(rf"no such table: {_NAME}", re.I),
    re.compile(rf"table {_NAME} doesn't exist", re.I),
    re.compile(rf"table with name {_NAME} does not exist", re.I),
    re.compile(rf"table or view {_NAME} does not exist", re.I),
    re.compile(rf"invalid object name {_NAME}", re.I),
    re.compile(rf"missing FROM-clause entry for table {_NAME}", re.I),
)
_ALREADY: Final = re.compile(r"did you mean|perhaps you meant|candidate bindings", re.I)
_CUTOFF: Final = 0.55
_MOST_NAMES: Final = 20_000
_HOLDERS: Final = 3


def suggest(message: str, catalog: Catalog, read: Sequence[str]) -> str:
    """A sentence that offers what was probably meant; empty where nothing is near, or the database says so itself.

    Args:
        message: The database's.
        catalog: Its schema.
        read: The tables that the statement reads, as it writes them.
    """
    if _ALREADY.search(message):
        return ""
    if (column := _named(_COLUMN, message)) is not None:
        return _column(column, catalog, _tables(catalog, read))
    if (table := _named(_TABLE, message)) is not None:
        return _table(table, catalog)
    return ""


def _named(patterns: Iterable[re.Pattern[str]], message: str) -> str | None:
    """The last part of the name that a message complains of."""
    for pattern in patterns:
        if (found := pattern.search(message)) is not None:
            return re.split(r"[\"'`\]]?\.[\"'`\[]?", found["name"])[-1].strip("\"'`[]!.,;")
    return None


def _tables(catalog: Catalog, read: Sequence[str]) -> list[Table]:
    found: list[Table] = []
    for name in read:
        try:
            found.append(catalog.table(name))
        except (NotFound, InvalidInput):
            continue
    return found


def _column(name: str, catalog: Catalog, tables: Sequence[Table]) -> str:
    here = {column.name for table in tables for column in table.columns}
    if near := _nearest(name, here):
        return _offered(catalog, near, f"column{'s' if len(near) > 1 else ''}")
    holders = [
        catalog.name_of(table)
        for table in catalog.schema.tables
        if any(column.name.casefold() == name.casefold() for column in table.columns)
    ]
    if 0 < len(holders) <= _HOLDERS:
        return f"A column of this name is in {' and '.join(inline(one) for one in holders)}."
    return ""


def _table(name: str, catalog: Catalog) -> str:
    names = {table.name for table in catalog.schema.tables[:_MOST_NAMES]}
    near = _nearest(name, names)
    if not near:
        return "query_database_schema and sql_list_tables show the tables."
    return _offered(catalog, near, "table" if len(near) == 1 else "tables")


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    """Names that look alike, whatever their case; one that differs by its case alone stands alone."""
    by_fold: dict[str, str] = {}
    for one in sorted(known):
        by_fold.setdefault(one.casefold(), one)
    folded = name.casefold()
    if folded in by_fold:
        return [by_fold[folded]]
    return [by_fold[one] for one in difflib.get_close_matches(folded, by_fold, n=3, cutoff=_CUTOFF)]


def _offered(catalog: Catalog, names: Sequence[str], what: str) -> str:
    dialect = catalog.schema.dialect
    written = [quoted(dialect, inline(one)) if must_quote(dialect, one) else inline(one) for one in names]
    return f"Did you mean the {what} {' or '.join(written)}?"
