"""What the index must know of a kind: the weights of its fields, the facet that groups its items, its usual words.

Invariant: data only; a kind that is not named here is searched like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thresher.search.arrays import Ids
from thresher.search.background import NOTHING_KNOWN, TOOLS, Background


@dataclass(frozen=True, slots=True)
class Profile:
    """How one kind is indexed.

    Attributes:
        field_weights: Field name to weight in BM25; 1 for a field that is not named.
        group_prefix: Items that share a facet with this beginning belong together; empty: no groups.
        background: How common words are in items of this kind at large.
    """

    field_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    group_prefix: str = ""
    background: Background = NOTHING_KNOWN

    def group_of(self, facets: Iterable[str]) -> str | None:
        """The facet that names an item's group, or None."""
        if not self.group_prefix:
            return None
        return min((label for label in facets if label.startswith(self.group_prefix)), default=None)


_OPERATION: Mapping[str, float] = {"title": 2.0, "parameters": 0.3, "schemas": 0.3, "properties": 0.3}
"""Names of parameters, schemas and properties are many, and say less than a title."""

PROFILES: Mapping[str, Profile] = {
    "tool": Profile(group_prefix="server:", background=TOOLS),
    "operation": Profile(field_weights=_OPERATION),
}
_PLAIN = Profile()


def profile_of(kind: str) -> Profile:
    """The profile of a kind."""
    return PROFILES.get(kind, _PLAIN)


def groups_of(profile: Profile, facets: Sequence[frozenset[str]]) -> Ids:
    """One number a group, -1 for none, int64 in the items' order; items with equal labels are looked at once."""
    names = {labels: profile.group_of(labels) for labels in set(facets)}
    numbers = {name: number for number, name in enumerate(sorted(filter(None, names.values())))}
    return np.fromiter((numbers.get(names[labels] or "", -1) for labels in facets), np.int64, len(facets))
