"""Which repositories a question means, by their best passages, by their names and by what is said of them.

A repository that the question calls one ("in the repository handbook") is the only one. Else those are taken whose best
passage comes near the best of all, and those whose names the question holds. A description lends its repository points
for the question's words that stand in it, so that it decides between two whose passages fit alike.

Invariant: pure; what is chosen does not depend on how many passages are wanted, nor on the order of repositories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np

from thresher.knowledge.documents import ranking
from thresher.knowledge.documents.guides import description_of
from thresher.knowledge.documents.layout import Column
from thresher.knowledge.documents.models import Candidate
from thresher.knowledge.documents.queries import Head
from thresher.knowledge.documents.scoring import Scored
from thresher.search import query_terms, terms

MARGIN: Final = 4.0
"""Points of the ranking behind the best repository at which another is left out; see
docs/decisions/0033-choosing-repositories.md."""
DESCRIBED: Final = 2.0
"""Points for a description that holds all words of the question."""
MOST: Final = 5
"""Repositories at most, besides those that the question names; a search by words alone wants every place."""
LEFT_OUT: Final = 10
"""Repositories left out that an answer names; the others it counts."""
_SHOWN_WORDS: Final = 4

Naming: TypeAlias = Literal["", "holds", "calls"]
"""Whether a question does not hold a name, holds it as words, or calls it a repository."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a repository stands to a question.

    Attributes:
        head: The repository.
        score: Of its best passage and its description; None where nothing of it is indexed.
        fits: Whether anything in it has to do with the question.
        naming: Whether the question names it.
        shared: The question's words in its name and description.
        bare: Whether none of it is embedded while others are: its words decide.
    """

    head: Head
    score: float | None
    fits: bool
    naming: Naming
    shared: tuple[str, ...] = ()
    bare: bool = False

    @property
    def order(self) -> tuple[bool, bool, float, str]:
        """Sorts the best first."""
        return not self.naming, not self.fits, -(self.score if self.score is not None else -np.inf), self.head.name


@dataclass(frozen=True, slots=True)
class Choice:
    """What is searched.

    Attributes:
        keys: Of the repositories whose passages are taken.
        searched: The same as they are told, best first.
        left_out: The nearest of the others.
        left_out_count: How many others there are.
        named: The only ones, where the question calls them.
        fits: Whether anything in them has to do with the question.
    """

    keys: frozenset[int]
    searched: tuple[Candidate, ...]
    left_out: tuple[Candidate, ...] = ()
    left_out_count: int = 0
    named: tuple[Head, ...] = ()
    fits: bool = False


def asked_for(scored: Scored) -> Choice:
    """The repository that the caller has named is the one."""
    searched = tuple(Candidate(head.name, "asked for" + _progress(head)) for head in scored.heads.values())
    return Choice(frozenset(scored.heads), searched, fits=scored.fits)


def choose(query: str, scored: Scored) -> Choice:
    """The repositories that a question means.

    Args:
        query: The question.
        scored: The chunks of all repositories.
    """
    standings = sorted(standings_of(query, scored), key=lambda one: one.order)
    called = [one for one in standings if one.naming == "calls"]
    best = max((one.score for one in standings if one.fits and one.score is not None), default=0.0)
    most = len(standings) if scored.scoring.search_type == "text" else MOST
    taken = called or _taken(standings, best, most)
    others = [one for one in standings if one not in taken]
    return Choice(
        frozenset(one.head.id for one in taken),
        tuple(Candidate(one.head.name, _why(one, best), _rounded(one.score)) for one in taken),
        tuple(Candidate(one.head.name, _why_not(one, called), _rounded(one.score)) for one in others[:LEFT_OUT]),
        len(others),
        tuple(one.head for one in called),
        any(one.fits for one in taken),
    )


def _taken(standings: Sequence[Standing], best: float, most: int) -> list[Standing]:
    held = [one for one in standings if one.naming and one.score is not None]
    near = [one for one in standings if one.fits and one.score is not None and one.score >= best - MARGIN]
    return held + [one for one in near if one not in held][:most]


def standings_of(query: str, scored: Scored) -> list[Standing]:
    """How each repository stands to a question, in any order."""
    wanted = query_terms(query)
    said = {key: _said(head.name, description_of(head.lead)) for key, head in scored.heads.items()}
    rarity = _rarity(wanted, said)
    owners = scored.owners
    order = np.argsort(owners, kind="stable")
    keys = np.array(sorted(scored.heads), np.int64)
    bounds = np.searchsorted(owners[order], [keys, keys + 1]).T.tolist()
    found: list[Standing] = []
    for key, (first, end) in zip(keys.tolist(), bounds, strict=True):
        rows, head = order[first:end], scored.heads[key]
        shared = tuple(term for term in wanted if term in said[key])
        described = sum(rarity[term] for term in shared)
        naming = naming_of(query, head.name)
        score, fits, bare = _content(scored, rows, unasked=not naming)
        total = None if score is None else score + DESCRIBED * described
        found.append(Standing(head, total, fits, naming, shared, bare))
    return found


def _content(scored: Scored, rows: Column, *, unasked: bool) -> tuple[float | None, bool, bool]:
    """The score of the best passage, whether it fits, and whether words alone say so while others are embedded."""
    if not len(rows):
        return None, False, False
    whole = scored.dense
    dense = None if whole is None else whole[rows]
    fits = not ranking.nothing_fits(dense, scored.coverage[rows], scored.scoring.model, unasked=unasked)
    bare = whole is not None and bool(np.isnan(whole[rows]).all()) and not bool(np.isnan(whole).all())
    return float(scored.scores[rows].max()), fits, bare


@lru_cache(maxsize=1024)
def _said(name: str, description: str) -> frozenset[str]:
    return frozenset(terms(f"{name} {description}"))


def _rarity(wanted: Sequence[str], said: Mapping[int, frozenset[str]]) -> dict[str, float]:
    """The share of each of the question's words, by how few descriptions hold it; together 1."""
    count = len(said)
    weights = {term: np.log(1 + count / (0.5 + sum(term in one for one in said.values()))) for term in wanted}
    total = sum(weights.values()) or 1.0
    return {term: float(weight / total) for term, weight in weights.items()}


