"""Reads the schema of a DuckDB file from its catalog functions.

Invariant: always four statements; the engine's internal objects are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from thresher.connectors.catalog import family, length_of
from thresher.connectors.records import Column, ForeignKey, Schema, Table

Ask: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]
Named: TypeAlias = tuple[str, str]

_HERE: Final = "database_name = current_database()"
_TABLES: Final = f"""
SELECT schema_name, table_name, comment, estimated_size, false FROM duckdb_tables() WHERE {_HERE} AND NOT internal
UNION ALL
SELECT schema_name, view_name, comment, NULL, true FROM duckdb_views() WHERE {_HERE} AND NOT internal
ORDER BY 1, 2
"""  # noqa: S608 - a constant
_COLUMNS: Final = f"""
SELECT schema_name, table_name, column_name, data_type, is_nullable, column_default, comment, is_generated
FROM duckdb_columns() WHERE {_HERE} AND NOT internal ORDER BY column_index
"""  # noqa: S608 - a constant
_CONSTRAINTS: Final = f"""
SELECT schema_name, table_name, constraint_type, constraint_column_names, constraint_name, referenced_table,
    referenced_column_names
FROM duckdb_constraints() WHERE {_HERE} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
ORDER BY constraint_index
"""  # noqa: S608 - a constant
STAMP: Final = f"""
SELECT md5(string_agg(line, chr(10) ORDER BY line)) FROM (
    SELECT concat_ws(chr(9), schema_name, sql, comment) AS line FROM duckdb_tables() WHERE {_HERE} AND NOT internal
    UNION ALL
    SELECT concat_ws(chr(9), schema_name, sql, comment) FROM duckdb_views() WHERE {_HERE} AND NOT internal
    UNION ALL
    SELECT concat_ws(chr(9), schema_name, table_name, column_name, comment) FROM duckdb_columns()
    WHERE {_HERE} AND NOT internal AND comment IS NOT NULL
    UNION ALL
    SELECT concat_ws(chr(9), schema_name, function_name, macro_definition) FROM duckdb_functions()
    WHERE {_HERE} AND NOT internal
)
"""  # noqa: S608 - a constant
"""A digest of tables, views, comments and macros; changes of rows do not affect it."""


def read_schema(ask: Ask, version: str, stamp: str, limit: int) -> Schema:
    """Read the tables and views of a file, at most `limit`."""
    found = _without_indexes(ask(_TABLES))
    columns: dict[Named, list[Column]] = defaultdict(list)
    for schema, table, *rest in ask(_COLUMNS):
        columns[schema, table].append(_column(rest))
    constraints: dict[Named, list[Sequence[Any]]] = defaultdict(list)
    for schema, table, *rest in ask(_CONSTRAINTS):
        constraints[schema, table].append(rest)
    tables = tuple(_table(row, columns, constraints) for row in found[:limit])
    return Schema("duckdb", version, "main", tables, stamp, max(len(found) - limit, 0))


def _without_indexes(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Tables without the shadow tables of full-text indexes, which are kept in a schema `fts_SCHEMA_TABLE`."""
    tables = {(row[0], row[1]) for row in rows}
    indexes = {f"fts_{schema}_{table}" for schema, table in tables}
    return [row for row in rows if row[0] not in indexes or (row[0], "dict") not in tables]


def _table(
    row: Sequence[Any], columns: dict[Named, list[Column]], constraints: dict[Named, list[Sequence[Any]]]
) -> Table:
    schema, name, comment, rows, is_view = row
    of_it = constraints.get((schema, name), [])
    keys = [(kind, tuple(str(column) for column in names)) for kind, names, *_ in of_it]
    return Table(
        schema=schema,
        name=name,
        kind="view" if is_view else "table",
        columns=tuple(columns.get((schema, name), ())),
        primary_key=next((names for kind, names in keys if kind == "PRIMARY KEY"), ()),
        unique=tuple(dict.fromkeys(names for kind, names in keys if kind == "UNIQUE")),
        foreign_keys=tuple(_key(schema, parts) for parts in of_it if parts[0] == "FOREIGN KEY"),
        comment=comment or "",
        rows=None if rows is None else int(rows),
    )


def _column(row: Sequence[Any]) -> Column:
    name, kind, nullable, default, comment, generated = row
    return Column(
        name=name,
        type=kind,
        family=family("duckdb", kind),
        nullable=bool(nullable),
        default="generated" if generated else default,
        comment=comment or "",
        length=length_of(kind) if kind.startswith("DECIMAL") else None,
    )


def _key(schema: str, parts: Sequence[Any]) -> ForeignKey:
    """Read a foreign key; in DuckDB it stays inside one schema."""
    _, columns, name, table, targets = parts
    return ForeignKey(name or "", tuple(columns), schema, table, tuple(targets))
