"""Chooses the repositories that a question is about, by their best passages, their names and their descriptions.

A repository that the question calls one ("in the repository handbook") is the only choice. Otherwise the choice is
every repository whose best passage is nearly as good as the best of all, and every repository whose name is in the
question. The question's words in a description add to the repository's score, which decides between two repositories
whose passages fit equally well.

Invariant: pure; the choice does not depend on the number of passages requested or on the order of repositories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import numpy as np

from thresher.knowledge.documents.answers import ranking
from thresher.knowledge.documents.answers.scoring import ScoredChunks
from thresher.knowledge.documents.guides.text import description_of
from thresher.knowledge.documents.layout import Column
from thresher.knowledge.documents.models import RepositoryCandidate
from thresher.knowledge.documents.queries import RepositoryHead
from thresher.search import query_terms, terms

MARGIN: Final = 4.0
"""Score below the best at which a repository is left out; see docs/decisions/0033-choosing-repositories.md."""
DESCRIBED: Final = 2.0
"""Score of a description that contains all words of the question."""
MOST: Final = 5
"""Most repositories besides those that the question names; a search by words alone takes every repository."""
LEFT_OUT: Final = 10
"""Left-out repositories that an answer names; the others are counted."""
_SHOWN_WORDS: Final = 4

NameMention: TypeAlias = Literal["", "holds", "calls"]
"""Whether a question does not contain a name, contains it as words, or calls it a repository."""


@dataclass(frozen=True, slots=True)
class RepositoryFit:
    """How well a repository fits a question.

    Attributes:
        head: The repository.
        score: Score of its best passage and its description; None if nothing of it is indexed.
        fits: Whether any of its passages is relevant to the question.
        naming: Whether the question names it.
        shared: The question's words in its name and description.
        bare: Whether none of it is embedded while others are, so that only its words count.
    """

    head: RepositoryHead
    score: float | None
    fits: bool
    naming: NameMention
    shared: tuple[str, ...] = ()
    bare: bool = False

    @property
    def order(self) -> tuple[bool, bool, float, str]:
        """Sort key; the best repository comes first."""
        return not self.naming, not self.fits, -(self.score if self.score is not None else -np.inf), self.head.name


@dataclass(frozen=True, slots=True)
class RepositoryChoice:
    """The repositories that are searched.

    Attributes:
        keys: Keys of the chosen repositories.
        searched: The chosen repositories as the answer names them, best first.
        left_out: The nearest of the others.
        left_out_count: Number of the others.
        named: The repositories that the question calls by name, if that decided.
        fits: Whether any chosen repository has a relevant passage.
    """

    keys: frozenset[int]
    searched: tuple[RepositoryCandidate, ...]
    left_out: tuple[RepositoryCandidate, ...] = ()
    left_out_count: int = 0
    named: tuple[RepositoryHead, ...] = ()
    fits: bool = False


def requested(scored: ScoredChunks) -> RepositoryChoice:
    """The choice if the caller names the repository."""
    searched = tuple(RepositoryCandidate(head.name, "asked for" + _progress(head)) for head in scored.heads.values())
    return RepositoryChoice(frozenset(scored.heads), searched, fits=scored.fits)


def choose(query: str, scored: ScoredChunks, *, abstains: bool = True) -> RepositoryChoice:
    """Choose the repositories that a question is about.

    Args:
        query: The question.
        scored: The chunks of all repositories.
        abstains: Whether nothing fits a question that no chunk is near enough to; otherwise the best ones do.
    """
    fits = repository_fits(query, scored)
    if not abstains and not any(one.fits for one in fits):
        fits = [replace(one, fits=one.score is not None) for one in fits]
    fits.sort(key=lambda one: one.order)
    called = [one for one in fits if one.naming == "calls"]
    best = max((one.score for one in fits if one.fits and one.score is not None), default=0.0)
    most = len(fits) if scored.scoring.search_type == "text" else MOST
    taken = called or _taken(fits, best, most)
    others = [one for one in fits if one not in taken]
    return RepositoryChoice(
        frozenset(one.head.id for one in taken),
        tuple(RepositoryCandidate(one.head.name, _why(one, best), _rounded(one.score)) for one in taken),
        tuple(
            RepositoryCandidate(one.head.name, _why_not(one, called), _rounded(one.score)) for one in others[:LEFT_OUT]
        ),
        len(others),
        tuple(one.head for one in called),
        any(one.fits for one in taken),
    )


def _taken(fits: Sequence[RepositoryFit], best: float, most: int) -> list[RepositoryFit]:
    held = [one for one in fits if one.naming and one.score is not None]
    near = [one for one in fits if one.fits and one.score is not None and one.score >= best - MARGIN]
    return held + [one for one in near if one not in held][:most]


def repository_fits(query: str, scored: ScoredChunks) -> list[RepositoryFit]:
    """How well each repository fits a question, unordered."""
    question_terms = query_terms(query)
    descriptions = {key: _description_terms(head.name, description_of(head.lead)) for key, head in scored.heads.items()}
    rarity = _rarity(question_terms, descriptions)
    owners = scored.owners
    order = np.argsort(owners, kind="stable")
    keys = np.array(sorted(scored.heads), np.int64)
    bounds = np.searchsorted(owners[order], [keys, keys + 1]).T.tolist()
    found: list[RepositoryFit] = []
    for key, (first, end) in zip(keys.tolist(), bounds, strict=True):
        rows, head = order[first:end], scored.heads[key]
        shared = tuple(term for term in question_terms if term in descriptions[key])
        described = sum(rarity[term] for term in shared)
        naming = name_mention(query, head.name)
        score, fits, bare = _content(scored, rows, unnamed=not naming)
        total = None if score is None else score + DESCRIBED * described
        found.append(RepositoryFit(head, total, fits, naming, shared, bare))
    return found


def _content(scored: ScoredChunks, rows: Column, *, unnamed: bool) -> tuple[float | None, bool, bool]:
    """Score of the best passage, whether it fits, and whether its words alone decide because it has no vectors."""
    if not len(rows):
        return None, False, False
    whole = scored.dense
    dense = None if whole is None else whole[rows]
    fits = not ranking.nothing_fits(dense, scored.coverage[rows], scored.scoring.model, unnamed=unnamed)
    bare = whole is not None and bool(np.isnan(whole[rows]).all()) and not bool(np.isnan(whole).all())
    return float(scored.scores[rows].max()), fits, bare


@lru_cache(maxsize=1024)
def _description_terms(name: str, description: str) -> frozenset[str]:
    return frozenset(terms(f"{name} {description}"))


def _rarity(question_terms: Sequence[str], descriptions: Mapping[int, frozenset[str]]) -> dict[str, float]:
    """The weight of each of the question's words, by how few descriptions contain it; the weights sum to 1."""
    count = len(descriptions)
    weights = {
        term: np.log(1 + count / (0.5 + sum(term in one for one in descriptions.values()))) for term in question_terms
    }
    total = sum(weights.values()) or 1.0
    return {term: float(weight / total) for term, weight in weights.items()}


