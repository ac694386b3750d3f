"""Reads the schema of a SQLite file from its pragmas.

Invariant: a table or view that SQLite itself cannot read (a missing module, a view of a dropped table) appears without
columns and does not affect the others. Shadow tables, in which a virtual table keeps its content, are left out; SQLite
itself knows those of the modules that it has.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from thresher.connectors.catalog import family, length_of
from thresher.connectors.records import Column, ForeignKey, RelationKind, Schema, Table

_TABLES: Final = """
SELECT name, type, wr FROM pragma_table_list
WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY name
"""
_PLAIN: Final = "(SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table') t"
_COLUMN: Final = 'c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden'
_COLUMNS: Final = f"SELECT t.name, {_COLUMN} FROM {_PLAIN}, pragma_table_xinfo(t.name) c ORDER BY t.name, c.cid"  # noqa: S608 - constants
_COLUMNS_OF: Final = f"SELECT {_COLUMN} FROM pragma_table_xinfo(?) c ORDER BY c.cid"  # noqa: S608 - a constant
_KEYS: Final = f"""
SELECT t.name, k.id, k."table", k."from", k."to" FROM {_PLAIN}, pragma_foreign_key_list(t.name) k
ORDER BY t.name, k.id, k.seq
"""  # noqa: S608 - a constant
_UNIQUE: Final = f"""
SELECT t.name, l.name, i.name FROM {_PLAIN}, pragma_index_list(t.name) l, pragma_index_info(l.name) i
WHERE l."unique" AND l.origin <> 'pk' AND NOT l.partial ORDER BY t.name, l.seq DESC, i.seqno
"""  # noqa: S608 - a constant
Grouped: TypeAlias = Mapping[str, Sequence[Sequence[Any]]]
_MODULE: Final = re.compile(r"""\s+using\s+[\["'`]?(\w+)""", re.IGNORECASE)
_SHADOWS: Final = {
    "fts3": re.compile(r"content|segments|segdir|docsize|stat"),
    "fts4": re.compile(r"content|segments|segdir|docsize|stat"),
    "fts5": re.compile(r"content|data|idx|docsize|config"),
    "rtree": re.compile(r"node|parent|rowid"),
    "rtree_i32": re.compile(r"node|parent|rowid"),
    "geopoly": re.compile(r"node|parent|rowid"),
    "spellfix1": re.compile(r"vocab"),
    "vec0": re.compile(r"info|chunks|rowids|auxiliary|(?:vector_chunks|metadatachunks|metadatatext)\d+"),
}
"""What a module appends to the name of a table for those of its shadow tables."""
_HIDDEN: Final = 1
_GENERATED: Final = (2, 3)


@dataclass(frozen=True, slots=True)
class _PragmaRows:
    """Rows of the pragmas for all plain tables, by table: columns, keys, indexes, row counts."""

    columns: Grouped
    keys: Grouped
    unique: Grouped
    counted: Mapping[str, int]


def read_schema(database: sqlite3.Connection, limit: int) -> Schema:
    """Read the tables and views of a file, at most `limit`; the caller fills in the stamp."""
    found = database.execute(_TABLES).fetchall()
    catalog = _PragmaRows(
        _grouped(database.execute(_COLUMNS)),
        _grouped(database.execute(_KEYS)),
        _grouped(database.execute(_UNIQUE)),
        _counted(database),
    )
    left = _shadows(database, found)
    found = [row for row in found if row[0] not in left]
    tables = [_table(database, catalog, name, kind, bool(plain)) for name, kind, plain in found[:limit]]
    return Schema(
        dialect="sqlite",
        version=sqlite3.sqlite_version,
        default_schema="",
        tables=tuple(_resolved(tables)),
        left_out=max(len(found) - limit, 0),
    )


def _shadows(database: sqlite3.Connection, found: Sequence[Sequence[Any]]) -> frozenset[str]:
    """The shadow tables of modules that this session lacks, by their names; SQLite does not mark these itself."""
    plain = {name for name, kind, _ in found if kind == "table"}
    left: set[str] = set()
    for name in (name for name, kind, _ in found if kind == "virtual"):
        try:
            database.execute(_COLUMNS_OF, (name,)).fetchone()
        except sqlite3.Error:
            ((text,),) = database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,))
            module = _MODULE.search(text, len(name))
            shadow = _SHADOWS.get(module[1].lower()) if module else None
            prefix = f"{name}_"
            left.update(
                one for one in plain if shadow and one.startswith(prefix) and shadow.fullmatch(one.removeprefix(prefix))
            )
    return frozenset(left)


