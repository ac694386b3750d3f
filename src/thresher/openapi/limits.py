"""How much of a description is taken in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from thresher.core import InvalidInput


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one description; beyond them it is refused, never read in part.

    Attributes:
        octets: Of its source.
        depth: Of lists and mappings in each other.
        values: Entries of all lists and mappings, as far as the text tells before it is read.
        expanded: Characters of its values after YAML's aliases are written out.
        problems: Kept of those that reading meets; the others are counted.
        reached: Names of schemas kept with one operation, nearest first.
    """

    octets: int = 32 * 1024 * 1024
    depth: int = 200
    values: int = 4_000_000
    expanded: int = 96_000_000
    problems: int = 1_000
    reached: int = 400


LIMITS: Final = Limits()


def too_deep(limits: Limits) -> InvalidInput:
    """The refusal of what is nested too deeply."""
    return InvalidInput(
        f"The description is nested more than {limits.depth} levels deep.", hint="Use $ref instead of nesting."
    )


def too_large(what: str) -> InvalidInput:
    """The refusal of what has too many octets or values, as `what` says."""
    return InvalidInput(what, hint="Split it by product or version, and add each part as a version of its own.")
