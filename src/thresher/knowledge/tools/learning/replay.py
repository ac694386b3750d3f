"""What learning would have changed: each use is ranked again with the uses before it alone.

The tools that a search offered are put in order by their standings, and by the same with what earlier uses say added.
The gain is the change of the reciprocal place of the tool that was called. Earlier uses are those whose call ended
before the search was answered: a call cannot explain itself. The mean is one of voters, each of whom counts the same
however much they called; its interval is one of voters, too, and it helps only if most of at least three gain, so that
one key cannot decide about all.

Invariant: pure; the same uses give the same figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.tools.learning.evidence import Evidence, evidence_of, learned_scores
from thresher.knowledge.tools.models import Use

_RESAMPLES: Final = 2_000
_SEED: Final = 7
LEAST_USES: Final = 100
"""Uses of which a replay needs at least so many to decide."""
LEAST_VOTERS: Final = 3
"""Voters of whom a replay needs at least so many to decide."""
_FIRST: Final = 5
"""Places that a client looks at first."""


@dataclass(frozen=True, slots=True)
class MovedTool:
    """A tool whose place would have changed.

    Attributes:
        name: The name that clients see.
        uses: How often it was called.
        before: Its mean place then, from 1, without learning.
        after: The same with learning.
    """

    name: str
    uses: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Replay:
    """The figures of a replay.

    Attributes:
        mode: Whether uses rank tools now.
        uses: Uses that were replayed: their searches had offered the tool.
        voters: Users and keys behind them.
        changed: Those whose tool would have had another place.
        better: Those of them whose tool would have been further ahead.
        first_before: The share whose tool was first, without learning.
        first_after: The same with learning.
        five_before: The share whose tool was among the first five, without learning.
        five_after: The same with learning.
        gain: The mean change of the reciprocal place, 0 without uses.
        low: The lower bound of its 95 % bootstrap interval.
        high: The upper bound.
        helps: Whether the lower bound is above 0 and most voters gain, of enough uses and voters to say so.
        moved: The tools that would have moved and are still there, the most used ones first.
    """

    mode: str
    uses: int
    voters: int
    changed: int
    better: int
    first_before: float
    first_after: float
    five_before: float
    five_after: float
    gain: float
    low: float
    high: float
    helps: bool
    moved: Sequence[MovedTool]


def replay(uses: Sequence[Use], half_life_days: float, names: Mapping[int, str], mode: str) -> Replay:
    """Replay uses.

    Args:
        uses: The uses, oldest first.
        half_life_days: The age at which a use counts half.
        names: The names of the tools by their rows.
        mode: Whether uses rank tools now.
    """
    by_model: defaultdict[str, list[Use]] = defaultdict(list)
    for use in uses:
        by_model[use.model].append(use)
    replayed: list[Use] = []
    places: list[tuple[int, int]] = []
    for same in by_model.values():
        same.sort(key=lambda use: use.at)
        evidence = evidence_of(same)
        for use in same:
            if use.tool_id in use.offered:
                replayed.append(use)
                earlier = evidence.first(int(np.searchsorted(evidence.at, use.searched_at.timestamp())))
                places.append(_places(use, earlier, half_life_days))
    if not replayed:
        return Replay(mode, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, False, ())
    before, after = np.array(places, np.float64).T
    voters, voter, counts = np.unique([use.voter for use in replayed], return_inverse=True, return_counts=True)
    weights = 1 / (counts[voter] * len(voters))
    gains = np.bincount(voter, 1 / after - 1 / before) / counts
    low, high = _interval(gains)
    most_gain = len(voters) >= LEAST_VOTERS and np.count_nonzero(gains > 0) * 2 > len(voters)
    return Replay(
        mode=mode,
        uses=len(replayed),
        voters=len(voters),
        changed=int(np.count_nonzero(before != after)),
        better=int(np.count_nonzero(after < before)),
        first_before=float(weights @ (before == 1)),
        first_after=float(weights @ (after == 1)),
        five_before=float(weights @ (before <= _FIRST)),
        five_after=float(weights @ (after <= _FIRST)),
        gain=float(gains.mean()),
        low=low,
        high=high,
        helps=bool(low > 0 and len(replayed) >= LEAST_USES and most_gain),
        moved=_moved(replayed, before, after, names),
    )


def _places(use: Use, earlier: Evidence, half_life_days: float) -> tuple[int, int]:
    """The places of the called tool among the offered ones, from 1: without and with what earlier uses say."""
    standings = np.array(use.standings, np.float64)
    offered = np.array(use.offered, np.int64)
    own = use.offered.index(use.tool_id)
    before = 1 + int(np.count_nonzero(standings > standings[own]))
    if not len(earlier):
        return before, before
    vector = np.frombuffer(use.vector, np.float16).astype(np.float32)[None]
    learned = learned_scores(vector, earlier, use.voter, use.searched_at.timestamp(), half_life_days)
    if learned is None:
        return before, before
    added: Mapping[int, float] = dict(zip(learned.ids.tolist(), learned.added[0].tolist(), strict=True))
    scores = standings + np.array([added.get(tool, 0.0) for tool in offered.tolist()])
    return before, 1 + int(np.count_nonzero(scores > scores[own]))


def _interval(gains: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean of voters."""
    random = np.random.default_rng(_SEED)
    means = gains[random.integers(0, len(gains), (_RESAMPLES, len(gains)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _moved(
    uses: Sequence[Use], before: NDArray[np.float64], after: NDArray[np.float64], names: Mapping[int, str]
) -> tuple[MovedTool, ...]:
    tools = np.array([use.tool_id for use in uses])
    moved: list[MovedTool] = []
    for tool in np.unique(tools[before != after]).tolist():
        own = tools == tool
        if tool in names:
            moved.append(MovedTool(names[tool], int(own.sum()), float(before[own].mean()), float(after[own].mean())))
    return tuple(sorted(moved, key=lambda one: (-one.uses, one.name)))
