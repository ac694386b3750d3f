"""Makes a schema of what a workspace's files say of tables: columns, types, keys.

Invariant: pure. A key is declared where a column names the table that it points to (`foreignType`); which column there
is meant, nobody wrote down: the table's only key column, else the column of the same name, else the key is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from thresher.connectors.records import Column, Family, ForeignKey, Table
from thresher.servoy import ColumnFacts, TableFacts

_TYPES: Final[Mapping[int, tuple[str, Family]]] = {
    -7: ("bit", "boolean"),
    -6: ("tinyint", "integer"),
    -5: ("bigint", "integer"),
    4: ("integer", "integer"),
    5: ("smallint", "integer"),
    2: ("numeric", "decimal"),
    3: ("decimal", "decimal"),
    6: ("float", "float"),
    7: ("real", "float"),
    8: ("double", "float"),
    100: ("binary_float", "float"),
    101: ("binary_double", "float"),
    1: ("char", "text"),
    12: ("varchar", "text"),
    -1: ("longvarchar", "text"),
    -8: ("rowid", "other"),
    -9: ("nvarchar", "text"),
    -15: ("nchar", "text"),
    -16: ("longnvarchar", "text"),
    2005: ("clob", "text"),
    2011: ("nclob", "text"),
    16: ("boolean", "boolean"),
    91: ("date", "date"),
    92: ("time", "time"),
    93: ("timestamp", "datetime"),
    2013: ("time with time zone", "time"),
    2014: ("timestamp with time zone", "datetime"),
    -101: ("timestamp with time zone", "datetime"),
    -102: ("timestamp with local time zone", "datetime"),
    -155: ("datetimeoffset", "datetime"),
    -2: ("binary", "binary"),
    -3: ("varbinary", "binary"),
    -4: ("longvarbinary", "binary"),
    2004: ("blob", "binary"),
    2003: ("array", "array"),
    1111: ("other", "other"),
    2000: ("object", "other"),
}
"""Numbers of `java.sql.Types`, and those that drivers add: Oracle's 100, 101, -101, -102, SQL Server's -155."""
_UUID: Final = 4
"""The flag of columns that hold UUIDs; their own type, where the engine has one, is 2000, else bytes or text."""
_SIZED: Final = frozenset({1, 12, -9, -15, -2, -3})
_EXACT: Final = frozenset({2, 3})
_MOST_LENGTH: Final = 10_000_000
"""Longer ones stand for `unbounded`: drivers write 2147483647."""
_VIEW: Final = 1
_SEQUENCE: Final = 2
_Named: TypeAlias = Mapping[str, TableFacts]


def tables_of(facts: Iterable[TableFacts]) -> tuple[Table, ...]:
    """Tables by name; keys to tables that are not among them are left out."""
    ordered = sorted(facts, key=lambda table: table.name)
    named = {table.name.casefold(): table for table in ordered}
    return tuple(_table(table, named) for table in ordered)


def type_of(column: ColumnFacts) -> tuple[str, Family]:
    """A column's type with its length, and what kind of values it holds; an unknown number is `other`."""
    name, family = _TYPES.get(column.data_type, (f"type {column.data_type}", "other"))
    sized = 0 < column.length < _MOST_LENGTH
    if column.flags & _UUID and family in ("other", "binary"):
        return ("uuid" if family == "other" else f"{name} of a uuid"), "uuid"
    if sized and column.data_type in _SIZED:
        name = f"{name}({column.length})"
    elif sized and column.data_type in _EXACT:
        name = f"{name}({column.length},{column.scale})"
    return name, family


def no_server(name: str) -> str:
    """What to do for a live server."""
    return f"Add the live server under the same name: thresher db add {name} --url URL"


def _table(table: TableFacts, named: _Named) -> Table:
    return Table(
        schema="",
        name=table.name,
        kind="view" if table.kind == _VIEW else "table",
        columns=tuple(_column(column) for column in table.columns),
        primary_key=tuple(column.name for column in table.columns if column.identifies),
        foreign_keys=tuple(_keys(table, named)),
    )


def _column(column: ColumnFacts) -> Column:
    name, family = type_of(column)
    default = column.default or ("identity" if column.auto_enter == _SEQUENCE else None)
    comment = " - ".join(dict.fromkeys(text for text in (column.title, column.description) if text))
    length = column.length if 0 < column.length < _MOST_LENGTH else None
    return Column(column.name, name, family, column.nullable and not column.identifies, default, comment, length)


def _keys(table: TableFacts, named: _Named) -> Iterator[ForeignKey]:
    for name in dict.fromkeys(column.foreign_type.casefold() for column in table.columns if column.foreign_type):
        if (target := named.get(name)) is not None:
            yield from keys_between(table, target)


def keys_between(table: TableFacts, target: TableFacts) -> Iterator[ForeignKey]:
    """The keys that a table holds to another: one for each column, or one of several columns to all of its key."""
    named = target.name.casefold()
    columns = [column.name for column in table.columns if column.foreign_type.casefold() == named]
    key = [column.name for column in target.columns if column.identifies]
    meant = {column: _meant(column, key, target) for column in columns}
    pairs = [(column, found) for column, found in meant.items() if found]
    pairs = [(column, found) for column, found in pairs if (table.name, column) != (target.name, found)]
    if len(key) > 1 and {found for _, found in pairs} == set(key) and len(pairs) == len(key):
        in_order = sorted(pairs, key=lambda pair: key.index(pair[1]))
        sources, targets = zip(*in_order, strict=True)
        yield ForeignKey("", sources, "", target.name, targets)
        return
    for column, found in pairs:
        yield ForeignKey("", (column,), "", target.name, (found,))


def _meant(column: str, key: Sequence[str], target: TableFacts) -> str:
    """The column of a table that another one points to; empty where nothing says it."""
    if len(key) == 1:
        return key[0]
    same = [one.name for one in target.columns if one.name.casefold() == column.casefold()]
    return same[0] if same else ""
