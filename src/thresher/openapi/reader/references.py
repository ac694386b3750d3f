"""Follows `$ref`s inside one description on demand.

Invariant: no reference leaves the document, and every walk ends. Threads may share a resolver: concurrent look-ups give
the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Final, TypeAlias, cast
from urllib.parse import urldefrag, urljoin

from thresher.openapi.pointers import join, pointer_of, split, step
from thresher.openapi.records import Json

_FREE: Final = frozenset({"example", "default", "enum", "const"})
_NAMING: Final = frozenset(
    {"properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "schemas", "responses"}
    | {"parameters", "requestBodies", "headers", "securitySchemes", "links", "callbacks", "pathItems", "paths"}
    | {"webhooks", "content", "encoding", "variables", "securityDefinitions", "mediaTypes"}
)
"""Keys whose values are mappings by name: the keys below them are free and have no meaning."""


def mappings_in(root: Mapping[str, Json]) -> Iterator[tuple[Mapping[str, Json], str]]:
    """Yield each mapping that is part of the description with its pointer, parents first.

    Free content, such as examples, defaults and extensions, is skipped.
    """
    waiting: list[tuple[Json, str, bool]] = [(root, "", False)]
    while waiting:
        value, pointer, names = waiting.pop()
        if isinstance(value, dict):
            fields = cast("dict[str, Json]", value)
            if not names:
                yield fields, pointer
            waiting.extend(_below(fields, pointer, names))
        elif isinstance(value, list):
            listed = cast("list[Json]", value)
            waiting.extend((each, f"{pointer}/{index}", False) for index, each in enumerate(listed))


def _below(fields: Mapping[str, Json], pointer: str, names: bool) -> Iterator[tuple[Json, str, bool]]:
    for key, value in fields.items():
        if not isinstance(value, dict | list):
            continue
        if names:
            yield value, join(pointer, key), False
        elif key == "examples":
            yield from _references(value, join(pointer, key))
        elif key not in _FREE and not key.startswith("x-"):
            yield value, join(pointer, key), key in _NAMING and isinstance(value, dict)


def _references(value: Json, pointer: str) -> Iterator[tuple[Json, str, bool]]:
    """Return the entries of a mapping of examples that are references; the content of the others is free."""
    if isinstance(value, dict):
        for name, each in cast("dict[str, Json]", value).items():
            if isinstance(each, dict) and "$ref" in each:
                yield each, join(pointer, name), False


HOPS: Final = 64
"""Longest chain of references; real chains have one or two."""
_TRIED: Final = 100
"""Schemas with an `$id` that are tried as base of a bare pointer; a real description has one or two."""


Trail: TypeAlias = tuple[str, ...]
"""References being resolved, outermost first."""


class MissingType:
    """The absence of a value, distinct from `null`; it is false."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = MissingType()
_NOWHERE: Final = (MISSING, "")


class ReferenceResolver:
    """Resolver of one document.

    Args:
        root: The document as plain data.
        named: Whether `$id`, `$anchor` and `$self` have a meaning, as from OpenAPI 3.1 on.
    """

    def __init__(self, root: Mapping[str, Json], named: bool = False) -> None:
        self._root = root
        self._named = named
        self._found: dict[str, tuple[Json | MissingType, str]] = {}

    def at(self, ref: str) -> tuple[Json | MissingType, str]:
        """Return the target of a reference or pointer, with its own pointer; `MISSING` and "" if there is none.

        References on the way are followed; the target itself may be a reference.
        """
        return self._at(ref, ())

    def follow(self, value: Json, pointer: str) -> tuple[Json | MissingType, str]:
        """Return the value, or what its chain of references ends at; `MISSING` if the chain is broken or circular."""
        return self._follow(value, pointer, ())

    def _at(self, ref: str, trail: Trail) -> tuple[Json | MissingType, str]:
        """Resolve like `at`, while resolving other references; one that leads to itself has no target."""
        if ref not in self._found:
            if ref in trail or len(trail) >= HOPS:
                return _NOWHERE
            self._found[ref] = self._look(ref, (*trail, ref))
        return self._found[ref]

    def _follow(self, value: Json | MissingType, pointer: str, trail: Trail) -> tuple[Json | MissingType, str]:
        for _ in range(HOPS):
            ref = reference_of(value)
            if ref is None:
                return value, pointer
            value, pointer = self._at(ref, trail)
        return _NOWHERE

    def _look(self, ref: str, trail: Trail) -> tuple[Json | MissingType, str]:
        pointer = pointer_of(ref)
        found = _NOWHERE if pointer is None else self._walk((self._root, ""), pointer, trail)
        if found is _NOWHERE and self._named:
            return self._by_name(ref, pointer, trail)
        return found

    def _walk(
        self, start: tuple[Json | MissingType, str], pointer: str, trail: Trail
    ) -> tuple[Json | MissingType, str]:
        """Walk down a pointer from a value, following references on the way."""
        value, place = start
        for key in split(pointer):
            there, below = step(value, key)
            if not there and reference_of(value) is not None:
                value, place = self._follow(value, place, trail)
                there, below = step(value, key)
            if not there:
                return _NOWHERE
            value, place = below, join(place, key)
        return value, place

    def _by_name(self, ref: str, pointer: str | None, trail: Trail) -> tuple[Json | MissingType, str]:
        """Search the parts that have names of their own; a bare pointer may be relative to any of them."""
        if pointer is not None:
            places = (place for place in islice(self._resources.values(), _TRIED) if place != pointer)
            tries = (self._walk(self._at(place, trail), pointer, trail) for place in places)
            return next((found for found in tries if found is not _NOWHERE), _NOWHERE)
        base, fragment = urldefrag(_resolved(self._base, ref))
        resource = "" if ref.startswith("#") or base == self._base else self._resources.get(base)
        if resource is None:
            return _NOWHERE
        if not fragment or fragment.startswith("/"):
            return self._walk(self._at(resource, trail), fragment, trail)
        anchor = self._anchors.get(fragment)
        return _NOWHERE if anchor is None else self._at(anchor, trail)

    @cached_property
    def _base(self) -> str:
        own = self._root.get("$self")
        return own if isinstance(own, str) else ""

    @cached_property
    def _resources(self) -> Mapping[str, str]:
        """Pointer by address of the schemas that have an `$id`."""
        found = (
            (_resolved(self._base, fields["$id"]), pointer)
            for fields, pointer in mappings_in(self._root)
            if isinstance(fields.get("$id"), str)
        )
        return {urldefrag(address)[0]: pointer for address, pointer in found}

    @cached_property
    def _anchors(self) -> Mapping[str, str]:
        """Pointer by anchor."""
        return {
            cast("str", fields[key]): pointer
            for fields, pointer in mappings_in(self._root)
            for key in ("$dynamicAnchor", "$anchor")
            if isinstance(fields.get(key), str)
        }


def reference_of(value: object) -> str | None:
    """Return the text of a mapping's `$ref`, or None."""
    if not isinstance(value, dict):
        return None
    ref = cast("dict[str, Json]", value).get("$ref")
    return ref if isinstance(ref, str) else None


def _resolved(base: str, ref: str) -> str:
    """Resolve an address against a base; return it unchanged if it is malformed."""
    try:
        return urljoin(base, ref)
    except ValueError:
        return ref
