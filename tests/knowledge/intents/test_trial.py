"""Fits outside of the product, for evaluations."""

from __future__ import annotations

import numpy as np

from thresher.knowledge.intents.router.trial import LabelledLines, fit_trial


def spread(count: int, seed: int) -> np.ndarray:
    """Unit vectors in all directions, float32 (count, 32)."""
    vectors = np.random.default_rng(seed).normal(size=(count, 32)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_line_that_stands_twice_counts_once() -> None:
    """Else a line held out to fit a threshold would be among the known ones."""
    vectors, background = spread(24, 1), spread(60, 2)
    texts = tuple(f"line {number}" for number in range(24))
    intents = tuple("ab"[number % 2] for number in range(24))
    once = fit_trial(LabelledLines(texts, intents, vectors), background)

    twice = fit_trial(LabelledLines(texts * 2, intents * 2, np.concatenate([vectors, vectors])), background)

    assert twice.lines == once.lines == texts
    assert twice.fitted.thresholds == once.fitted.thresholds
    assert twice.fitted.packed() == once.fitted.packed()
