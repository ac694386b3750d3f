"""Where a text can be cut, and the price of each cut.

Invariant: pure; one pass over any text; a piece never has more than `WHOLE` characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.embedding import count_tokens

WHOLE: Final = 1_000
"""Characters; a sentence up to this length is never cut, because the answer to a question is often one sentence."""
WHOLE_TOKENS: Final = 240
"""Tokens; in scripts with a token per character, half as many characters are a paragraph."""
PIECE: Final = 400
"""Characters of each piece of a longer one, which is usually not a sentence: a record, a list of numbers."""
SENTENCE: Final = 0.15
"""Price of a cut between two sentences; a cut between two paragraphs is free."""
LINE: Final = 0.3
"""Price between two lines that are not sentences: a list without marks, a log, verse."""
CLAUSE: Final = 0.8
"""Price inside a sentence, after a comma or the like."""
WORD: Final = 1.5
"""Price inside a sentence, between two words, or inside a word without an end."""
_LONG_LINE: Final = 200
"""Characters; lines longer than this end only where a paragraph ends."""
_CLOSING: Final = "\"'\u201d\u2019)\\]*_`"
_OPENING: Final = "\"'\u201c\u2018(\\[*_`\u00bf\u00a1"
_ENDS: Final = re.compile(
    r"(?P<line>(?<![ \t])[ \t]*\n\s*)"
    r"|(?P<written>(?:\\n)+)"
    r"|(?P<wide>[\u3002\uff01\uff1f]+[\u300d\u300f\u201d\u2019)\]]*\s*)"
    rf"|(?P<sentence>(?<=[.!?\u2026])[{_CLOSING}]*[ \t\u00a0]+(?=[{_OPENING}]*[^\W a-z]))"
    rf"|(?P<lower>(?<=[.!?\u2026])[{_CLOSING}]*[ \t\u00a0]+(?=[{_OPENING}]*[a-z]))"
    r"|(?P<record>(?<=\}), (?=\{))"
)
_ABBREVIATION: Final = re.compile(
    rf"(?:^|[\s{_OPENING}])(?:[A-Z]|[A-Za-z](?:\.[A-Za-z])+|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|cf|et al|Figs?|Eqs?|Sec|Ch|"
    r"Vol|Nos?|pp?|eds?|approx|Inc|Ltd|Co|Corp|lit|ca|resp|incl|etc)\.$"
)
_LOWER_ABBREVIATION: Final = re.compile(_ABBREVIATION.pattern, re.IGNORECASE)
_UNCASED: Final = 3
"""Sentences that must begin in lower case, and be more than those that do not, for a text to count as written so."""
_SOFT: Final = re.compile(r"[,;:)\]}>|\u2013\u2014][ \t]*|[\u3001\uff0c\uff1b\uff1a]")
_BLANK: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A range that is not cut further.

    Attributes:
        start: First character.
        end: Character after the last; the next piece starts there.
        price: Price of a cut before it.
    """

    start: int
    end: int
    price: float


def pieces(text: str, start: int, end: int) -> Iterator[TextPiece]:
    """Cut a range of text at the ends of its sentences and lines, and between words if those are far apart."""
    place, price = start, 0.0
    ends = list(_ENDS.finditer(text, start, end))
    uncased = _is_uncased(ends)
    for match in ends:
        cost = _price(text, place, match, uncased=uncased)
        if cost is None or match.end() >= end:
            continue
        yield from _short(text, place, match.end(), price)
        place, price = match.end(), cost
    if place < end:
        yield from _short(text, place, end, price)


def _is_uncased(ends: Sequence[re.Match[str]]) -> bool:
    """Whether a text is written without capitals, so that its sentences begin in lower case."""
    lower = sum(match.lastgroup == "lower" for match in ends)
    return lower >= _UNCASED and lower > sum(match.lastgroup == "sentence" for match in ends)


def _price(text: str, place: int, match: re.Match[str], *, uncased: bool) -> float | None:
    """Price of a cut at a possible end; None if it is not an end."""
    kind = match.lastgroup
    if kind in ("sentence", "lower"):
        if kind == "lower" and not uncased:
            return None
        abbreviation = _LOWER_ABBREVIATION if uncased else _ABBREVIATION
        return None if abbreviation.search(text, max(place, match.start() - 12), match.start()) else SENTENCE
    if kind != "line":
        return SENTENCE
    if "\n" in match[0].strip(" \t")[1:] or match.start() - place > _LONG_LINE:
        return 0.0
    return SENTENCE if text[match.start() - 1 : match.start()] in ".!?…。:;" else LINE


def _short(text: str, start: int, end: int, price: float) -> Iterator[TextPiece]:
    """A sentence, in pieces if it is too long."""
    if end - start > WHOLE or (end - start > PIECE and count_tokens(text[start:end]) > WHOLE_TOKENS):
        while end - start > PIECE:
            cut, cost = _cut(text, start, start + PIECE)
            yield TextPiece(start, cut, price)
            start, price = cut, cost
    yield TextPiece(start, end, price)


def _cut(text: str, start: int, end: int) -> tuple[int, float]:
    """The last good place to cut a range, not in its first half."""
    half = start + (end - start) // 2
    for pattern, cost in ((_SOFT, CLAUSE), (_BLANK, WORD)):
        places = [match.end() for match in pattern.finditer(text, half, end)]
        if places:
            return places[-1], cost
    return end, WORD
