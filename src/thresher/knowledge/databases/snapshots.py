"""A schema and what was found to relate in it, as they are stored: compressed JSON, and a digest.

Invariant: pure; what was packed comes back equal, and equal schemas have equal digests, whatever order they were read
in. The number of a table in the index stays its own for as long as the table is there.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from thresher.connectors import Column, ForeignKey, Schema, Table
from thresher.knowledge.databases.models import Evidence, PotentialRelation

FORMAT: Final = 1
"""Another one comes with a migration that empties `schema_snapshot`: schemas are then read again."""
_LEVEL: Final = 4
"""Of zlib: 2,000 tables take 40 ms and shrink to a tenth; higher levels take twice as long for a hundredth."""

Key: TypeAlias = tuple[str, str]
"""Schema and name of a table."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was found to relate.

    Attributes:
        potential: Undeclared relations, best first.
        sampled: Whether values were looked at for them.
        complete: Whether they were looked for at all.
    """

    potential: tuple[PotentialRelation, ...] = ()
    sampled: bool = False
    complete: bool = True


NOTHING_KNOWN: Final = Known()
NOT_LOOKED_FOR: Final = Known(complete=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A schema as it is stored.

    Attributes:
        schema: The tables.
        numbers: Of each table in the index.
        following: The first number that no table of this connection ever had.
    """

    schema: Schema
    numbers: Mapping[Key, int]
    following: int


def digest_of(schema: Schema) -> str:
    """Equal for equal schemas; what the engine estimates and the stamp do not count."""
    tables = sorted(_table(table, rows=False) for table in schema.tables)
    said = [FORMAT, schema.dialect, schema.version, schema.default_schema, schema.left_out, tables]
    return hashlib.sha256(_dumped(said)).hexdigest()


def snapshot_of(schema: Schema, before: Snapshot | None) -> Snapshot:
    """A schema whose tables have numbers: each its own of before, or the next that none ever had."""
    known: Mapping[Key, int] = before.numbers if before is not None else {}
    following = before.following if before is not None else 0
    numbers: dict[Key, int] = {}
    for table in schema.tables:
        key = (table.schema, table.name)
        if (number := known.get(key)) is None:
            number, following = following, following + 1
        numbers[key] = number
    return Snapshot(schema, numbers, following)


def packed(snapshot: Snapshot) -> bytes:
    """A schema and its numbers as bytes."""
    schema = snapshot.schema
    tables = [[*_table(table), snapshot.numbers[table.schema, table.name]] for table in schema.tables]
    head = [schema.dialect, schema.version, schema.default_schema, schema.stamp, schema.left_out]
    said = [FORMAT, head, snapshot.following, tables]
    return zlib.compress(_dumped(said), _LEVEL)


def unpacked(document: bytes) -> Snapshot:
    """What `packed` wrote."""
    _, (dialect, version, default_schema, stamp, left_out), following, rows = json.loads(zlib.decompress(document))
    tables = tuple(_read_table(row) for row in rows)
    numbers = {(table.schema, table.name): row[-1] for table, row in zip(tables, rows, strict=True)}
    return Snapshot(Schema(dialect, version, default_schema, tables, stamp, left_out), numbers, following)


def packed_relations(known: Known) -> bytes:
    """What relates, as bytes."""
    rows = [_relation(one) for one in known.potential]
    return zlib.compress(_dumped([FORMAT, known.sampled, known.complete, rows]), _LEVEL)


def unpacked_relations(document: bytes) -> Known:
    """What `packed_relations` wrote."""
    _, sampled, complete, rows = json.loads(zlib.decompress(document))
    return Known(tuple(_read_relation(row) for row in rows), sampled, complete)


def _dumped(value: Any) -> bytes:
    # Catalogs may hold lone surrogates, which only the escaped form can carry.
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _table(table: Table, *, rows: bool = True) -> list[Any]:
    columns = [
        [one.name, one.type, one.family, one.nullable, one.default, one.comment, one.length] for one in table.columns
    ]
    keys = [[one.name, one.columns, one.schema, one.table, one.target_columns] for one in table.foreign_keys]
    estimate = [table.rows] if rows else []
    return [
        *(table.schema, table.name, table.kind, table.comment, columns, table.primary_key, table.unique, keys),
        *estimate,
    ]


def _relation(one: PotentialRelation) -> list[Any]:
    child = (one.schema, one.table, one.columns)
    parent = (one.target_schema, one.target_table, one.target_columns)
    return [*child, *parent, one.score, [[why.kind, why.text, why.weight] for why in one.evidence]]


def _read_table(row: Sequence[Any]) -> Table:
    schema, name, kind, comment, columns, primary_key, unique, keys, rows = row[:9]
    return Table(
        schema,
        name,
        kind,
        tuple(Column(*one) for one in columns),
        tuple(primary_key),
        tuple(tuple(one) for one in unique),
        tuple(ForeignKey(one[0], tuple(one[1]), one[2], one[3], tuple(one[4])) for one in keys),
        comment,
        rows,
    )


def _read_relation(row: Sequence[Any]) -> PotentialRelation:
    schema, table, columns, target_schema, target_table, target_columns, score, evidence = row
    reasons = tuple(Evidence(*one) for one in evidence)
    return PotentialRelation(
        schema, table, tuple(columns), target_schema, target_table, tuple(target_columns), score, reasons
    )
