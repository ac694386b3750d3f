"""Skills without training lines: which one a message asks for, and whether any, by what they say of themselves.

Lines of a description are few and not put as people put them, so a head learns little from them. Instead each skill is
compared by four views: the lines of its description, passages of its rules, the words of all its texts, and its gist.
Lines and passages count by how far their nearest is above what it is for everyday messages: a broad skill is near
everything. Words count by BM25 among the skills. Together they say which skill; with the gist, and less what the
description refuses, whether any (decision 0069 has the figures).

Invariant: pure; a skill's score depends on the skills beside it, and on no other intent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from thresher.embedding import Matrix
from thresher.knowledge.intents.router.calibration import KEYWORD, sigmoid
from thresher.knowledge.intents.router.head import log_softmax
from thresher.knowledge.intents.router.records import Floats, Numbers, SkillText, Training, Vectors
from thresher.knowledge.intents.router.similarity import Groups, grouped
from thresher.search import query_terms, shares_of

LINES: Final = 41.0
PASSAGES: Final = 25.5
WORDS: Final = 0.4
"""Weights of the three views in the log odds of a skill."""
ODDS: Final = 0.48
GIST: Final = 15.0
REFUSED: Final = 17.0
BIAS: Final = -16.5
"""Log odds of "any": for the log odds of the skill, the cosine of its gist, and what the nearest refusal is above the
nearest line."""
THRESHOLD: Final = 0.4
"""The least score that matches, for every skill."""
K1: Final = 1.2
B: Final = 0.75
REFERENCE: Final = 100
"""A smaller set of skills is extended to so many, in which words are as common as in skills in general: otherwise every
word of a single skill would be rare."""
USUAL_WORDS: Final = shares_of(Path(__file__).with_name("skill_words.txt").read_text(encoding="utf-8"))
"""Index term to the share of skills that hold it; rare ones are left out and count as 0."""
_USUAL: Final = 0.6
"""Without everyday messages: the packaged model's value for them."""

_GIST_CHARACTERS: Final = 300
_PASSAGE_CHARACTERS: Final = 700
_MOST_PASSAGES: Final = 16
_READ: Final = 200_000
_FENCED: Final = re.compile(r"^ *```.*?^ *```", re.M | re.S)
_MARKS: Final = re.compile(r"[`*_#>|\s]+")


def skill_text(name: str, description: str, rules: str, words: Mapping[str, int]) -> SkillText:
    """Return the views of a skill.

    Args:
        name: Its name.
        description: What it does and when to use it.
        rules: The body of its `SKILL.md`.
        words: Index terms to how often its texts hold them.
    """
    gist = f"{name.replace('-', ' ')}: {description[:_GIST_CHARACTERS]}"
    return SkillText(gist, _passages(rules) or (gist,), words)


def _passages(rules: str) -> tuple[str, ...]:
    """Return the beginning of rules as pieces of some 700 characters, without code and marks, cut between words."""
    words = _MARKS.sub(" ", _FENCED.sub(" ", rules[:_READ])).split(" ")
    passages, passage = list[str](), ""
    for word in filter(None, words):
        if passage and len(passage) + len(word) >= _PASSAGE_CHARACTERS:
            passages.append(passage)
            passage = ""
            if len(passages) == _MOST_PASSAGES:
                return tuple(passages)
        passage = f"{passage} {word[:_PASSAGE_CHARACTERS]}" if passage else word[:_PASSAGE_CHARACTERS]
    return (*passages, passage) if passage else tuple(passages)


@dataclass(frozen=True, slots=True)
class Postings:
    """The words of skills, each with its BM25.

    Attributes:
        places: Index terms to their number.
        starts: int32 (terms + 1,), where the postings of each begin.
        skills: int32 (postings,), the skill.
        weights: float32 (postings,), the term's BM25 in it.
    """

    places: Mapping[str, int]
    starts: Numbers
    skills: Numbers
    weights: Floats


