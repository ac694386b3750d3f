"""Finds columns that look like undeclared foreign keys, and the columns whose samples would help to decide.

Invariant: pure and bounded: schema records and samples in, relations out, the same for any order of tables; a
column has at most one parent, and a declared key is never reported as a potential one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from thresher.connectors import Column, Profiles, Table
from thresher.knowledge.databases.models import Evidence, PotentialRelation
from thresher.knowledge.databases.relations.composites import find_composites
from thresher.knowledge.databases.relations.keys import BASE_KINDS, KEYABLE, PLAIN, ParentIndex, build_index
from thresher.knowledge.databases.relations.lexicon import KEY_WORDS, KeyKind
from thresher.knowledge.databases.relations.matching import ChildColumn, Matcher
from thresher.knowledge.databases.relations.names import column_prefix, loose, read_column, shortens, split, table_words
from thresher.knowledge.databases.relations.records import ColumnName, NameMatch
from thresher.knowledge.databases.relations.scoring import MOST_BESIDE_NAME, alike, score_of, weigh
from thresher.knowledge.databases.relations.values import MOST as MOST_OF_VALUES
from thresher.knowledge.databases.relations.values import ValueIndex

THRESHOLD = 0.5
LIMIT = 50_000
_AMBIGUOUS = 0.25
_AMBIGUOUS_LOSS = -0.6
_STRANGER_LOSS = -1.5
_MOST_CANDIDATES = 12
_EVERYWHERE = 4
_SHORT_OF_OWN = 0.6
_TELLING = 3
"""Columns that two tables rarely share by chance."""


@dataclass(frozen=True, slots=True)
class _ParentCandidate:
    """A possible parent of one column."""

    key: int
    total: float
    evidence: tuple[Evidence, ...]


def find_relations(
    tables: Sequence[Table], profiles: Profiles | None = None, *, limit: int = LIMIT, threshold: float = THRESHOLD
) -> list[PotentialRelation]:
    """Find potential relations between tables.

    Args:
        tables: All tables of a connection, with declared keys.
        profiles: Samples of their columns; None to decide by names, types and keys alone.
        limit: Maximum relations.
        threshold: Minimum score, 0 to 1.

    Returns:
        Relations, best first, then by name.
    """
    ordered = sorted(tables, key=lambda table: (table.schema, table.name))
    words = table_words(ordered)
    composites = find_composites(ordered, words, threshold=threshold)
    singles = _Singles(ordered, words, profiles).relations(threshold)
    found = [*composites, *_not_implied(singles, composites, ordered)]
    found.sort(key=lambda one: (-one.score, one.schema, one.table, one.columns, one.target_table))
    return found[:limit]


class _Singles:
    """Finds single-column relations."""

    def __init__(self, tables: Sequence[Table], words: Sequence[tuple[str, ...]], profiles: Profiles | None) -> None:
        self._tables = tables
        self._words = words
        self._columns = [frozenset(column.name for column in table.columns) for table in tables]
        self._profiles = profiles
        self._index: ParentIndex = build_index(tables, words, profiles)
        self._matcher = Matcher(self._index)
        self._families = alike(key.column.family for key in self._index.keys)
        self._values = ValueIndex(self._index.keys, tables, profiles) if profiles is not None else None
        self._most = MOST_BESIDE_NAME + (MOST_OF_VALUES if profiles is not None else 0.0)

    def relations(self, threshold: float) -> list[PotentialRelation]:
        """The relations, at most one for each column; of mutual relations only the better one."""
        found: dict[tuple[int, str], tuple[PotentialRelation, tuple[int, str]]] = {}
        for number, table in enumerate(self._tables):
            for column, best in self._of_table(number, table):
                relation = self._relation(table, column, best)
                if relation.score >= threshold:
                    key = self._index.keys[best.key]
                    found[number, column.name] = (relation, (key.table, key.column.name))
        return [
            relation
            for place, (relation, target) in found.items()
            if not self._mutual(place, relation, found.get(target))
        ]

    def _mutual(
        self,
        place: tuple[int, str],
        relation: PotentialRelation,
        back: tuple[PotentialRelation, tuple[int, str]] | None,
    ) -> bool:
        """Whether the opposite relation was found too and is at least as good: only one of them is kept."""
        if back is None or back[1] != place:
            return False
        mine, other = (relation.score, relation.table), (back[0].score, back[0].table)
        return mine[0] < other[0] or (mine[0] == other[0] and mine[1] < other[1])

    def _of_table(self, number: int, table: Table) -> Iterator[tuple[Column, _ParentCandidate]]:
        if table.kind not in BASE_KINDS:
            return
        prefix = column_prefix(table)
        declared = {key.columns[0] for key in table.foreign_keys if len(key.columns) == 1}
        names = {"".join(split(column.name)) for column in table.columns}
        read = {column.name: read_column(column.name, prefix) for column in table.columns}
        keyed = len(table.primary_key) == 1
        named = frozenset(name.joined for some in read.values() for name in some if name.core)
        pointing = {name.joined for some in read.values() for name in some if name.kind == "id" and name.core}
        for column in table.columns:
            if column.family not in KEYABLE or column.name in declared:
                continue
            if all(not name.kind and name.joined in pointing for name in read[column.name]):
                continue  # `account` beside `account_id`
            child = ChildColumn(number, table.schema, self._words[number], column, read[column.name], named, keyed)
            candidates = self._candidates(child, table, names)
            if candidates:
                yield column, _chosen(candidates, self._index, self._tables)

    def _candidates(self, child: ChildColumn, table: Table, names: set[str]) -> list[_ParentCandidate]:
        own = self._index.of_table.get(child.table, ())
        is_key = bool(own) and self._index.keys[own[0]].column.name == child.column.name
        if not self._may_be_key(child):
            return []
        in_key = child.column.name in table.primary_key
        if (is_key or in_key) and any((name.core or is_key) and _is_named(name, child.entity) for name in child.names):
            return []
        matches = sorted(self._matches(child, table), key=lambda match: (-match.weight, match.key))
        if is_key and _is_own_part(child) and not any(match.whole and match.weight >= PLAIN for match in matches):
            return []
        polymorphic = any(f"{name.joined}type" in names for name in child.names if name.kind == "id")
        found: list[_ParentCandidate] = []
        best = -math.inf
        for match in matches[:_MOST_CANDIDATES]:
            if match.weight + self._most < best - _AMBIGUOUS:
                break
            if ((is_key or polymorphic) and not match.whole) or not self._may(child, match):
                continue
            candidate = self._weighed(child, table, match, is_key=is_key)
            if candidate is not None:
                found.append(candidate)
                best = max(best, candidate.total)
        return sorted(found, key=lambda one: (-one.total, one.key))

    def _may_be_key(self, child: ChildColumn) -> bool:
        """Whether a column may refer to any key: without a key word, its type must be that of some key."""
        if any(name.kind for name in child.names) or child.column.family in self._families:
            return True
        if self._values is not None and child.column.family in ("text", "uuid"):
            return True
        return any(self._index.called(child.schema, name.whole) for name in child.names)

    def _matches(self, child: ChildColumn, table: Table) -> list[NameMatch]:
        found = self._matcher.matches(child)
        if self._values is not None and self._profiles is not None:
            profile = self._profiles.columns.get((table.schema, table.name, child.column.name))
            like_a_key = any(name.kind for name in child.names)
            for match in self._values.matches(child.column, profile, called_like_a_key=like_a_key):
                found.setdefault(match.key, match)
        return list(found.values())

    def _may(self, child: ChildColumn, match: NameMatch) -> bool:
        """Whether a match is possible: a column never points to itself, and to its own table only as another row.

        A table that has all columns of another is a copy or a part of it, and its key is the other's by another name.
        """
        key = self._index.keys[match.key]
        if key.table != child.table and self._copies(child.table, key.table):
            return False
        return key.table != child.table or (key.column.name != child.column.name and not match.whole)

    def _copies(self, table: int, other: int) -> bool:
        """Whether a table has all columns of another, as many as tell."""
        return len(self._columns[other]) >= _TELLING and self._columns[other] <= self._columns[table]

    def _weighed(self, child: ChildColumn, table: Table, match: NameMatch, *, is_key: bool) -> _ParentCandidate | None:
        key = self._index.keys[match.key]
        kinds: list[KeyKind] = [name.kind for name in child.names if name.kind]
        kind: KeyKind = kinds[0] if kinds else ""
        evidence = weigh(match, (table, child.column, kind), (self._tables[key.table], key), self._profiles)
        if evidence is None:
            return None
        if is_key and not _is_named(key.name, self._words[key.table]):
            evidence = (*evidence, Evidence("direction", "neither key is called after its table", _STRANGER_LOSS))
        return _ParentCandidate(match.key, sum(one.weight for one in evidence), evidence)

    def _relation(self, table: Table, column: Column, best: _ParentCandidate) -> PotentialRelation:
        key = self._index.keys[best.key]
        target = self._tables[key.table]
        return PotentialRelation(
            schema=table.schema,
            table=table.name,
            columns=(column.name,),
            target_schema=target.schema,
            target_table=target.name,
            target_columns=(key.column.name,),
            score=score_of(best.evidence),
            evidence=tuple(sorted(best.evidence, key=lambda one: -abs(one.weight))),
        )


def _chosen(candidates: Sequence[_ParentCandidate], index: ParentIndex, tables: Sequence[Table]) -> _ParentCandidate:
    """The best parent, with a lower score if another table fits nearly as well."""
    best, *others = candidates
    near = [one for one in others if best.total - one.total < _AMBIGUOUS]
    rivals = {index.keys[one.key].table for one in near} - {index.keys[best.key].table}
    if not rivals:
        return best
    text = f"{tables[min(rivals)].name} fits nearly as well"
    loss = Evidence("name", text, _AMBIGUOUS_LOSS)
    return replace(best, evidence=(*best.evidence, loss), total=best.total + loss.weight)


def _is_named(name: ColumnName, entity: tuple[str, ...]) -> bool:
    """Whether a key is named after this table: its name is a key word alone, or the table's name."""
    whole = "".join(entity)
    return not name.core or name.joined == whole or loose(name.joined) == loose(whole)


