"""Plain rules to compare with: head, head and tail, BM25 over plain chunks, nearest plain chunks.

Invariant: pure; a baseline has the same budget as the product and is judged by the same figures.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from thresher.embedding import Matrix, count_tokens
from thresher.evaluation.document_figures import TextSpan
from thresher.search import query_terms, terms

CHUNK_CHARACTERS = 800
"""Characters of a plain chunk, about 200 tokens; it ends at the last line break, full stop or blank."""

K1, B = 1.5, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""

CHARACTERS_A_TOKEN = 32
"""A bound on the characters of a token: only runs of blanks come near it."""

_LEAST_SHARE = 0.5

_RANKS = 60
"""The usual constant of the fusion by reciprocal ranks."""

_BREAKS = ("\n\n", "\n", ". ", " ")


def plain_chunks(text: str) -> list[TextSpan]:
    """A text cut into chunks of at most 800 characters, at the best break in the second half of each."""
    chunks: list[TextSpan] = []
    start = 0
    while start < len(text):
        end = min(start + CHUNK_CHARACTERS, len(text))
        if end < len(text):
            end = _break_before(text, start + int(CHUNK_CHARACTERS * _LEAST_SHARE), end)
        chunks.append(TextSpan(start, end))
        start = end
    return chunks


def head(text: str, budget: int) -> list[TextSpan]:
    """As much of the beginning as fits."""
    return [TextSpan(0, _longest(text, budget))]


def head_and_tail(text: str, budget: int) -> list[TextSpan]:
    """Half of the budget from the beginning, half from the end."""
    first = _longest(text, budget // 2)
    return [TextSpan(0, first), TextSpan(max(first, _last(text, budget // 2)), len(text))]


def best_chunks(text: str, chunks: Sequence[TextSpan], scores: Sequence[float], budget: int) -> list[TextSpan]:
    """The best chunks that fit, in the document's order; one that does not fit is skipped."""
    texts = [text[chunk.start : chunk.end] for chunk in chunks]
    return sorted((chunks[place] for place in best_fitting(texts, scores, budget)), key=lambda span: span.start)


class PlainBM25:
    """BM25 over some texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(terms(text)) for text in texts]
        self._lengths = [sum(counts.values()) for counts in self._counts]
        self._mean = sum(self._lengths) / max(1, len(texts)) or 1.0
        self._documents = Counter(term for counts in self._counts for term in counts)

    def scores(self, question: str) -> list[float]:
        """The score of each text."""
        wanted = query_terms(question)
        return [self._score(wanted, place) for place in range(len(self._counts))]

    def _score(self, wanted: Sequence[str], place: int) -> float:
        counts, length = self._counts[place], self._lengths[place]
        total = 0.0
        for term in wanted:
            if frequency := counts[term]:
                documents = self._documents[term]
                idf = math.log1p((len(self._counts) - documents + 0.5) / (documents + 0.5))
                total += idf * frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / self._mean))
        return total


def nearest(question: Matrix, chunks: Matrix) -> list[float]:
    """Cosine of a question, (1, dimension), with each chunk, (n, dimension)."""
    return (chunks @ question[0]).tolist()


def fused(orders: Sequence[Sequence[float]]) -> list[float]:
    """Scores of several orders of the same texts as one, by reciprocal ranks (Cormack et al., 2009)."""
    total = [0.0] * len(orders[0])
    for scores in orders:
        for rank, place in enumerate(sorted(range(len(scores)), key=lambda place: -scores[place])):
            total[place] += 1 / (_RANKS + rank)
    return total


def best_fitting(texts: Sequence[str], scores: Sequence[float], budget: int) -> list[int]:
    """Places of the best texts that fit, best first; one that does not fit is skipped."""
    room = budget
    taken: list[int] = []
    for place in sorted(range(len(texts)), key=lambda place: -scores[place]):
        tokens = count_tokens(texts[place])
        if tokens <= room:
            taken.append(place)
            room -= tokens
    return taken


def _break_before(text: str, low: int, high: int) -> int:
    for mark in _BREAKS:
        place = text.rfind(mark, low, high)
        if place >= 0:
            return place + len(mark)
    return high


def _longest(text: str, budget: int) -> int:
    """The end of the longest beginning within a budget; at a word."""
    length = _most(min(len(text), budget * CHARACTERS_A_TOKEN), lambda length: count_tokens(text[:length]) <= budget)
    blank = re.search(r"\s\S*\Z", text[:length]) if length < len(text) else None
    return blank.start() if blank else length


def _last(text: str, budget: int) -> int:
    """The start of the longest end within a budget; at a word."""
    most = min(len(text), budget * CHARACTERS_A_TOKEN)
    start = len(text) - _most(most, lambda length: count_tokens(text[len(text) - length :]) <= budget)
    blank = re.compile(r"\s").search(text, start) if start else None
    return blank.end() if blank else start


def _most(high: int, fits: Callable[[int], bool]) -> int:
    """The greatest length from 0 that fits, by bisection."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
