"""Which columns of two tables belong together, and why: keys first, then what looks like one, then equal names.

Invariant: pure. Of two equally good ways neither is taken and both are named: a wrong relation costs more than a
question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.connectors import Column, Table
from thresher.knowledge.databases import PotentialRelation
from thresher.servoy import RelationItem

Items: TypeAlias = tuple[RelationItem, ...]

MARGIN: Final = 0.15
"""Difference of scores below which two ways are equally good."""
_MOST: Final = 12
"""Most columns of a table, or ways, that a question names."""
_NUMBERS: Final = frozenset({"integer", "decimal"})
_TEXTS: Final = frozenset({"text", "uuid"})
_CLEAR: Final = (frozenset({"integer", "decimal", "float"}), _TEXTS, frozenset({"date", "time", "datetime"}))
"""Groups of families; no family holds values of another group."""
_GENERIC_NAMES: Final = frozenset({"id", "uuid", "guid", "pk", "key", "code", "nr", "no", "number", "name", "rowid"})
"""Names of keys that do not name a table: that two tables have one means nothing."""
_ENDINGS: Final = ("id", "uuid", "guid", "nr", "_no", "code", "key", "number")


@dataclass(frozen=True, slots=True)
class Inferred:
    """The columns found for a relation.

    Attributes:
        items: The columns; empty if somebody must be asked.
        reason: How they were found, with their types.
        evidence: The reasons, strongest first.
        alternatives: Other ways to relate the two, best first; all ways if none was taken.
        question: What to ask; empty if there are `items`.
    """

    items: Items
    reason: str = ""
    evidence: tuple[str, ...] = ()
    alternatives: tuple[Items, ...] = ()
    question: str = ""


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to relate two tables; `score` ranks it among ways that were found in the same manner."""

    items: Items
    score: float
    reason: str
    evidence: tuple[str, ...]


def paired(primary: Table, foreign: Table, potential: Iterable[PotentialRelation], *, by_name: bool) -> Inferred:
    """The columns of a relation between two tables.

    Args:
        primary: The table where it starts.
        foreign: The table where it leads.
        potential: The potential relations of their database.
        by_name: Whether columns of equal names count: for tables that are not in one database.
    """
    stages = [_distinct(_declared(primary, foreign)), _distinct(_potential(primary, foreign, potential))]
    if by_name:
        stages.append(_distinct(_alike(primary, foreign)))
    ways = [way for stage in stages for way in stage]
    if not ways:
        return Inferred((), question=_nothing(primary, foreign))
    first = next(stage for stage in stages if stage)
    good = [way for way in first if first[0].score - way.score < MARGIN]
    if len(good) > 1:
        return Inferred((), alternatives=tuple(way.items for way in ways), question=_several(primary, foreign, good))
    if first is stages[1] and any(_clash(primary, foreign, item) for item in good[0].items):
        return Inferred((), alternatives=tuple(way.items for way in ways), question=_odd(good[0]))
    return Inferred(good[0].items, good[0].reason, good[0].evidence, tuple(way.items for way in ways[1:]))


def written(items: Items, primary: Table, foreign: Table) -> str:
    """Columns with their types: `orders.customer_id (integer) = customers.id (integer)`."""
    return " and ".join(
        f"{_typed(primary, item.primary)} {item.operator} {_typed(foreign, item.foreign)}" for item in items
    )


def _declared(primary: Table, foreign: Table) -> Iterator[_Way]:
    """Keys of either table to the other; a key of a table to itself leads both ways."""
    for child, parent, turned in ((primary, foreign, False), (foreign, primary, True)):
        for key in child.foreign_keys:
            if (key.schema, key.table) == (parent.schema, parent.name):
                items = _items(key.columns, key.target_columns, turned=turned)
                how = f"a key that {child.name} declares"
                named = f"{_listed(key.columns)} of {child.name} is declared to point to {parent.name}"
                evidence = (named, *_about(child, parent, key.columns, key.target_columns))
                yield _way(items, 1.0, how, evidence, primary, foreign)


def _potential(primary: Table, foreign: Table, potential: Iterable[PotentialRelation]) -> Iterator[_Way]:
    found = sorted(potential, key=lambda one: -one.score)
    for one in found:
        for child, parent, turned in ((primary, foreign, False), (foreign, primary, True)):
            places = (one.schema, one.table), (one.target_schema, one.target_table)
            if places == ((child.schema, child.name), (parent.schema, parent.name)):
                items = _items(one.columns, one.target_columns, turned=turned)
                how = f"looks like a key that nobody declared, score {one.score:.2f}"
                evidence = tuple(f"{reason.text} ({reason.weight:+.1f})" for reason in one.evidence)
                yield _way(items, one.score, how, evidence, primary, foreign)