def _is_own_part(child: ChildColumn) -> bool:
    """Whether a key's name may be a part of its table's: `ma_id` of `mitarbeiter`, `status_id` of `order_status`."""
    own = ("".join(child.entity), child.entity[-1])
    return any(
        name.joined == child.entity[-1] or shortens(name.joined, other) >= _SHORT_OF_OWN
        for name in child.names
        for other in own
    )


def _not_implied(
    singles: Sequence[PotentialRelation], composites: Sequence[PotentialRelation], tables: Sequence[Table]
) -> Iterator[PotentialRelation]:
    """Leave out single-column relations that a composite relation implies through its parent."""
    covering: dict[tuple[str, str, str], list[tuple[PotentialRelation, str]]] = defaultdict(list)
    for whole in (one for one in composites if one.score >= THRESHOLD):
        for column, target in zip(whole.columns, whole.target_columns, strict=True):
            covering[whole.schema, whole.table, column].append((whole, target))
    towards = _targets(singles, tables)
    common = Counter(column.name for table in tables for column in table.columns)
    for single in singles:
        covered = covering.get((single.schema, single.table, single.columns[0]), ())
        everywhere = common[single.columns[0]] > max(_EVERYWHERE, len(tables) / 2)
        target = (single.target_schema, single.target_table)
        implied = any(
            target == (whole.target_schema, whole.target_table)
            or towards.get((whole.target_schema, whole.target_table, member)) == target
            for whole, member in covered
        )
        if not implied or everywhere:
            yield single


