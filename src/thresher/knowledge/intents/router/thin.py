"""Stand-in."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.embedding import Matrix
from thresher.knowledge.intents.router.records import TextScores, Training, Vectors

EDITION = 0


@dataclass(frozen=True)
class Fitted:
    intents: tuple[str, ...]
    lines: Matrix
    labels: np.ndarray

    @property
    def thresholds(self) -> Mapping[str, float]:
        return dict.fromkeys(self.intents, 0.78)

    def packed(self) -> bytes:
        out = io.BytesIO()
        np.savez(out, intents=np.array(self.intents), lines=self.lines, labels=self.labels)
        return out.getvalue()


def unpacked(data: bytes) -> Fitted:
    with np.load(io.BytesIO(data)) as held:
        return Fitted(tuple(str(n) for n in held["intents"]), held["lines"], held["labels"])


def fit(training: Training, vectors: Vectors, *, false_alarms: float = 0.05) -> Fitted:
    return Fitted(training.intents, vectors.lines, training.labels)


def score(fitted: Fitted, vectors: Matrix, texts: Sequence[str]) -> TextScores:
    n, k = len(texts), len(fitted.intents)
    best = np.zeros((n, k), np.float32)
    near = np.full((n, k), -1, np.int32)
    if n and k:
        cos = vectors @ fitted.lines.T
        for i in range(k):
            idx = np.flatnonzero(fitted.labels == i)
            best[:, i] = cos[:, idx].max(1)
            near[:, i] = idx[cos[:, idx].argmax(1)]
    total = np.maximum(best.sum(1, keepdims=True), 1e-6)
    return TextScores(best / total, best, best, near, tuple({} for _ in texts))


def score_words(training: Training, texts: Sequence[str]) -> TextScores:
    n, k = len(texts), len(training.intents)
    best = np.zeros((n, k), np.float32)
    near = np.full((n, k), -1, np.int32)
    for t, text in enumerate(texts):
        words = set(text.lower().split())
        for number, line in enumerate(training.lines):
            other = set(line.lower().split())
            value = len(words & other) / max(1, len(words | other))
            i = training.labels[number]
            if value > best[t, i]:
                best[t, i], near[t, i] = value, number
    total = np.maximum(best.sum(1, keepdims=True), 1e-6)
    return TextScores(best / total, best, best * 0, near, tuple({} for _ in texts))
