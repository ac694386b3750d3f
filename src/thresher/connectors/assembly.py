"""Puts a schema together from the rows of an engine's catalog.

Invariant: pure. Each engine's statements give the same four kinds of rows, so that only their SQL differs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from thresher.connectors.families import family, length_of
from thresher.connectors.records import Column, ForeignKey, RelationKind, Schema, Table

Row: TypeAlias = Sequence[Any]
_Name: TypeAlias = tuple[str, str]
_MOST_TEXT: Final = 2_000
"""Characters of a comment or a default that are kept."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Rows of a catalog; each begins with schema and table.

    Attributes:
        tables: schema, table, kind, comment, estimated rows (negative or None: unknown).
        columns: schema, table, column, type as written, type that tells the family, nullable, default, comment; in
            the order of the columns.
        keys: schema, table, constraint, whether it is the primary key, column; in the order of the key's columns.
        foreign_keys: schema, table, constraint, column, target schema, target table, target column; in that order.
    """

    tables: Iterable[Row]
    columns: Iterable[Row]
    keys: Iterable[Row]
    foreign_keys: Iterable[Row]


def assemble(dialect: str, version: str, default_schema: str, catalog: Catalog, limit: int) -> Schema:
    """The schema with at most `limit` tables, by schema and name; `stamp` is for the caller to fill in."""
    described = sorted(catalog.tables, key=lambda row: (str(row[0]), str(row[1])))
    kept = {(str(row[0]), str(row[1])) for row in described[:limit]}
    columns = _columns(dialect, catalog.columns, kept)
    primary, unique = _keys(catalog.keys, kept)
    foreign = _foreign_keys(catalog.foreign_keys, kept)
    tables = [_table(row, columns, primary, unique, foreign) for row in described[:limit]]
    return Schema(dialect, version, default_schema, tuple(tables), left_out=max(0, len(described) - limit))


def _table(
    row: Row,
    columns: dict[_Name, list[Column]],
    primary: dict[_Name, tuple[str, ...]],
    unique: dict[_Name, list[tuple[str, ...]]],
    foreign: dict[_Name, list[ForeignKey]],
) -> Table:
    schema, name, kind, comment, rows = row[:5]
    place = (str(schema), str(name))
    first = primary.get(place, ())
    return Table(
        *place,
        kind=cast("RelationKind", kind),
        columns=tuple(columns.get(place, ())),
        primary_key=first,
        unique=tuple(dict.fromkeys(key for key in unique.get(place, ()) if key != first)),
        foreign_keys=tuple(foreign.get(place, ())),
        comment=_text(comment),
        rows=None if rows is None or rows < 0 else int(rows),
    )


def _columns(dialect: str, rows: Iterable[Row], kept: set[_Name]) -> dict[_Name, list[Column]]:
    found: dict[_Name, list[Column]] = defaultdict(list)
    for row in rows:
        place = (str(row[0]), str(row[1]))
        if place not in kept:
            continue
        name, written, base, nullable, default, comment = row[2:8]
        found[place].append(
            Column(
                str(name),
                str(written),
                family(dialect, str(base or written)),
                bool(nullable),
                None if default is None else _text(default),
                _text(comment),
                length_of(str(written)),
            )
        )
    return found


def _keys(
    rows: Iterable[Row], kept: set[_Name]
) -> tuple[dict[_Name, tuple[str, ...]], dict[_Name, list[tuple[str, ...]]]]:
    named: dict[tuple[_Name, bool, str], list[str]] = defaultdict(list)
    for schema, table, constraint, is_primary, column, *_ in rows:
        place = (str(schema), str(table))
        if place in kept:
            named[place, bool(is_primary), str(constraint)].append(str(column))
    primary: dict[_Name, tuple[str, ...]] = {}
    unique: dict[_Name, list[tuple[str, ...]]] = defaultdict(list)
    for (place, is_primary, _), columns in named.items():
        if is_primary:
            primary[place] = tuple(columns)
        else:
            unique[place].append(tuple(columns))
    return primary, unique


def _foreign_keys(rows: Iterable[Row], kept: set[_Name]) -> dict[_Name, list[ForeignKey]]:
    named: dict[tuple[_Name, str, _Name], list[tuple[str, str]]] = defaultdict(list)
    for schema, table, constraint, column, target_schema, target_table, target_column, *_ in rows:
        place = (str(schema), str(table))
        if place in kept:
            target = (str(target_schema), str(target_table))
            named[place, str(constraint), target].append((str(column), str(target_column)))
    found: dict[_Name, list[ForeignKey]] = defaultdict(list)
    for (place, constraint, target), pairs in named.items():
        sources, targets = zip(*pairs, strict=True)
        found[place].append(ForeignKey(constraint, sources, *target, targets))
    return found


def _text(value: Any) -> str:
    return str(value or "").strip()[:_MOST_TEXT]