@dataclass(frozen=True, slots=True)
class FittedSkills:
    """What scores skills.

    Attributes:
        gists: float32 (skills, dimension).
        lines: Lines of the descriptions; `order` is their place among all training lines.
        misses: What the descriptions refuse.
        passages: Passages of the rules.
        usual: float32 (2, skills), the median of everyday messages' nearest line and nearest passage.
        postings: Their words.
    """

    gists: Matrix
    lines: Groups
    misses: Groups
    passages: Groups
    usual: Floats
    postings: Postings

    @property
    def count(self) -> int:
        """How many skills there are."""
        return len(self.gists)


@dataclass(frozen=True, slots=True)
class SkillScores:
    """The scores of some texts.

    Attributes:
        which: float32 (texts, skills), the probability of each, given that it is one.
        whether: float32 (texts, skills), the probability that the text asks for it, if for any.
        nearest: int32 (texts, skills), the nearest line of each among all training lines; -1 without one.
    """

    which: Floats
    whether: Floats
    nearest: Numbers


def fit_skills(training: Training, vectors: Vectors) -> FittedSkills:
    """Return what scores the skills of a training; with none of them, nothing is scored."""
    count, first = len(training.skills), len(training.intents) - len(training.skills)
    dimension = vectors.lines.shape[1] if len(vectors.lines) else 0
    gists, passages = vectors.views[:count], vectors.views[count:]
    owners = np.repeat(np.arange(count), [len(skill.passages) for skill in training.skills]).astype(np.int32)
    lines = _of_skills(vectors.lines, training.labels, first, count, dimension)
    found = grouped(_half(passages, dimension), owners, count)
    background = _half(vectors.background, dimension)
    usual = np.full((2, count), _USUAL, np.float32)
    if len(background) and count:
        usual = np.stack([np.median(_nearest(rows, background)[0], axis=0) for rows in (lines, found)])
    return FittedSkills(
        _half(gists, dimension),
        lines,
        _of_skills(vectors.negatives, training.negative_labels, first, count, dimension),
        found,
        usual.astype(np.float32),
        _postings([skill.words for skill in training.skills]),
    )


def score_skills(fitted: FittedSkills, vectors: Matrix, texts: Sequence[str], hits: Floats | float) -> SkillScores:
    """Score texts.

    Args:
        fitted: The skills; at least one.
        vectors: float32 (texts, dimension), rows of length 1.
        texts: The texts themselves, for their words.
        hits: float32 (texts, skills), keywords held.
    """
    lines, nearest = _nearest(fitted.lines, vectors)
    passages, _ = _nearest(fitted.passages, vectors)
    gists = vectors @ fitted.gists.T
    odds = LINES * (lines - fitted.usual[0]) + PASSAGES * (passages - fitted.usual[1]) + KEYWORD * hits
    odds = (odds + WORDS * np.stack([_words(fitted, text) for text in texts])).astype(np.float32)
    refused = np.maximum(_nearest(fitted.misses, vectors)[0] - np.maximum(lines, gists), 0)
    whether = sigmoid((BIAS + ODDS * odds + GIST * gists - REFUSED * refused).astype(np.float32))
    return SkillScores(np.exp(log_softmax(odds)), whether, nearest)


def _half(rows: Matrix, dimension: int) -> Matrix:
    """Return rows in stored precision, so that a fit that was read back gives the same scores."""
    return rows.astype(np.float16).astype(np.float32) if len(rows) else np.empty((0, dimension), np.float32)


def _of_skills(rows: Matrix, labels: Numbers, first: int, count: int, dimension: int) -> Groups:
    """Return the rows of the last intents in groups, with their places among all rows."""
    places = np.flatnonzero(labels >= first)
    some = grouped(_half(rows[places], dimension), labels[places] - first, count)
    return Groups(some.rows, some.starts, places[some.order].astype(np.int32))


