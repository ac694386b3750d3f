"""Finds what the acronyms of a text stand for, and which terms it uses most.

Invariant: pure, and linear in the size of the text; an expansion is taken only if the letters of the acronym begin its
words (Schwartz and Hearst 2003, "A simple algorithm for identifying abbreviation definitions in biomedical text").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

_SHORT: Final = r"[A-Z](?:[A-Za-z0-9&/]|-(?=[A-Za-z0-9])){1,9}"
_BEHIND: Final = re.compile(rf"\(\s*(?:i\.e\.,?\s*|or\s+)?[*_`\"']{{0,3}}(?P<short>{_SHORT})[*_`\"']{{0,3}}\s*[);,]")
_BACK: Final = 120
"""Characters before a bracket in which the long form is looked for."""
_AHEAD: Final = re.compile(
    rf"(?<![\w-])(?P<short>{_SHORT})[*_`\"']{{0,3}}\s*"
    r"(?:\((?:i\.e\.,?\s*)?(?P<inside>[A-Za-z][^()\n]{4,80})\)"
    r"|(?:[:=\u2013\u2014]|stands\s+for|is\s+short\s+for|--?(?=\s))\s*[*_`\"']{0,3}(?P<after>[A-Za-z][^\n.;:|()]{4,80}))"
)
_MARKUP: Final = re.compile(r"[*_`\"'\u201c\u201d]+|<[^<>\n]{1,60}>")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9\u2019'-]*")
_SMALL: Final = frozenset(
    {"of", "the", "and", "for", "in", "to", "a", "an", "on", "with", "by", "or", "at", "as", "from"}
)
_FEWEST_LETTERS: Final = 2
_TERM: Final = re.compile(r"(?<![\w-])(?:[A-Z][A-Z0-9]+(?:[-_+][A-Z0-9]+)*|[A-Za-z]+[_]\w+)(?![\w-])")
_PLAIN: Final = re.compile(r"\b[a-z]{3,}\b")
"""A term in capitals that also occurs in small letters is emphasis, not an acronym."""
_NAMED: Final = re.compile(r"`([A-Za-z_][\w.+-]{2,40})`")
_COMMON: Final = frozenset(
    re.findall(
        r"\S+",
        """
        TODO NOTE FIXME XXX WARNING IMPORTANT TIP CAUTION THE AND OR NOT FOR IF ELSE TRUE FALSE NULL NONE II III IV
        VI VII VIII IX OK PDF HTML HTTP HTTPS JSON XML YAML CSV URL USA UK AM PM ID IT IS IN OF TO ON AS AN AT BE BY
        DO NO SO WE true false null none self return import class
        """,
    )
)
_STOP: Final = _SMALL | frozenset(
    re.findall(
        r"\S+",
        """
        is are was were be been being this that these those it its which who whose when where while if then than
        there here can could may might must shall should will would do does did has have had not no nor but so such
        same other each every all any some more most less few many much very also only both either one two three
        first second last next new use used uses using user see e.g i.e we you your our they their them he she his
        her into out up down over under about between through during before after above below again further once
        because until against per via however therefore thus example following given however within without well
        just like get set make made case way
        """,
    )
)
_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_SHORTEST_WORD: Final = 3
_FEW: Final = 4
_KEPT: Final = 20
_SCANNED: Final = 2_000_000
"""Most characters of a document that are searched for terms; acronyms are introduced early, and terms recur."""


def acronyms_of(text: str) -> dict[str, str]:
    """The acronyms that a text introduces, each with its long form in small letters."""
    votes: dict[str, Counter[str]] = {}
    for short, long in _introduced(text[:_SCANNED]):
        votes.setdefault(short, Counter())[long] += 1
    return {short: counts.most_common(1)[0][0] for short, counts in votes.items()}


def joined(glossaries: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Merge glossaries: for each acronym, the long form that most of them have."""
    votes: dict[str, Counter[str]] = {}
    for glossary in glossaries:
        for short, long in glossary.items():
            votes.setdefault(short, Counter())[long.lower()] += 1
    return {short: votes[short].most_common(1)[0][0] for short in sorted(votes)}


