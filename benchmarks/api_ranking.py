"""Fits the weights of operations' features: `python -m benchmarks.fits operations`.

Material: the questions of `*-dev.jsonl`, `*-train.jsonl` and `tuning.jsonl` over the four descriptions at once; the
held-out questions stay unseen. What is maximised is the probability that a softmax over the candidates gives to the
operations that answer. Twice it is fitted on some questions and tried on others: five parts by chance, and all
questions to one provider left out, which tells what APIs gain that nobody asked questions of. In both, the head of
goals is fitted without the questions that are tried, and what `concepts.txt` has learnt from the training questions is
left out of the fit, since it knows them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import api_reading, product
from benchmarks.apis import PROVIDERS, QUESTIONS, SETS, add
from scripts.ship_api_words import QUESTIONS as REQUESTS
from scripts.ship_api_words import fitted_head, inputs_of, material
from thresher.core import Caller, Settings
from thresher.embedding import open_encoder
from thresher.evaluation import ApiQuestion
from thresher.knowledge.apis.search import concepts, ranking, searcher, shipped
from thresher.knowledge.apis.search.actions import NAMES, Goal, goal_of
from thresher.knowledge.apis.search.query import clean_query
from thresher.knowledge.apis.search.shipped import LabelledRequest
from thresher.services import Services

Doubles: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.float32]
RIDGE: Final = 0.02
PLAIN: Final = {"meaning": 0.55, "words": 0.35, "named_provider": 0.87, "other_provider": -3.2}
"""Plain fusion of meaning and words, within the provider that is named."""
STEPS: Final = 200
RATE: Final = 0.08
PARTS: Final = 5
KNOWING: Final = "# ==="
"""Begins the line of `concepts.txt` below which stands what was learnt from the questions."""
DIMENSION: Final = 384
CANDIDATES: Final = ranking.CANDIDATES


@dataclass(frozen=True, slots=True)
class Case:
    """One question, and what the ranking was given for it."""

    question: ApiQuestion
    query: ranking.QueryTraits
    signals: ranking.Signals
    traits: Any

    @property
    def answers(self) -> NDArray[np.bool_]:
        """Which of the signals' operations answer."""
        rows = self.signals.rows.tolist()
        return np.array([self.traits.found[row].brief.key in self.question.relevant for row in rows])

    @property
    def provider(self) -> str:
        """The provider that was asked."""
        found = (one for one in self.traits.found if one.brief.key in self.question.relevant)
        return next(found).provider.name

    @property
    def part(self) -> str:
        """One of a few parts, the same in each run."""
        return str(zlib.crc32(self.question.query.encode()) % PARTS)


def _questions() -> list[ApiQuestion]:
    paths = [QUESTIONS / f"{name}{part}.jsonl" for name in SETS for part in ("-dev", "-train")]
    return [question for path in (*paths, QUESTIONS / "tuning.jsonl") for question in _read(path)]


def _read(path: Path) -> list[ApiQuestion]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [ApiQuestion(line["query"], frozenset(line["relevant"]), place) for place, line in enumerate(lines, 1)]


async def _cases(services: Services, caller: Caller) -> list[Case]:
    """The questions as they are ranked; of the candidates the best are kept."""
    seen: list[tuple[ranking.QueryTraits, ranking.Signals, Any]] = []
    given = searcher.ranking.rank

    def noting(query: ranking.QueryTraits, signals: ranking.Signals, traits: Any) -> ranking.RankedOperations:
        seen.append((query, signals.best(CANDIDATES), traits))
        return given(query, signals, traits)

    searcher.ranking.rank = noting
    cases: list[Case] = []
    for question in _questions():
        seen.clear()
        await services.apis.search(caller, question.query, noted=False)
        cases += [Case(question, *one) for one in seen[:1]]
    searcher.ranking.rank = given
    return cases


def _unknowing() -> None:
    """Have searches go without the concepts that know the questions."""
    text = (Path(concepts.__file__).with_name("concepts.txt")).read_text(encoding="utf-8")
    early = concepts.read_concepts(text.partition(KNOWING)[0])
    known = shipped.packaged()
    if known is not None:
        cut = known.first(len(early))
        searcher.shipped.packaged = lambda: cut  # pyright: ignore[reportAttributeAccessIssue] - for this run alone
    searcher.concepts.chosen = partial(concepts.chosen, concepts=early)


def _write_requests(cases: Sequence[Case]) -> None:
    """What the answers to the questions do, as lines of requests."""
    made_by = "# Made by `python -m benchmarks.fits operations`"
    lines = [f"{made_by}: what the operations that answer the training questions do."]
    for case in cases:
        rows = [row for row, one in enumerate(case.traits.found) if one.brief.key in case.question.relevant]
        actions = {int(action) for row in rows for action in np.flatnonzero(case.traits.actions[row] == 1.0)}
        single = {bool(case.traits.item[row]) for row in rows if case.traits.reads[row]}
        number = "-" if not all(case.traits.reads[rows]) or len(single) != 1 else "item" if single.pop() else "list"
        if len(actions) == 1:
            lines.append(f"{NAMES[actions.pop()]}\t{number}\t{case.question.query}")
    REQUESTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _stacked(cases: Sequence[Case], goals: Sequence[Goal]) -> Floats:
    """The features of the candidates of each question: (cases, candidates, features)."""
    features = [
        ranking.features_of(replace(case.query, goal=goal), case.signals, case.traits)
        for case, goal in zip(cases, goals, strict=True)
    ]
    return np.stack(features)


