"""Adds the evidence for and against a pair of columns up to a score.

The weights are log odds, so the score is a probability: the logistic function of their sum. They were set on
purpose-built schemas and checked on others (`docs/decisions/0020-potential-relations.md`).

Invariant: pure; None if the pair cannot be a key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from thresher.connectors import Column, Family, Profiles, Table
from thresher.knowledge.databases.models import Evidence
from thresher.knowledge.databases.relations.lexicon import KeyKind
from thresher.knowledge.databases.relations.records import NameMatch, ParentKey
from thresher.knowledge.databases.relations.values import VALUES_ALONE, judge_values

BIAS: Final = -1.6
"""The log odds of a pair without evidence."""
SAME_TYPE, NEAR_TYPE, OTHER_TYPE = 0.3, 0.0, -2.2
RANKS: Final = {"primary": 0.2, "unique": -0.4, "likely": -0.7}
SAME_KIND, OTHER_KIND = 0.2, -0.8
OWN_KEY = -0.6
OTHER_SCHEMA = -0.5
MOST_BESIDE_NAME: Final = SAME_TYPE + RANKS["primary"] + SAME_KIND
"""The maximum that other evidence adds to a name's weight if no values are known."""
_NUMBERS: Final[tuple[Family, ...]] = ("integer", "decimal")
_TEXTS: Final[tuple[Family, ...]] = ("text", "other", "uuid")
_SERIALS = {"int": "integer", "serial": "integer", "bigserial": "bigint", "smallserial": "smallint"}
_RANK_TEXTS = {
    "primary": "the primary key",
    "unique": "a unique key",
    "likely": "called like a key, but none is declared",
}


def weigh(
    match: NameMatch, child: tuple[Table, Column, KeyKind], parent: tuple[Table, ParentKey], profiles: Profiles | None
) -> tuple[Evidence, ...] | None:
    """All evidence for a pair; None if its types cannot hold the same values."""
    table, column, kind = child
    target, key = parent
    if not match.same and match.weight > VALUES_ALONE and not _fits(column, kind, key):
        return None
    typed = judge_types(column, key.column)
    if typed is None:
        return None
    evidence = [Evidence("name", match.text, round(match.weight, 2)), typed]
    evidence.append(Evidence("key", f"{key.column.name} is {_RANK_TEXTS[key.rank]}", RANKS[key.rank]))
    evidence += _kinds(kind, key.name.kind)
    if table.primary_key == (column.name,):
        evidence.append(Evidence("direction", "the column is the key of its own table: at most one row each", OWN_KEY))
    if table.schema != target.schema:
        evidence.append(Evidence("name", f"in another schema, {target.schema}", OTHER_SCHEMA))
    if profiles is not None:
        evidence += _values(profiles, table, column, target, key.column)
    return tuple(evidence)


def judge_types(child: Column, parent: Column) -> Evidence | None:
    """Evidence from two types; None if they cannot hold the same values."""
    return _judge((child.family, child.type, child.length), (parent.family, parent.type, parent.length))


@lru_cache(maxsize=4096)
def _judge(child: tuple[Family, str, int | None], parent: tuple[Family, str, int | None]) -> Evidence | None:
    pair = (child[0], parent[0])
    text = f"{child[1]} and {parent[1]}"
    if _fraction(child) or _fraction(parent):
        return None
    if child[0] == parent[0]:
        same = _plain(child[1]) == _plain(parent[1]) or (child[2] is not None and child[2] == parent[2])
        return Evidence("type", text, SAME_TYPE if same else NEAR_TYPE)
    if all(family in _NUMBERS for family in pair) or all(family in _TEXTS for family in pair):
        return Evidence("type", text, NEAR_TYPE)
    if all(family in (*_NUMBERS, *_TEXTS) for family in pair):
        return Evidence("type", f"{text}: of different families", OTHER_TYPE)
    return None


def _plain(type_name: str) -> str:
    """A type in lower case, and without what makes it count by itself: `serial` holds what `integer` holds."""
    name = type_name.lower()
    return _SERIALS.get(name, name)


def alike(families: Iterable[Family]) -> frozenset[Family]:
    """The families of columns that may refer to keys of some families without a key word in their name."""
    known = frozenset(families)
    return known | frozenset(_NUMBERS) if known & frozenset(_NUMBERS) else known


def _fits(child: Column, kind: KeyKind, key: ParentKey) -> bool:
    """Whether kind and type are compatible: names match only names, and types may differ only if kinds agree."""
    if kind != key.name.kind and "name" in (kind, key.name.kind) and kind:
        return False
    mine, other = child.family, key.column.family
    alike = mine == other or (mine in _NUMBERS and other in _NUMBERS)
    return alike or (bool(kind) and (kind == key.name.kind or not key.name.kind))


def _fraction(column: tuple[Family, str, int | None]) -> bool:
    """Whether a decimal type has decimal places."""
    inner = column[1].partition("(")[2].partition(")")[0]
    return column[0] == "decimal" and "," in inner and inner.split(",")[-1].strip() not in ("0", "")


def _kinds(child: KeyKind, parent: KeyKind) -> Iterator[Evidence]:
    if not child or not parent:
        return
    if child == parent:
        yield Evidence("name", f"both are called {child}", SAME_KIND)
    else:
        yield Evidence("name", f"called {child}, the key {parent}", OTHER_KIND)


def _values(profiles: Profiles, table: Table, column: Column, target: Table, key: Column) -> Iterator[Evidence]:
    child = profiles.columns.get((table.schema, table.name, column.name))
    parent = profiles.columns.get((target.schema, target.name, key.name))
    if child is not None and parent is not None and child.count and parent.count:
        rows = profiles.rows.get((target.schema, target.name))
        yield from judge_values(child, parent, whole=parent.complete or parent.count == rows)


def score_of(evidence: Iterable[Evidence]) -> float:
    """The probability that follows from all evidence, 0 to 1."""
    total = BIAS + math.fsum(one.weight for one in evidence)
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