def _targets(
    singles: Sequence[PotentialRelation], tables: Sequence[Table]
) -> Mapping[tuple[str, str, str], tuple[str, str]]:
    """The target of each column, by declared and potential keys."""
    found = {(one.schema, one.table, one.columns[0]): (one.target_schema, one.target_table) for one in singles}
    for table in tables:
        for key in table.foreign_keys:
            if len(key.columns) == 1:
                found[table.schema, table.name, key.columns[0]] = (key.schema, key.table)
    return found


ColumnKey: TypeAlias = tuple[str, str, str]
"""Schema, table and column."""

MOST_SAMPLED: Final = 4_000
DOUBTFUL: Final = 0.05
"""Minimum score by names alone for samples to be read, which may raise it above the threshold."""


def columns_to_sample(tables: Sequence[Table], *, most: int = MOST_SAMPLED) -> frozenset[ColumnKey]:
    """The columns whose samples would help to decide, those of the most uncertain pairs first.

    Args:
        tables: The tables of the schema.
        most: Maximum columns.
    """
    found: dict[ColumnKey, None] = {}
    for place in _places(tables):
        if len(found) >= most:
            break
        found[place] = None
    return frozenset(found)


def _places(tables: Sequence[Table]) -> Iterator[ColumnKey]:
    doubtful = find_relations(tables, threshold=DOUBTFUL)
    for one in sorted(doubtful, key=lambda one: abs(one.score - 0.5)):
        yield from ((one.schema, one.table, column) for column in one.columns)
        yield from ((one.target_schema, one.target_table, column) for column in one.target_columns)
    yield from _named_like_keys(tables)


def _named_like_keys(tables: Sequence[Table]) -> Iterator[ColumnKey]:
    """Text and UUID columns that are named like a key: their values may show what their names do not."""
    for table in tables:
        if table.kind not in BASE_KINDS:
            continue
        prefix = column_prefix(table)
        for column in table.columns:
            if column.family in KEYABLE and column.family != "decimal":
                named = any(name.kind in KEY_WORDS.values() for name in read_column(column.name, prefix))
                if named and column.family in ("text", "uuid"):
                    yield (table.schema, table.name, column.name)
