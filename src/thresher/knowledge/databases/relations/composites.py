"""Composite keys: a table that holds all columns of another table's composite key points to it as a whole.

Invariant: only tables that hold a key's rarest column are considered, up to a limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from thresher.connectors import Column, Table
from thresher.knowledge.databases.models import Evidence, PotentialRelation
from thresher.knowledge.databases.relations.keys import BASE_KINDS, KEYABLE
from thresher.knowledge.databases.relations.names import column_prefix, loose, read_column, shortens
from thresher.knowledge.databases.relations.records import ColumnName
from thresher.knowledge.databases.relations.scoring import OWN_KEY, judge_types, score_of

OWN_COLUMN = 3.4
OWN_PART = 2.7
CONTAINS_NAME = 3.2
LONGER_KEY = 0.9
ONLY_COLUMNS = 0.6
EXTENDS = 2.6
SAME_KEY = -3.0
OTHER_SCHEMA = -0.5
_MOST_TABLES = 3_000
_MOST_PAIRS = 200_000
"""Maximum pairs of a key and a table that are examined in a schema."""
_MOST_EXTENDING = 20
_MOST_COLUMNS = 8
_SURE = 0.5
"""Minimum score of a relation that makes another one redundant."""


TableKey: TypeAlias = tuple[str, str]
"""Schema and name of a table."""


@dataclass(frozen=True, slots=True)
class _SchemaView:
    """A schema indexed for the search of composite keys.

    Attributes:
        tables: The tables.
        words: Their names as words, from `table_words`.
        held: Columns by each reading of their name, and by their table's number.
        extending: Numbers of some tables by each prefix of their names' words.
        single: Names of columns that are the whole primary key of some table.
    """

    tables: Sequence[Table]
    words: Sequence[tuple[str, ...]]
    held: Mapping[str, Mapping[int, Column]]
    extending: Mapping[tuple[str, ...], Sequence[int]]
    single: frozenset[str]


def find_composites(
    tables: Sequence[Table], words: Sequence[tuple[str, ...]], *, threshold: float
) -> list[PotentialRelation]:
    """Find potential composite keys, at most one for each set of columns.

    Args:
        tables: The tables of the schema.
        words: Their names as words, from `table_words`.
        threshold: Minimum score.
    """
    if not any(len(key) > 1 for table in tables for key in (table.primary_key, *table.unique)):
        return []
    single = frozenset(read_column(table.primary_key[0])[0].whole for table in tables if len(table.primary_key) == 1)
    looked = _SchemaView(tables, words, _columns_by_name(tables), _extending(words), single)
    best: dict[tuple[int, frozenset[str]], PotentialRelation] = {}
    left = _MOST_PAIRS
    for number, table in enumerate(tables):
        for key in (table.primary_key, *table.unique) if table.kind in BASE_KINDS else ():
            if not 1 < len(key) <= _MOST_COLUMNS:
                continue
            chosen = _holders(looked, number, key)
            left -= len(chosen)
            if left < 0:
                break
            for child, columns in chosen:
                relation = _weighed(looked, (child, columns), (number, key))
                place = (child, frozenset(column.name for column in columns))
                known = best.get(place)
                if relation and relation.score >= threshold and (known is None or relation.score > known.score):
                    best[place] = relation
    return list(_without_redundant(list(best.values()), tables))


def _without_redundant(found: Sequence[PotentialRelation], tables: Sequence[Table]) -> Iterator[PotentialRelation]:
    """Leave out a key if a longer one of the same table leads to the same parent through another table."""
    of_table: dict[TableKey, list[PotentialRelation]] = defaultdict(list)
    towards: set[tuple[TableKey, TableKey]] = set()
    for one in found:
        of_table[one.schema, one.table].append(one)
        towards.add(((one.schema, one.table), (one.target_schema, one.target_table)))
    for table in tables:
        towards |= {((table.schema, table.name), (key.schema, key.table)) for key in table.foreign_keys}
    for one in found:
        target = (one.target_schema, one.target_table)
        if not any(
            set(one.columns) < set(longer.columns)
            and longer.score >= _SURE
            and ((longer.target_schema, longer.target_table), target) in towards
            for longer in of_table[one.schema, one.table]
        ):
            yield one


def _extending(words: Sequence[tuple[str, ...]]) -> Mapping[tuple[str, ...], Sequence[int]]:
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, entity in enumerate(words):
        for end in range(1, len(entity)):
            if len(found[entity[:end]]) < _MOST_EXTENDING:
                found[entity[:end]].append(number)
    return found


def _columns_by_name(tables: Sequence[Table]) -> Mapping[str, Mapping[int, Column]]:
    """Columns by each reading of their name; the first column of a table if several match."""
    found: dict[str, dict[int, Column]] = defaultdict(dict)
    for number, table in enumerate(tables):
        prefix = column_prefix(table)
        for column in table.columns if table.kind in BASE_KINDS else ():
            if column.family in KEYABLE:
                names = (
                    *(reading.whole for reading in read_column(column.name, prefix)),
                    _short_name(column.name, prefix),
                )
                for name in names:
                    found[name].setdefault(number, column)
    return found


def _short_name(name: str, prefix: str) -> str:
    """A column's name without the prefix of its table's columns."""
    return read_column(name, prefix)[-1].joined + (read_column(name, prefix)[-1].kind if prefix else "")


def _holders(looked: _SchemaView, number: int, key: tuple[str, ...]) -> list[tuple[int, tuple[Column, ...]]]:
    """Tables that hold all columns of a key, with these columns in the key's order."""
    table = looked.tables[number]
    columns = {column.name: column for column in table.columns}
    if any(name not in columns or columns[name].family not in KEYABLE for name in key):
        return []
    prefix = column_prefix(table)
    where = [
        [looked.held[name] for name in _member_names(member, prefix, looked.words[number]) if name in looked.held]
        for member in key
    ]
    sizes = [sum(map(len, places)) for places in where]
    extending = looked.extending.get(looked.words[number], ())
    if min(sizes) > _MOST_TABLES:
        return []
    candidates = dict.fromkeys(child for places in where[sizes.index(min(sizes))] for child in places)
    found: list[tuple[int, tuple[Column, ...]]] = []
    for child in (*candidates, *(child for child in extending if child not in candidates)):
        chosen = _chosen(looked.tables[child], child, key, where, named_alike=child in extending)
        if child != number and chosen and not _declared(looked.tables[child], chosen):
            found.append((child, chosen))
    return found


