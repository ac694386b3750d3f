"""Possible parents: a schema's single-column keys, indexed by the names that other tables use for them.

Invariant: views are never parents; the cost of a lookup does not depend on the number of tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from thresher.connectors import Column, Profiles, Table
from thresher.knowledge.databases.relations.lexicon import ATTRIBUTES, GENERIC_TAILS, NEUTRAL, NOT_KEYS
from thresher.knowledge.databases.relations.names import column_prefix, loose, read_column
from thresher.knowledge.databases.relations.records import ColumnName, KeyRank, ParentKey

KEYABLE = frozenset({"integer", "decimal", "text", "uuid", "other"})
"""Families of columns that can be keys."""
BASE_KINDS = frozenset({"table", "foreign table"})
SAME_SCHEMA = 16
"""Maximum keys for one name; the likeliest come first."""
OTHER_SCHEMAS = 4
PLAIN = 3.9
"""The weight from which no other name needs to be considered."""
MOST_EVERYWHERE = 200
"""Maximum names with the same first letter over all schemas for abbreviations to be searched in other schemas too."""


@dataclass(frozen=True, slots=True)
class NameForm:
    """A name for the rows of a key's table.

    Attributes:
        key: The key's number.
        weight: How plainly it names the rows, in log odds.
        own: Whether it is the whole name of the table or the key.
        words: The words of the name.
    """

    key: int
    weight: float
    own: bool
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParentIndex:
    """The keys of a schema and the names for them.

    Attributes:
        keys: All keys.
        of_table: Numbers of a table's keys, the primary key first.
        forms: Names by schema and joined name.
        anywhere: Names by joined name, over all schemas.
        loose: Names by schema and loose form.
        columns: Keys by schema and the key column's whole name.
        words: Names by schema and first letter.
        ends: One-word names by schema and the letters that they end with.
        declared: Targets of declared keys by the whole name of the referring column, if that name always has the same
            target.
    """

    keys: tuple[ParentKey, ...]
    of_table: Mapping[int, tuple[int, ...]]
    forms: Mapping[tuple[str, str], list[NameForm]]
    anywhere: Mapping[str, list[NameForm]]
    loose: Mapping[tuple[str, str], list[NameForm]]
    columns: Mapping[tuple[str, str], list[int]]
    words: Mapping[tuple[str, str], list[NameForm]]
    ends: Mapping[tuple[str, str], list[NameForm]]
    declared: Mapping[str, int]

    def named(self, schema: str, name: str) -> Sequence[NameForm]:
        """The keys that a joined name names: in the schema, or in others if it has none."""
        here = self.forms.get((schema, name), ())[:SAME_SCHEMA]
        if here and here[0].weight >= PLAIN:
            return here
        return (*here, *(form for form in self.anywhere.get(name, ())[:OTHER_SCHEMAS] if form not in here))

    def loosely(self, schema: str, name: str) -> Sequence[NameForm]:
        """The keys that the loose form of a name names."""
        shape = loose(name)
        return self.loose.get((schema, shape), ())[:OTHER_SCHEMAS] or self.loose.get(("*", shape), ())[:OTHER_SCHEMAS]

    def called(self, schema: str, whole: str) -> Sequence[int]:
        """The keys whose column has this name."""
        return self.columns.get((schema, whole), ())[:SAME_SCHEMA] or self.columns.get(("*", whole), ())[:OTHER_SCHEMAS]

    def beginning(self, schema: str, letter: str) -> Sequence[NameForm]:
        """Names that begin with a letter: of all schemas if they are few enough, else of this one."""
        return self.words.get(("*", letter), ()) or self.words.get((schema, letter), ())


def build_index(tables: Sequence[Table], words: Sequence[tuple[str, ...]], profiles: Profiles | None) -> ParentIndex:
    """Find the keys and their names.

    Args:
        tables: The tables of the schema.
        words: Their names as words, from `table_words`.
        profiles: Samples, which show likely keys of tables without a declared one.
    """
    primary = {read_column(table.primary_key[0])[0].whole for table in tables if len(table.primary_key) == 1}
    keys = tuple(
        key
        for number, table in enumerate(tables)
        for key in _keys_of(table, number, words, profiles)
        if key.rank != "likely" or not key.name.core or key.name.whole not in primary
    )
    borrowed = _borrowed(keys, words)
    of_table: dict[int, list[int]] = defaultdict(list)
    forms: dict[tuple[str, str], list[NameForm]] = defaultdict(list)
    loosely: dict[tuple[str, str], list[NameForm]] = defaultdict(list)
    columns: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        of_table[key.table].append(number)
        schema = tables[key.table].schema
        if key.name.whole not in NOT_KEYS and number not in borrowed and (key.name.core or key.name.kind == "id"):
            columns[schema, key.name.whole].append(number)
            columns["*", key.name.whole].append(number)
        for form in _forms(number, key, words[key.table], _referred(tables[key.table], key), number in borrowed):
            forms[schema, "".join(form.words)].append(form)
            if form.own:
                loosely[schema, loose("".join(form.words))].append(form)
                loosely["*", loose("".join(form.words))].append(form)
    for some in (*forms.values(), *loosely.values()):
        some.sort(key=lambda form: (-form.weight, len(words[keys[form.key].table]), form.key))
    return ParentIndex(
        keys=keys,
        of_table={table: tuple(numbers) for table, numbers in of_table.items()},
        forms=forms,
        anywhere=_merged(forms),
        loose=loosely,
        columns=columns,
        words=_by_letter(forms),
        ends=_by_end(forms),
        declared=_declared(tables, keys),
    )


def _declared(tables: Sequence[Table], keys: Sequence[ParentKey]) -> dict[str, int]:
    places = {
        (tables[key.table].schema, tables[key.table].name, key.column.name): number for number, key in enumerate(keys)
    }
    found: dict[str, set[int | None]] = defaultdict(set)
    for table in tables:
        for key in table.foreign_keys:
            if len(key.columns) == 1:
                target = places.get((key.schema, key.table, "".join(key.target_columns)))
                itself = (key.schema, key.table) == (table.schema, table.name)
                found[read_column(key.columns[0])[0].whole].add(None if itself else target)
    return {name: number for name, some in found.items() for number in some if len(some) == 1 and number is not None}


def _merged(forms: Mapping[tuple[str, str], list[NameForm]]) -> dict[str, list[NameForm]]:
    merged: dict[str, list[NameForm]] = defaultdict(list)
    for (_, name), some in forms.items():
        merged[name] += some[:OTHER_SCHEMAS]
    return merged


def _by_letter(forms: Mapping[tuple[str, str], list[NameForm]]) -> dict[tuple[str, str], list[NameForm]]:
    found: dict[tuple[str, str], list[NameForm]] = defaultdict(list)
    for (schema, name), some in forms.items():
        if some[0].own and name:
            found[schema, name[0]].append(some[0])
            if len(found["*", name[0]]) <= MOST_EVERYWHERE:
                found["*", name[0]].append(some[0])
    return {place: some for place, some in found.items() if place[0] != "*" or len(some) <= MOST_EVERYWHERE}


_LEAST_END = 4
_LONGEST_END = 12


def _by_end(forms: Mapping[tuple[str, str], list[NameForm]]) -> dict[tuple[str, str], list[NameForm]]:
    found: dict[tuple[str, str], list[NameForm]] = defaultdict(list)
    for (schema, name), some in forms.items():
        if some[0].own and len(some[0].words) == 1:
            for size in range(_LEAST_END, min(len(name), _LONGEST_END + 1)):
                found[schema, name[-size:]].append(some[0])
    return found


def _borrowed(keys: Sequence[ParentKey], words: Sequence[tuple[str, ...]]) -> frozenset[int]:
    """Keys that are called after another table: they refer to it themselves, and others refer to that one.

    A name belongs to the table that has it whole, else to the only one of a single word that it begins.
    """
    tables = {"".join(words[key.table]): key.table for key in keys}
    same: dict[str, set[int]] = defaultdict(set)
    named: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        same[key.name.whole].add(key.table)
        if key.name.core:
            named[key.name.whole, key.name.joined].append(number)
    found: set[int] = set()
    for (whole, joined), numbers in named.items():
        owner = tables.get(joined)
        if owner is None and len(same[whole]) > 1:
            begun = {table for table in same[whole] if len(words[table]) == 1 and words[table][0].startswith(joined)}
            owner = next(iter(begun)) if len(begun) == 1 else None
        if owner is not None:
            found.update(number for number in numbers if keys[number].table != owner)
    return frozenset(found)


def _referred(table: Table, key: ParentKey) -> frozenset[str]:
    """What a table's own columns refer to by a name with a key word: another table, whatever this one is called."""
    prefix = column_prefix(table)
    return frozenset(
        name.joined
        for column in table.columns
        if column.name != key.column.name
        for name in read_column(column.name, prefix)
        if name.kind == "id" and name.core
    )


