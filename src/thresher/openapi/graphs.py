"""Walks of directed graphs that may have cycles, without recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

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
