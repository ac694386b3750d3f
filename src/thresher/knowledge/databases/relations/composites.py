"""Keys of several columns: tables that hold all columns of another table's key point to it as a whole.

Invariant: a key is looked for among the tables that hold its rarest column, and not more than a bound of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from thresher.connectors import Column, Table
from thresher.knowledge.databases.models import Evidence, PotentialRelation
from thresher.knowledge.databases.relations.keys import BASE_KINDS, KEYABLE
from thresher.knowledge.databases.relations.naming import column_prefix, read_column
from thresher.knowledge.databases.relations.records import ColumnName
from thresher.knowledge.databases.relations.weighing import OWN_KEY, judge_types, score_of
from thresher.knowledge.databases.relations.words import loose, shortens

OWN_COLUMN = 3.4
OWN_PART = 2.7
CONTAINS_NAME = 3.2
LONGER_KEY = 0.9
ONLY_COLUMNS = 0.6
EXTENDS = 2.6
SAME_KEY = -3.0
OTHER_SCHEMA = -0.5
_MOST_TABLES = 300
_MOST_EXTENDING = 20
_MOST_COLUMNS = 8
_SURE = 0.5
"""Score from which a relation makes another one needless."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A column that a table holds, found by a name."""

    table: int
    column: Column


def find_composites(
    tables: Sequence[Table], words: Sequence[tuple[str, ...]], *, threshold: float
) -> list[PotentialRelation]:
    """Potential keys of several columns, at most one for each set of columns.

    Args:
        tables: The schema.
        words: What `table_words` says of them.
        threshold: Scores below it are left out.
    """
    if not any(len(key) > 1 for table in tables for key in (table.primary_key, *table.unique)):
        return []
    held = _columns_by_name(tables)
    sharing: dict[str, list[int]] = defaultdict(list)
    for number, (first, *_) in enumerate(words):
        sharing[first].append(number)
    best: dict[tuple[int, frozenset[str]], PotentialRelation] = {}
    for number, table in enumerate(tables):
        for key in (table.primary_key, *table.unique) if table.kind in BASE_KINDS else ():
            if 1 < len(key) <= _MOST_COLUMNS:
                extending = [child for child in sharing[words[number][0]] if _extends(words[child], words[number])]
                for child, relation in _pointing(tables, words, number, key, held, extending[:_MOST_EXTENDING]):
                    place = (child, frozenset(relation.columns))
                    if relation.score >= threshold and _better(relation, best.get(place)):
                        best[place] = relation
    return [one for one in best.values() if not _said_by_longer(one, list(best.values()), tables)]


def _said_by_longer(relation: PotentialRelation, others: Sequence[PotentialRelation], tables: Sequence[Table]) -> bool:
    """Whether a longer key of the same columns leads to the same table by way of its own parent."""
    longer = [
        (one.target_schema, one.target_table)
        for one in others
        if (one.schema, one.table) == (relation.schema, relation.table)
        and set(relation.columns) < set(one.columns)
        and one.score >= _SURE
    ]
    target = (relation.target_schema, relation.target_table)
    onward = {(one.schema, one.table) for one in others if (one.target_schema, one.target_table) == target}
    onward |= {
        (one.schema, one.name) for one in tables for key in one.foreign_keys if (key.schema, key.table) == target
    }
    return any(place in onward for place in longer)


def _extends(entity: tuple[str, ...], parent: tuple[str, ...]) -> bool:
    return len(entity) > len(parent) and entity[: len(parent)] == parent


def _better(relation: PotentialRelation, other: PotentialRelation | None) -> bool:
    return other is None or relation.score > other.score


def _columns_by_name(tables: Sequence[Table]) -> Mapping[str, Sequence[_Held]]:
    """Columns under each way to read their name."""
    found: dict[str, list[_Held]] = defaultdict(list)
    for number, table in enumerate(tables):
        if table.kind not in BASE_KINDS:
            continue
        prefix = column_prefix(table)
        for column in table.columns:
            if column.family not in KEYABLE:
                continue
            readings = read_column(column.name, prefix)
            for name in dict.fromkeys((*(reading.whole for reading in readings), _short_name(column.name, prefix))):
                found[name].append(_Held(number, column))
    return found