def _alike(primary: Table, foreign: Table) -> Iterator[_Way]:
    """Columns of equal names and types: the key of one table that the other has too, else what is called like a key."""
    named = {column.name.casefold(): column for column in foreign.columns}
    pairs = [(one, named[one.name.casefold()]) for one in primary.columns if one.name.casefold() in named]
    pairs = [pair for pair in pairs if _fit(*pair)]
    for table, side in ((primary, 0), (foreign, 1)):
        key = [pair for pair in pairs if pair[side].name in table.primary_key]
        says = any(pair[side].name.casefold() not in _GENERIC_NAMES for pair in key)
        if key and len(key) == len(table.primary_key) and says:
            how = f"both have the key of {table.name}"
            yield _named_alike(key, 1.0, how, primary, foreign)
    for pair in pairs:
        name = pair[0].name.casefold()
        if name.endswith(_ENDINGS) and name not in _GENERIC_NAMES:
            yield _named_alike([pair], 0.5, "both have a column of this name", primary, foreign)


def _named_alike(
    pairs: Sequence[tuple[Column, Column]], score: float, how: str, primary: Table, foreign: Table
) -> _Way:
    items = tuple(RelationItem(one.name, other.name) for one, other in pairs)
    evidence = tuple(f"equal names and types: {one.name}, {one.type} and {other.type}" for one, other in pairs)
    return _way(items, score, how, evidence, primary, foreign)


def _way(items: Items, score: float, how: str, evidence: tuple[str, ...], primary: Table, foreign: Table) -> _Way:
    return _Way(items, score, f"{written(items, primary, foreign)}: {how}", evidence)


def _items(columns: Sequence[str], targets: Sequence[str], *, turned: bool) -> Items:
    pairs = zip(targets, columns, strict=True) if turned else zip(columns, targets, strict=True)
    return tuple(RelationItem(one, other) for one, other in pairs)


def _about(child: Table, parent: Table, columns: Sequence[str], targets: Sequence[str]) -> Iterator[str]:
    if set(targets) == set(parent.primary_key):
        yield f"{_listed(targets)} is the primary key of {parent.name}"
    for column, target in zip(columns, targets, strict=True):
        one, other = _column(child, column), _column(parent, target)
        if one is not None and other is not None:
            yield f"{one.type} and {other.type}" + ("" if _fit(one, other) else ": of different families")


def _distinct(ways: Iterable[_Way]) -> list[_Way]:
    """Each set of columns once, the best way first."""
    found: dict[frozenset[tuple[str, str]], _Way] = {}
    for way in ways:
        key = frozenset((item.primary, item.foreign) for item in way.items)
        if key not in found or found[key].score < way.score:
            found[key] = way
    return sorted(found.values(), key=lambda way: -way.score)


def _fit(one: Column, other: Column) -> bool:
    """Whether two columns can hold the same values."""
    pair = {one.family, other.family}
    return len(pair) == 1 or pair <= _NUMBERS or pair <= _TEXTS


def _clash(primary: Table, foreign: Table, item: RelationItem) -> bool:
    """Whether two columns clearly cannot hold the same values, such as a text and a number."""
    one, other = _column(primary, item.primary), _column(foreign, item.foreign)
    if one is None or other is None:
        return False
    kinds = {place for place, kind in enumerate(_CLEAR) for column in (one, other) if column.family in kind}
    return len(kinds) > 1


def _odd(way: _Way) -> str:
    return f"{way.reason}; but the columns are of different families, which hold no equal values. Is that meant?"


def _several(primary: Table, foreign: Table, ways: Sequence[_Way]) -> str:
    listed = "; or ".join(way.reason for way in ways[:_MOST])
    more = f"; and {len(ways) - _MOST} more" if len(ways) > _MOST else ""
    return f"{primary.name} and {foreign.name} can be related in {len(ways)} ways: {listed}{more}. Which is meant?"


def _nothing(primary: Table, foreign: Table) -> str:
    same = (primary.schema, primary.name) == (foreign.schema, foreign.name)
    tables = (primary,) if same else (primary, foreign)
    listed = "; ".join(f"{table.name} has {_columns(table)}" for table in tables)
    asked = f"Which columns relate {primary.name} to {foreign.name}?"
    return f"{asked} There is no key between them, and no columns look like one. {listed}."


def _columns(table: Table) -> str:
    shown = [f"{one.name} ({one.type})" for one in table.columns[:_MOST]]
    rest = len(table.columns) - _MOST
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def _typed(table: Table, name: str) -> str:
    column = _column(table, name)
    return f"{table.name}.{name}" + (f" ({column.type})" if column is not None and column.type else "")


def _column(table: Table, name: str) -> Column | None:
    return next((column for column in table.columns if column.name == name), None)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
