"""Samples columns: how many values differ, which they are, and their range.

Invariant: only base tables are sampled, small ones first; each statement reads a bounded sample and has a time-out;
what fails is left out, never guessed. The values kept are bounded in total, however long they are.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from thresher.connectors.records import Column, Family, Profile, Profiles, Schema, Table
from thresher.connectors.values import comparable, to_json

Key: TypeAlias = tuple[str, str, str]
Ask: TypeAlias = Callable[[str, float], Sequence[Sequence[Any]] | None]
"""Runs one of these statements within some seconds; returns None if it failed or took too long."""

SAMPLE: Final = 20_000
"""Rows of a table that are sampled."""
VALUES: Final = 5_000
"""Distinct values of a column that are kept."""
_LONGEST: Final = 200
"""Characters of a value that is kept; longer ones are not used for joins."""
_KEPT: Final = 20_000_000
"""Characters of all kept values together; further columns have statistics alone."""
_STATEMENT_SECONDS: Final = 3.0
_WIDTH: Final = 20
"""Columns in one statement: some engines limit the length of a row that they sort."""
_SHOWN: Final = 200
_COUNTED: Final[frozenset[Family]] = frozenset(
    {"integer", "decimal", "float", "text", "boolean", "date", "time", "datetime", "uuid"}
)
_ORDERED: Final = _COUNTED - {"boolean", "uuid"}
_UNSORTABLE: Final[Mapping[str, tuple[str, ...]]] = {
    "oracle": ("clob", "nclob", "long"),
    "mssql": ("text", "ntext"),
}
_QUOTES: Final[Mapping[str, tuple[str, str]]] = {"mysql": ("`", "`"), "mariadb": ("`", "`"), "mssql": ("[", "]")}


@dataclass(frozen=True, slots=True)
class Probe:
    """A statement that reads the number of rows of a table, then four statistics for each of some columns."""

    table: Table
    columns: tuple[Column, ...]
    sql: str


def profile(dialect: str, schema: Schema, wanted: Collection[Key], ask: Ask, seconds: float) -> Profiles:
    """Sample columns, given as (schema, table, column), within a time limit.

    Args:
        dialect: The SQL dialect of the statements.
        schema: The schema that describes the tables; columns that are not in it are left out.
        wanted: The columns to sample.
        ask: Runs a statement.
        seconds: Time limit for all columns together.
    """
    until = time.monotonic() + seconds
    kept = 0
    columns: dict[Key, Profile] = {}
    rows: dict[tuple[str, str], int] = {}
    for probe in probes(dialect, schema, wanted):
        table = probe.table
        left = until - time.monotonic()
        if left <= 0:
            break
        figures = ask(probe.sql, min(left, _STATEMENT_SECONDS))
        if not figures:
            continue
        count = int(figures[0][0])
        rows[table.schema, table.name] = count if count < SAMPLE else max(count, table.rows or 0)
        for column, found in read_figures(probe, figures[0]):
            left = until - time.monotonic()
            key = (table.schema, table.name, column.name)
            read = left > 0 and kept < _KEPT
            values = ask(values_sql(dialect, table, column), min(left, _STATEMENT_SECONDS)) if read else None
            columns[key] = one = found if values is None else with_values(found, [row[0] for row in values])
            kept += sum(map(len, one.values or ()))
    return Profiles(columns, rows)


def probes(dialect: str, schema: Schema, wanted: Collection[Key]) -> Iterator[Probe]:
    """The statistics statements, for tables with few rows first; tables of unknown size last."""
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for schema_name, table_name, column in wanted:
        names[schema_name, table_name].add(column)
    tables = [table for table in schema.tables if table.kind == "table" and (table.schema, table.name) in names]
    for table in sorted(tables, key=lambda table: (table.rows is None, table.rows or 0)):
        known = names[table.schema, table.name]
        columns = [column for column in table.columns if column.name in known and _is_countable(dialect, column)]
        for start in range(0, len(columns), _WIDTH):
            chosen = tuple(columns[start : start + _WIDTH])
            yield Probe(table, chosen, _figures_sql(dialect, table, chosen))


def values_sql(dialect: str, table: Table, column: Column) -> str:
    """The statement that reads distinct values of a column, one more than are kept."""
    name = quoted(dialect, column.name)
    inner = limited(dialect, f"{name} FROM {qualified(dialect, table)} WHERE {name} IS NOT NULL", SAMPLE)
    return limited(dialect, f"DISTINCT {name} FROM ({inner}) s", VALUES + 1)


def read_figures(probe: Probe, row: Sequence[Any]) -> Iterator[tuple[Column, Profile]]:
    """Read the statistics of each column from a result row."""
    count = int(row[0])
    for number, column in enumerate(probe.columns):
        filled, distinct, low, high = row[1 + 4 * number : 5 + 4 * number]
        yield (
            column,
            Profile(count, count - int(filled), int(distinct), to_json(low, _SHOWN)[0], to_json(high, _SHOWN)[0]),
        )


def with_values(found: Profile, values: Sequence[Any]) -> Profile:
    """Add values to a profile; they are complete if neither they nor the rows were cut, and none is too long."""
    texts = [text for value in values[:VALUES] if (text := comparable(value)) is not None]
    short = frozenset(text for text in texts if len(text) <= _LONGEST)
    complete = len(values) <= VALUES and found.count < SAMPLE and len(short) == len(set(texts))
    return replace(found, values=short, complete=complete)


def quoted(dialect: str, name: str) -> str:
    """A name in the quotes of the dialect."""
    start, end = _QUOTES.get(dialect, ('"', '"'))
    return f"{start}{name.replace(end, end * 2)}{end}"


def qualified(dialect: str, table: Table) -> str:
    """A table's name with its schema, if it has one."""
    name = quoted(dialect, table.name)
    return f"{quoted(dialect, table.schema)}.{name}" if table.schema else name


