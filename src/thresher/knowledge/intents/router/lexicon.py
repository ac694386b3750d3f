"""The way without vectors: keywords, and BM25 over the training lines.

Invariant: pure; a lexicon needs no model, so that it is there before any embedding is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.intents.router.calibration import hits_of, sigmoid
from thresher.knowledge.intents.router.everyday import EVERYDAY
from thresher.knowledge.intents.router.keywords import Keywords, keywords_of
from thresher.knowledge.intents.router.records import Floats, Numbers, TextScores, Training
from thresher.search import query_terms, terms

THRESHOLD: Final = 0.5
"""The least score that matches, for every intent."""
_SLOPE: Final = 9.0
_MIDDLE: Final = 0.45
"""Chosen on the training and validation parts of CLINC150, as packs of its topics: of 150 lines each it keeps 6 in 10
messages and lets 3 in 100 foreign ones pass; words alone cannot do much better."""
_KEYWORD: Final = 0.25


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of a training.

    Attributes:
        intents: Names, in the order of all columns.
        labels: int32 (lines + near misses,), each line's intent, then the intent that each near miss is not.
        lines: How many of these are lines.
        postings: For each term the lines and near misses that hold it, int32 (n,).
        weights: Inverse document frequency of each term, everyday messages counted in.
        unknown: That of a term that no line holds.
        lengths: float32 (lines + near misses,), what the terms of each weigh together.
        keywords: Ready to be looked up.
    """

    intents: tuple[str, ...]
    labels: Numbers
    lines: int
    postings: Mapping[str, Numbers]
    weights: Mapping[str, float]
    unknown: float
    lengths: Floats
    keywords: Keywords

    @property
    def thresholds(self) -> Mapping[str, float]:
        """The threshold of each intent."""
        return dict.fromkeys(self.intents, THRESHOLD)


def lexicon_of(training: Training) -> Lexicon:
    """Read the words of a training; 15,000 lines take less than a second."""
    lines = [set(terms(line)) for line in (*training.lines, *training.negatives)]
    counts = Counter(term for line in lines for term in line)
    counts.update(term for line in EVERYDAY for term in set(terms(line)))
    total = len(lines) + len(EVERYDAY)
    weights = {term: math.log1p((total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
    holders: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        for term in line:
            holders.setdefault(term, []).append(number)
    return Lexicon(
        training.intents,
        np.concatenate([training.labels, training.negative_labels]),
        len(training.lines),
        {term: np.array(numbers, np.int32) for term, numbers in holders.items()},
        weights,
        math.log1p((total + 0.5) / 0.5),
        np.array([sum(sorted(weights[term] for term in line)) for line in lines], np.float32),
        keywords_of(training.keywords),
    )


def score_words(lexicon: Lexicon, texts: Sequence[str]) -> TextScores:
    """Score texts by their words.

    A line's score is the weight of the terms that it shares with the text, as a share of what the text and the line
    weigh (the mean of both shares). What a near miss has above the best line is taken off, and a keyword of the intent
    adds.

    Args:
        lexicon: Of the training.
        texts: What was asked.

    Returns:
        `similarity` is 0 throughout: there is none without vectors.
    """
    held = tuple(lexicon.keywords.found(text) for text in texts)
    best, missed = (np.zeros((len(texts), len(lexicon.intents)), np.float32) for _ in range(2))
    nearest = np.full(best.shape, -1, np.int32)
    for text, words in enumerate(texts):
        shares = _shares(lexicon, words)
        # From the least to the greatest, so that the last one written is the best.
        order = np.flatnonzero(shares)
        order = order[np.argsort(shares[order], kind="stable")]
        own, others = order[order < lexicon.lines], order[order >= lexicon.lines]
        best[text, lexicon.labels[own]] = shares[own]
        nearest[text, lexicon.labels[own]] = own
        missed[text, lexicon.labels[others]] = shares[others]
    best -= np.maximum(missed - best, 0)
    values = np.clip(best + np.float32(_KEYWORD) * hits_of(held, len(lexicon.intents)), 0, 1)
    odds = (_SLOPE * (values - _MIDDLE)).astype(np.float32)
    score = np.where(values > 0, sigmoid(odds), np.float32(0))
    probability = values / np.maximum(values.sum(axis=1, keepdims=True), np.float32(1e-6))
    return TextScores(probability, score, np.zeros_like(score), nearest, held)


def _shares(lexicon: Lexicon, text: str) -> Floats:
    """What each line shares with a text, float32 (lines,), 0 to 1."""
    shared = np.zeros(len(lexicon.labels), np.float32)
    whole = 0.0
    for term in query_terms(text):
        weight = lexicon.weights.get(term, lexicon.unknown)
        whole += weight
        if term in lexicon.postings:
            shared[lexicon.postings[term]] += np.float32(weight)
    if not whole:
        return shared
    both = shared / np.float32(whole) + shared / np.maximum(lexicon.lengths, np.float32(1e-6))
    return (both / 2).astype(np.float32)
