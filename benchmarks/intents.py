"""Intents: which one, and whether any, beside two plain rules on the same vectors in the same run.

BANKING77 (Casanueva and others, 2020) and CLINC150 (Larson and others, 2019), their 5-shot, 10-shot and full training
parts. Beside Thresher: the rule of the library semantic-router (mean cosine of each intent's lines among the five
nearest, a fixed threshold of 0.5), written here, and the intent of the nearest line from a cosine of 0.5. Nothing is
chosen on a test part: the one threshold that the table asks for is the one with the greatest sum of in-scope accuracy
and out-of-scope recall on the validation part and its out-of-scope questions, for each rule in the same way.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine, multi_intent
from benchmarks.multi_intent import Encode, Line, folder, single
from thresher.core import Settings
from thresher.embedding import Matrix, open_encoder
from thresher.evaluation.metrics import auc, percentile
from thresher.knowledge.intents.router.fitted import Fitted, score
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.records import EVERYDAY, Training, Vectors, read_lines
from thresher.packs import BUILT_IN

SETS = ("banking77", "clinc150")
PARTS = {"train_5": "5_shot", "train_10": "10_shot", "train": "full"}
COSINE = 0.5
"""The fixed threshold of both plain rules."""
NEAREST = 5
_TIMED = 500
_BATCH = 512

Values: TypeAlias = NDArray[np.float32]
Rule: TypeAlias = Callable[[Matrix], Values]
"""Vectors to the score of each intent, float32 (texts, intents)."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One training part: names, lines and their vectors."""

    names: tuple[str, ...]
    labels: NDArray[np.int32]
    vectors: Matrix

    def numbers(self, lines: Sequence[Line]) -> NDArray[np.int32]:
        """The intent of each line."""
        return np.array([self.names.index(next(iter(line.intents))) for line in lines], np.int32)


def out_of_scope(part: str) -> list[str]:
    """Questions of CLINC150 that none of its intents answers: `oos_train`, `oos_val`, `oos_test`."""
    rows = json.loads((folder() / "clinc150" / "data_full.json").read_text(encoding="utf-8"))[part]
    return [text.strip() for text, _ in rows]


def remembering(encode: Encode) -> Encode:
    """An encoder that embeds each text once a run."""
    known: dict[str, Values] = {}

    async def encoded(texts: Sequence[str]) -> Matrix:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(new), _BATCH):
            some = new[start : start + _BATCH]
            known.update(zip(some, await encode(some), strict=True))
        return np.stack([known[text] for text in texts])

    return encoded


async def read(name: str, part: str, encode: Encode) -> Bench:
    """One training part."""
    lines = single(name, part)
    names = tuple(sorted({next(iter(line.intents)) for line in lines}))
    labels = np.array([names.index(next(iter(line.intents))) for line in lines], np.int32)
    return Bench(names, labels, await encode([line.text for line in lines]))


async def fitted_on(bench: Bench, encode: Encode) -> tuple[Fitted, dict[str, float]]:
    """The router and the seconds that its fit took, thresholds and all: on the clock, and of all cores together."""
    none = np.empty((0, bench.vectors.shape[1]), np.float32)
    nothing = ((),) * len(bench.names)
    lines = ("",) * len(bench.labels)
    training = Training(bench.names, lines, bench.labels, (), np.empty(0, np.int32), nothing)
    vectors = Vectors(bench.vectors, none, await encode(EVERYDAY))
    started, spent = time.perf_counter(), time.process_time()
    fitted = fit(training, vectors)
    return fitted, {
        "fit_seconds": round(time.perf_counter() - started, 2),
        "fit_cpu_seconds": round(time.process_time() - spent, 2),
    }


def ours(fitted: Fitted) -> Rule:
    """Thresher's score."""
    return lambda vectors: score(fitted, vectors, ("",) * len(vectors)).score


def top_five_mean(bench: Bench) -> Rule:
    """The rule of semantic-router: of each intent among the five nearest lines, their mean cosine."""

    def rule(vectors: Matrix) -> Values:
        values = np.full((len(vectors), len(bench.names)), -1.0, np.float32)
        for row, cosines in zip(values, vectors @ bench.vectors.T, strict=True):
            nearest = np.argpartition(-cosines, NEAREST)[:NEAREST]
            for intent in np.unique(bench.labels[nearest]):
                row[intent] = cosines[nearest[bench.labels[nearest] == intent]].mean()
        return values

    return rule


def nearest_line(bench: Bench) -> Rule:
    """The greatest cosine of each intent's lines."""

    def rule(vectors: Matrix) -> Values:
        values = np.full((len(vectors), len(bench.names)), -1.0, np.float32)
        for intent in range(len(bench.names)):
            values[:, intent] = (vectors @ bench.vectors[bench.labels == intent].T).max(axis=1)
        return values

    return rule


def accuracy(values: Values, labels: NDArray[np.int32]) -> float:
    """Share of lines whose best intent is theirs, per cent."""
    return _percent((values.argmax(axis=1) == labels).mean())


def scope(values: Values, labels: NDArray[np.int32], foreign: Values, limits: Values | float) -> dict[str, float]:
    """In-scope accuracy (right and not refused) and out-of-scope recall (refused), per cent."""

    def taken(some: Values) -> NDArray[np.bool_]:
        best = some.argmax(axis=1)
        return some.max(axis=1) >= (limits[best] if isinstance(limits, np.ndarray) else limits)

    right = (values.argmax(axis=1) == labels) & taken(values)
    return {"in_scope_accuracy": _percent(right.mean()), "out_of_scope_recall": _percent(1 - taken(foreign).mean())}


