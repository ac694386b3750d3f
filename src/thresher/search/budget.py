"""Filling a token budget with units of one sequence, such as the passages of a document.

Units are taken whole, best first. The cost of a unit depends on its surroundings: a run of adjacent units is opened
once, and a label (such as a heading) is named once. A unit that is too large is skipped, and smaller ones after it may
still be taken; a duplicate of a taken unit comes last. If much room remains, one of the last units is exchanged for
another that fills it.

Invariant: pure; the sum of all costs never exceeds the budget, and no unit is taken twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.search.records import Bools, Floats, Ids

FULL: Final = 0.95
"""The share of a budget that is full enough; an exchange costs a unit that was chosen for its score."""
_KEPT: Final = 5
_GIVEN_UP: Final = 2
_TRIED: Final = 64
"""The first `_KEPT` units are not exchanged, the last `_GIVEN_UP` may be; `_TRIED` others are tried for each."""
_POOL: Final = 4
"""Times the units that fill a budget on average: this many of the best are sorted first."""
_LEAST_POOL: Final = 512


@dataclass(frozen=True, slots=True)
class Units:
    """A sequence of units, as columns of equal length n.

    Attributes:
        costs: int64, the tokens of each unit alone.
        openings: int64, the tokens of the mark above a run that begins with this unit.
        labels: int64, 0 to m - 1: what must be named once for all its units.
        label_costs: int64 (m,), the tokens of naming a label.
        twins: int64, the first unit with the same content; a unit without duplicate names itself.
    """

    costs: Ids
    openings: Ids
    labels: Ids
    label_costs: Ids
    twins: Ids

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.costs)


def select(units: Units, scores: Floats, budget: int, taken: Bools | None = None, kept: int = _KEPT) -> Ids:
    """Choose what fits.

    Args:
        units: The sequence.
        scores: float32 (n,), higher is better; a unit with -inf is taken only if nothing else is left.
        budget: The maximum number of tokens.
        taken: bool (n,), units that must not be chosen because they were returned before.
        kept: How many of the first are never exchanged.

    Returns:
        int64, the chosen units in the order in which they were chosen: the last is the first to give up.
    """
    free = np.ones(len(units), np.bool_) if taken is None else ~taken
    selection = _BudgetSelection(units, budget, set() if taken is None else set(units.twins[taken].tolist()))
    order = _in_order(scores, units, free, budget)
    passed: list[int] = []
    twins: list[int] = []
    for unit in order:
        if int(units.twins[unit]) in selection.taken_twins:
            twins.append(unit)
        elif not selection.take(unit):
            passed.append(unit)
        if selection.room < selection.least:
            break
    for unit in twins:
        selection.take(unit)
    if len(selection.chosen) > kept and selection.room > (1 - FULL) * budget:
        _exchange(selection, passed, int((1 - FULL) * budget), kept)
    return np.array(selection.chosen, np.int64)


def spent(units: Units, chosen: Ids) -> int:
    """Return the tokens that these units cost together."""
    if not len(chosen):
        return 0
    order = np.sort(chosen)
    starts = order[np.r_[True, np.diff(order) != 1]]
    named = np.unique(units.labels[order])
    return int(units.costs[order].sum() + units.openings[starts].sum() + units.label_costs[named].sum())


class _BudgetSelection:
    """The chosen units, the remaining room, and the contents that were taken."""

    def __init__(self, units: Units, budget: int, taken_twins: set[int]) -> None:
        self.room = budget
        self.least = int(units.costs.min(initial=1))
        self.chosen: list[int] = []
        self.taken_twins = taken_twins
        self._held: set[int] = set()
        self._named: dict[int, int] = {}
        self._units = units

    def price(self, unit: int) -> int:
        """Return what a unit that is not held would cost now."""
        units = self._units
        label = int(units.labels[unit])
        cost = int(units.costs[unit])
        cost += 0 if unit - 1 in self._held else int(units.openings[unit])
        cost -= int(units.openings[unit + 1]) if unit + 1 in self._held else 0
        return cost + (0 if self._named.get(label) else int(units.label_costs[label]))

    def take(self, unit: int) -> bool:
        """Take a unit if there is room for it; returns whether there was."""
        cost = self.price(unit)
        if cost > self.room:
            return False
        label = int(self._units.labels[unit])
        self.room -= cost
        self.chosen.append(unit)
        self._held.add(unit)
        self._named[label] = self._named.get(label, 0) + 1
        self.taken_twins.add(int(self._units.twins[unit]))
        return True

    def give_up(self, unit: int) -> None:
        """Give up a held unit; its room is free again."""
        self._held.discard(unit)
        self._named[int(self._units.labels[unit])] -= 1
        self.chosen.remove(unit)
        self.room += self.price(unit)


def _exchange(selection: _BudgetSelection, passed: list[int], slack: int, kept: int) -> None:
    """Exchange one of the last units for the best one that fills the room; if none does, everything stays."""
    for unit in selection.chosen[: max(-_GIVEN_UP, kept - len(selection.chosen)) - 1 : -1]:
        selection.give_up(unit)
        for other in passed[:_TRIED]:
            if 0 <= selection.room - selection.price(other) <= slack:
                selection.take(other)
                return
        selection.take(unit)


def _in_order(scores: Floats, units: Units, free: Bools, budget: int) -> list[int]:
    """The free units, best first, on ties the earlier one. Of a long sequence only as many as may be considered."""
    places = np.flatnonzero(free)
    average = max(float(units.costs[places].mean()), 1.0) if len(places) else 1.0
    pool = max(_LEAST_POOL, int(_POOL * budget / average))
    if len(places) > pool:
        best = np.argpartition(-scores[places], pool)[:pool]
        places = np.sort(places[best])
    return places[np.argsort(-scores[places], kind="stable")].tolist()
