"""Scores the parts of one result by the words of a question.

The index of the other kinds has counted every word before a question comes. A result is read once, so only the words
of the question are looked for, in the text as it is: the arithmetic is the index's BM25, over these postings.

Invariant: pure; the time is that of a few passes over the text in C, whatever it holds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from thresher.results.parts import LEVEL, Parts
from thresher.results.synonyms import Expression, synonyms_of
from thresher.search import Floats, Ids, Totals, postings_of, query_words

_SHORT: Final = 4
"""Characters from which a stem is also found inside a word: `user` in `getUserName`."""
_MOST_TERMS: Final = 40
_MOST_PLACES: Final = 30_000
"""A word that occurs more often says nothing about where; its places are not collected."""
_MANY: Final = 1_000
"""Places of a word after which all of them are counted."""
_WORDS: Final = bytes(1 if 97 <= octet <= 122 or octet > 127 else 2 if 48 <= octet <= 57 else 0 for octet in range(256))
"""By octet, what may be one word with others of the same kind: letters, and digits."""
_OWN: Final = 0.9
_ABOVE: Final = 0.4
"""Weights of a word in the last level of a part's label, and above it, next to one in the part."""
_WHOLE: Final = 1.5
_STEM: Final = 0.8
_BEGINS: Final = 0.5
_WITHIN: Final = 0.25
"""Weights of a word that is a whole member or value of JSON, of another form of it, of a longer word that begins with
its stem, and of a stem inside another word, next to the word itself."""
_HOLDS: Final = 0.5
"""How much of a word a part must have to count among those that have it."""
_EXACT: Final = 1.5
"""Weight of a name that the question writes as the result does: `ERR_42`, `/users/{id}`, `2024-05-01`, `v1.2.3`."""
_NAME: Final = re.compile(
    r"[\"'`“]([^\"'`”]{2,80})[\"'`”]|(?<![\w])(/?[^\W_]+(?:[-_./:@{}#+]+[^\W_]+)+[}/]?|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})"
)
_CODE: Final = re.compile(r"(?<![^\W_])(?:[A-Za-z]{1,6}\d+[A-Za-z0-9]*|\d+[A-Za-z]+[A-Za-z0-9]*)(?![^\W_])")
"""A name of letters and digits: `M3`, `Z17`, `4xx`."""
_COMMON: Final = 0.25
"""Share of the parts from which a word says nothing about where in a part an answer is."""
_SYNONYM: Final = 0.15
_UNEXPLAINED: Final = 0.5
"""Weight of another expression for a word, next to the word, and how much more where no part has the words."""
_EXPLAINED: Final = 0.05
"""A word that stands in fewer parts than this share, and in some, needs no other expressions."""
_COVERED: Final = 1.2
_LONGEST: Final = 1_000_000
"""Octets of a result up to which other expressions are looked for: of a longer one that takes too long."""
_LETTERS: Final = bytes(octet if 97 <= octet <= 122 or octet > 127 else 32 for octet in range(256))
"""What is no letter becomes a blank."""
_ENDING: Final = re.compile(rb"(?:e|i)?(?:s|es|d|ed|ing|ings|er|ers|ion|ions|ation|al|ly|y|ies|e|able|ment|ments)?")
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
        written: The word as the question has it.
        before: Whether it must begin a word.
        after: Whether the word must end there, but for an ending such as `s`.
        weight: How much it counts.
    """

    literals: tuple[bytes, ...]
    written: bytes
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
        if len(name) > 2:
            wanted[f"={name}"] = Wanted((name.encode(),), name.encode(), name[0].isalnum(), name[-1].isalnum(), _EXACT)
    for match in _CODE.finditer(question):
        code = match[0].lower()
        wanted.setdefault(f"={code}", Wanted((code.encode(),), code.encode(), before=True, after=True, weight=_EXACT))
    asked = query_words(question)
    for term in [one for one in asked if one not in _ASKING] or asked:
        wanted[term] = _word(term, asked[term].encode())
    return dict(list(wanted.items())[:_MOST_TERMS])


def _word(term: str, written: bytes) -> Wanted:
    encoded = term.encode()
    if term.isdigit() or len(term) < _SHORT:
        return Wanted((encoded,), written, before=True, after=term.isascii())
    if term.endswith("i"):
        return Wanted((encoded, encoded[:-1] + b"y"), written, before=False, after=False)
    return Wanted((encoded,), written, before=False, after=False)


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
    places = _Places(parts, ascii_only=question.isascii())
    scores, covered, total, rare = nothing.copy(), nothing.copy(), 0.0, list[Ids]()
    shares: dict[str, float] = {}
    for term, one in wanted.items():
        found = places.of(one)
        shares[term] = found.share if found is not None else 1.0
        if found is None or not len(found.holders):
            continue
        scores[found.holders] += np.float32(one.weight) * found.weights
        covered[found.holders] += np.float32(one.weight) * found.covers
        total += one.weight * found.idf
        if found.share < _COMMON:
            rare.append(found.places)
    explained = float(covered.max()) / total if total else 0.0
    weight = np.float32(_SYNONYM + _UNEXPLAINED * (1 - min(explained, 1.0)))
    for stems, others in synonyms_of(question).items() if len(places.hay) <= _LONGEST else ():
        if not 0 < shares.get(" ".join(stems), 0) < _EXPLAINED:
            best, covers = _best(places, others)
            scores += weight * best
            covered += weight * covers
    coverage = np.minimum(covered / np.float32(total), _COVERED) if total else covered
    return Matches((scores * (0.5 + coverage)).astype(np.float32), coverage.astype(np.float32), _first(rare, places))


def _best(places: _Places, others: Sequence[Expression]) -> tuple[Floats, Floats]:
    """What the best of other expressions for a word adds to the score of each part, and how much of it each has."""
    best, covers = (np.zeros(len(places.starts), np.float32) for _ in range(2))
    for other in others:
        one = _expressed(other)
        if places.may_hold(one) and (found := places.of(one)) is not None and found.share:
            best[found.holders] = np.maximum(best[found.holders], found.weights)
            covers[found.holders] = np.maximum(covers[found.holders], found.covers)
    return best, covers


def _expressed(other: Expression) -> Wanted:
    """What to look for to find an expression; one of several words also as an identifier writes it."""
    if len(other.words) == 1:
        return _word(other.stems[0], other.words[0].encode())
    head, last = " ".join(other.words[:-1]), other.stems[-1]
    literals = tuple(f"{head}{between}{last}".encode() for between in (" ", "_", "-"))
    return Wanted(literals, f"{head} {other.words[-1]}".encode(), before=True, after=False)


@dataclass(frozen=True, slots=True)
class _Found:
    """The parts that hold something.

    Attributes:
        holders: int64 (m,), the parts.
        weights: float32 (m,), what it adds to the score of each.
        covers: float32 (m,), how much of its rarity each has.
        idf: Its rarity.
        share: The share of the parts that hold the word itself.
        places: Where it stands.
    """

    holders: Ids
    weights: Floats
    covers: Floats
    idf: float
    share: float
    places: Ids


class _Places:
    """Finds words in the parts of a result, and in their labels.

    Args:
        parts: The parts.
        ascii_only: Whether only letters of ASCII need be compared without case.
    """

    def __init__(self, parts: Parts, *, ascii_only: bool) -> None:
        self.hay, self.starts, self._ends = parts.octets(ascii_only=ascii_only)
        split = [_parted(name) for name in parts.names]
        self._own, self._above = (_Labels([name[side] for name in split]) for side in (1, 0))
        self._labels = parts.labels
        self._lengths = (self._ends - self.starts).astype(np.float32)
        self._totals = Totals(len(parts), float(self._lengths.sum()))

    def may_hold(self, wanted: Wanted) -> bool:
        """Whether a word begins as something does; quicker than looking for it."""
        words = self._words
        for literal in wanted.literals:
            first = literal.translate(_LETTERS).split()[:1] or [literal]
            place = bisect_left(words, first[0])
            if place < len(words) and words[place].startswith(first[0]):
                return len(first[0]) == len(literal) or any(one in self.hay for one in wanted.literals)
        return False

    @cached_property
    def _words(self) -> list[bytes]:
        """The distinct words, sorted."""
        return sorted(set(self.hay.translate(_LETTERS).split()))

    def of(self, wanted: Wanted) -> _Found | None:
        """What holds something; None if it is almost everywhere."""
        if (found := _found(self.hay, wanted)) is None:
            return None
        places, fits = found
        owners = np.searchsorted(self.starts, places, "right") - 1
        inside = (owners >= 0) & (places < self._ends[owners])
        size = len(self.starts)
        counts = np.bincount(owners[inside], fits[inside], minlength=size).astype(np.float32)
        counts += (_OWN * self._own.counts(wanted) + _ABOVE * self._above.counts(wanted))[self._labels]
        holders = np.flatnonzero(counts)
        strong = int((counts >= _HOLDS).sum())
        counts = counts[holders]
        posting = postings_of(self._totals, max(strong, 1), holders, counts, self._lengths[holders])
        covers = np.float32(posting.idf) * np.minimum(counts, 1.0)
        return _Found(holders, posting.weights, covers, posting.idf, strong / size, places[inside])


def _parted(name: str) -> tuple[str, str]:
    """A label in two: what is above, and the last of its levels."""
    above, _, own = name.rpartition(LEVEL)
    return above, own


class _Labels:
    """Labels in one text, so that a word is looked for in all of them at once."""

    def __init__(self, names: Sequence[str]) -> None:
        joined = "\n".join(name.replace("\n", " ") for name in names).lower()
        self._hay = joined.encode("utf-8", "replace")
        self._size = len(names)
        self._breaks = np.flatnonzero(np.frombuffer(b"\n" + self._hay, np.uint8) == ord("\n"))

    def counts(self, wanted: Wanted) -> Floats:
        """float32 (labels,), how much each has of a word, at most 1."""
        counts = np.zeros(self._size, np.float32)
        if (found := _found(self._hay, wanted)) is not None and len(found[0]):
            np.maximum.at(counts, np.searchsorted(self._breaks, found[0], "right") - 1, found[1])
        return counts


def _first(rare: Sequence[Ids], found: _Places) -> dict[int, int]:
    """The first place of a rarer word in each part."""
    if not rare:
        return {}
    starts = found.starts
    places = np.sort(np.concatenate(rare))
    owners = np.searchsorted(starts, places, "right") - 1
    first, at = np.unique(owners, return_index=True)
    return dict(zip(first.tolist(), (places[at] - starts[first]).tolist(), strict=True))


def _found(hay: bytes, wanted: Wanted) -> tuple[Ids, Floats] | None:
    """Where something is found, and how well each place fits; None if it is almost everywhere."""
    found: list[int] = []
    weights: list[float] = []
    for literal in wanted.literals:
        length = len(literal)
        place = hay.find(literal)
        tried = 0
        while place >= 0:
            tried += 1
            if tried == _MANY and hay.count(literal) > _MOST_PLACES:
                return None
            if weight := _fit(hay, place, length, wanted):
                found.append(place)
                weights.append(weight)
            place = hay.find(literal, place + length)
    places, fits = np.array(found, np.int64), np.array(weights, np.float32)
    if len(wanted.literals) > 1:
        order = np.argsort(places, kind="stable")
        places, fits = places[order], fits[order]
    return places, fits


def _fit(hay: bytes, place: int, length: int, wanted: Wanted) -> float:
    """How well a place fits: a word of its own, the beginning of one, or inside another one."""
    if place and _WORDS[hay[place - 1]] & _WORDS[hay[place]]:
        return 0.0 if wanted.before else _WITHIN
    end = place + length
    if hay.startswith(wanted.written, place) and _ends(hay, whole := place + len(wanted.written)):
        closed = hay[whole : whole + 1] == b'"' and hay[place - 1 : place] in (b'"', b"/")
        return _WHOLE if closed else 1.0
    if _ends(hay, end) or ((ending := _ENDING.match(hay, end)) and _ends(hay, ending.end())):
        return _STEM if not wanted.after or hay[end : end + 1] in (b"s", b"") or _ends(hay, end) else 0.0
    return 0.0 if wanted.after else _BEGINS


def _ends(hay: bytes, place: int) -> bool:
    """Whether a word ends before a place."""
    return place >= len(hay) or not _WORDS[hay[place]] & _WORDS[hay[place - 1]]
