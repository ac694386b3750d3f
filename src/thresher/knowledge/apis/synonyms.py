"""Short forms that a description itself teaches: `HPA` of `HorizontalPodAutoscaler`, `SLO` where its text explains it.

Invariant: pure; a short form that stands for too many things stands for none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from thresher.knowledge.apis.heads import Brief
from thresher.knowledge.apis.paths import literals, spaced

ShortForms: TypeAlias = Mapping[str, tuple[str, ...]]
"""A short form in lower case to what it may stand for, in lower case."""

_EXPLAINED: Final = re.compile(r"((?:[A-Za-z][\w-]*[ /-]){2,6})\(([A-Z][A-Za-z]{1,6}?)s?\)")
_NAMES: Final = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")
_WORD: Final = re.compile(r"[a-z0-9]+")
_LEAST: Final = 3
"""Letters of a short form that nobody explained."""
_MOST_MEANINGS: Final = 3
_MOST_WORDS: Final = 6
_COMMON: Final = """its was has had are not can may any all and for the who how our out one two new old use few did get
    set put per via yes say see let add end own off why way day ago last this that with they them what when"""
_WORDS: Final = frozenset(_COMMON.split())
"""Words that are no short forms, though initials may spell them: `its` is no Issue Type Scheme."""


def short_forms(briefs: Iterable[Brief]) -> ShortForms:
    """The short forms of some operations."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for brief in briefs:
        said = f"{brief.summary}\n{brief.description}"
        for meaning, form in _EXPLAINED.findall(said):
            if (whole := _explained(meaning, form)) is not None:
                found[form.lower()][whole] = None
        for name in {*_NAMES.findall(said), *brief.tags, *map(spaced, literals(brief.path))}:
            words = _WORD.findall(spaced(name).lower())
            form = "".join(word[0] for word in words)
            if _LEAST <= len(words) <= _MOST_WORDS and form not in _WORDS:
                found[form][" ".join(words)] = None
    return {form: tuple(meanings) for form, meanings in found.items() if len(meanings) <= _MOST_MEANINGS}


def spelled_out(query: str, known: ShortForms) -> tuple[str, ...]:
    """What the short forms in a query stand for, in its order."""
    meanings = (meaning for word in _WORD.findall(query.lower()) for meaning in known.get(word, ()))
    return tuple(dict.fromkeys(meanings))


def _explained(meaning: str, form: str) -> str | None:
    """The last words before a short form in parentheses whose initials it is; None where they are not."""
    words = re.findall(r"[A-Za-z0-9]+", meaning)
    letters = form.lower()
    last = words[-len(letters) :]
    if len(last) == len(letters) and all(word[0].lower() == letter for word, letter in zip(last, letters, strict=True)):
        return " ".join(last).lower()
    return None
