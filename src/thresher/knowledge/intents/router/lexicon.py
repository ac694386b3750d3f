"""Routing without vectors: keywords, and BM25 over the training lines.

Words are compared as the index compares them: case, plural and camelCase make no difference.

Invariant: pure; a lexicon needs no model, so it exists before any embedding does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from thresher.knowledge.intents.router.calibration import hits_of, sigmoid
from thresher.knowledge.intents.router.records import EVERYDAY, Floats, Numbers, TextScores, Training
from thresher.search import query_terms, terms

Phrase: TypeAlias = tuple[str, ...]
_LONGEST = 6
"""Terms of the longest keyword that is looked for."""


@dataclass(frozen=True, slots=True)
class Keywords:
    """Keywords prepared for lookup.

    Attributes:
        owners: Index terms of a keyword to the intents that have it, each with the keyword as written.
        longest: Terms of the longest.
    """

    owners: Mapping[Phrase, tuple[tuple[int, str], ...]] = field(
        default_factory=dict[Phrase, "tuple[tuple[int, str], ...]"]
    )
    longest: int = 0

    def found(self, text: str) -> dict[int, tuple[str, ...]]:
        """Return, by intent index, the keywords that a text holds, in the text's order."""
        if not self.owners:
            return {}
        words = terms(text)
        held: dict[int, list[str]] = {}
        for start in range(len(words)):
            for stop in range(start + 1, min(start + self.longest, len(words)) + 1):
                for intent, keyword in self.owners.get(tuple(words[start:stop]), ()):
                    if keyword not in held.setdefault(intent, []):
                        held[intent].append(keyword)
        return {intent: tuple(found) for intent, found in held.items()}


def keywords_of(by_intent: Sequence[Sequence[str]]) -> Keywords:
    """Prepare the keywords of all intents; those of stop words only, or longer than six terms, are left out."""
    owners: dict[Phrase, list[tuple[int, str]]] = {}
    for intent, words in enumerate(by_intent):
        for word in dict.fromkeys(words):
            phrase = tuple(terms(word))
            if 0 < len(phrase) <= _LONGEST:
                owners.setdefault(phrase, []).append((intent, word))
    return Keywords({phrase: tuple(named) for phrase, named in owners.items()}, max(map(len, owners), default=0))


THRESHOLD: Final = 0.5
"""The least score that matches, for every intent."""
_SLOPE: Final = 9.0
_MIDDLE: Final = 0.45
"""Chosen on the training and validation parts of CLINC150, as packs of its topics: with 150 lines each it keeps 6 in 10
messages and lets 3 in 100 foreign ones pass; words alone cannot do much better."""
_KEYWORD: Final = 0.25


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of a training.

    Attributes:
        intents: Names, in the order of all columns.
        labels: int32 (lines + near misses,), each line's intent, then the intent that each near miss is not.
        lines: Number of lines among these.
        postings: For each term the lines and near misses that hold it, int32 (n,).
        weights: Inverse document frequency of each term, everyday messages included.
        unknown: That of a term that no line holds.
        lengths: float32 (lines + near misses,), the sum of the weights of each line's terms.
        keywords: Prepared for lookup.
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
    """Return the words of a training; 15,000 lines take less than a second."""
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

    A line's score is the weight of the terms that it shares with the text, as the mean of its shares of the text's and
    of the line's weight. What a near miss has above the best line is subtracted, and a keyword of the intent adds.

    Args:
        lexicon: Of the training.
        texts: The texts to score.

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
    """Return what each line shares with a text, float32 (lines,), 0 to 1."""
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
