"""Fits a router on a user's lines and asks it for the test lines, with the encoder in use and, if wanted, another one.

Invariant: the same steps as the product's own decisions; no pack, threshold or log row of anybody is touched.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thresher.core import Caller
from thresher.embedding import Encoder, Matrix
from thresher.evaluation.intents_figures import IntentFigures, Timing, Told, WrongLine, compute, wrong_lines
from thresher.evaluation.intents_reader import IntentLine
from thresher.evaluation.service import PAUSE_SECONDS, Progress
from thresher.knowledge.intents import BACKGROUND, LabelledLines, Pieces, Trial, fit_trial, pieces_of
from thresher.search import text_vectors
from thresher.store import Database

FOLDS = 5
TIMED = 200
"""Messages whose time is taken, before their vectors are in any cache."""
_EMBEDDED_AT_ONCE = 256
_JUDGED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class IntentResult:
    """What one encoder gives.

    Attributes:
        model: Its id.
        figures: The figures.
        wrong: The test lines that were decided wrongly.
    """

    model: str
    figures: IntentFigures
    wrong: list[WrongLine]


_one_at_a_time = asyncio.Lock()


async def evaluate_intents(
    database: Database,
    caller: Caller,
    encoders: Sequence[Encoder],
    train: Sequence[IntentLine],
    tests: Sequence[IntentLine] | None,
    progress: Progress,
) -> list[IntentResult]:
    """Evaluate each encoder on the same lines; thresholds are fitted for each.

    Args:
        database: Where the cache of embeddings is.
        caller: In whose transactions it is asked.
        encoders: One or more.
        train: Training lines.
        tests: Test lines; None: cross-validation on the training lines.
        progress: Told how far it is.

    Raises:
        EncoderError: An encoder cannot be loaded or cannot answer.
        StoreUnavailable: The database cannot be reached.
    """
    results: list[IntentResult] = []
    async with _one_at_a_time:
        for number, encoder in enumerate(encoders, 1):
            title = f"{number}/{len(encoders)} " if len(encoders) > 1 else ""
            trial = IntentTrial(database, caller, encoder, progress, title=title)
            results.append(await (trial.cross_validate(train) if tests is None else trial.test(train, tests)))
    return results


class IntentTrial:
    """An evaluation with one encoder.

    Args:
        database: Where the cache of embeddings is.
        caller: In whose transactions it is asked.
        encoder: Embeds lines and messages.
        progress: Told how far it is.
        title: Stands before each stage, where there is more than one encoder.
    """

    def __init__(
        self, database: Database, caller: Caller, encoder: Encoder, progress: Progress, *, title: str = ""
    ) -> None:
        self._database = database
        self._caller = caller
        self._encoder = encoder
        self._tell = progress
        self._title = title

    async def test(self, train: Sequence[IntentLine], tests: Sequence[IntentLine]) -> IntentResult:
        """Fit on all training lines and ask for all test lines."""
        model = (await self._encoder.warm()).id
        lines, background = await self._lines(train)
        started = time.perf_counter()
        trial = await asyncio.to_thread(fit_trial, lines, background)
        seconds = time.perf_counter() - started
        messages_ms = await self._timed(trial, tests[:TIMED])
        told = await self._told(trial, tests)
        return _result(model, told, Timing(seconds, messages_ms), train)

    async def cross_validate(self, train: Sequence[IntentLine]) -> IntentResult:
        """Hold a fifth of the lines out in turn, fit on the others, and ask for those."""
        model = (await self._encoder.warm()).id
        lines, background = await self._lines(train)
        turns = fold_of(train)
        told: list[Told] = []
        seconds: list[float] = []
        messages_ms: tuple[float, ...] = ()
        for fold in range(FOLDS):
            held = [line for line, turn in zip(train, turns, strict=True) if turn == fold]
            if not held:
                continue
            started = time.perf_counter()
            trial = await asyncio.to_thread(fit_trial, _without(lines, turns != fold), background)
            seconds.append(time.perf_counter() - started)
            messages_ms += await self._timed(trial, held[: TIMED // FOLDS])
            told += await self._told(trial, held)
        told.sort(key=lambda one: one.line)
        return _result(model, told, Timing(sum(seconds) / max(1, len(seconds)), messages_ms), train)

    async def _lines(self, train: Sequence[IntentLine]) -> tuple[LabelledLines, Matrix]:
        texts = tuple(line.text for line in train)
        vectors = await self._vectors([*texts, *BACKGROUND], "Embedding lines")
        names = tuple(line.intents[0] if line.intents else "" for line in train)
        return LabelledLines(texts, names, vectors[: len(texts)]), vectors[len(texts) :]

    async def _timed(self, trial: Trial, tests: Sequence[IntentLine]) -> tuple[float, ...]:
        """Milliseconds of each message, asked one after the other as people do."""
        spent: list[float] = []
        for place, line in enumerate(tests):
            started = time.perf_counter()
            pieces = pieces_of(line.text)
            trial.judge(pieces, await self._encoder.embed_queries(pieces.texts, prefixed=True))
            spent.append((time.perf_counter() - started) * 1000)
            self._progress("Timing", place + 1, len(tests))
            await asyncio.sleep(PAUSE_SECONDS)
        return tuple(spent)

    async def _told(self, trial: Trial, tests: Sequence[IntentLine]) -> list[Told]:
        cut = [pieces_of(line.text) for line in tests]
        texts = list(dict.fromkeys(text for pieces in cut for text in pieces.texts))
        vectors = await self._vectors(texts, "Embedding tests")
        place = {text: row for row, text in enumerate(texts)}
        told: list[Told] = []
        for start in range(0, len(tests), _JUDGED_AT_ONCE):
            batch = list(zip(tests, cut, strict=True))[start : start + _JUDGED_AT_ONCE]
            told += await asyncio.to_thread(_judge, trial, batch, vectors, place)
            self._progress("Asking", len(told), len(tests))
        return told

    async def _vectors(self, texts: Sequence[str], stage: str) -> Matrix:
        parts: list[Matrix] = []
        for start in range(0, len(texts), _EMBEDDED_AT_ONCE):
            batch = texts[start : start + _EMBEDDED_AT_ONCE]
            found = await text_vectors(self._database, self._caller.tenant, self._encoder, batch, prefixed=True)
            parts.append(found.vectors)
            self._progress(stage, start + len(batch), len(texts))
        return np.concatenate(parts)

    def _progress(self, stage: str, done: int, total: int) -> None:
        self._tell(f"{self._title}{stage}", done, total)


def _judge(
    trial: Trial, batch: Sequence[tuple[IntentLine, Pieces]], vectors: Matrix, place: dict[str, int]
) -> list[Told]:
    return [
        Told(line.text, line.line, line.intents, trial.judge(pieces, vectors[[place[text] for text in pieces.texts]]))
        for line, pieces in batch
    ]


def _result(model: str, told: Sequence[Told], timing: Timing, train: Sequence[IntentLine]) -> IntentResult:
    names = sorted({name for line in train for name in line.intents})
    return IntentResult(model, compute(told, timing, intents=names, lines=len(train)), wrong_lines(told))


def fold_of(train: Sequence[IntentLine]) -> np.ndarray:
    """The fold that holds each line out, int32 (lines,): the lines of an intent are dealt in turn.

    An intent's only line is never held out (-1): without it nobody would know the intent.
    """
    names = [line.intents[0] if line.intents else "" for line in train]
    seen: dict[str, int] = {}
    turns = np.zeros(len(train), np.int32)
    for row, name in enumerate(names):
        turns[row] = seen.get(name, 0) % FOLDS
        seen[name] = seen.get(name, 0) + 1
    alone = np.array([bool(name) and seen[name] == 1 for name in names], np.bool_)
    turns[alone] = -1
    return turns


def _without(lines: LabelledLines, kept: np.ndarray) -> LabelledLines:
    rows = np.flatnonzero(kept)
    return LabelledLines(
        tuple(lines.texts[row] for row in rows), tuple(lines.intents[row] for row in rows), lines.vectors[rows]
    )
