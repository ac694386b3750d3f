"""Follows `$ref`s inside one description, as they are asked for.

Invariant: no reference leaves the document; every walk ends, whatever the references say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from thresher.openapi.pointers import join, pointer_of, split, step
from thresher.openapi.records import Json

HOPS: Final = 64
"""References that one chain may have; a real one has one or two."""


class Missing:
    """The absence of a value, told apart from `null`; it is false."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


class References:
    """The resolver of one document.

    Args:
        root: Plain data.
    """

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._found: dict[str, tuple[Json | Missing, str]] = {}

    def at(self, ref: str) -> tuple[Json | Missing, str]:
        """What a reference or a pointer names, and its own pointer; `MISSING` with an empty one where there is none."""
        if ref not in self._found:
            self._found[ref] = self._look(ref, HOPS)
        return self._found[ref]

    def follow(self, value: Json, pointer: str) -> tuple[Json | Missing, str]:
        """The value itself, or what its chain of references ends at; `MISSING` for a broken or a circular chain."""
        for _ in range(HOPS):
            ref = reference_of(value)
            if ref is None:
                return value, pointer
            value, pointer = self.at(ref)
        return MISSING, pointer

    def _look(self, ref: str, hops: int) -> tuple[Json | Missing, str]:
        pointer = pointer_of(ref)
        return (MISSING, "") if pointer is None else self._walk(pointer, hops)

    def _walk(self, pointer: str, hops: int) -> tuple[Json | Missing, str]:
        """Go down a pointer, through references that stand on its way."""
        value: Json = self._root
        place = ""
        for key in split(pointer):
            ref = reference_of(value)
            there, below = step(value, key)
            if not there and ref is not None and hops > 0:
                value, place = self._look(ref, hops - 1)
                there, below = step(value, key)
            if not there:
                return MISSING, ""
            value, place = below, join(place, key)
        return value, place


def reference_of(value: object) -> str | None:
    """The text of a mapping's `$ref`; None where it has none."""
    if not isinstance(value, dict):
        return None
    ref = cast("dict[str, Json]", value).get("$ref")
    return ref if isinstance(ref, str) else None
