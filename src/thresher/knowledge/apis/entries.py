"""What of an operation is put into the index.

Invariant: pure; an operation whose wording did not change gives the same entry, so that it is embedded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from thresher.search import Entry

KIND: Final = "operation"
"""The collection of the index that holds operations."""
_PROVIDER: Final = "provider:"
_VERSION: Final = "version:"


@dataclass(frozen=True, slots=True)
class Place:
    """Whose operations they are.

    Attributes:
        provider: Row id of the provider.
        version: Row id of the description.
        owner: The only user who may find them; None for everybody in the tenant.
    """

    provider: int
    version: int
    owner: str | None

    @property
    def facets(self) -> frozenset[str]:
        """The labels of its operations."""
        return frozenset({f"{_PROVIDER}{self.provider}", f"{_VERSION}{self.version}"})


def facets_of(versions: Iterable[int]) -> frozenset[str]:
    """The labels of the operations of some versions."""
    return frozenset(f"{_VERSION}{version}" for version in versions)


def entries_of(place: Place, wordings: Mapping[int, Mapping[str, Any]]) -> Iterator[Entry]:
    """The entries of some operations.

    Args:
        place: Whose.
        wordings: Row id to stored wording: `texts`, `weights`, `fields`.
    """
    for number, wording in wordings.items():
        yield Entry(
            id=number,
            texts=tuple(wording.get("texts", ())),
            weights=tuple(wording.get("weights", ())),
            fields=dict(wording.get("fields", {})),
            facets=place.facets,
            owner=place.owner,
        )