def limited(dialect: str, rest: str, rows: int) -> str:
    """A `SELECT` with a row limit, in the dialect's syntax."""
    if dialect == "mssql":
        return (
            f"SELECT TOP ({rows}) {rest}"
            if not rest.startswith("DISTINCT ")
            else f"SELECT DISTINCT TOP ({rows}) {rest[9:]}"
        )
    if dialect == "oracle":
        return f"SELECT {rest} FETCH FIRST {rows} ROWS ONLY"
    return f"SELECT {rest} LIMIT {rows}"


def _figures_sql(dialect: str, table: Table, columns: Sequence[Column]) -> str:
    names = [quoted(dialect, column.name) for column in columns]
    figures = [
        figure for column, name in zip(columns, names, strict=True) for figure in _figures(dialect, table, column, name)
    ]
    inner = limited(dialect, f"{', '.join(names)} FROM {qualified(dialect, table)}", SAMPLE)
    return f"SELECT {', '.join(['COUNT(*)', *figures])} FROM ({inner}) s"  # noqa: S608 - names of the catalog, quoted


def _figures(dialect: str, table: Table, column: Column, name: str) -> list[str]:
    """Non-null, distinct, smallest, largest; a key's extremes are the whole table's, which an index has at once."""
    if column.family not in _ORDERED:
        return [f"COUNT({name})", f"COUNT(DISTINCT {name})", "NULL", "NULL"]
    low, high = f"MIN({name})", f"MAX({name})"
    if (
        any(key[:1] == (column.name,) for key in (table.primary_key, *table.unique)) and dialect != "oracle"
    ):  # which allows no subquery beside an aggregate
        whole = qualified(dialect, table)
        low, high = (f"(SELECT {figure} FROM {whole})" for figure in (low, high))  # noqa: S608 - as above
    return [f"COUNT({name})", f"COUNT(DISTINCT {name})", low, high]


def _is_countable(dialect: str, column: Column) -> bool:
    bare = column.type.lower().split("(", 1)[0].strip()
    return (
        column.family in _COUNTED or (dialect == "sqlite" and column.family == "other")
    ) and bare not in _UNSORTABLE.get(dialect, ())
