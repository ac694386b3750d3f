"""Evaluates the router: fits it on a user's lines and asks it for test lines, with one or more encoders.

Invariant: the steps are those of the product's own decisions, and no pack, threshold or log row is changed. A wrong
file is refused with its line before anything is embedded. Shares are 0 to 1, and a figure without data is None.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from thresher.core import Caller, InvalidInput
from thresher.embedding import Encoder, Matrix
from thresher.evaluation.files import not_empty, read_objects, wrong
from thresher.evaluation.metrics import auc, mean, percentile
from thresher.evaluation.runs import PAUSE_SECONDS, Progress
from thresher.knowledge.intents import (
    BACKGROUND,
    IntentScore,
    LabelledLines,
    Pieces,
    Trial,
    TrialResult,
    fit_trial,
    pieces_of,
)
from thresher.search import text_vectors
from thresher.store import Database

TEXT_LIMIT = 100_000
"""The most characters of one text; a pasted log fits."""

_HINT = (
    'Lines are {"text": text, "intent": name}; in tests "intent" may also be a list of names, or null: out of scope.'
)


@dataclass(frozen=True, slots=True)
class IntentLine:
    """One line of a training or test file.

    Attributes:
        text: The message.
        intents: Its intents, distinct, in the file's order; empty for out of scope.
        line: Its line in the file, from 1.
    """

    text: str
    intents: tuple[str, ...]
    line: int


def read_training(path: Path) -> list[IntentLine]:
    """Read training lines: one intent each, or null for out of scope.

    Raises:
        InvalidInput: The file cannot be read, a line is wrong, or no line names an intent.
    """
    lines = _lines(path)
    for line in lines:
        if len(line.intents) > 1:
            raise wrong(path, line.line, "a training line has one intent", _HINT)
    if not any(line.intents for line in lines):
        raise InvalidInput(f"{path} names no intent.", hint=_HINT)
    return lines


def read_tests(path: Path) -> list[IntentLine]:
    """Read test lines: one intent, several, or null for out of scope.

    Raises:
        InvalidInput: The file cannot be read, or a line is wrong.
    """
    return _lines(path)


def _lines(path: Path) -> list[IntentLine]:
    entries = [_line(path, number, fields) for number, fields in read_objects(path, _HINT)]
    return not_empty(entries, path, "lines", _HINT)


def _line(path: Path, number: int, fields: Mapping[str, Any]) -> IntentLine:
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise wrong(path, number, '"text" must be text', _HINT)
    if len(text) > TEXT_LIMIT:
        raise wrong(path, number, f'"text" is longer than {TEXT_LIMIT} characters', "Shorten it.")
    if "intent" not in fields:
        raise wrong(path, number, '"intent" is missing (null says that it is out of scope)', _HINT)
    return IntentLine(text, _intents(path, number, fields["intent"]), number)


def _intents(path: Path, number: int, value: Any) -> tuple[str, ...]:
    named = [] if value is None else cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name.strip() for name in named):
        raise wrong(path, number, '"intent" must be a name, a list of names, or null', _HINT)
    return tuple(dict.fromkeys(cast("list[str]", named)))


Mistake = Literal["missed", "confused", "false alarm", "incomplete"]


@dataclass(frozen=True, slots=True)
class RoutedLine:
    """A test line with the router's decision.

    Attributes:
        text: The message.
        line: Its line in the file.
        expected: Its intents; empty for out of scope.
        judged: The decision.
    """

    text: str
    line: int
    expected: tuple[str, ...]
    judged: TrialResult

    @property
    def got(self) -> tuple[str, ...]:
        """The intents that matched, best first."""
        return tuple(score.intent for score in self.judged.decision.matched)


@dataclass(frozen=True, slots=True)
class WrongLine:
    """A test line that was decided wrongly, and why.

    Attributes:
        line: Its line in the file.
        text: The message.
        expected: Its intents; empty for out of scope.
        got: The intents that matched; empty if it passed through.
        kind: `missed` (nothing matched), `confused` (another intent), `false alarm` (it is out of scope), or
            `incomplete` (some of several).
        best: The best intent, matched or not.
        score: Its score.
        threshold: The lowest score that matches.
        best_line: The training line of that intent that is most similar to the message.
        expected_score: The best score of an expected intent; None if none is expected or known.
        clauses: The parts into which the message was split.
    """

    line: int
    text: str
    expected: tuple[str, ...]
    got: tuple[str, ...]
    kind: Mistake
    best: str
    score: float
    threshold: float
    best_line: str
    expected_score: float | None
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IntentTiming:
    """How long an evaluation took.

    Attributes:
        fit_seconds: Fitting and thresholds, without embedding.
        messages_ms: Routing of some messages in turn, with embedding.
    """

    fit_seconds: float
    messages_ms: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class IntentFigures:
    """The figures; `docs/reference/evaluation.md` defines each."""

    accuracy: float | None
    accuracy_at_threshold: float | None
    macro_f1: float | None
    out_of_scope_recall: float | None
    auroc: float | None
    exact_match: float | None
    multi_f1: float | None
    p50_ms: float | None
    p95_ms: float | None
    fit_seconds: float
    intents: int
    lines: int
    tests: int
    tests_out_of_scope: int
    tests_with_several: int
    unknown_intents: int


def intent_figures(
    routed: Sequence[RoutedLine], timing: IntentTiming, *, intents: Sequence[str], lines: int
) -> IntentFigures:
    """Compute the figures.

    Args:
        routed: One entry for each test line.
        timing: How long it took.
        intents: The names of the trained intents.
        lines: Number of training lines.
    """
    single = [one for one in routed if len(one.expected) == 1]
    outside = [one for one in routed if not one.expected]
    several = [one for one in routed if len(one.expected) > 1]
    inside = [one for one in routed if one.expected] if several else []
    return IntentFigures(
        accuracy=mean(float(one.judged.best == one.expected[0]) for one in single),
        accuracy_at_threshold=mean(float(one.got == one.expected) for one in single),
        macro_f1=_macro_f1(single),
        out_of_scope_recall=mean(float(not one.got) for one in outside),
        auroc=auc([one.judged.score for one in routed if one.expected], [one.judged.score for one in outside]),
        exact_match=mean(float(set(one.got) == set(one.expected)) for one in inside),
        multi_f1=_pair_f1(inside),
        p50_ms=percentile(timing.messages_ms, 0.5),
        p95_ms=percentile(timing.messages_ms, 0.95),
        fit_seconds=timing.fit_seconds,
        intents=len(intents),
        lines=lines,
        tests=len(routed),
        tests_out_of_scope=len(outside),
        tests_with_several=len(several),
        unknown_intents=len({name for one in routed for name in one.expected} - set(intents)),
    )


def _macro_f1(single: Sequence[RoutedLine]) -> float | None:
    """The mean F1 over the expected and predicted intents; the best intent of a line is its prediction."""
    right, predicted, expected = Counter[str](), Counter[str](), Counter[str]()
    for one in single:
        predicted[one.judged.best] += 1
        expected[one.expected[0]] += 1
        right[one.expected[0]] += one.judged.best == one.expected[0]
    return mean(2 * right[name] / (predicted[name] + expected[name]) for name in predicted.keys() | expected.keys())


def _pair_f1(inside: Sequence[RoutedLine]) -> float | None:
    """F1 over all pairs of a message and an intent (micro average)."""
    if not inside:
        return None
    right = sum(len(set(one.got) & set(one.expected)) for one in inside)
    return 2 * right / sum(len(one.got) + len(one.expected) for one in inside)


def wrong_lines(routed: Sequence[RoutedLine]) -> list[WrongLine]:
    """The lines that were decided wrongly, in order, with the reason."""
    return [_wrong(one) for one in routed if set(one.got) != set(one.expected)]


def _wrong(one: RoutedLine) -> WrongLine:
    scores = one.judged.decision.scores
    best = max(scores, key=lambda score: score.score, default=IntentScore("", 0.0, 0.0))
    return WrongLine(
        line=one.line,
        text=one.text,
        expected=one.expected,
        got=one.got,
        kind=_kind(one),
        best=best.intent,
        score=best.score,
        threshold=best.threshold,
        best_line=best.best_line,
        expected_score=max((score.score for score in scores if score.intent in one.expected), default=None),
        clauses=one.judged.decision.clauses,
    )


def _kind(one: RoutedLine) -> Mistake:
    if not one.expected:
        return "false alarm"
    if not one.got:
        return "missed"
    return "incomplete" if set(one.got) < set(one.expected) else "confused"


FOLDS = 5

TIMED = 200
"""Messages that are timed, before their vectors are cached."""

_EMBEDDED_AT_ONCE = 256

_JUDGED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class IntentResult:
    """The result of one encoder.

    Attributes:
        model: The id of the encoder's model.
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
        database: The database with the cache of embeddings.
        caller: The caller whose tenant the cache is read for.
        encoders: One or more.
        train: Training lines.
        tests: Test lines; None for cross-validation on the training lines.
        progress: Called with the progress.

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
        database: The database with the cache of embeddings.
        caller: The caller whose tenant the cache is read for.
        encoder: Embeds lines and messages.
        progress: Called with the progress.
        title: A prefix of each stage, if there are several encoders.
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
        """Fit on all training lines and route all test lines."""
        model = (await self._encoder.warm()).id
        lines, background = await self._embedded_lines(train)
        started = time.perf_counter()
        trial = await asyncio.to_thread(fit_trial, lines, background)
        seconds = time.perf_counter() - started
        messages_ms = await self._timed(trial, tests[:TIMED])
        routed = await self._routed_lines(trial, tests)
        return _result(model, routed, IntentTiming(seconds, messages_ms), train)

    async def cross_validate(self, train: Sequence[IntentLine]) -> IntentResult:
        """Hold out a fifth of the lines in turn, fit on the others, and route those that were held out."""
        model = (await self._encoder.warm()).id
        lines, background = await self._embedded_lines(train)
        turns = fold_of(train)
        routed: list[RoutedLine] = []
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
            routed += await self._routed_lines(trial, held)
        routed.sort(key=lambda one: one.line)
        return _result(model, routed, IntentTiming(sum(seconds) / max(1, len(seconds)), messages_ms), train)

    async def _embedded_lines(self, train: Sequence[IntentLine]) -> tuple[LabelledLines, Matrix]:
        texts = tuple(line.text for line in train)
        vectors = await self._vectors([*texts, *BACKGROUND], "Embedding lines")
        names = tuple(line.intents[0] if line.intents else "" for line in train)
        return LabelledLines(texts, names, vectors[: len(texts)]), vectors[len(texts) :]

    async def _timed(self, trial: Trial, tests: Sequence[IntentLine]) -> tuple[float, ...]:
        """Milliseconds of each message, routed one after the other as in use."""
        spent: list[float] = []
        for place, line in enumerate(tests):
            started = time.perf_counter()
            pieces = pieces_of(line.text)
            trial.judge(pieces, await self._encoder.embed_queries(pieces.texts, prefixed=True))
            spent.append((time.perf_counter() - started) * 1000)
            self._progress("Timing", place + 1, len(tests))
            await asyncio.sleep(PAUSE_SECONDS)
        return tuple(spent)

    async def _routed_lines(self, trial: Trial, tests: Sequence[IntentLine]) -> list[RoutedLine]:
        cut = [pieces_of(line.text) for line in tests]
        texts = list(dict.fromkeys(text for pieces in cut for text in pieces.texts))
        vectors = await self._vectors(texts, "Embedding tests")
        place = {text: row for row, text in enumerate(texts)}
        routed: list[RoutedLine] = []
        for start in range(0, len(tests), _JUDGED_AT_ONCE):
            batch = list(zip(tests, cut, strict=True))[start : start + _JUDGED_AT_ONCE]
            routed += await asyncio.to_thread(_routed, trial, batch, vectors, place)
            self._progress("Asking", len(routed), len(tests))
        return routed

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


def _routed(
    trial: Trial, batch: Sequence[tuple[IntentLine, Pieces]], vectors: Matrix, place: dict[str, int]
) -> list[RoutedLine]:
    return [
        RoutedLine(
            line.text, line.line, line.intents, trial.judge(pieces, vectors[[place[text] for text in pieces.texts]])
        )
        for line, pieces in batch
    ]


def _result(
    model: str, routed: Sequence[RoutedLine], timing: IntentTiming, train: Sequence[IntentLine]
) -> IntentResult:
    names = sorted({name for line in train for name in line.intents})
    return IntentResult(model, intent_figures(routed, timing, intents=names, lines=len(train)), wrong_lines(routed))


def fold_of(train: Sequence[IntentLine]) -> np.ndarray:
    """The fold that holds out each line, int32 (lines,): the lines of an intent take turns.

    An intent's only line is never held out (-1): without it the intent would be unknown.
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