def _grouped(rows: Iterable[Sequence[Any]]) -> Grouped:
    """Group rows by their first value, and remove it from them."""
    groups: dict[str, list[Sequence[Any]]] = defaultdict(list)
    for name, *rest in rows:
        groups[name].append(rest)
    return groups


def _table(database: sqlite3.Connection, catalog: _PragmaRows, name: str, kind: str, without_rowid: bool) -> Table:
    relation: RelationKind = "view" if kind == "view" else "table"
    raw = catalog.columns.get(name, ())
    if kind != "table":
        with suppress(sqlite3.Error):  # one that cannot be read appears without columns
            raw = database.execute(_COLUMNS_OF, (name,)).fetchall()
    primary = [str(row[0]) for row in sorted((row for row in raw if row[4]), key=lambda row: row[4])]
    columns = tuple(_column(row, len(primary)) for row in raw if row[5] != _HIDDEN)
    if kind != "table":
        return Table("", name, relation, columns, tuple(primary))
    return Table(
        schema="",
        name=name,
        kind=relation,
        columns=columns,
        primary_key=tuple(primary),
        unique=tuple(_unique(catalog.unique.get(name, ()))),
        foreign_keys=tuple(_keys(catalog.keys.get(name, ()))),
        rows=catalog.counted.get(name) if without_rowid or name in catalog.counted else _last_row(database, name),
    )


def _column(row: Sequence[Any], primary: int) -> Column:
    name, type_name, required, default, key, hidden = row
    is_row_number = key and primary == 1 and str(type_name).upper() == "INTEGER"
    if hidden in _GENERATED:
        default = "generated"
    elif is_row_number:
        default = "identity"
    return Column(
        name=str(name),
        type=str(type_name),
        family=family("sqlite", str(type_name)),
        nullable=not required and not key,
        default=default,
        length=length_of(str(type_name)),
    )


def _unique(rows: Iterable[Sequence[Any]]) -> list[tuple[str, ...]]:
    """Unique keys; an index over expressions is not one."""
    indexes: dict[str, list[str | None]] = defaultdict(list)
    for index, column in rows:
        indexes[index].append(column)
    keys = [
        tuple(column for column in columns if column is not None) for columns in indexes.values() if None not in columns
    ]
    return list(dict.fromkeys(keys))


def _keys(rows: Iterable[Sequence[Any]]) -> list[ForeignKey]:
    """Foreign keys in the order of declaration; SQLite numbers them backwards and does not report names."""
    keys: dict[int, list[Sequence[Any]]] = defaultdict(list)
    for row in rows:
        keys[row[0]].append(row)
    return [
        ForeignKey("", tuple(str(row[2]) for row in parts), "", str(parts[0][1]), tuple(row[3] or "" for row in parts))
        for _, parts in sorted(keys.items(), reverse=True)
    ]


def _resolved(tables: Sequence[Table]) -> list[Table]:
    """Resolve the targets of foreign keys: the table's exact name, and its primary key if no column is named."""
    known = {table.name.lower(): table for table in tables}

    def settle(key: ForeignKey) -> ForeignKey:
        target = known.get(key.table.lower())
        if target is None:
            return replace(key, target_columns=tuple(column or "" for column in key.target_columns))
        names = {column.name.lower(): column.name for column in target.columns}
        given = tuple(names.get(column.lower(), column) for column in key.target_columns)
        columns = given if all(given) else target.primary_key[: len(key.columns)]
        return replace(key, table=target.name, target_columns=columns)

    return [
        replace(table, foreign_keys=tuple(key for key in map(settle, table.foreign_keys) if _is_whole(key)))
        for table in tables
    ]


def _is_whole(key: ForeignKey) -> bool:
    return len(key.columns) == len(key.target_columns) and all(key.target_columns)


def _counted(database: sqlite3.Connection) -> dict[str, int]:
    """Row counts by table, if the user has run `ANALYZE`."""
    with suppress(sqlite3.Error):
        found = database.execute("SELECT tbl, max(CAST(stat AS INTEGER)) FROM sqlite_stat1 GROUP BY tbl").fetchall()
        return {str(name): int(rows) for name, rows in found if rows is not None}
    return {}


def _last_row(database: sqlite3.Connection, name: str) -> int | None:
    """The highest row id: read at once, and at least the number of rows unless ids were assigned explicitly."""
    quoted = name.replace('"', '""')
    with suppress(sqlite3.Error):
        last = database.execute(f'SELECT max(rowid) FROM "{quoted}"').fetchone()[0]  # noqa: S608 - the catalog's, quoted
        return max(int(last or 0), 0)
    return None
