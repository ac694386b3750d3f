"""Fits the weights of operations' features: `python -m benchmarks.api_ranking` prints `WEIGHTS` of `ranking.py`.

Material: the questions of `*-dev.jsonl`, `*-train.jsonl` and `tuning.jsonl` over the four descriptions at once; the
held-out questions stay unseen. What is maximised is the probability that a softmax over the candidates gives to the
operations that answer, with a ridge chosen by leaving out one file's questions at a time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import api_reading, product
from benchmarks.apis import PROVIDERS, QUESTIONS, SETS, add
from thresher.core import Caller
from thresher.evaluation import ApiQuestion
from thresher.knowledge.apis import ranking, searching
from thresher.services import Services

Doubles: TypeAlias = NDArray[np.float64]
RIDGES: Final = (1.0, 10.0, 30.0)
STEPS: Final = 300
RATE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Case:
    """One question: its fold, the features of its candidates, and which of them answer."""

    fold: str
    features: Doubles
    answers: NDArray[np.bool_]


def _material() -> list[tuple[str, ApiQuestion]]:
    files = [(name, QUESTIONS / f"{name}{part}.jsonl") for name in SETS for part in ("-dev", "-train")]
    files.append(("tuning", QUESTIONS / "tuning.jsonl"))
    return [(fold, question) for fold, path in files for question in _read(path)]


def _read(path: Path) -> list[ApiQuestion]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    return [ApiQuestion(line["query"], frozenset(line["relevant"]), place) for place, line in enumerate(lines, 1)]


async def _cases(services: Services, caller: Caller) -> list[Case]:
    seen: list[tuple[Any, Any, Any]] = []
    given = searching.ranking.ranked

    def noting(asked: ranking.Asked, signals: ranking.Signals, traits: Any) -> ranking.Ranked:
        seen.append((asked, signals, traits))
        return given(asked, signals, traits)

    searching.ranking.ranked = noting
    cases: list[Case] = []
    for fold, question in _material():
        seen.clear()
        await services.apis.search(caller, question.query, noted=False)
        cases += [_case(fold, question, *one) for one in seen[:1]]
    searching.ranking.ranked = given
    return cases


def _case(fold: str, question: ApiQuestion, asked: ranking.Asked, signals: ranking.Signals, traits: Any) -> Case:
    near = signals.best(ranking.CANDIDATES)
    keys = [traits.found[row].brief.key for row in near.rows.tolist()]
    features = ranking.features_of(asked, near, traits).astype(np.float64)
    answers = np.array([key in question.relevant for key in keys])
    return Case(fold, features, answers)


def _fit(cases: Sequence[Case], ridge: float) -> Doubles:
    """Weights by steps of Adam (Kingma and Ba, 2015) on standardised features."""
    learnt = [case for case in cases if case.answers.any()]
    scale = np.concatenate([case.features for case in learnt]).std(axis=0) + 1e-9
    weights, mean, square = np.zeros(len(scale)), np.zeros(len(scale)), np.zeros(len(scale))
    for step in range(1, STEPS + 1):
        slope = ridge * weights
        for case in learnt:
            slope -= _pull(case.features / scale, case.answers, weights)
        slope /= len(learnt)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        pace = RATE * (1.0 if step < STEPS * 2 // 3 else 0.1)
        weights = weights - pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights / scale


def _pull(features: Doubles, answers: NDArray[np.bool_], weights: Doubles) -> Doubles:
    """Where a question draws the weights: from what is likely to what is likely and answers."""
    values = features @ weights
    chances = np.exp(values - values.max())
    right = chances * answers
    return (right / max(right.sum(), 1e-300) - chances / chances.sum()) @ features


def _hits(cases: Sequence[Case], weights: Doubles) -> list[int]:
    """The place of the first answer of each question, from 0."""
    return [
        int(np.flatnonzero(case.answers[np.argsort(-(case.features @ weights), kind="stable")])[0])
        if case.answers.any()
        else 10_000
        for case in cases
    ]


def _said(places: Sequence[int]) -> str:
    return f"hit@1 {np.mean([p < 1 for p in places]):.3f}  hit@5 {np.mean([p < 5 for p in places]):.3f}"


def _crossed(cases: Sequence[Case], ridge: float) -> list[int]:
    places: list[int] = []
    for fold in sorted({case.fold for case in cases}):
        weights = _fit([case for case in cases if case.fold != fold], ridge)
        places += _hits([case for case in cases if case.fold == fold], weights)
    return places


async def _run() -> None:
    folder = api_reading.folder()
    async with product.running(query_cache_size=0) as services:
        caller = Caller(await services.database.tenant("bench-ranking"))
        for name, (aliases, names) in PROVIDERS.items():
            await add(services, caller, name, aliases, [folder / file for file in names])
        cases = await _cases(services, caller)
    print("as it is  ", _said(_hits(cases, ranking.WEIGHTS.astype(np.float64))))
    for ridge in RIDGES:
        print(f"ridge {ridge:4}", _said(_crossed(cases, ridge)))
    best = max(RIDGES, key=lambda ridge: sum(place < 1 for place in _crossed(cases, ridge)))
    weights = _fit(cases, best)
    print("fitted on all", best, _said(_hits(cases, weights)))
    print("WEIGHTS", dict(zip(ranking.FEATURES, weights.round(2).tolist(), strict=True)))


if __name__ == "__main__":
    asyncio.run(_run())
