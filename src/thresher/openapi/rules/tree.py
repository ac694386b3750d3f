"""The containers of a description as numbered nodes, so that rules can look up children with references followed.

Invariant: nothing recurses; a description that contains itself is walked once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, cast

from thresher.core import InvalidInput
from thresher.openapi.pointers import escape, pointer_of, split
from thresher.openapi.reader.references import HOPS, reference_of
from thresher.openapi.records import Json

NODES: Final = 1_500_000
"""Most containers that rules handle; real descriptions of 4 MB have 30,000."""


def _entries(value: Json) -> Iterable[tuple[str | int, Json]]:
    """Return the items of a mapping, or index and value for a list."""
    return cast("dict[str | int, Json]", value).items() if type(value) is dict else enumerate(cast("list[Json]", value))


class Tree:
    """Every mapping and list of a document.

    Attributes:
        values: The containers, parents first; the document itself is node 0.
        parents: Node of each parent; -1 for the document.
        keys: Key or index of each node in its parent.
        kids: For each node, the child nodes by key or index.

    Args:
        root: The document as plain data.
    """

    def __init__(self, root: Mapping[str, Json]) -> None:
        self.values: list[Json] = [root]
        self.parents: list[int] = [-1]
        self.keys: list[str | int] = [""]
        self.kids: list[dict[str | int, int]] = [{}]
        self._ends: dict[int, int] = {}
        self._grow()

    def _grow(self) -> None:
        number = 0
        values, parents, keys, kids = self.values, self.parents, self.keys, self.kids
        while number < len(values):
            for key, child in _entries(values[number]):
                if type(child) is dict or type(child) is list:
                    kids[number][key] = len(values)
                    values.append(child)
                    parents.append(number)
                    keys.append(key)
                    kids.append({})
            number += 1
            if len(values) > NODES:
                raise InvalidInput(
                    f"The description has more than {NODES:,} lists and mappings, too many to check.",
                    hint="Split it by product or version, and check each part.",
                )

    def pointer(self, node: int, *keys: str | int) -> str:
        """Return the pointer of a node, or of a value below it."""
        parts: list[str] = [escape(key) if isinstance(key, str) else str(key) for key in reversed(keys)]
        while node > 0:
            key = self.keys[node]
            parts.append(escape(key) if isinstance(key, str) else str(key))
            node = self.parents[node]
        return "".join(f"/{part}" for part in reversed(parts))

    def mapping(self, node: int) -> dict[str, Json]:
        """Return the container if it is a mapping, else an empty one."""
        value = self.values[node]
        return cast("dict[str, Json]", value) if isinstance(value, dict) else {}

    def at(self, pointer: str) -> int:
        """Return the node that a pointer leads to, all references followed; -1 if there is none."""
        node = self._walk(pointer, HOPS)
        return node if node < 0 else self.target(node)

    def target(self, node: int) -> int:
        """Return the node at the end of a chain of references, or the node itself; -1 if the chain has no end."""
        return self._end(node, HOPS)

    def child(self, node: int, key: str | int) -> int:
        """Return the child under a key, references followed; -1 if there is none."""
        found = self.kids[node].get(key, -1) if node >= 0 else -1
        return found if found < 0 else self.target(found)

    def children(self, node: int) -> Iterator[tuple[str | int, int]]:
        """Yield keys and child nodes, references followed and broken ones skipped."""
        for key, kid in self.kids[node].items() if node >= 0 else ():
            found = self.target(kid)
            if found >= 0:
                yield key, found

    def _end(self, node: int, hops: int) -> int:
        """Return the end of a chain; each reference is resolved once, so chains of chains stay linear."""
        ref = reference_of(self.values[node])
        if ref is None:
            return node
        if node not in self._ends:
            pointer = pointer_of(ref) if hops > 0 else None
            self._ends[node] = -1
            found = -1 if pointer is None else self._walk(pointer, hops - 1)
            self._ends[node] = found if found < 0 else self._end(found, hops - 1)
        return self._ends[node]

    def _walk(self, pointer: str, hops: int) -> int:
        """Walk down a pointer, following references on the way."""
        node = 0
        for part in split(pointer):
            node = self._end(node, hops)
            if node < 0:
                return -1
            listed = isinstance(self.values[node], list) and part.isascii() and part.isdigit()
            node = self.kids[node].get(int(part[:9]) if listed else part, -1)
            if node < 0:
                return -1
        return node

    @cached_property
    def references(self) -> Mapping[int, str]:
        """The nodes that are references, each with its `$ref`."""
        found: dict[int, str] = {}
        for node, value in enumerate(self.values):
            if type(value) is dict and "$ref" in value and isinstance(value["$ref"], str):
                found[node] = value["$ref"]
        return found

    @cached_property
    def alive(self) -> list[int]:
        """The nodes that remain once each reference is replaced by its target."""
        dead: set[int] = set()
        references = self.references
        alive: list[int] = []
        for node, parent in enumerate(self.parents):
            if node in references or parent in dead:
                dead.add(node)
            else:
                alive.append(node)
        return alive

    def under(self, starts: Iterable[int]) -> set[int]:
        """Return the nodes below these at any depth, references followed."""
        seen: set[int] = set()
        left = [start for start in starts if start >= 0]
        while left:
            node = left.pop()
            for kid in self.kids[node].values():
                found = self.target(kid) if kid in self.references else kid
                if found >= 0 and found not in seen:
                    seen.add(found)
                    left.append(found)
        return seen

    def named(self, names: Collection[str]) -> set[int]:
        """Return the nodes at any depth below any of these keys."""
        return self.under(
            self.target(node)
            for node, key in enumerate(self.keys)
            if key in names and self.parents[node] >= 0 and isinstance(self.values[self.parents[node]], dict)
        )