def _chosen(
    table: Table,
    child: int,
    key: tuple[str, ...],
    where: Sequence[Sequence[Mapping[int, Column]]],
    *,
    named_alike: bool,
) -> tuple[Column, ...]:
    """A table's columns that correspond to a key's; empty if one is missing.

    A table whose name begins with the name of the key's table may use that table's column names.
    """
    found: list[Column] = []
    for name, places in zip(key, where, strict=True):
        column = next((held[child] for held in places if child in held), None)
        if column is None and named_alike:
            column = next((column for column in table.columns if column.name == name), None)
        if column is None or column in found:
            return ()
        found.append(column)
    return tuple(found)


def _weighed(
    looked: _SchemaView, child: tuple[int, tuple[Column, ...]], parent: tuple[int, tuple[str, ...]]
) -> PotentialRelation | None:
    number, key = parent
    by_name = {column.name: column for column in looked.tables[number].columns}
    evidence = _evidence(looked, child, (number, tuple(by_name[name] for name in key)))
    if evidence is None:
        return None
    return _relation(looked.tables[child[0]], child[1], looked.tables[number], key, evidence)


def _member_names(name: str, prefix: str, entity: tuple[str, ...]) -> tuple[str, ...]:
    """The names that other tables would use for a key's column, plainest first."""
    readings = read_column(name, prefix)
    if not readings[-1].core:
        return tuple("".join((*entity[start:], readings[-1].whole)) for start in range(len(entity)))
    return tuple(dict.fromkeys((*(reading.whole for reading in readings), _short_name(name, prefix))))


