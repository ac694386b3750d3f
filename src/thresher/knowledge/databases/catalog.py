"""A schema indexed for lookups by name, key and table number, and its stored form: compressed JSON and a digest.

Invariant: pure and immutable. A name in the database's own spelling always finds its table. Packing and unpacking
preserve equality, and equal schemas have equal digests in any order of tables. A table keeps its number in the index
for as long as it exists.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from thresher.connectors import Column, ForeignKey, Schema, Table
from thresher.core import InvalidInput, NotFound, did_you_mean, nearest
from thresher.knowledge.databases.models import Evidence, PotentialRelation
from thresher.knowledge.databases.relations import JoinGraph

FORMAT: Final = 1
"""A change needs a migration that empties `schema_snapshot`, so that schemas are read again."""
_LEVEL: Final = 4
"""The zlib level: 2,000 tables take 40 ms and shrink to a tenth; higher levels take twice as long and save 1 % more."""

Key: TypeAlias = tuple[str, str]
"""Schema and name of a table."""


@dataclass(frozen=True, slots=True)
class KnownRelations:
    """The potential relations of a schema.

    Attributes:
        potential: The relations, best first.
        sampled: Whether values were sampled for them.
        complete: Whether the search for them has run.
    """

    potential: tuple[PotentialRelation, ...] = ()
    sampled: bool = False
    complete: bool = True


NOTHING_KNOWN: Final = KnownRelations()
NOT_LOOKED_FOR: Final = KnownRelations(complete=False)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A schema with its tables' numbers.

    Attributes:
        schema: The tables.
        numbers: Each table's number in the index.
        following: The next number that no table of this connection has ever had.
    """

    schema: Schema
    numbers: Mapping[Key, int]
    following: int


def digest_of(schema: Schema) -> str:
    """A digest that is equal for equal schemas; row estimates and the stamp are ignored."""
    tables = sorted(_table(table, rows=False) for table in schema.tables)
    parts = [FORMAT, schema.dialect, schema.version, schema.default_schema, schema.left_out, tables]
    return hashlib.sha256(_dumped(parts)).hexdigest()


def snapshot_of(schema: Schema, before: Snapshot | None) -> Snapshot:
    """Number the tables of a schema: a known table keeps its number, a new one gets the next."""
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
    """Pack a schema and its numbers."""
    schema = snapshot.schema
    tables = [[*_table(table), snapshot.numbers[table.schema, table.name]] for table in schema.tables]
    head = [schema.dialect, schema.version, schema.default_schema, schema.stamp, schema.left_out]
    parts = [FORMAT, head, snapshot.following, tables]
    return zlib.compress(_dumped(parts), _LEVEL)


def unpacked(document: bytes) -> Snapshot:
    """Unpack what `packed` wrote."""
    _, (dialect, version, default_schema, stamp, left_out), following, rows = json.loads(zlib.decompress(document))
    tables = tuple(_read_table(row) for row in rows)
    numbers = {(table.schema, table.name): row[-1] for table, row in zip(tables, rows, strict=True)}
    return Snapshot(Schema(dialect, version, default_schema, tables, stamp, left_out), numbers, following)


def packed_relations(known: KnownRelations) -> bytes:
    """Pack potential relations."""
    rows = [_relation(one) for one in known.potential]
    return zlib.compress(_dumped([FORMAT, known.sampled, known.complete, rows]), _LEVEL)


def unpacked_relations(document: bytes) -> KnownRelations:
    """Unpack what `packed_relations` wrote."""
    _, sampled, complete, rows = json.loads(zlib.decompress(document))
    return KnownRelations(tuple(_read_relation(row) for row in rows), sampled, complete)


def _dumped(value: Any) -> bytes:
    # Catalogs may hold lone surrogates, which only escaped JSON can represent.
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


_QUOTES: Final = re.compile(r'^(?:"(.*)"|`(.*)`|\[(.*)\])$', re.DOTALL)
_PARTS: Final = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[^.]+')
_LONGEST_NAME: Final = 600


