"""Reads schemas with declared keys from a file in the form of Spider's `tables.json`.

A list of objects with `db_id`, `table_names_original`, `column_names_original` ([table, name]; the first may be
[-1, "*"]), `column_types`, `primary_keys` (column numbers; several of one table, or a list of them, are one key of
several columns) and `foreign_keys` ([child, parent] pairs of column numbers).

Invariant: a wrong file is refused with the schema that is wrong.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from thresher.connectors import Column, Family, ForeignKey, Table
from thresher.core import InvalidInput
from thresher.evaluation.lines import read_text

_HINT = (
    'The file is a list of {"db_id", "table_names_original", "column_names_original", "column_types", "primary_keys", '
    '"foreign_keys"}, as Spider\'s tables.json has it.'
)
_FAMILIES: Mapping[str, Family] = {
    "number": "decimal", "integer": "integer", "int": "integer", "bigint": "integer", "smallint": "integer",
    "real": "float", "float": "float", "double": "float", "decimal": "decimal", "numeric": "decimal",
    "text": "text", "varchar": "text", "char": "text", "time": "datetime", "date": "date", "datetime": "datetime",
    "timestamp": "datetime", "boolean": "boolean", "uuid": "uuid", "json": "json", "blob": "binary",
    "others": "other", "other": "other", "": "other",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LabelledSchema:
    """A schema with the keys that are known of it.

    Attributes:
        name: Of the database.
        tables: All of them, with their declared keys.
    """

    name: str
    tables: tuple[Table, ...]


def read_schemas(path: Path) -> list[LabelledSchema]:
    """Read all schemas of a file.

    Raises:
        InvalidInput: It cannot be read, is not of that form, or names columns that it does not have.
    """
    try:
        loaded: Any = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InvalidInput(f"{path} is not JSON.", hint=_HINT) from None
    entries = cast("list[Any]", loaded) if isinstance(loaded, list) else [loaded]
    if not entries:
        raise InvalidInput(f"{path} holds no schemas.", hint=_HINT)
    return [_schema(path, number, entry) for number, entry in enumerate(entries, 1)]


def _schema(path: Path, number: int, entry: Any) -> LabelledSchema:
    if not isinstance(entry, Mapping):
        raise InvalidInput(f"{path}, schema {number}: an object was expected.", hint=_HINT)
    fields = cast("Mapping[str, Any]", entry)
    name = str(fields.get("db_id", number))
    try:
        return LabelledSchema(name, _tables(fields))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(f"{path}, schema {number} ({name}): {what}.", hint=_HINT) from None


def _tables(entry: Mapping[str, Any]) -> tuple[Table, ...]:
    names: list[str] = [str(name) for name in entry["table_names_original"]]
    places: list[tuple[int, str]] = [(int(table), str(name)) for table, name in entry["column_names_original"]]
    types: Sequence[str] = entry.get("column_types") or ["text"] * len(places)
    if len(types) != len(places):
        raise ValueError(f"{len(places)} columns have {len(types)} types")
    if any(table >= len(names) for table, _ in places):
        raise ValueError("a column names a table that does not exist")
    keys = _primary_keys(entry.get("primary_keys") or [], places)
    tables = [
        Table("", name, "table", _columns(number, places, types, set(keys.get(number, ()))), keys.get(number, ()))
        for number, name in enumerate(names)
    ]
    return tuple(_with_keys(tables, entry.get("foreign_keys") or [], places))


def _columns(table: int, places: Sequence[tuple[int, str]], types: Sequence[str], keys: set[str]) -> tuple[Column, ...]:
    return tuple(
        Column(name, type_name, _FAMILIES.get(type_name.lower().partition("(")[0].strip(), "other"), name not in keys)
        for (owner, name), type_name in zip(places, map(str, types), strict=True)
        if owner == table
    )


def _place(places: Sequence[tuple[int, str]], number: Any) -> tuple[int, str]:
    if not isinstance(number, int) or not 0 <= number < len(places) or places[number][0] < 0:
        raise ValueError(f"there is no column {number}")
    return places[number]


def _primary_keys(numbers: Sequence[Any], places: Sequence[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for number in numbers:
        for one in cast("list[Any]", number) if isinstance(number, list) else [number]:
            table, name = _place(places, one)
            found[table] = (*found.get(table, ()), name)
    return found


def _with_keys(tables: list[Table], pairs: Sequence[Any], places: Sequence[tuple[int, str]]) -> list[Table]:
    """Pairs to keys; pairs between the same tables that together make up a parent's key are one key."""
    between: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for child, parent in pairs:
        (table, column), (target, target_column) = _place(places, child), _place(places, parent)
        if (column, target_column) not in between[table, target]:
            between[table, target].append((column, target_column))
    for (table, target), columns in between.items():
        keys = tuple(_keys(columns, tables[target]))
        tables[table] = replace(tables[table], foreign_keys=(*tables[table].foreign_keys, *keys))
    return tables


def _keys(pairs: Sequence[tuple[str, str]], target: Table) -> list[ForeignKey]:
    key = target.primary_key
    if len(key) > 1 and sorted(parent for _, parent in pairs) == sorted(key):
        there = {parent: child for child, parent in pairs}
        return [ForeignKey("", tuple(there[name] for name in key), "", target.name, key)]
    return [ForeignKey("", (child,), "", target.name, (parent,)) for child, parent in pairs]
