"""The schemas that an operation reaches through references, and a digest over all of them.

Invariant: each referenced part is serialized and hashed once; parts that refer to each other are hashed together.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from thresher.openapi.pointers import split
from thresher.openapi.reader.problems import DescriptionLimits
from thresher.openapi.reader.references import MissingType, ReferenceResolver
from thresher.openapi.records import Json

GraphNode = TypeVar("GraphNode", bound=Hashable)


def nearest(starts: Iterable[GraphNode], edges: Mapping[GraphNode, Sequence[GraphNode]]) -> Iterator[GraphNode]:
    """Yield each reachable node once, in breadth-first order."""
    level = list(dict.fromkeys(starts))
    seen = set(level)
    while level:
        yield from level
        following = dict.fromkeys(each for one in level for each in edges.get(one, ()) if each not in seen)
        seen.update(following)
        level = list(following)


def condensed(edges: Mapping[GraphNode, Sequence[GraphNode]]) -> Iterator[tuple[GraphNode, ...]]:
    """Yield the strongly connected components, those that others lead to first (Tarjan 1972).

    Nodes without an entry in `edges` are ignored.
    """
    index: dict[GraphNode, int] = {}
    low: dict[GraphNode, int] = {}
    path: list[GraphNode] = []
    on_path: set[GraphNode] = set()
    for start in edges:
        if start in index:
            continue
        work: list[tuple[GraphNode, Iterator[GraphNode]]] = []
        _enter(start, edges, index, low, path, on_path, work)
        while work:
            node, following = work[-1]
            child = next(following, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    yield _group(node, path, on_path)
            elif child not in index:
                if child in edges:
                    _enter(child, edges, index, low, path, on_path, work)
            elif child in on_path:
                low[node] = min(low[node], index[child])


def _enter(
    node: GraphNode,
    edges: Mapping[GraphNode, Sequence[GraphNode]],
    index: dict[GraphNode, int],
    low: dict[GraphNode, int],
    path: list[GraphNode],
    on_path: set[GraphNode],
    work: list[tuple[GraphNode, Iterator[GraphNode]]],
) -> None:
    index[node] = low[node] = len(index)
    path.append(node)
    on_path.add(node)
    work.append((node, iter(edges[node])))


def _group(node: GraphNode, path: list[GraphNode], on_path: set[GraphNode]) -> tuple[GraphNode, ...]:
    """Pop this node and everything above it from the path."""
    start = len(path) - 1
    while path[start] != node:
        start -= 1
    group = tuple(path[start:])
    del path[start:]
    on_path.difference_update(group)
    return group


_REFS: Final = re.compile(r'"\$(?:dynamicR|r)ef": "((?:[^"\\]|\\.)*)"')
_MAPPING: Final = re.compile(r'"mapping": \{([^{}]*)\}')
_TARGET: Final = re.compile(r': "((?:[^"\\]|\\.)*)"')


def written(value: Json) -> str:
    """Serialize a value; equal values give equal text, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def refs_in(text: str) -> tuple[str, ...]:
    """Return the references in a serialized value, including the targets of discriminator mappings."""
    found = dict.fromkeys(_REFS.findall(text))
    if '"mapping": {' in text:
        for inside in _MAPPING.findall(text):
            found.update(dict.fromkeys(ref for ref in _TARGET.findall(inside) if "/" in ref or ref.startswith("#")))
    return tuple(json.loads(f'"{ref}"') if "\\" in ref else ref for ref in found)


class Digests:
    """Digests of the referenced parts of one document.

    Args:
        references: Resolver of the document.
        schemas: Pointer of its named schemas.
        limits: Bounds how many schema names are kept for one operation.
    """

    def __init__(self, references: ReferenceResolver, schemas: str, limits: DescriptionLimits) -> None:
        self._references = references
        self._depth = len(split(schemas))
        self._prefix = f"{schemas}/"
        self._limits = limits
        self._own: dict[str, str] = {}
        self._edges: dict[str, tuple[str, ...]] = {}
        self._whole: dict[str, str] = {}
        self._reached: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, said: Sequence[Json]) -> tuple[tuple[str, ...], str]:
        """Return the names of the schemas that these values reach, nearest first, and a digest over both."""
        text = written(said)
        targets = self._targets(text)
        self._learn(targets)
        parts = sorted(self._whole[each] for each in targets)
        digest = hashlib.sha256("\n".join((text, *parts)).encode()).hexdigest()
        if targets not in self._reached:
            self._reached[targets] = self._names(targets)
        return self._reached[targets], digest

    def _targets(self, text: str) -> tuple[str, ...]:
        """Return the pointers that the references of a serialized value lead to."""
        found = (self._references.at(ref) for ref in refs_in(text))
        return tuple(dict.fromkeys(pointer for value, pointer in found if not isinstance(value, MissingType)))

    def _learn(self, targets: Iterable[str]) -> None:
        """Hash the new parts and everything that they reach."""
        waiting = [each for each in targets if each not in self._whole]
        fresh: dict[str, tuple[str, ...]] = {}
        while waiting:
            pointer = waiting.pop()
            if pointer in fresh or pointer in self._whole:
                continue
            text = written(self._references.at(pointer)[0])
            self._own[pointer] = hashlib.sha256(text.encode()).hexdigest()
            self._edges[pointer] = fresh[pointer] = self._targets(text)
            waiting.extend(fresh[pointer])
        for group in condensed(fresh):
            self._whole.update(dict.fromkeys(group, self._together(group)))

    def _together(self, group: Sequence[str]) -> str:
        """Return the digest of parts that refer to each other, and of everything that they refer to."""
        inside = set(group)
        beyond = {each for one in group for each in self._edges[one]} - inside
        parts = (*sorted(self._own[one] for one in group), *sorted(self._whole[each] for each in beyond))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _names(self, targets: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the schemas among everything that the targets reach."""
        names: dict[str, None] = {}
        for pointer in nearest(targets, self._edges):
            if pointer.startswith(self._prefix):
                names.setdefault(split(pointer)[self._depth])
                if len(names) == self._limits.reached:
                    break
        return tuple(names)