def _keys_of(
    table: Table, number: int, words: Sequence[tuple[str, ...]], profiles: Profiles | None
) -> Iterator[ParentKey]:
    if table.kind not in BASE_KINDS:
        return
    columns = {column.name: column for column in table.columns if column.family in KEYABLE}
    prefix = column_prefix(table)
    seen: set[str] = set()
    for names in (table.primary_key, *table.unique):
        rank: KeyRank = "primary" if names == table.primary_key else "unique"
        if len(names) == 1 and names[0] in columns and names[0] not in seen:
            seen.add(names[0])
            yield ParentKey(number, columns[names[0]], _key_name(names[0], prefix), rank)
    if not seen and not table.primary_key:
        likely = _likely_key(table, columns, prefix, "".join(words[number]), profiles)
        if likely is not None:
            yield ParentKey(number, likely, _key_name(likely.name, prefix), "likely")


def _key_name(name: str, prefix: str) -> ColumnName:
    """The reading of a key's name that names its table, if there is one."""
    readings = read_column(name, prefix)
    plain = [reading for reading in readings if reading.kind]
    return next((reading for reading in reversed(plain) if reading.core), (plain or readings)[-1])


def _likely_key(
    table: Table, columns: Mapping[str, Column], prefix: str, entity: str, profiles: Profiles | None
) -> Column | None:
    """The likely key of a table without a declared one: a column that is named like a key."""
    for column in columns.values():
        name = _key_name(column.name, prefix)
        if name.kind in ("id", "number", "code") and (not name.core or name.joined == entity):
            profile = profiles.columns.get((table.schema, table.name, column.name)) if profiles else None
            if profile is None or profile.distinct is None or profile.distinct >= profile.count - (profile.nulls or 0):
                return column
    return None