def _nearest(groups: Groups, vectors: Matrix) -> tuple[Floats, Numbers]:
    """Return the greatest cosine of texts with each group, float32 (texts, groups), and where that row stood.

    A group without rows has a cosine and a place of -1.
    """
    shape = len(vectors), groups.count
    best, places = np.full(shape, -1.0, np.float32), np.full(shape, -1, np.int32)
    filled = np.flatnonzero(np.diff(groups.starts))
    if not len(filled) or not len(vectors):
        return best, places
    cosines = vectors @ groups.rows.T
    best[:, filled] = np.maximum.reduceat(cosines, groups.starts[filled], axis=1)
    for group in filled.tolist():
        start, stop = groups.starts[group], groups.starts[group + 1]
        places[:, group] = groups.order[start + cosines[:, start:stop].argmax(axis=1)]
    return best, places


def _postings(words: Sequence[Mapping[str, int]]) -> Postings:
    """Return the words of skills with their BM25 (Robertson and Zaragoza, 2009)."""
    holders: dict[str, list[tuple[int, int]]] = {}
    for skill, counts in enumerate(words):
        for term, count in counts.items():
            holders.setdefault(term, []).append((skill, count))
    lengths = np.array([sum(counts.values()) for counts in words], np.float32)
    norms = K1 * (1 - B + B * lengths / np.float32(max(lengths.mean() if len(words) else 0.0, 1.0)))
    places = {term: place for place, term in enumerate(sorted(holders))}
    starts = np.cumsum([0, *(len(holders[term]) for term in places)]).astype(np.int32)
    skills = np.array([skill for term in places for skill, _ in holders[term]], np.int32)
    counts = np.array([count for term in places for _, count in holders[term]], np.float32)
    shares = np.array([USUAL_WORDS.get(term, 0.0) for term in places], np.float32)
    rarity = _rarity(np.diff(starts).astype(np.float32), shares, len(words))
    weights = np.repeat(rarity, np.diff(starts)) * counts * (K1 + 1) / (counts + norms[skills])
    return Postings(places, starts, skills, weights.astype(np.float32))


def _rarity(holders: Floats, shares: Floats, size: int) -> Floats:
    """Return the inverse document frequency of terms, in a set extended to `REFERENCE` texts."""
    held, size = holders + max(REFERENCE - size, 0) * shares, max(size, REFERENCE)
    return np.log1p((size - held + 0.5) / (held + 0.5)).astype(np.float32)


def _words(fitted: FittedSkills, text: str) -> Floats:
    """Return the BM25 of a text in each skill, float32 (skills,)."""
    postings, found = fitted.postings, np.zeros(fitted.count, np.float32)
    for term in query_terms(text):
        if (place := postings.places.get(term)) is not None:
            some = slice(postings.starts[place], postings.starts[place + 1])
            found[postings.skills[some]] += postings.weights[some]
    return found


def packed_skills(fitted: FittedSkills) -> dict[str, Any]:
    """Return the arrays by name, for `unpacked_skills`."""
    postings = fitted.postings
    arrays: dict[str, Any] = {
        "skill_gists": fitted.gists.astype(np.float16),
        "skill_usual": fitted.usual,
        "skill_terms": np.frombuffer("\n".join(postings.places).encode(), np.uint8),
        "skill_term_starts": postings.starts,
        "skill_term_skills": postings.skills,
        "skill_term_weights": postings.weights,
    }
    for name in ("lines", "misses", "passages"):
        groups: Groups = getattr(fitted, name)
        arrays |= {f"skill_{name}": groups.rows.astype(np.float16), f"skill_{name}_starts": groups.starts}
        arrays[f"skill_{name}_order"] = groups.order
    return arrays


def unpacked_skills(arrays: Mapping[str, Any]) -> FittedSkills:
    """Return the skills of a stored fit."""

    def groups(name: str) -> Groups:
        rows = arrays[f"skill_{name}"].astype(np.float32)
        return Groups(rows, arrays[f"skill_{name}_starts"], arrays[f"skill_{name}_order"])

    written = arrays["skill_terms"].tobytes().decode()
    places = {term: place for place, term in enumerate(written.split("\n"))} if written else {}
    return FittedSkills(
        arrays["skill_gists"].astype(np.float32),
        groups("lines"),
        groups("misses"),
        groups("passages"),
        arrays["skill_usual"],
        Postings(places, arrays["skill_term_starts"], arrays["skill_term_skills"], arrays["skill_term_weights"]),
    )
