"""Follows `$ref`s inside one description, as they are asked for.

Invariant: no reference leaves the document; every walk ends, whatever the references say.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, cast
from urllib.parse import urldefrag, urljoin

from thresher.openapi.pointers import join, pointer_of, split, step
from thresher.openapi.records import Json
from thresher.openapi.walks import mappings_in

HOPS: Final = 64
"""References that one chain may have; a real one has one or two."""


class Missing:
    """The absence of a value, told apart from `null`; it is false."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
_NOWHERE: Final = (MISSING, "")


class References:
    """The resolver of one document.

    Args:
        root: Plain data.
        named: Whether `$id`, `$anchor` and `$self` mean something in it, as they do from OpenAPI 3.1 on.
    """

    def __init__(self, root: Mapping[str, Json], named: bool = False) -> None:
        self._root = root
        self._named = named
        self._found: dict[str, tuple[Json | Missing, str]] = {}
        self._under_way: set[str] = set()

    def at(self, ref: str) -> tuple[Json | Missing, str]:
        """What a reference or a pointer names, and its own pointer; `MISSING` with an empty one where there is none.

        References on the way are followed, the one that may stand at the end is not.
        """
        if ref in self._found:
            return self._found[ref]
        if ref in self._under_way or len(self._under_way) >= HOPS:
            return _NOWHERE
        self._under_way.add(ref)
        found = self._look(ref)
        self._under_way.discard(ref)
        self._found[ref] = found
        return found

    def follow(self, value: Json, pointer: str) -> tuple[Json | Missing, str]:
        """The value itself, or what its chain of references ends at; `MISSING` for a broken or a circular chain."""
        found: Json | Missing = value
        for _ in range(HOPS):
            ref = reference_of(found)
            if ref is None:
                return found, pointer
            found, pointer = self.at(ref)
        return _NOWHERE

    def _look(self, ref: str) -> tuple[Json | Missing, str]:
        pointer = pointer_of(ref)
        found = _NOWHERE if pointer is None else self._walk(self._root, "", pointer)
        if found is _NOWHERE and self._named:
            return self._by_name(ref, pointer)
        return found

    def _walk(self, value: Json | Missing, place: str, pointer: str) -> tuple[Json | Missing, str]:
        """Go down a pointer from a value that stands at a place, through references on the way."""
        for key in split(pointer):
            there, below = step(value, key)
            if not there and reference_of(value) is not None:
                value, place = self.follow(value, place)
                there, below = step(value, key)
            if not there:
                return _NOWHERE
            value, place = below, join(place, key)
        return value, place

    def _by_name(self, ref: str, pointer: str | None) -> tuple[Json | Missing, str]:
        """Look among the parts that have names of their own; a bare pointer may be meant from any of them."""
        if pointer is not None:
            tries = (self._walk(*self.at(place), pointer) for place in self._resources.values() if place != pointer)
            return next((found for found in tries if found is not _NOWHERE), _NOWHERE)
        base, fragment = urldefrag(_joined(self._base, ref))
        resource = "" if ref.startswith("#") or base == self._base else self._resources.get(base)
        if resource is None:
            return _NOWHERE
        if not fragment or fragment.startswith("/"):
            return self._walk(*self.at(resource), fragment)
        anchor = self._anchors.get(fragment)
        return _NOWHERE if anchor is None else self.at(anchor)

    @cached_property
    def _base(self) -> str:
        own = self._root.get("$self")
        return own if isinstance(own, str) else ""

    @cached_property
    def _resources(self) -> Mapping[str, str]:
        """Address to pointer of the schemas that have an `$id`."""
        found = (
            (_joined(self._base, fields["$id"]), pointer)
            for fields, pointer in mappings_in(self._root)
            if isinstance(fields.get("$id"), str)
        )
        return {urldefrag(address)[0]: pointer for address, pointer in found}

    @cached_property
    def _anchors(self) -> Mapping[str, str]:
        """Anchor to pointer."""
        return {
            cast("str", fields[key]): pointer
            for fields, pointer in mappings_in(self._root)
            for key in ("$dynamicAnchor", "$anchor")
            if isinstance(fields.get(key), str)
        }


def reference_of(value: object) -> str | None:
    """The text of a mapping's `$ref`; None where it has none."""
    if not isinstance(value, dict):
        return None
    ref = cast("dict[str, Json]", value).get("$ref")
    return ref if isinstance(ref, str) else None


def _joined(base: str, ref: str) -> str:
    """An address relative to another; as written where it is none."""
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref
