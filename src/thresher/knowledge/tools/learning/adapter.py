"""Fits what training adds to the vectors of tools, and measures it on messages that it was not fitted on.

A tenant's samples are messages, each with the tool that it needs and the scores of the tools that a search would have
ranked. A map of the vector space, the same for all tools, is fitted by softmax regression on these scores, with a
ridge; what it makes of the vector of each tool that was needed is the offset of that tool. Tools that no sample needs
have none, and in the ranking they lose no place (`levelled`).

No voter weighs more than the median one. The gain is measured in five parts of the messages, each ranked with what the
other four teach; messages that are nearly the same are in one part.

Invariant: pure; the same samples give the same adapter and figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.tools.models import Use
from thresher.search import Bools, Floats, Ids, ItemVectors, levelled

TEMPERATURE: Final = 1.0
"""Units of the score in which softmax regression is done: at 2 it learns less, and at 0.5 less of it carries over."""
RIDGE: Final = 0.01
"""Weight of the squared map; 0.003 to 0.03 differ by less than a point in the first five."""
STEPS: Final = 80
"""Accelerated steps of the fit; twice as many change nothing."""
MOST_TOOLS: Final = 500
"""Tools that may have an offset, those most often needed first; a search multiplies with all."""
LEAST_EACH: Final = 3
"""Different messages for which a tool must have been called to get an offset: one or two calls may be mistakes."""
SAME: Final = 0.9
"""The cosine from which two messages are measured in the same part."""
PARTS: Final = 5
LEAST_MESSAGES: Final = 50
"""Different messages of which a training needs at least so many."""
_RESAMPLES: Final = 2_000
_SEED: Final = 7
_FIRST: Final = 5
_FAR: Final = np.float32(-1e4)
"""The score of what does not compete."""


@dataclass(frozen=True, slots=True)
class Samples:
    """What an adapter is fitted on, as columns.

    Attributes:
        vectors: float32 (n, dimension), the messages.
        target: int64 (n,), the needed tool, a place in `tools`.
        scores: float32 (n, m), the score of each of `tools` without the adapter.
        others: float32 (n, k), scores of tools that no sample needs and that were offered.
        also: bool (n, m), tools that the same message needs, too.
        weight: float32 (n,), what each counts, of a voter together no more than of the median one.
        voter: int64 (n,), whose sample it is.
        message: int64 (n,), equal for messages that are nearly the same.
        ranked: bool (n,), whether its scores are known, so that it can be measured.
        tools: int64 (m,), sorted ids of the tools that samples need.
        items: float32 (m, dimension), their stored vectors.
        scale: What an inner product counts in a score.
    """

    vectors: Floats
    target: Ids
    scores: Floats
    others: Floats
    also: Bools
    weight: Floats
    voter: Ids
    message: Ids
    ranked: Bools
    tools: Ids
    items: Floats
    scale: float

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.target)

    @property
    def part(self) -> Ids:
        """The part in which each is measured, int64 (n,), from 0 to `PARTS`."""
        return self.message % PARTS


def samples_of(uses: Sequence[Use], stored: ItemVectors) -> Samples:
    """Make samples of uses whose vectors are of the stored model and whose tools are there.

    A tool that was not offered stood below those that were; how far is estimated from its vector.
    """
    known = {int(tool): place for place, tool in enumerate(stored.ids)}
    uses = [use for use in uses if use.model == stored.model and use.tool_id in known]
    dimension = stored.vectors.shape[1] if len(stored.ids) else 0
    raw = np.frombuffer(b"".join(use.vector for use in uses), np.float16).astype(np.float32)
    vectors = raw.reshape(len(uses), dimension)
    message = _messages(vectors)
    tools = _taught([use.tool_id for use in uses], message)
    column = {int(tool): place for place, tool in enumerate(tools)}
    kept = np.flatnonzero([use.tool_id in column for use in uses])
    uses, vectors, message = [uses[row] for row in kept], vectors[kept], message[kept]
    items = stored.vectors[[known[int(tool)] for tool in tools]] if len(tools) else np.empty((0, dimension), np.float32)
    scores, others = _scores(uses, np.float32(stored.weight) * (vectors @ items.T), column)
    voters, voter = np.unique([use.voter for use in uses], return_inverse=True)
    return Samples(
        vectors,
        np.array([column[use.tool_id] for use in uses], np.int64),
        scores,
        others,
        _also(uses, column),
        _capped(np.array([use.weight for use in uses], np.float32), voter, len(voters)),
        voter.astype(np.int64),
        message,
        np.array([bool(use.offered) for use in uses], np.bool_),
        tools,
        items,
        stored.weight,
    )


def _scores(uses: Sequence[Use], dense: Floats, column: Mapping[int, int]) -> tuple[Floats, Floats]:
    """The scores of the needed tools, (n, m), and of other offered ones, (n, k).

    Args:
        uses: The samples.
        dense: float32 (n, m), the part of the scores that the vectors make.
        column: The place of each needed tool.
    """
    scores = dense.copy()
    beside = [[standing for tool, standing in _offered(use) if tool not in column] for use in uses]
    others = np.full((len(uses), max(map(len, beside), default=0)), _FAR, np.float32)
    for row, use in enumerate(uses):
        others[row, : len(beside[row])] = beside[row]
        places = [(column[tool], standing) for tool, standing in _offered(use) if tool in column]
        if places:
            own, standings = np.array([place for place, _ in places]), np.array([one for _, one in places], np.float32)
            scores[row] = np.minimum(dense[row] + (standings - dense[row, own]).mean(), min(use.standings))
            scores[row, own] = standings
    return scores, others


def _offered(use: Use) -> list[tuple[int, float]]:
    return [*zip(use.offered, use.standings, strict=True)]


def _also(uses: Sequence[Use], column: Mapping[int, int]) -> Bools:
    """Which other tools the message of a sample needs, bool (n, m)."""
    together: defaultdict[tuple[str, bytes], set[int]] = defaultdict(set)
    for use in uses:
        together[use.trace_id, use.vector].add(column[use.tool_id])
    also = np.zeros((len(uses), len(column)), np.bool_)
    for row, use in enumerate(uses):
        also[row, list(together[use.trace_id, use.vector] - {column[use.tool_id]})] = True
    return also


def _taught(tools: Sequence[int], message: Ids) -> Ids:
    """The tools that enough different messages need, sorted; of too many those that most messages need."""
    pairs = np.unique(np.array([*zip(tools, message, strict=True)], np.int64).reshape(-1, 2), axis=0)
    called, counts = np.unique(pairs[:, 0], return_counts=True)
    often = np.argsort(-counts, kind="stable")[:MOST_TOOLS]
    return np.sort(called[often[counts[often] >= LEAST_EACH]])


def _capped(weight: Floats, voter: Ids, voters: int) -> Floats:
    """Weights of which a voter has no more than the median one, the lesser of two in the middle."""
    if not voters:
        return weight
    totals = np.bincount(voter, weight, minlength=voters)
    most = np.sort(totals)[(voters - 1) // 2]
    return (weight * np.minimum(1.0, most / totals)[voter]).astype(np.float32)


def _messages(vectors: Floats) -> Ids:
    """Number the messages; one that is nearly the same as an earlier one has its number."""
    numbers = np.empty(len(vectors), np.int64)
    distinct = np.empty_like(vectors)
    count = 0
    for row in range(len(vectors)):
        nearness = distinct[:count] @ vectors[row]
        numbers[row] = nearness.argmax() if count and nearness.max() >= SAME else count
        if numbers[row] == count:
            distinct[count] = vectors[row]
            count += 1
    return numbers


def fitted(samples: Samples, rows: Bools) -> Floats:
    """Fit the offsets of the tools that some samples need.

    Args:
        samples: All samples.
        rows: bool (n,), those to fit on.

    Returns:
        float32 (m, dimension), 0 for a tool that none of them needs.
    """
    offsets = np.zeros_like(samples.items)
    used, target = np.unique(samples.target[rows], return_inverse=True)
    weight = samples.weight[rows] / samples.weight[rows].sum()
    vectors, items = samples.vectors[rows], samples.items[used]
    scores = np.where(samples.also[rows][:, used], _FAR, samples.scores[rows][:, used])
    scale = np.float32(samples.scale / TEMPERATURE)
    wanted = np.zeros_like(scores)
    wanted[np.arange(len(target)), target] = 1
    centred = items - items.mean(axis=0)
    spread = 2 * np.linalg.eigvalsh(centred.T @ centred)[-1] / len(items)
    steepest = scale**2 * np.linalg.eigvalsh((vectors * weight[:, None]).T @ vectors)[-1] * spread
    made = ahead = np.zeros((vectors.shape[1],) * 2, np.float32)
    step, momentum, last = 1 / (steepest + RIDGE), 1.0, np.inf
    for _ in range(STEPS):
        values = scores / np.float32(TEMPERATURE) + scale * ((vectors @ ahead) @ items.T)
        values -= values.max(axis=1, keepdims=True)
        chances = np.exp(values)
        totals = chances.sum(axis=1, keepdims=True)
        loss = float(weight @ (np.log(totals[:, 0]) - values[np.arange(len(target)), target]))
        loss += RIDGE / 2 * float((ahead**2).sum())
        if loss > last:  # the momentum has carried it too far: start again from there, with smaller steps
            step, momentum, ahead, last = step / 2, 1.0, made, np.inf
            continue
        last = loss
        errors = (chances / totals - wanted) * (weight[:, None] * scale)
        slope = vectors.T @ (errors @ items) + np.float32(RIDGE) * ahead
        before, made = made, (ahead - np.float32(step) * slope).astype(np.float32)
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = (made + (momentum - 1) / faster * (made - before)).astype(np.float32)
        momentum = faster
    offsets[used] = items @ made.T
    return offsets


def places(samples: Samples, rows: Bools, offsets: Floats, used: Bools) -> NDArray[np.float64]:
    """Rank some samples with and without an adapter.

    Args:
        samples: All samples.
        rows: bool (n,), those to rank.
        offsets: float32 (m, dimension), the adapter.
        used: bool (m,), the tools that have an offset.

    Returns:
        float64 (rows, 2), the place of the needed tool, from 1, without and with it.
    """
    plain, target = samples.scores[rows], samples.target[rows]
    adapted = plain.copy()
    if used.any():
        more = np.float32(samples.scale) * (samples.vectors[rows] @ offsets[used].T)
        adapted[:, used] += levelled(plain[:, used], more)
    found: list[NDArray[np.float64]] = []
    for scores in (plain, adapted):
        own = scores[np.arange(len(target)), target][:, None]
        ahead = (scores > own) & ~samples.also[rows]
        found.append(1.0 + ahead.sum(axis=1) + (samples.others[rows] > own).sum(axis=1))
    return np.column_stack(found)


@dataclass(frozen=True, slots=True)
class AdapterFigures:
    """What an adapter was fitted on, and what it gained on messages that it had not seen.

    Attributes:
        samples: Messages with the tool that each needs.
        messages: Those of them that differ, and could be measured.
        tools: Tools that samples need.
        voters: Users and keys behind them.
        first_before: The share whose tool is first, without the adapter.
        first_after: The same with it.
        five_before: The share whose tool is among the first five, without it.
        five_after: The same with it.
        gain: The mean change of the reciprocal place, 0 without samples.
        low: The lower bound of its 95 % bootstrap interval.
        high: The upper bound.
        better: Users and keys who gain.
        worse: Users and keys who lose.
        helps: Whether the lower bound is above 0, and more gain than lose, of enough samples to say so.
    """

    samples: int
    messages: int
    tools: int
    voters: int
    first_before: float
    first_after: float
    five_before: float
    five_after: float
    gain: float
    low: float
    high: float
    better: int
    worse: int
    helps: bool


def figures(samples: Samples, measured: Mapping[int, NDArray[np.float64]]) -> AdapterFigures:
    """Compute the figures of what was held out.

    Args:
        samples: All samples.
        measured: By part: the places of its samples that are ranked, as `places` returns them.
    """
    voters = len(np.unique(samples.voter))
    rows = [np.flatnonzero(samples.ranked & (samples.part == part)) for part in measured]
    order = np.concatenate(rows) if rows else np.empty(0, np.int64)
    if not len(order):
        return AdapterFigures(
            len(samples), 0, len(samples.tools), voters, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, helps=False
        )
    before, after = np.concatenate([*measured.values()]).T
    weight = samples.weight[order].astype(np.float64)
    gains = 1 / after - 1 / before
    _, message = np.unique(samples.message[order], return_inverse=True)
    sums, weights = (np.bincount(message, amounts).astype(np.float64) for amounts in (weight * gains, weight))
    low, high = _interval(sums, weights)
    share = weight / weight.sum()
    each = np.bincount(samples.voter[order], weight * gains)
    better, worse = int(np.count_nonzero(each > 0)), int(np.count_nonzero(each < 0))
    return AdapterFigures(
        samples=len(samples),
        messages=int(message.max()) + 1,
        tools=len(samples.tools),
        voters=voters,
        first_before=float(share @ (before == 1)),
        first_after=float(share @ (after == 1)),
        five_before=float(share @ (before <= _FIRST)),
        five_after=float(share @ (after <= _FIRST)),
        gain=float(share @ gains),
        low=low,
        high=high,
        better=better,
        worse=worse,
        helps=bool(low > 0 and better > worse and message.max() + 1 >= LEAST_MESSAGES),
    )


def _interval(sums: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean, from the sum and the weight of each message."""
    random = np.random.default_rng(_SEED)
    means = np.empty(_RESAMPLES)
    for number in range(_RESAMPLES):
        drawn = random.integers(0, len(sums), len(sums))
        means[number] = sums[drawn].sum() / weights[drawn].sum()
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
