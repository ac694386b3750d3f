"""Ways to join tables: the shortest paths over declared and potential keys.

Invariant: pure; a declared key is preferred to a potential one, and among these the more probable one.
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

Place: TypeAlias = tuple[str, str]
"""Schema and name of a table."""

LONGEST: Final = 5
"""Keys on the way between two tables at most."""
_DOUBT = 2.0
_SIBLINGS = 1.5
"""What it costs to go up to a parent and down to another child: rows are joined that merely share it."""
_HUB = 0.08
_VISITED_MOST = 20_000


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A key to join by.

    Attributes:
        child: The table that holds the key.
        columns: There.
        parent: The table that it points to.
        target_columns: There, in the same order.
        score: 1 for a declared key, else the finder's.
    """

    child: Place
    columns: tuple[str, ...]
    parent: Place
    target_columns: tuple[str, ...]
    score: float

    @property
    def declared(self) -> bool:
        """Whether the database itself keeps it."""
        return self.score >= 1


@dataclass(frozen=True, slots=True)
class Joins:
    """How tables are joined.

    Attributes:
        steps: Keys that together join all that can be joined, in the order in which to join.
        tables: All tables on the way, those that were asked for among them.
        apart: Tables that nothing joins to the others.
    """

    steps: tuple[JoinStep, ...]
    tables: tuple[Place, ...]
    apart: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class _Edge:
    step: JoinStep
    to: Place
    cost: float
    up: bool


class JoinGraph:
    """The keys between the tables of a schema; made once, asked often.

    Args:
        tables: The schema, with its declared keys.
        potential: Undeclared ones.
    """

    def __init__(self, tables: Iterable[Table], potential: Iterable[PotentialRelation] = ()) -> None:
        self._edges: dict[Place, list[_Edge]] = defaultdict(list)
        for step in (*_declared(tables), *_potential(potential)):
            cost = 1 + _DOUBT * (1 - step.score)
            self._edges[step.child].append(_Edge(step, step.parent, cost, up=True))
            self._edges[step.parent].append(_Edge(step, step.child, cost, up=False))

    def connect(self, wanted: Sequence[Place]) -> Joins:
        """Join tables: from the first one on, always the nearest of those that are left.

        Args:
            wanted: The tables, the main one first; twice the same counts once.
        """
        places = list(dict.fromkeys(wanted))
        joined: dict[Place, None] = dict.fromkeys(places[:1])
        steps: dict[JoinStep, None] = {}
        while left := frozenset(place for place in places if place not in joined):
            path = self._nearest(joined, left)
            if path is None:
                break
            steps |= dict.fromkeys(edge.step for edge in path)
            joined |= dict.fromkeys(edge.to for edge in path)
        apart = tuple(place for place in places if place not in joined)
        return Joins(tuple(steps), tuple(joined), apart)

    def neighbours(self, place: Place) -> tuple[Place, ...]:
        """Tables that a key joins to one, the surest first."""
        edges = sorted(self._edges.get(place, ()), key=lambda edge: (edge.cost, edge.to))
        return tuple(dict.fromkeys(edge.to for edge in edges if edge.to != place))

    def _nearest(self, joined: Iterable[Place], targets: frozenset[Place]) -> list[_Edge] | None:
        """The cheapest path from any joined table to any target."""
        queue: list[tuple[float, int, Place, bool, tuple[_Edge, ...]]] = []
        for number, place in enumerate(joined):
            queue.append((0.0, -_VISITED_MOST + number, place, False, ()))
        heapq.heapify(queue)
        seen: set[tuple[Place, bool]] = set()
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

    def _passing(self, place: Place, *, came_up: bool, first: bool) -> float:
        """What it costs to pass through a table: more for one that everything points to."""
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
