"""Join paths: the shortest paths between tables over declared and potential keys.

Invariant: pure; declared keys are preferred to potential ones, and among those the more probable.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.connectors import Table
from thresher.knowledge.databases.models import PotentialRelation

TableKey: TypeAlias = tuple[str, str]
"""Schema and name of a table."""

LONGEST: Final = 5
"""Maximum number of keys on a path between two tables."""
_DOUBT = 2.0
_SIBLINGS = 1.5
"""The cost of going up to a parent and down to another child: such rows only share the parent."""
_HUB = 0.08
_VISITED_MOST = 20_000


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A key to join by.

    Attributes:
        child: The table that holds the key.
        columns: Columns of the child.
        parent: The referenced table.
        target_columns: Columns of the parent, in the same order.
        score: 1 for a declared key, else the finder's score.
    """

    child: TableKey
    columns: tuple[str, ...]
    parent: TableKey
    target_columns: tuple[str, ...]
    score: float

    @property
    def declared(self) -> bool:
        """Whether the key is declared in the database."""
        return self.score >= 1


@dataclass(frozen=True, slots=True)
class Joins:
    """How tables are joined.

    Attributes:
        steps: The keys that join the tables, in join order.
        tables: All tables on the paths, including the requested ones.
        apart: Requested tables that no key joins to the others.
    """

    steps: tuple[JoinStep, ...]
    tables: tuple[TableKey, ...]
    apart: tuple[TableKey, ...]


@dataclass(frozen=True, slots=True)
class _Edge:
    step: JoinStep
    to: TableKey
    cost: float
    up: bool


class JoinGraph:
    """The graph of keys between the tables of a schema; built once for many queries.

    Args:
        tables: The tables, with declared keys.
        potential: Potential relations.
    """

    def __init__(self, tables: Iterable[Table], potential: Iterable[PotentialRelation] = ()) -> None:
        self._edges: dict[TableKey, list[_Edge]] = defaultdict(list)
        for step in (*_declared(tables), *_potential(potential)):
            cost = 1 + _DOUBT * (1 - step.score)
            self._edges[step.child].append(_Edge(step, step.parent, cost, up=True))
            self._edges[step.parent].append(_Edge(step, step.child, cost, up=False))

    def connect(self, wanted: Sequence[TableKey]) -> Joins:
        """Join tables, starting with the first one and always adding the nearest remaining one.

        Args:
            wanted: The tables, the main one first; duplicates are ignored.
        """
        places = list(dict.fromkeys(wanted))
        joined: dict[TableKey, None] = dict.fromkeys(places[:1])
        steps: dict[JoinStep, None] = {}
        while left := frozenset(place for place in places if place not in joined):
            path = self._nearest(joined, left)
            if path is None:
                break
            steps |= dict.fromkeys(edge.step for edge in path)
            joined |= dict.fromkeys(edge.to for edge in path)
        apart = tuple(place for place in places if place not in joined)
        return Joins(tuple(steps), tuple(joined), apart)

    def neighbours(self, place: TableKey) -> tuple[TableKey, ...]:
        """Tables that keys join to a table, most certain first."""
        edges = sorted(self._edges.get(place, ()), key=lambda edge: (edge.cost, edge.to))
        return tuple(dict.fromkeys(edge.to for edge in edges if edge.to != place))

    def _nearest(self, joined: Iterable[TableKey], targets: frozenset[TableKey]) -> list[_Edge] | None:
        """The cheapest path from a joined table to a target; None if there is no path."""
        queue: list[tuple[float, int, TableKey, bool, tuple[_Edge, ...]]] = []
        for number, place in enumerate(joined):
            queue.append((0.0, -_VISITED_MOST + number, place, False, ()))
        heapq.heapify(queue)
        seen: set[tuple[TableKey, bool]] = set()
        pushed = 0
        while queue and len(seen) < _VISITED_MOST:
            cost, _, place, came_up, path = heapq.heappop(queue)
            if place in targets:
                return list(path)
            if (place, came_up) in seen or len(path) >= LONGEST:
                continue
            seen.add((place, came_up))
            for edge in self._edges.get(place, ()):
                pushed += 1
                onward = cost + edge.cost + self._passing(place, came_up=came_up and not edge.up, first=not path)
                heapq.heappush(queue, (onward, pushed, edge.to, edge.up, (*path, edge)))
        return None

    def _passing(self, place: TableKey, *, came_up: bool, first: bool) -> float:
        """The cost of passing through a table; higher for a table with many keys."""
        if first:
            return 0.0
        return _HUB * math.log2(1 + len(self._edges[place])) + (_SIBLINGS if came_up else 0.0)


def _declared(tables: Iterable[Table]) -> Iterator[JoinStep]:
    for table in tables:
        for key in table.foreign_keys:
            yield JoinStep((table.schema, table.name), key.columns, (key.schema, key.table), key.target_columns, 1.0)


def _potential(relations: Iterable[PotentialRelation]) -> Iterator[JoinStep]:
    for one in relations:
        parent = (one.target_schema, one.target_table)
        score = min(one.score, 0.999)
        yield JoinStep((one.schema, one.table), one.columns, parent, one.target_columns, score)
