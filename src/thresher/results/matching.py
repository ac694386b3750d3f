"""Scores the parts of one result by the words of a question.

The index of the other kinds has counted every word before a question comes. A result is read once, so only the words
of the question are looked for, in the text as it is: the arithmetic is the index's BM25, over these postings.

Invariant: pure; the time is that of a few passes over the text in C, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.results.parts import Parts
from thresher.search import Floats, Ids, Totals, postings_of, query_terms

_SHORT: Final = 4
"""Characters from which a stem is also found inside a word: `user` in `getUserName`."""
_MOST_TERMS: Final = 40
_MOST_PLACES: Final = 30_000
"""A word that occurs more often says nothing about where; its places are not collected."""
_LABEL: Final = 0.6
"""Weight of a word in the label of a part, next to one in the part."""
_EXACT: Final = 1.5
"""Weight of a name that the question writes as the result does: `ERR_42`, `/users/{id}`, `2024-05-01`, `v1.2.3`."""
_NAME: Final = re.compile(r"[\"'`“]([^\"'`”]{2,80})[\"'`”]|(?<![\w])(/?\w+(?:[-_./:@{}#+]+\w+)+[}/]?)")
_ENDING: Final = re.compile(rb"s|es|ed|ing")
_ASKING: Final = frozenset(
    """mani much give tell show find list name valu what which kind mean state say mention line entri record element
    item""".split()  # noqa: SIM905 - a text is easier to read
)
"""Stems that ask rather than name."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for.

    Attributes:
        literals: Lower-case forms of a word, without its ending, or a name as it is written.
        before: Whether it must begin a word.
        after: Whether the word must end there, but for an ending such as `s`.
        weight: How much it counts.
    """

    literals: tuple[bytes, ...]
    before: bool
    after: bool
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Matches:
    """The scores of the parts.

    Attributes:
        scores: float32 (n,), higher is better; 0 for a part without any word of the question.
        coverage: float32 (n,), 0 to 1, the share of the question's words, each by its rarity.
        places: By part that holds some, the first character of a rarer word, from its own start.
    """

    scores: Floats
    coverage: Floats
    places: Mapping[int, int]


def wanted_of(question: str) -> dict[str, Wanted]:
    """What to look for, by term; names as they are written come first."""
    wanted: dict[str, Wanted] = {}
    for match in _NAME.finditer(question):
        name = (match[1] or match[2]).strip().lower()
        if len(name) > 2:  # noqa: PLR2004 - shorter ones are words
            wanted[f"={name}"] = Wanted((name.encode(),), name[0].isalnum(), name[-1].isalnum(), _EXACT)
    asked = query_terms(question)
    for term in [one for one in asked if one not in _ASKING] or asked:
        wanted[term] = _word(term)
    return dict(list(wanted.items())[:_MOST_TERMS])


def _word(term: str) -> Wanted:
    encoded = term.encode()
    if term.isdigit() or len(term) < _SHORT:
        return Wanted((encoded,), before=True, after=term.isascii())
    if term.endswith("i"):
        return Wanted((encoded, encoded[:-1] + b"y"), before=False, after=False)
    return Wanted((encoded,), before=False, after=False)


def match(parts: Parts, question: str) -> Matches:
    """Score every part.

    Args:
        parts: The parts.
        question: What the caller wants to know.
    """
    size = len(parts)
    nothing = np.zeros(size, np.float32)
    wanted = wanted_of(question)
    if not size or not wanted:
        return Matches(nothing, nothing, {})
    hay, starts, ends = parts.octets(ascii_only=question.isascii())
    labels = "\n".join(name.replace("\n", " ") for name in parts.names).lower().encode("utf-8", "replace")
    breaks = np.flatnonzero(np.frombuffer(b"\n" + labels, np.uint8) == ord("\n"))
    lengths = (ends - starts).astype(np.float32)
    totals = Totals(size, float(lengths.sum()))
    scores, covered, total, rare = nothing.copy(), nothing.copy(), 0.0, list[Ids]()
    for one in wanted.values():
        places, named = _places(hay, one), _places(labels, one)
        if places is None or named is None:
            continue
        owners = np.searchsorted(starts, places, "right") - 1
        inside = (owners >= 0) & (places < ends[owners])
        counts = np.bincount(owners[inside], minlength=size).astype(np.float32)
        if len(named):
            of_labels = np.bincount(np.searchsorted(breaks, named, "right") - 1, minlength=len(breaks))
            counts += _LABEL * np.minimum(of_labels, 1).astype(np.float32)[parts.labels]
        holders = np.flatnonzero(counts)
        if not len(holders):
            continue
        posting = postings_of(totals, len(holders), holders, counts[holders], lengths[holders])
        scores[holders] += np.float32(one.weight) * posting.weights
        covered[holders] += np.float32(one.weight * posting.idf) * np.minimum(counts[holders], 1.0)
        total += one.weight * posting.idf
        if len(holders) < size / 4:
            rare.append(places[inside])
    coverage = covered / np.float32(total) if total else covered
    return Matches((scores * (0.5 + coverage)).astype(np.float32), coverage.astype(np.float32), _first(rare, starts))


def _first(rare: Sequence[Ids], starts: Ids) -> dict[int, int]:
    """The first place of a rarer word in each part."""
    if not rare:
        return {}
    places = np.sort(np.concatenate(rare))
    owners = np.searchsorted(starts, places, "right") - 1
    first, at = np.unique(owners, return_index=True)
    return dict(zip(first.tolist(), (places[at] - starts[first]).tolist(), strict=True))


def _places(hay: bytes, wanted: Wanted) -> Ids | None:
    """Where something is found; None if almost everywhere."""
    found: list[int] = []
    for literal in wanted.literals:
        if hay.count(literal) > _MOST_PLACES:
            return None
        length = len(literal)
        place = hay.find(literal)
        while place >= 0:
            if not (wanted.before or wanted.after) or _is_word(hay, place, length, wanted):
                found.append(place)
            place = hay.find(literal, place + length)
    return np.array(sorted(found) if len(wanted.literals) > 1 else found, np.int64)


def _is_word(hay: bytes, place: int, length: int, wanted: Wanted) -> bool:
    if wanted.before and place and _same_word(hay[place - 1], hay[place]):
        return False
    if not wanted.after:
        return True
    rest = _ENDING.match(hay, place + length)
    end = rest.end() if rest else place + length
    return end >= len(hay) or not _same_word(hay[end], hay[end - 1])


def _same_word(left: int, right: int) -> bool:
    """Whether two octets belong to one word: both letters, or both digits."""
    letters = (_is_letter(left), _is_letter(right))
    return letters == (True, True) or (letters == (False, False) and 48 <= left <= 57 and 48 <= right <= 57)  # noqa: PLR2004 - 0 to 9


def _is_letter(octet: int) -> bool:
    return 97 <= octet <= 122 or octet > 127  # noqa: PLR2004 - a to z, and parts of others
