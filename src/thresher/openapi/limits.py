"""How much of a description is taken in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

from thresher.core import InvalidInput
from thresher.openapi.records import Json


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one description; beyond them it is refused, never read in part.

    Attributes:
        octets: Of its source.
        depth: Of lists and mappings in each other.
        values: Entries of all lists and mappings, as far as the text tells before it is read.
        aliased: Characters that YAML's aliases add when they are written out; 8 more for each value.
        problems: Kept of those that reading meets; the others are counted.
        reached: Names of schemas kept with one operation, nearest first.
        parts: Parameters, answers, forms of bodies and ways to be let in of all operations, each counted for every
            operation that has it: a short description may give ten thousand operations the same ten thousand.
    """

    octets: int = 32 * 1024 * 1024
    depth: int = 200
    values: int = 4_000_000
    aliased: int = 16_000_000
    problems: int = 1_000
    reached: int = 400
    parts: int = 500_000


LIMITS: Final = Limits()


def too_deep(limits: Limits) -> InvalidInput:
    """The refusal of what is nested too deeply."""
    return InvalidInput(
        f"The description is nested more than {limits.depth} levels deep.", hint="Use $ref instead of nesting."
    )


def too_large(what: str) -> InvalidInput:
    """The refusal of what has too many octets or values, as `what` says."""
    return InvalidInput(what, hint="Split it by product or version, and add each part as a version of its own.")


def check_depth(value: Json, limits: Limits) -> None:
    """Refuse what is nested too deeply.

    Raises:
        InvalidInput: It is.
    """
    level = [value]
    for _ in range(limits.depth):
        level = [child for each in level for child in _children(each) if isinstance(child, dict | list)]
        if not level:
            return
    raise too_deep(limits)


def _children(value: Json) -> Iterable[Json]:
    """What a list or a mapping holds."""
    return cast("dict[str, Json]", value).values() if isinstance(value, dict) else cast("list[Json]", value)
