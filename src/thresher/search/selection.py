"""Fills a token budget with units of one sequence, such as the passages of a document.

Units are taken whole, best first. What a unit costs depends on its surroundings: a run of adjacent units is opened
once, and a label (such as a heading) is named once. A unit that is too large is passed over, and smaller ones after it
may still be taken; a twin of a unit that is taken already comes last of all. Where much room stays, one of the last
units makes way for another that fills it.

Invariant: pure; the sum of all costs never exceeds the budget, and no unit is taken twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.search.arrays import Floats, Ids

Bools: TypeAlias = NDArray[np.bool_]

FULL: Final = 0.95
"""Share of a budget that is full enough; an exchange costs a unit that was chosen for its score."""
_KEPT: Final = 5
_GIVEN_UP: Final = 2
_TRIED: Final = 64
"""The first units never make way, the last ones may; so many of the next ones are tried in the place of each."""
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
    selection = _Selection(units, budget, set() if taken is None else set(units.twins[taken].tolist()))
    order = _in_order(scores, units, free, budget)
    passed: list[int] = []
    twins: list[int] = []
    for unit in order:
        if int(units.twins[unit]) in selection.said:
            twins.append(unit)
        elif not selection.take(unit):
            passed.append(unit)
        if selection.room < selection.least:
            break
    for unit in twins:
        selection.take(unit)
    if len(selection.chosen) > _KEPT and selection.room > (1 - FULL) * budget:
        _exchange(selection, passed, int((1 - FULL) * budget))
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
    """What is chosen so far, the room that is left, and which twins were said."""

    def __init__(self, units: Units, budget: int, said: set[int]) -> None:
        self.room = budget
        self.least = int(units.costs.min(initial=1))
        self.chosen: list[int] = []
        self.said = said
        self._held: set[int] = set()
        self._named: dict[int, int] = {}
        self._units = units

    def price(self, unit: int) -> int:
        """What a unit that is not held would cost now."""
        units = self._units
        label = int(units.labels[unit])
        cost = int(units.costs[unit])
        cost += 0 if unit - 1 in self._held else int(units.openings[unit])
        cost -= int(units.openings[unit + 1]) if unit + 1 in self._held else 0
        return cost + (0 if self._named.get(label) else int(units.label_costs[label]))

    def take(self, unit: int) -> bool:
        """Take a unit if there is room for it."""
        cost = self.price(unit)
        if cost > self.room:
            return False
        label = int(self._units.labels[unit])
        self.room -= cost
        self.chosen.append(unit)
        self._held.add(unit)
        self._named[label] = self._named.get(label, 0) + 1
        self.said.add(int(self._units.twins[unit]))
        return True

    def give_up(self, unit: int) -> None:
        """Give a held unit up; its room is free again."""
        self._held.discard(unit)
        self._named[int(self._units.labels[unit])] -= 1
        self.chosen.remove(unit)
        self.room += self.price(unit)


def _exchange(selection: _Selection, passed: list[int], slack: int) -> None:
    """Give up one of the last units for the best one that fills the room; where none does, all stays."""
    for unit in selection.chosen[: max(-_GIVEN_UP, _KEPT - len(selection.chosen)) - 1 : -1]:
        selection.give_up(unit)
        for other in passed[:_TRIED]:
            if 0 <= selection.room - selection.price(other) <= slack:
                selection.take(other)
                return
        selection.take(unit)


def _in_order(scores: Floats, units: Units, free: Bools, budget: int) -> list[int]:
    """The free units, best first; of equal ones the earlier. Only as many of a long sequence as may be looked at."""
    places = np.flatnonzero(free)
    average = max(float(units.costs[places].mean()), 1.0) if len(places) else 1.0
    pool = max(_LEAST_POOL, int(_POOL * budget / average))
    if len(places) > pool:
        best = np.argpartition(-scores[places], pool)[:pool]
        places = np.sort(places[best])
    return places[np.argsort(-scores[places], kind="stable")].tolist()
