"""What an operation reaches through its references, and a digest over all of it.

Invariant: each part that a reference names is written out and hashed once; circular parts are hashed together.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from thresher.openapi.pointers import split
from thresher.openapi.reader.problems import Limits
from thresher.openapi.reader.references import Missing, References
from thresher.openapi.records import Json

Node = TypeVar("Node", bound=Hashable)


def nearest(starts: Iterable[Node], edges: Mapping[Node, Sequence[Node]]) -> Iterator[Node]:
    """Each node that can be reached, once, those with fewer steps first."""
    level = list(dict.fromkeys(starts))
    seen = set(level)
    while level:
        yield from level
        following = dict.fromkeys(each for one in level for each in edges.get(one, ()) if each not in seen)
        seen.update(following)
        level = list(following)


def condensed(edges: Mapping[Node, Sequence[Node]]) -> Iterator[tuple[Node, ...]]:
    """Groups of nodes that reach each other, those that others lead to first (Tarjan 1972).

    Nodes that have no entry of their own are ignored.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    path: list[Node] = []
    on_path: set[Node] = set()
    for start in edges:
        if start in index:
            continue
        work: list[tuple[Node, Iterator[Node]]] = []
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
    node: Node,
    edges: Mapping[Node, Sequence[Node]],
    index: dict[Node, int],
    low: dict[Node, int],
    path: list[Node],
    on_path: set[Node],
    work: list[tuple[Node, Iterator[Node]]],
) -> None:
    index[node] = low[node] = len(index)
    path.append(node)
    on_path.add(node)
    work.append((node, iter(edges[node])))


def _group(node: Node, path: list[Node], on_path: set[Node]) -> tuple[Node, ...]:
    """Take the nodes above this one off the path."""
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
    """A value as text that is the same for the same value, whatever the order of its keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def refs_in(text: str) -> tuple[str, ...]:
    """The references in a value that was written out, those of discriminators among them."""
    found = dict.fromkeys(_REFS.findall(text))
    if '"mapping": {' in text:
        for inside in _MAPPING.findall(text):
            found.update(dict.fromkeys(ref for ref in _TARGET.findall(inside) if "/" in ref or ref.startswith("#")))
    return tuple(json.loads(f'"{ref}"') if "\\" in ref else ref for ref in found)


class Digests:
    """Knows the parts of one document that references name.

    Args:
        references: Of the document.
        schemas: Pointer of its named schemas.
        limits: How many names are kept with one operation.
    """

    def __init__(self, references: References, schemas: str, limits: Limits) -> None:
        self._references = references
        self._depth = len(split(schemas))
        self._prefix = f"{schemas}/"
        self._limits = limits
        self._own: dict[str, str] = {}
        self._edges: dict[str, tuple[str, ...]] = {}
        self._whole: dict[str, str] = {}
        self._reached: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, said: Sequence[Json]) -> tuple[tuple[str, ...], str]:
        """The names of the schemas that these values reach, nearest first, and the digest over them and all of it."""
        text = written(said)
        targets = self._targets(text)
        self._learn(targets)
        parts = sorted(self._whole[each] for each in targets)
        digest = hashlib.sha256("\n".join((text, *parts)).encode()).hexdigest()
        if targets not in self._reached:
            self._reached[targets] = self._names(targets)
        return self._reached[targets], digest

    def _targets(self, text: str) -> tuple[str, ...]:
        """The pointers that the references of a written value lead to."""
        found = (self._references.at(ref) for ref in refs_in(text))
        return tuple(dict.fromkeys(pointer for value, pointer in found if not isinstance(value, Missing)))

    def _learn(self, targets: Iterable[str]) -> None:
        """Hash the parts that are new, and all that they reach."""
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
        """The digest of parts that name each other, and of all that they name."""
        inside = set(group)
        beyond = {each for one in group for each in self._edges[one]} - inside
        parts = (*sorted(self._own[one] for one in group), *sorted(self._whole[each] for each in beyond))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _names(self, targets: tuple[str, ...]) -> tuple[str, ...]:
        """Names of schemas among what the targets reach."""
        names: dict[str, None] = {}
        for pointer in nearest(targets, self._edges):
            if pointer.startswith(self._prefix):
                names.setdefault(split(pointer)[self._depth])
                if len(names) == self._limits.reached:
                    break
        return tuple(names)