@dataclass(frozen=True)
class Catalog:
    """A schema and its relations at one edition.

    Attributes:
        schema: The tables.
        numbers: Each table's number in the index.
        known: The potential relations.
        edition: The connection's edition.
    """

    schema: Schema
    numbers: Mapping[Key, int]
    known: KnownRelations = NOTHING_KNOWN
    edition: int = 0

    @classmethod
    def of(cls, snapshot: Snapshot, known: KnownRelations, edition: int) -> Catalog:
        """The catalog of a stored schema."""
        return cls(snapshot.schema, snapshot.numbers, known, edition)

    @cached_property
    def by_key(self) -> dict[Key, Table]:
        """Tables by schema and name."""
        return {(table.schema, table.name): table for table in self.schema.tables}

    @cached_property
    def by_number(self) -> dict[int, Table]:
        """Tables by number in the index."""
        return {number: self.by_key[key] for key, number in self.numbers.items()}

    @cached_property
    def incoming(self) -> dict[Key, list[tuple[Table, ForeignKey]]]:
        """Declared keys by the table to which they point."""
        found: dict[Key, list[tuple[Table, ForeignKey]]] = defaultdict(list)
        for table in self.schema.tables:
            for key in table.foreign_keys:
                found[key.schema, key.table].append((table, key))
        return dict(found)

    @cached_property
    def potential(self) -> dict[Key, list[PotentialRelation]]:
        """Potential relations by the table that would hold the key, best first."""
        found: dict[Key, list[PotentialRelation]] = defaultdict(list)
        for one in self.known.potential:
            found[one.schema, one.table].append(one)
        return dict(found)

    @cached_property
    def _by_name(self) -> dict[str, list[Table]]:
        found: dict[str, list[Table]] = defaultdict(list)
        for table in self.schema.tables:
            found[table.name.casefold()].append(table)
        return found

    @cached_property
    def _by_full_name(self) -> dict[str, list[Table]]:
        found: dict[str, list[Table]] = defaultdict(list)
        for table in self.schema.tables:
            found[f"{table.schema}.{table.name}".casefold()].append(table)
        return found

    @cached_property
    def joins(self) -> JoinGraph:
        """The keys between tables, declared and potential."""
        return JoinGraph(self.schema.tables, self.known.potential)

    def shown(self, schema: str, name: str) -> str:
        """A table's name in answers: `schema.table` outside the default schema."""
        return name if not schema or schema == self.schema.default_schema else f"{schema}.{name}"

    def name_of(self, table: Table) -> str:
        """A table's name in answers; see `shown`."""
        return self.shown(table.schema, table.name)

    def table(self, name: str) -> Table:
        """A table by name, with or without its schema, quoted or not.

        Raises:
            NotFound: There is no such table; the hint suggests similar names.
            InvalidInput: Several schemas have one, and none of them is the default schema.
        """
        written = name.strip()[:_LONGEST_NAME]
        for spelling in (written, _unquoted(written)):
            if found := self._found(spelling):
                return self._only(written, found)
        raise NotFound(
            f"There is no table '{written[:200]}' in this connection.",
            hint=did_you_mean(self._near(_unquoted(written))) or "sql_list_tables shows those that there are.",
        )

    def _found(self, name: str) -> list[Table]:
        exact = self.by_key.get((self.schema.default_schema, name)) or self.by_key.get(("", name))
        if exact is not None:
            return [exact]
        folded = name.casefold()
        found = [*self._by_full_name.get(folded, ()), *self._by_name.get(folded, ())]
        if not found and "." in name:  # prefixed by a database or server
            found = self._by_full_name.get(".".join(folded.split(".")[-2:]), [])
        named = [one for one in found if name in (one.name, f"{one.schema}.{one.name}")]
        return named or found

    def _only(self, name: str, found: list[Table]) -> Table:
        default = [one for one in found if one.schema == self.schema.default_schema]
        if len(found) == 1 or len(default) == 1:
            return (default or found)[0]
        names = " or ".join(f"'{one.schema}.{one.name}'" for one in found[:5])
        raise InvalidInput(f"Several tables are called '{name[:200]}'.", hint=f"Say {names}.")

    def _near(self, name: str) -> tuple[str, ...]:
        return nearest(name, (self.name_of(table) for table in self.schema.tables))

    def neighbours(self, table: Table) -> list[str]:
        """Names of the other tables that declared keys join to a table."""
        out = [self.shown(key.schema, key.table) for key in table.foreign_keys]
        into = [self.name_of(other) for other, _ in self.incoming.get((table.schema, table.name), ())]
        own = self.name_of(table)
        return [one for one in dict.fromkeys([*out, *into]) if one != own]

    def schemas(self) -> list[str]:
        """Names of the schemas that have tables, sorted."""
        return sorted({table.schema for table in self.schema.tables})

    def weight(self, table: Table) -> int:
        """The number of declared and potential keys that point to a table."""
        return self._weights.get((table.schema, table.name), 0)

    @cached_property
    def _weights(self) -> dict[Key, int]:
        counts: dict[Key, int] = defaultdict(int)
        for table in self.schema.tables:
            for key in table.foreign_keys:
                counts[key.schema, key.table] += 1
        for one in self.known.potential:
            counts[one.target_schema, one.target_table] += 1
        return counts


def _unquoted(name: str) -> str:
    """A name without the quotes around its parts."""
    return ".".join(_bare(part) for part in _PARTS.findall(name))


def _bare(part: str) -> str:
    found = _QUOTES.match(part.strip())
    if found is None:
        return part.strip()
    return next(group for group in found.groups() if group is not None).replace('""', '"')


def briefly(names: Iterable[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    listed = list(names)
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest} more" if rest > 0 else "")