OWN_NAME = 4.2
KEY_NAME = 3.9
BOTH_NAMES = 4.5
NEUTRAL_LOSS = 0.7
TAIL_NAME = 2.1
KIND_NAME = 1.6
KIND_TAILS = frozenset({"type", "kind", "category", "class"})
"""Last words of tables of kinds, which columns leave out: `role_id` of `role_type`."""


def _forms(
    number: int, key: ParentKey, table: tuple[str, ...], referred: frozenset[str], borrowed: bool
) -> Iterator[NameForm]:
    """Names for a key's rows: the table's, the key's own, the table's without neutral words, the table's last words.

    A part of the table's name that one of its columns refers to (`person_id` in `person_info`) is another table's.
    """
    if key.rank == "unique" and key.name.kind not in ("id", "number", "code"):
        return  # a unique attribute is only referred to by its own name
    entity, core = "".join(table), key.name.core
    agree = core and (key.name.joined == entity or loose(key.name.joined) == loose(entity))
    yield NameForm(number, BOTH_NAMES if agree else OWN_NAME, own=True, words=table)
    if core and not borrowed and not (agree and key.name.joined == entity) and key.name.joined not in ATTRIBUTES:
        yield NameForm(number, BOTH_NAMES if agree else KEY_NAME, own=True, words=core)
    for shorter in _without_neutral(table):
        if "".join(shorter) not in referred:
            yield NameForm(number, OWN_NAME - NEUTRAL_LOSS, own=True, words=shorter)
    for start in range(1, len(table)):
        if "".join(table[start:]) not in referred and not (len(table) - start == 1 and table[-1] in GENERIC_TAILS):
            yield NameForm(number, TAIL_NAME - 0.2 * (start - 1), own=False, words=table[start:])
    if len(table) > 1 and table[-1] in KIND_TAILS and "".join(table[:-1]) not in referred:
        yield NameForm(number, KIND_NAME, own=False, words=table[:-1])


def _without_neutral(table: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(table) > 1 and table[-1] in NEUTRAL:
        yield table[:-1]
    if len(table) > 1 and table[0] in NEUTRAL:
        yield table[1:]
