"""What anybody would write first: head, head and tail, BM25 over plain chunks, nearest plain chunks.

Invariant: pure; a baseline keeps the same budget as the product and is judged by the same figures.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from thresher.embedding import Matrix, count_tokens
from thresher.evaluation.documents_reader import Span
from thresher.search import query_terms, terms

CHUNK_CHARACTERS = 800
"""Plain chunks: about 200 tokens, ended at a line break, a full stop or a blank, whichever comes first from the end."""
K1, B = 1.5, 0.75
"""The textbook's constants of BM25 (Robertson and Zaragoza, 2009)."""
CHARACTERS_A_TOKEN = 32
"""Beyond this many characters a token no text is looked at: runs of blanks are the only ones that come near."""
_LEAST_SHARE = 0.5
_BREAKS = ("\n\n", "\n", ". ", " ")


def plain_chunks(text: str) -> list[Span]:
    """A text cut every 800 characters, at the best break in the second half of each piece."""
    chunks: list[Span] = []
    start = 0
    while start < len(text):
        end = min(start + CHUNK_CHARACTERS, len(text))
        if end < len(text):
            end = _break_before(text, start + int(CHUNK_CHARACTERS * _LEAST_SHARE), end)
        chunks.append(Span(start, end))
        start = end
    return chunks


def head(text: str, budget: int) -> list[Span]:
    """As much of the beginning as fits."""
    return [Span(0, _longest(text, budget))]


def head_and_tail(text: str, budget: int) -> list[Span]:
    """Half of the budget for the beginning, half for the end."""
    first = _longest(text, budget // 2)
    return [Span(0, first), Span(max(first, _last(text, budget // 2)), len(text))]


def best_chunks(text: str, chunks: Sequence[Span], scores: Sequence[float], budget: int) -> list[Span]:
    """The best chunks that fit, in the document's order; one that does not fit is passed over."""
    room = budget
    taken: list[Span] = []
    for place in sorted(range(len(chunks)), key=lambda place: -scores[place]):
        tokens = count_tokens(text[chunks[place].start : chunks[place].end])
        if tokens <= room:
            taken.append(chunks[place])
            room -= tokens
    return sorted(taken, key=lambda span: span.start)


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


def _break_before(text: str, low: int, high: int) -> int:
    for mark in _BREAKS:
        place = text.rfind(mark, low, high)
        if place >= 0:
            return place + len(mark)
    return high


def _longest(text: str, budget: int) -> int:
    """Where the longest beginning ends that costs no more than a budget; at a word."""
    length = _most(min(len(text), budget * CHARACTERS_A_TOKEN), lambda length: count_tokens(text[:length]) <= budget)
    blank = re.search(r"\s\S*\Z", text[:length]) if length < len(text) else None
    return blank.start() if blank else length


def _last(text: str, budget: int) -> int:
    """Where the longest end begins that costs no more than a budget; at a word."""
    most = min(len(text), budget * CHARACTERS_A_TOKEN)
    start = len(text) - _most(most, lambda length: count_tokens(text[len(text) - length :]) <= budget)
    blank = re.compile(r"\s").search(text, start) if start else None
    return blank.end() if blank else start


def _most(high: int, fits: Callable[[int], bool]) -> int:
    """The greatest length from 0 that fits, found by halving."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