_CALLED: Final = r"(?:repositor(?:y|ies)|repos?)"
_QUOTE: Final = "[\"'`\u201c\u201d\u2018\u2019]?"


@lru_cache(maxsize=1024)
def _patterns(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What holds a name as words, and what calls it a repository."""
    words = r"[\s._-]+".join(re.escape(part) for part in re.split(r"[._-]+", name) if part)
    whole = rf"(?<![\w.-])(?:{re.escape(name)}|{words})(?![\w-]|\.\w)"
    before = rf"{_CALLED}[\s:=]+(?:named\s+|called\s+)?{_QUOTE}{whole}"
    after = rf"{whole}{_QUOTE}\s+{_CALLED}(?!\w)"
    return re.compile(whole, re.IGNORECASE), re.compile(rf"(?<!\w){before}|{after}", re.IGNORECASE)


def naming_of(query: str, name: str) -> Naming:
    """Whether a question names a repository; between the words of a name any separator will do."""
    holds, calls = _patterns(name)
    if not holds.search(query):
        return ""
    return "calls" if calls.search(query) else "holds"


def _why(one: Standing, best: float) -> str:
    """Why a repository is searched."""
    if one.naming:
        why = "named in the question" + ("" if one.fits or one.score is None else "; nothing in it fits")
    else:
        why = "fits best" if one.score is not None and one.score >= best else "fits nearly as well"
    if one.shared and not one.naming:
        why += f"; described by: {', '.join(one.shared[:_SHOWN_WORDS])}"
    if one.bare:
        why += "; by words alone, as it has no vectors yet"
    return why + _progress(one.head)


def _why_not(one: Standing, called: Sequence[Standing]) -> str:
    """Why a repository is left out."""
    if one.score is None:
        return "nothing of it is indexed" + _progress(one.head)
    if called:
        return "the question names another"
    return ("fits less" if one.fits else "nothing in it fits") + _progress(one.head)


def _progress(head: Head) -> str:
    said = {"waiting": "; waits to be indexed", "indexing": "; still being indexed", "failed": "; indexing failed"}
    return said.get(head.state, "")


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
