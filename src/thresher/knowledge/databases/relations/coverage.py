"""What samples say of two columns: whether one holds only values of the other.

Invariant: pure; a sample that is not whole proves nothing about values that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from thresher.connectors import Profile
from thresher.knowledge.databases.models import Evidence
from thresher.knowledge.databases.relations.values import telling

COVERED = 0.6
COVERED_TELLING = 1.4
"""Of values that do not meet by chance, as small whole numbers do."""
NEARLY = -0.2
PARTLY = -1.8
HARDLY = -4.5
MOST = COVERED_TELLING
OUT_OF_RANGE = -4.5
OUT_OF_SAMPLE = -0.8
IN_RANGE = 0.2
TOO_MANY = -3.0
_ALL = 0.995
_NEARLY = 0.9
_PARTLY = 0.5
_ENOUGH = 3
_TELLING = 8


def judge_values(child: Profile, parent: Profile, *, whole: bool) -> Iterator[Evidence]:
    """What the values speak for or against.

    Args:
        child: The sample of the column.
        parent: The sample of the key.
        whole: Whether all rows of the key's table were looked at.
    """
    if child.distinct == 0 or child.count == (child.nulls or 0):
        return
    if child.values and parent.values is not None and parent.complete:
        yield _coverage(child.values, parent.values)
    else:
        yield from _range(child, parent, whole=whole)
    if parent.complete and parent.distinct is not None and (child.distinct or 0) > parent.distinct:
        text = f"{child.distinct} different values, the key has {parent.distinct}"
        yield Evidence("cardinality", text, TOO_MANY)


def _coverage(child: frozenset[str], parent: frozenset[str]) -> Evidence:
    share = len(child & parent) / len(child)
    text = f"{share:.0%} of {len(child):,} different values are values of the key"
    if share >= _ALL:
        return Evidence("coverage", text, _covered(child, parent))
    return Evidence("coverage", text, NEARLY if share >= _NEARLY else PARTLY if share >= _PARTLY else HARDLY)


def _covered(child: frozenset[str], parent: frozenset[str]) -> float:
    """Few values prove little, and whole numbers from one upwards are in every key."""
    amount = min(1.0, len(child) / _TELLING)
    if not telling(child):
        spread = min(1.0, len(child) / max(1, len(parent)) + 0.3)
        return round(COVERED * max(amount, 0.4) * spread, 2)
    return round(COVERED_TELLING * max(amount, 0.5 if len(child) >= _ENOUGH else 0.3), 2)


def _range(child: Profile, parent: Profile, *, whole: bool) -> Iterator[Evidence]:
    bounds = [_number(value) for value in (child.low, child.high, parent.low, parent.high)]
    low, high, least, most = bounds
    if low is None or high is None or least is None or most is None:
        return
    if low < least or high > most:
        text = f"values from {low} to {high}, the key's from {least} to {most}"
        yield Evidence("range", text, OUT_OF_RANGE if whole else OUT_OF_SAMPLE)
    else:
        yield Evidence("range", f"values from {low} to {high} lie within the key's", IN_RANGE)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