def _declared(table: Table, columns: Sequence[Column]) -> bool:
    names = {column.name for column in columns}
    return any(set(key.columns) == names for key in table.foreign_keys)


def _evidence(
    looked: _SchemaView, child: tuple[int, tuple[Column, ...]], parent: tuple[int, tuple[Column, ...]]
) -> tuple[Evidence, ...] | None:
    tables, words = looked.tables, looked.words
    types = [judge_types(one, other) for one, other in zip(child[1], parent[1], strict=True)]
    known = [one for one in types if one is not None]
    if len(known) < len(types):
        return None
    worst = min(known, key=lambda one: one.weight)
    named = _named(tables[child[0]], words[child[0]], child[1], words[parent[0]], parent[1], looked.single)
    evidence = [*named, worst, Evidence("key", "together they are a key", 0.2)]
    if tables[child[0]].schema != tables[parent[0]].schema:
        evidence.append(Evidence("name", f"in another schema, {tables[parent[0]].schema}", OTHER_SCHEMA))
    return tuple(evidence)


def _named(
    table: Table,
    entity: tuple[str, ...],
    columns: Sequence[Column],
    parent: tuple[str, ...],
    key: Sequence[Column],
    single: frozenset[str],
) -> Iterator[Evidence]:
    """Evidence that the columns refer to the table, beyond equal names.

    Within the child's own key, a column that is the key of a third table alone is that table's, not this one's.
    """
    contains = _contains(entity, parent)
    names = {column.name for column in columns}
    read = [read_column(column.name) for column in key]
    inside = names <= set(table.primary_key)
    own = max((_own(one, parent) for one in read if not (inside and one[0].whole in single)), default=0.0)
    same_key = set(table.primary_key) == names
    if same_key and (not own or entity == parent):
        yield Evidence("direction", "both tables have this key", SAME_KEY)
        if contains and len(entity) > len(parent):
            yield Evidence("name", "its table's name extends the other's", EXTENDS + CONTAINS_NAME)
        return
    if same_key:
        yield Evidence("direction", "they are the table's own key: at most one row each", OWN_KEY)
    if own:
        yield Evidence("name", "all columns of the key are here, one of them the table's own", own)
    elif contains:
        yield Evidence("name", "all columns of the key are here, and the table's name in its own", CONTAINS_NAME)
    elif names < set(table.primary_key):
        yield Evidence("key", "its key is the other's key and more", LONGER_KEY)
    else:
        yield Evidence("name", "all columns of the key are here", ONLY_COLUMNS)


def _own(readings: Sequence[ColumnName], entity: tuple[str, ...]) -> float:
    """The weight of a key column that is named after its own table; 0 if it is not."""
    best = 0.0
    for reading in readings:
        if not reading.core or loose(reading.joined) == loose("".join(entity)):
            best = max(best, OWN_COLUMN if reading.kind else 0.0)
        elif reading.kind and (reading.joined == entity[-1] or shortens(reading.joined, "".join(entity)) > 0.7):
            best = max(best, OWN_PART)
    return best


def _contains(entity: tuple[str, ...], parent: tuple[str, ...]) -> bool:
    size = len(parent)
    return any(entity[start : start + size] == parent for start in range(len(entity) - size + 1))


def _relation(
    child: Table, columns: Sequence[Column], parent: Table, key: tuple[str, ...], evidence: tuple[Evidence, ...]
) -> PotentialRelation:
    return PotentialRelation(
        schema=child.schema,
        table=child.name,
        columns=tuple(column.name for column in columns),
        target_schema=parent.schema,
        target_table=parent.name,
        target_columns=key,
        score=score_of(evidence),
        evidence=tuple(sorted(evidence, key=lambda one: -abs(one.weight))),
    )