async def _part(name: str, part: str, encode: Encode) -> dict[str, Any]:
    """One row: accuracies on the test part, the seconds of the fit, the time of one text."""
    bench = await read(name, part, encode)
    tests = single(name, "test")
    vectors, labels = await encode([line.text for line in tests]), bench.numbers(tests)
    fitted, seconds = await fitted_on(bench, encode)
    rules = {"thresher": ours(fitted), "top_5_mean": top_five_mean(bench), "nearest_line": nearest_line(bench)}
    row: dict[str, Any] = {rule: accuracy(scored(vectors), labels) for rule, scored in rules.items()}
    row |= {"lines": len(bench.labels), **seconds, **_times(fitted, vectors)}
    if (name, part) == ("clinc150", "train"):
        row["scope"] = await _scope(bench, fitted, rules, encode)
    return row


def _times(fitted: Fitted, vectors: Matrix) -> dict[str, float | None]:
    """Milliseconds to score one text, its vector ready."""
    times: list[float] = []
    for row in range(0, len(vectors), max(len(vectors) // _TIMED, 1)):
        started = time.perf_counter()
        score(fitted, vectors[row : row + 1], ("what people write",))
        times.append((time.perf_counter() - started) * 1000)
    return {"p50_ms": _rounded(percentile(times, 0.5)), "p95_ms": _rounded(percentile(times, 0.95))}


async def _scope(bench: Bench, fitted: Fitted, rules: dict[str, Rule], encode: Encode) -> dict[str, Any]:
    """Out of scope on CLINC150: one threshold from validation data, the product's own, the fixed ones."""
    valid = single("clinc150", "valid")
    kept, rejected = await encode([line.text for line in valid]), await encode(out_of_scope("oos_val"))
    tests = single("clinc150", "test")
    vectors, labels = await encode([line.text for line in tests]), bench.numbers(tests)
    strangers = await encode(out_of_scope("oos_test"))
    found: dict[str, Any] = {"out_of_scope": len(strangers)}
    for rule, scored in rules.items():
        values, foreign = scored(vectors), scored(strangers)
        limit = _limit(scored(kept), bench.numbers(valid), scored(rejected))
        found[rule] = {
            "one_threshold_from_validation": scope(values, labels, foreign, limit),
            "auroc": _rounded(auc(values.max(axis=1).tolist(), foreign.max(axis=1).tolist())),
        }
        own = fitted.limits if rule == "thresher" else COSINE
        found[rule]["own_thresholds"] = scope(values, labels, foreign, own)
    return found


def _limit(values: Values, labels: NDArray[np.int32], foreign: Values) -> float:
    """The threshold at which in-scope accuracy and out-of-scope recall have the greatest sum; the middle of a gap."""
    tops = np.concatenate([values.max(axis=1), foreign.max(axis=1)])
    right = values.argmax(axis=1) == labels
    gains = np.concatenate([right / len(labels), np.full(len(foreign), -1 / len(foreign))])
    order = np.argsort(-tops)
    last = int(np.cumsum(gains[order]).argmax())
    return float(tops[order][last : last + 2].mean())


async def _packs(encode: Encode) -> dict[str, Any]:
    """The built-in packs: their held-out questions, their near misses, and questions from elsewhere."""
    folders = sorted(path for path in BUILT_IN.iterdir() if (path / "examples.txt").is_file())
    lines = [read_lines((path / "examples.txt").read_text(encoding="utf-8")) for path in folders]
    misses = [read_lines((path / "not_examples.txt").read_text(encoding="utf-8")) for path in folders]
    asked = [json.loads((path / "evals" / "eval_queries.json").read_text(encoding="utf-8")) for path in folders]
    training = Training(
        tuple(path.name for path in folders),
        tuple(line for some in lines for line in some),
        np.repeat(np.arange(len(folders)), [len(some) for some in lines]).astype(np.int32),
        tuple(line for some in misses for line in some),
        np.repeat(np.arange(len(folders)), [len(some) for some in misses]).astype(np.int32),
        ((),) * len(folders),
    )
    fitted = fit(
        training, Vectors(await encode(training.lines), await encode(training.negatives), await encode(EVERYDAY))
    )
    found: dict[str, Any] = {}
    for number, path in enumerate(folders):
        wanted = [row["query"] for row in asked[number] if row["should_trigger"]]
        near = [row["query"] for row in asked[number] if not row["should_trigger"]]
        found[path.name] = {
            "lines": len(lines[number]),
            "matched": _percent(_matches(fitted, await encode(wanted), number)),
            "near_misses_matched": _percent(_matches(fitted, await encode(near), number)),
            "elsewhere_matched": _percent(_matches(fitted, await encode(out_of_scope("oos_test")), number)),
        }
    return found


def _matches(fitted: Fitted, vectors: Matrix, intent: int) -> float:
    """Share of texts that match an intent."""
    values = ours(fitted)(vectors)
    return float(((values.argmax(axis=1) == intent) & (values[:, intent] >= fitted.limits[intent])).mean())


async def run() -> dict[str, Any]:
    """Measure all sets and save the figures."""
    encoder = open_encoder(Settings())

    async def prefixed(texts: Sequence[str]) -> Matrix:
        return await encoder.embed_queries(texts, prefixed=True)

    encode, figures = remembering(prefixed), dict[str, Any]()
    try:
        for name in SETS:
            figures[name] = {label: await _part(name, part, encode) for part, label in PARTS.items()}
            print(name, figures[name], flush=True)
        figures["packs"] = await _packs(encode)
        machine.save("intents", figures)
        figures["mixatis"] = await multi_intent.measure(encode)
    finally:
        await encoder.close()
    print(figures["packs"], figures["mixatis"], machine.save("intents", figures), flush=True)
    return figures


def _percent(share: float) -> float:
    return round(100 * float(share), 1)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
