"""How much of a description is taken in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


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