_CALLED: Final = r"(?:repositor(?:y|ies)|repos?)"
_QUOTE: Final = "[\"'`\u201c\u201d\u2018\u2019]?"


@lru_cache(maxsize=1024)
def _patterns(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A pattern for the name as words, and one for phrases that call it a repository."""
    words = r"[\s._-]+".join(re.escape(part) for part in re.split(r"[._-]+", name) if part)
    whole = rf"(?<![\w.-])(?:{re.escape(name)}|{words})(?![\w-]|\.\w)"
    before = rf"{_CALLED}[\s:=]+(?:named\s+|called\s+)?{_QUOTE}{whole}"
    after = rf"{whole}{_QUOTE}\s+{_CALLED}(?!\w)"
    return re.compile(whole, re.IGNORECASE), re.compile(rf"(?<!\w){before}|{after}", re.IGNORECASE)


def name_mention(query: str, name: str) -> NameMention:
    """Whether a question names a repository; any separator may stand between the words of a name."""
    holds, calls = _patterns(name)
    if not holds.search(query):
        return ""
    return "calls" if calls.search(query) else "holds"


def _why(one: RepositoryFit, best: float) -> str:
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


def _why_not(one: RepositoryFit, called: Sequence[RepositoryFit]) -> str:
    """Why a repository is left out."""
    if one.score is None:
        return "nothing of it is indexed" + _progress(one.head)
    if called:
        return "the question names another"
    return ("fits less" if one.fits else "nothing in it fits") + _progress(one.head)


def _progress(head: RepositoryHead) -> str:
    notes = {"waiting": "; waits to be indexed", "indexing": "; still being indexed", "failed": "; indexing failed"}
    return notes.get(head.state, "")


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
