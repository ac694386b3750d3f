"""Schemas in a short notation, with their keys, for measuring how well relations are found.

A schema begins with `== name: what is special`; each line after it is a table: `[view ][schema.]name: column, ...`. A
column is `[*]name type[!][>target]`: `*` is part of the primary key, `!` unique alone, `>target` a key that points to
the primary key of that table, or to its column in `>target/column`. `(a,b)>target` is a key of several columns. Types
are a letter: `i` integer, `b` bigint, `t` text, `c3` char(3), `n` decimal with places, `n0` without, `d` date, `ts`
timestamp, `u` uuid, `o` boolean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from thresher.connectors import Column, Family, ForeignKey, Table
from thresher.evaluation import LabelledSchema

FOLDER = Path(__file__).with_name("schemas")
_PART = re.compile(r"\([^)]*\)>[\w.]+|[^,()]+")
_TYPES: dict[str, tuple[str, Family]] = {
    "i": ("integer", "integer"),
    "b": ("bigint", "integer"),
    "t": ("varchar(80)", "text"),
    "n": ("numeric(12,2)", "decimal"),
    "n0": ("numeric(10)", "decimal"),
    "d": ("date", "date"),
    "ts": ("timestamp", "datetime"),
    "u": ("uuid", "uuid"),
    "o": ("boolean", "boolean"),
}


def read_notation(name: str) -> list[LabelledSchema]:
    """The schemas of one file: `tuned`, `held_out`, `known`, `public`."""
    return parse_notation((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def parse_notation(text: str) -> list[LabelledSchema]:
    """The schemas of a text."""
    found: list[LabelledSchema] = []
    lines = text.splitlines()
    for line in (line.strip() for line in lines if line.strip() and not line.strip().startswith("#")):
        if line.startswith("=="):
            found.append(LabelledSchema(line[2:].partition(":")[0].strip(), ()))
        else:
            found[-1] = replace(found[-1], tables=(*found[-1].tables, _table(line)))
    return [replace(schema, tables=tuple(_resolved(schema.tables))) for schema in found]


def _table(line: str) -> Table:
    head, _, body = line.partition(": ")
    kind = "view" if head.startswith("view ") else "table"
    schema, name = _qualified(head.removeprefix("view "))
    parts = [part.strip() for part in _PART.findall(body) if part.strip()]
    columns = [part for part in parts if not part.startswith("(")]
    keys = [_key(part, schema) for part in parts if ">" in part]
    return Table(
        schema,
        name,
        kind,
        tuple(_column(part) for part in columns),
        tuple(part[1:].split()[0] for part in columns if part.startswith("*")),
        tuple((part.split()[0],) for part in columns if "!" in part),
        tuple(keys),
    )


def _qualified(name: str) -> tuple[str, str]:
    schema, _, table = name.rpartition(".")
    return schema, table


def _column(part: str) -> Column:
    name, type_name = part.lstrip("*").split()
    letter = re.sub(r"[!>].*", "", type_name)
    if letter.startswith("c"):
        return Column(name, f"char({letter[1:]})", "text", not part.startswith("*"), length=int(letter[1:]))
    return Column(name, *_TYPES[letter], nullable=not part.startswith("*"))


def _key(part: str, schema: str) -> ForeignKey:
    left, _, target = part.partition(">")
    target, _, column = target.partition("/")
    columns = tuple(left.strip("() ").split(",")) if left.startswith("(") else (left.lstrip("*").split()[0],)
    there, table = _qualified(target) if "." in target else (schema, target)
    return ForeignKey("", columns, there, table, (column,) if column else ())


def _resolved(tables: tuple[Table, ...]) -> Iterator[Table]:
    """With the columns that each key points to."""
    primary = {(table.schema, table.name): table.primary_key for table in tables}
    for table in tables:
        keys = (
            replace(key, target_columns=key.target_columns or primary[key.schema, key.table])
            for key in table.foreign_keys
        )
        yield replace(table, foreign_keys=tuple(keys))