def terms_of(text: str) -> dict[str, int]:
    """The most frequent terms of a text with their counts: acronyms, identifiers, pairs and triples of words."""
    text = text[:_SCANNED]
    counts: Counter[str] = Counter(term for term in _TERM.findall(text) if term not in _COMMON)
    counts.update(name for name in _NAMED.findall(text) if name not in _COMMON)
    plain = set(_PLAIN.findall(text))
    found = Counter({term: count for term, count in counts.items() if count >= _FEW and term.lower() not in plain})
    found.update(_phrases(text))
    return dict(found.most_common(_KEPT))


def _introduced(text: str) -> Iterator[tuple[str, str]]:
    for found in _BEHIND.finditer(text):
        before = text[max(0, found.start() - _BACK) : found.start()].rpartition("\n\n")[2]
        words = _WORD.findall(_MARKUP.sub(" ", before))
        if long := _ending_in(found["short"], words):
            yield _bare(found["short"]), long
    for found in _AHEAD.finditer(text):
        words = _WORD.findall(_MARKUP.sub(" ", found["inside"] or found["after"]))
        if long := _beginning_in(found["short"], words):
            yield _bare(found["short"]), long


def _ending_in(short: str, words: list[str]) -> str:
    """The last words that match an acronym; empty if none do."""
    letters = _letters(short)
    for count in range(2, min(len(words), len(letters) + 4) + 1):
        if _fits(letters, words[-count:]):
            return _shown(words[-count:])
    return ""


def _beginning_in(short: str, words: list[str]) -> str:
    letters = _letters(short)
    for count in range(2, min(len(words), len(letters) + 4) + 1):
        if _fits(letters, words[:count]) and words[count - 1].lower() not in _SMALL:
            return _shown(words[:count])
    return ""


def _letters(short: str) -> str:
    """The letters that words must begin with, without a plural's s and anything that is not a letter."""
    bare = _bare(short)
    return "".join(letter for letter in bare if letter.isalpha()).lower()


def _bare(short: str) -> str:
    return short[:-1] if short.endswith("s") and short[:-1].isupper() and len(short) > 2 else short


def _fits(letters: str, words: list[str]) -> bool:
    """Whether each letter begins a word or a hyphenated part of one, in order; small words may be skipped."""
    if len(letters) < _FEWEST_LETTERS or words[0].lower() in _SMALL:
        return False
    parts = [part.lower() for word in words for part in re.split(r"[-\u2019']", word) if part]
    if parts[0][0] != letters[0]:
        return False
    place = 0
    for part in parts:
        if place < len(letters) and part[0] == letters[place]:
            place += 1
        elif part not in _SMALL:
            return False
    return place == len(letters)


def _shown(words: list[str]) -> str:
    return " ".join(words).lower()


def _phrases(text: str) -> dict[str, int]:
    """Pairs and triples of words that recur; if both do, the longer one."""
    pairs: Counter[str] = Counter()
    triples: Counter[str] = Counter()
    before, last = "", ""
    for found in _TOKEN.finditer(text):
        word = found[0].lower()
        if len(word) < _SHORTEST_WORD or word in _STOP or not word.isalpha():
            before, last = "", ""
            continue
        if last and last != word:
            pairs[f"{last} {word}"] += 1
            if before:
                triples[f"{before} {last} {word}"] += 1
        before, last = last, word
    kept = {phrase: count for phrase, count in triples.most_common(_KEPT) if count >= _FEW}
    for phrase, count in pairs.most_common(2 * _KEPT):
        longest = max((times for triple, times in kept.items() if phrase in triple), default=0)
        if count - longest >= _FEW:
            kept[phrase] = count
    merged: Counter[str] = Counter()
    for phrase, count in kept.items():
        single = phrase.removesuffix("s")
        merged[single if single in kept else phrase] += count
    return dict(merged.most_common(_KEPT))