def _short_name(name: str, prefix: str) -> str:
    """Without the prefix of its table's columns."""
    return read_column(name, prefix)[-1].joined + (read_column(name, prefix)[-1].kind if prefix else "")


def _pointing(
    tables: Sequence[Table],
    words: Sequence[tuple[str, ...]],
    number: int,
    key: tuple[str, ...],
    held: Mapping[str, Sequence[_Held]],
    extending: Sequence[int],
) -> Iterator[tuple[int, PotentialRelation]]:
    """Tables that hold all columns of one key.

    Args:
        tables: The schema.
        words: What `table_words` says of them.
        number: The key's table.
        key: Its columns.
        held: Columns by the names that they go by.
        extending: Tables whose name begins with this one's; they may call its columns as it does.
    """
    table = tables[number]
    columns = {column.name: column for column in table.columns}
    if any(name not in columns or columns[name].family not in KEYABLE for name in key):
        return
    prefix = column_prefix(table)
    members = [_member_names(name, prefix, words[number]) for name in key]
    where = [_by_table([one for name in names for one in held.get(name, ())]) for names in members]
    for name, places in zip(key, where, strict=True):
        for child in extending:
            same = next((column for column in tables[child].columns if column.name == name), None)
            if same is not None:
                places.setdefault(child, same)
    rarest = min(where, key=len)
    if len(rarest) > _MOST_TABLES:
        return
    for child in rarest:
        if child == number or not all(child in places for places in where):
            continue
        chosen = tuple(places[child] for places in where)
        if len({column.name for column in chosen}) == len(key) and not _declared(tables[child], chosen):
            evidence = _evidence(tables, words, (child, chosen), (number, tuple(columns[name] for name in key)))
            if evidence is not None:
                yield child, _relation(tables[child], chosen, table, key, evidence)


def _member_names(name: str, prefix: str, entity: tuple[str, ...]) -> tuple[str, ...]:
    """How other tables would call a column of the key, the plainest first."""
    readings = read_column(name, prefix)
    if not readings[-1].core:
        return tuple("".join((*entity[start:], readings[-1].whole)) for start in range(len(entity)))
    return tuple(dict.fromkeys((*(reading.whole for reading in readings), _short_name(name, prefix))))


def _by_table(held: Sequence[_Held]) -> dict[int, Column]:
    found: dict[int, Column] = {}
    for one in held:
        found.setdefault(one.table, one.column)
    return found


def _declared(table: Table, columns: Sequence[Column]) -> bool:
    names = {column.name for column in columns}
    return any(set(key.columns) == names for key in table.foreign_keys)


def _evidence(
    tables: Sequence[Table],
    words: Sequence[tuple[str, ...]],
    child: tuple[int, tuple[Column, ...]],
    parent: tuple[int, tuple[Column, ...]],
) -> tuple[Evidence, ...] | None:
    types = [judge_types(one, other) for one, other in zip(child[1], parent[1], strict=True)]
    known = [one for one in types if one is not None]
    if len(known) < len(types):
        return None
    worst = min(known, key=lambda one: one.weight)
    named = _named(tables[child[0]], words[child[0]], child[1], words[parent[0]], parent[1])
    evidence = [*named, worst, Evidence("key", "together they are a key", 0.2)]
    if tables[child[0]].schema != tables[parent[0]].schema:
        evidence.append(Evidence("name", f"in another schema, {tables[parent[0]].schema}", OTHER_SCHEMA))
    return tuple(evidence)


def _named(
    table: Table, entity: tuple[str, ...], columns: Sequence[Column], parent: tuple[str, ...], key: Sequence[Column]
) -> Iterator[Evidence]:
    """Why these columns mean that table, and are not merely called the same."""
    contains = _contains(entity, parent)
    names = {column.name for column in columns}
    own = max((_own(read_column(column.name), parent) for column in key), default=0.0)
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
    """Whether a column of a key is what the key's table is called after."""
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
