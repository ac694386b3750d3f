"""Quotations in a query: texts that shall stand in an item word for word.

Invariant: pure; an odd quotation mark is an ordinary character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from thresher.search.arrays import Ids
from thresher.search.bm25 import inverse_frequency
from thresher.search.scoring import QUOTED, ByWords
from thresher.search.terms import query_terms

MOST_READ: Final = 400
"""Items whose texts are read to look for a quotation, the best by their words."""
_MOST: Final = 4
_READ: Final = 4_000
_QUOTATION: Final = re.compile(r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|«([^»\n]{2,200})»|„([^“”\n]{2,200})[“”]")
_WORD: Final = re.compile(r"\w+")
_WEIGHT: Final = 2.0
"""A quotation counts as two words that are as rare as it is."""


def quotations(query: str) -> tuple[str, ...]:
    """What a query quotes, in order; a quotation without any word is none."""
    found = [match[match.lastindex or 0] for match in _QUOTATION.finditer(query[:_READ])]
    return tuple(dict.fromkeys(text for text in found if query_terms(text)))[:_MOST]


def holders(quotation: str, words: ByWords) -> Ids:
    """Rows that hold all words of a quotation: those whose texts must be read, best first."""
    asked = query_terms(quotation)
    if not asked or any(term not in words.cells for term in asked):
        return np.empty(0, np.int64)
    rows = words.cells[asked[0]][0]
    for term in asked[1:]:
        rows = np.intersect1d(rows, words.cells[term][0], assume_unique=True)
    return rows[np.argsort(-words.scores[rows], kind="stable")][:MOST_READ]


def stands_in(quotation: str, text: str) -> bool:
    """Whether a text holds a quotation, word for word; case, spaces and punctuation do not count."""
    return _plain(quotation) in _plain(text)


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def quoted(words: ByWords, found: Mapping[str, Sequence[int]]) -> ByWords:
    """The words' scores, with those of the quotations.

    Args:
        words: What the words say.
        found: Quotation to the rows that hold it; a quotation that no item holds is left out.
    """
    scores, tiers = words.scores.copy(), words.tiers.copy()
    size = len(scores)
    held = np.zeros(size, np.int32)
    for rows in found.values():
        places = np.asarray(rows, np.int64)
        scores[places] += np.float32(_WEIGHT * inverse_frequency(size, len(places)))
        held[places] += 1
    tiers[(held == len(found)) & (held > 0)] = QUOTED
    return replace(words, scores=scores, tiers=tiers)