def _fit(features: Floats, answers: NDArray[np.bool_]) -> Doubles:
    """Weights by steps of Adam (Kingma and Ba, 2015) on standardised features.

    What the questions do not show stays as it is in plain fusion, which is right for an API that nobody asked about.
    """
    learnt = answers.any(axis=1)
    features, answers = features[learnt], answers[learnt]
    scale = features.reshape(-1, features.shape[2]).std(axis=0) + 1e-6
    features = features / scale
    plain = np.array([PLAIN.get(name, 0.0) for name in ranking.FEATURES]) * scale
    weights, mean, square = plain.copy(), np.zeros(len(plain)), np.zeros(len(plain))
    for step in range(1, STEPS + 1):
        values = features @ weights.astype(np.float32)
        chances = np.exp(values - values.max(axis=1, keepdims=True))
        right = chances * answers
        pull = right / np.maximum(right.sum(axis=1, keepdims=True), 1e-30) - chances / chances.sum(1, keepdims=True)
        slope = RIDGE * (weights - plain) - np.einsum("nk,nkf->f", pull, features) / len(features)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        pace = RATE * (1.0 if step < STEPS * 2 // 3 else 0.2)
        weights = weights - pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights / scale


def _places(features: Floats, answers: NDArray[np.bool_], weights: Doubles) -> NDArray[np.int64]:
    """The place of the first answer of each question, from 0."""
    values = features @ weights
    best = np.where(answers, values, -np.inf).max(axis=1, keepdims=True)
    return np.where(answers.any(axis=1), (values > best).sum(axis=1), 10_000)


def _said(name: str, places: NDArray[np.int64]) -> None:
    print(f"{name:24} hit@1 {np.mean(places < 1):.3f}  hit@5 {np.mean(places < 5):.3f}", flush=True)


class _Heads:
    """Heads that know some questions and not others."""

    def __init__(self, requests: Sequence[LabelledRequest], inputs: Floats, asked: Floats) -> None:
        self._requests, self._inputs, self._asked = requests, inputs, asked

    def goals(self, cases: Sequence[Case], unseen: NDArray[np.bool_]) -> list[Goal]:
        """The goals of all questions by a head that was fitted without some of them."""
        left_out = {case.question.query for case, out in zip(cases, unseen, strict=True) if out}
        kept = [place for place, one in enumerate(self._requests) if one.text not in left_out]
        head = fitted_head(self._inputs[kept], [self._requests[place] for place in kept])
        return [
            goal_of(vector[:DIMENSION] / 5.0, clean_query(case.question.query).text, head)
            for vector, case in zip(self._asked, cases, strict=True)
        ]


def _crossed(early: Sequence[Case], cases: Sequence[Case], folds: Sequence[str], heads: _Heads) -> list[Goal]:
    """Print how the questions of each fold fare; return each question's goal by a head fitted without its fold."""
    goals: list[Goal] = [case.query.goal for case in cases]
    marks = np.array(folds)
    for fold in sorted(set(folds)):
        for place, goal in enumerate(heads.goals(cases, marks == fold)):
            if folds[place] == fold:
                goals[place] = goal
    before, now = _stacked(early, goals), _stacked(cases, goals)
    answers = np.stack([case.answers for case in early]), np.stack([case.answers for case in cases])
    places = np.zeros((2, len(cases)), np.int64)
    for fold in sorted(set(folds)):
        tried = marks == fold
        weights = _fit(before[~tried], answers[0][~tried])
        places[0][tried] = _places(before[tried], answers[0][tried], weights)
        places[1][tried] = _places(now[tried], answers[1][tried], weights)
    _said("without their concepts", places[0])
    _said("with them", places[1])
    return goals


async def run() -> None:
    """Fit the weights and print them."""
    folder = api_reading.folder()
    async with product.running(query_cache_size=0) as services:
        caller = Caller(await services.database.tenant("bench-ranking"))
        for name, (aliases, names) in PROVIDERS.items():
            await add(services, caller, name, aliases, [folder / file for file in names])
        cases = await _cases(services, caller)
        _unknowing()
        early = await _cases(services, caller)
    _write_requests(cases)
    pairs = [pair for pair in zip(early, cases, strict=True) if all(len(one.answers) == CANDIDATES for one in pair)]
    early, cases = [one for one, _ in pairs], [one for _, one in pairs]  # a method that is typed leaves fewer
    encoder = open_encoder(Settings())
    await encoder.warm()
    requests = material()
    inputs = await inputs_of(encoder, [one.text for one in requests])
    heads = _Heads(requests, inputs, await inputs_of(encoder, [case.question.query for case in cases]))
    await encoder.close()
    print("by provider, each left out")
    _crossed(early, cases, [case.provider for case in cases], heads)
    print("by chance")
    goals = _crossed(early, cases, [case.part for case in cases], heads)
    weights = _fit(_stacked(early, goals), np.stack([case.answers for case in early]))
    print("WEIGHTS", dict(zip(ranking.FEATURES, weights.round(2).tolist(), strict=True)))
