"""A schema, arranged so that it can be asked: by name, by what points where, by group.

Invariant: pure and immutable; a name that is written as the database has it always finds its own table.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from thresher.connectors import ForeignKey, Schema, Table
from thresher.core import InvalidInput, NotFound, did_you_mean, nearest
from thresher.knowledge.databases.models import PotentialRelation
from thresher.knowledge.databases.relations import JoinGraph
from thresher.knowledge.databases.snapshots import NOTHING_KNOWN, Key, Known, Snapshot

_QUOTES: Final = re.compile(r'^(?:"(.*)"|`(.*)`|\[(.*)\])$', re.DOTALL)
_PARTS: Final = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[^.]+')
_LONGEST_NAME: Final = 600


@dataclass(frozen=True)
class Catalog:
    """A schema and what relates in it, at one edition.

    Attributes:
        schema: The tables.
        numbers: Of each table in the index.
        known: What was found to relate.
        edition: The connection's.
    """

    schema: Schema
    numbers: Mapping[Key, int]
    known: Known = NOTHING_KNOWN
    edition: int = 0

    @classmethod
    def of(cls, snapshot: Snapshot, known: Known, edition: int) -> Catalog:
        """The catalog of what is stored."""
        return cls(snapshot.schema, snapshot.numbers, known, edition)

    @cached_property
    def by_key(self) -> dict[Key, Table]:
        """Tables by schema and name."""
        return {(table.schema, table.name): table for table in self.schema.tables}

    @cached_property
    def by_number(self) -> dict[int, Table]:
        """Tables by their number in the index."""
        return {number: self.by_key[key] for key, number in self.numbers.items()}

    @cached_property
    def incoming(self) -> dict[Key, list[tuple[Table, ForeignKey]]]:
        """Declared keys by the table that they point to."""
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
        """A table's name as answers write it: `schema.table` outside the default schema."""
        return name if not schema or schema == self.schema.default_schema else f"{schema}.{name}"

    def name_of(self, table: Table) -> str:
        """The same of a table."""
        return self.shown(table.schema, table.name)

    def table(self, name: str) -> Table:
        """A table by its name, with its schema or without, quoted or not.

        Raises:
            NotFound: There is none; the hint offers near ones.
            InvalidInput: Several schemas have one, and none of them is the default.
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
        if not found and "." in name:  # a database or server before it
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
        """Names of the tables that its declared keys join it to, without its own."""
        out = [self.shown(key.schema, key.table) for key in table.foreign_keys]
        into = [self.name_of(other) for other, _ in self.incoming.get((table.schema, table.name), ())]
        own = self.name_of(table)
        return [one for one in dict.fromkeys([*out, *into]) if one != own]

    def schemas(self) -> list[str]:
        """Names of the schemas that have tables, by name."""
        return sorted({table.schema for table in self.schema.tables})

    def weight(self, table: Table) -> int:
        """How many keys, declared or potential, point to a table."""
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
    """Some names, and how many more."""
    listed = list(names)
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest} more" if rest > 0 else "")
