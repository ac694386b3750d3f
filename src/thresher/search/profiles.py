"""What the index must know of a kind: the weights of its fields, and the facet that groups its items.

Invariant: data only; a kind that is not named here is searched like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Profile:
    """How one kind is indexed.

    Attributes:
        field_weights: Field name to weight in BM25; 1 for a field that is not named.
        group_prefix: Items that share a facet with this beginning belong together; empty: no groups.
    """

    field_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    group_prefix: str = ""

    def group_of(self, facets: Iterable[str]) -> str | None:
        """The facet that names an item's group, or None."""
        if not self.group_prefix:
            return None
        return min((label for label in facets if label.startswith(self.group_prefix)), default=None)


PROFILES: Mapping[str, Profile] = {"tool": Profile(group_prefix="server:")}
_PLAIN = Profile()


def profile_of(kind: str) -> Profile:
    """The profile of a kind."""
    return PROFILES.get(kind, _PLAIN)


def numbered(groups: Iterable[str | None]) -> list[int]:
    """One number a group, -1 for none, in the items' order."""
    numbers: dict[str, int] = {}
    return [-1 if group is None else numbers.setdefault(group, len(numbers)) for group in groups]
