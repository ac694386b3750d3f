"""Fits the weights by which the router cuts a message: `python -m benchmarks.fits router` prints the two tables.

Material: held-out lines of ATIS, CLINC150 and BANKING77, single and joined by what joins tasks in writing, judged by
routers that were fitted on other lines. Test parts and MixATIS itself stay unseen. What is maximised is the probability
that the ways to cut give to the right set of intents; single lines count `SINGLE` times, since most messages hold one
task.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.multi_intent import Encode, Judged, Line, fitted_on, judged, mixatis, single
from thresher.core import Settings
from thresher.embedding import Matrix, open_encoder
from thresher.knowledge.intents.router.cues import SIGNS
from thresher.knowledge.intents.router.fitted import Fitted
from thresher.knowledge.intents.router.pieces import pieces_of
from thresher.knowledge.intents.router.segmentation import EVIDENCE, Cut, Judge, ways_to_cut

Doubles: TypeAlias = NDArray[np.float64]
NAMES: Final = (*SIGNS, *EVIDENCE)
LINKS: Final = (
    *[" and "] * 4,
    *[" and then ", " and also ", ", ", " , ", ", and ", ". "] * 2,
    *[", then ", "; ", " then ", " plus ", "\n", ". also ", " & ", ", also ", " as well as "],
)
"""What joins tasks, the commoner ones more than once."""
SINGLE: Final = 3.0
RIDGE: Final = 1.0
SEED: Final = 7
STEPS: Final = 600


@dataclass(frozen=True, slots=True)
class Example:
    """One message: what each way to cut it shows, and which ways are right.

    Attributes:
        shown: float64 (ways, features), in the order of `NAMES`.
        right: float64 (ways,), 1 where the set of intents is right.
        weight: How much it counts.
    """

    shown: Doubles
    right: Doubles
    weight: float


def joined(lines: Sequence[Line], count: int, dice: random.Random) -> Iterator[Line]:
    """Messages of two or three tasks with different intents."""
    while count:
        picked = dice.sample(lines, dice.choice((2, 2, 2, 3)))
        intents = frozenset[str]().union(*(line.intents for line in picked))
        if len(intents) < len(picked):
            continue
        text = picked[0].text
        for line in picked[1:]:
            text = f"{text.rstrip(' .')}{dice.choice(LINKS)}{line.text}"
        yield Line(text, intents)
        count -= 1


def material(dice: random.Random) -> Iterator[tuple[list[Line], list[Line]]]:
    """For each set the lines to fit a router on, and the messages to judge."""
    atis = sorted({line for line in mixatis("atis_train") if len(line.intents) == 1}, key=lambda line: line.text)
    dice.shuffle(atis)
    seen, held = atis[: len(atis) // 2], atis[len(atis) // 2 :]
    known = {intent for line in seen for intent in line.intents}
    held = [line for line in held if line.intents <= known]
    groups = [[line for line in held if intent in line.intents] for intent in sorted(known)]
    even = [dice.choice(group) for group in groups if group for _ in range(30)]
    yield seen, [*_with_joint(held), *joined(even, 600, dice)]
    for name in ("clinc150", "banking77"):
        held = single(name, "valid")
        yield single(name, "train"), [*_with_joint(held), *joined(held, 600, dice)]


def _with_joint(lines: Sequence[Line]) -> list[Line]:
    """The lines that can be cut; the others teach nothing."""
    return [line for line in lines if pieces_of(line.text).request.joints]


def example(fitted: Fitted, one: Judged) -> Example | None:
    """What a message teaches; None where every way to cut it is right, or none."""
    judge = Judge(one.scores, tuple(fitted.thresholds.values()))
    cuts = list(ways_to_cut(judge, one.pieces.request))
    right = np.array(
        [frozenset(fitted.intents[intent] for intent in cut.intents) == one.line.intents for cut in cuts], np.float64
    )
    if not 0 < right.sum() < len(right):
        return None
    shown = np.array([_shown(one, cut) for cut in cuts], np.float64)
    return Example(shown, right, SINGLE if len(one.line.intents) == 1 else 1.0)


def _shown(one: Judged, cut: Cut) -> list[float]:
    signs = [sign for joint in cut.joints for sign in one.pieces.request.joints[joint].signs]
    return [*(float(signs.count(sign)) for sign in SIGNS), *cut.evidence]


def fit_weights(examples: Sequence[Example]) -> Doubles:
    """The weights, float64 (features,), by gradient descent with momentum (Adam) on the ridged log loss."""
    weights, mean, square = (np.zeros(len(NAMES)) for _ in range(3))
    for step in range(1, STEPS + 1):
        slope = RIDGE * weights + sum((_slope(one, weights) for one in examples), np.zeros(len(NAMES)))
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        rate = 0.05 * min(1.0, 2 * (1 - step / STEPS))
        weights = weights - rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def _slope(one: Example, weights: Doubles) -> Doubles:
    """Gradient of the log loss: what is shown on average, minus what right ways show on average."""
    all_ways = np.exp((values := one.shown @ weights) - values.max())
    right_ways = all_ways * one.right
    return one.weight * (all_ways / all_ways.sum() - right_ways / right_ways.sum()) @ one.shown


async def examples(encode: Encode, report: Callable[[str], None] = print) -> list[Example]:
    """All examples of all sets."""
    found: list[Example] = []
    for seen, messages in material(random.Random(SEED)):
        fitted = await fitted_on(seen, encode)
        lessons = [example(fitted, one) for one in await judged(fitted, messages, encode)]
        found += [lesson for lesson in lessons if lesson is not None]
        report(f"{len(seen)} lines, {len(messages)} messages, {len(found)} examples")
    return found


async def run() -> None:
    """Fit the weights and print them."""
    encoder = open_encoder(Settings())

    async def encode(texts: Sequence[str]) -> Matrix:
        return await encoder.embed_queries(texts, prefixed=True)

    try:
        weights = fit_weights(await examples(encode))
    finally:
        await encoder.close()
    for name, weight in zip(NAMES, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
