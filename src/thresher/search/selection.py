"""Fills a token budget with units of one sequence, such as the passages of a document.

Units are taken whole, best first. What a unit costs depends on its surroundings: a run of adjacent units is opened
once, and a label (such as a heading) is named once. A unit that is too large is passed over, and smaller ones after it
may still be taken; a twin of a unit that is taken already comes last of all.

Invariant: pure; the sum of all costs never exceeds the budget, and no unit is taken twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.search.arrays import Floats, Ids

Bools: TypeAlias = NDArray[np.bool_]

_POOL: Final = 4
"""Times the units that fill a budget on average: so many of the best are ordered first."""
_LEAST_POOL: Final = 512


@dataclass(frozen=True, slots=True)
class Units:
    """A sequence of units, as columns of equal length n.

    Attributes:
        costs: int64, tokens of each unit alone.
        openings: int64, tokens of the mark under which a run stands that begins with this unit.
        labels: int64, 0 to m - 1: what must be named once for all its units.
        label_costs: int64 (m,), tokens of naming a label.
        twins: int64, the first unit that says the same; a unit without twin names itself.
    """

    costs: Ids
    openings: Ids
    labels: Ids
    label_costs: Ids
    twins: Ids

    def __len__(self) -> int:
        """How many units."""
        return len(self.costs)


def select(units: Units, scores: Floats, budget: int, taken: Bools | None = None) -> Ids:
    """Choose what fits.

    Args:
        units: The sequence.
        scores: float32 (n,), higher is better; a unit with -inf is taken only where nothing else is left.
        budget: Tokens at most.
        taken: bool (n,), units that must not be chosen, since they were given before.

    Returns:
        int64, the chosen units in the order in which they were chosen: the last is the one to give up first.
    """
    free = np.ones(len(units), np.bool_) if taken is None else ~taken
    selection = _Selection(units, budget)
    if taken is not None:
        selection.said.update(units.twins[taken].tolist())
    twins: list[int] = []
    for unit in _in_order(scores, units, free, budget):
        if int(units.twins[unit]) in selection.said:
            twins.append(unit)
        else:
            selection.take(unit)
        if selection.room < selection.least:
            break
    for unit in twins:
        selection.take(unit)
    return np.array(selection.chosen, np.int64)


def spent(units: Units, chosen: Ids) -> int:
    """Tokens that these units cost together."""
    if not len(chosen):
        return 0
    order = np.sort(chosen)
    starts = order[np.r_[True, np.diff(order) != 1]]
    named = np.unique(units.labels[order])
    return int(units.costs[order].sum() + units.openings[starts].sum() + units.label_costs[named].sum())


class _Selection:
    """What is chosen so far, and the room that is left."""

    def __init__(self, units: Units, budget: int) -> None:
        self.room = budget
        self.least = int(units.costs.min(initial=1))
        self.chosen: list[int] = []
        self.said: set[int] = set()
        self._held: set[int] = set()
        self._named: set[int] = set()
        self._units = units

    def take(self, unit: int) -> bool:
        """Take a unit if there is room for it."""
        units = self._units
        label = int(units.labels[unit])
        cost = int(units.costs[unit])
        cost += 0 if unit - 1 in self._held else int(units.openings[unit])
        cost -= int(units.openings[unit + 1]) if unit + 1 in self._held else 0
        cost += 0 if label in self._named else int(units.label_costs[label])
        if cost > self.room:
            return False
        self.room -= cost
        self.chosen.append(unit)
        self._held.add(unit)
        self._named.add(label)
        self.said.add(int(units.twins[unit]))
        return True


def _in_order(scores: Floats, units: Units, free: Bools, budget: int) -> list[int]:
    """The free units, best first; of equal ones the earlier. Only as many of a long sequence as may be looked at."""
    places = np.flatnonzero(free)
    average = max(float(units.costs[places].mean()), 1.0) if len(places) else 1.0
    pool = max(_LEAST_POOL, int(_POOL * budget / average))
    if len(places) > pool:
        best = np.argpartition(-scores[places], pool)[:pool]
        places = np.sort(places[best])
    return places[np.argsort(-scores[places], kind="stable")].tolist()
