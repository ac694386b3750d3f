"""From scores of words and meaning to one order of operations.

A weighted sum of features of each of the best candidates: what both arms say of the query and of the concepts that it
is about, whether the operation does what the query's verbs want, whether it acts on a list or on one thing, whether it
is a variant that nobody asked for, deprecated, or outlived by a newer version. The weights were fitted by
`benchmarks/api_ranking.py`.

Invariant: pure; every candidate stands in the order exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.apis.traits import BULK, STATUS, WATCH, Traits, numbers
from thresher.knowledge.apis.wishes import Wish
from thresher.search import Floats, Ids

CANDIDATES: Final = 200
"""Operations that are looked at closely."""
MEANING: Final = 28.0
"""What a point of cosine counts beside a point of BM25."""
_SIBLINGS: Final = 3
"""Best operations of a resource or provider whose mean speaks for it."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of every operation in scope.

    Attributes:
        rows: int64 (n,), rows of `Traits`.
        meaning: float32 (n,), inner product with the query; 0 where nothing is known.
        words: float32 (n,), BM25 with the query.
        concepts_meaning: float32 (n,), as `meaning`, with the concepts.
        concepts_words: float32 (n,), as `words`, with the concepts.
    """

    rows: Ids
    meaning: Floats
    words: Floats
    concepts_meaning: Floats
    concepts_words: Floats

    @property
    def base(self) -> Floats:
        """A first order, float32 (n,)."""
        meaning = 0.5 * (self.meaning + self.concepts_meaning)
        return (MEANING * meaning + 0.5 * self.words + 0.4 * self.concepts_words).astype(np.float32)

    def best(self, count: int) -> Signals:
        """The best by that order."""
        return self.only(np.argsort(-self.base, kind="stable")[:count])

    def only(self, places: Ids) -> Signals:
        """Those at some places, in that order."""
        return Signals(
            self.rows[places],
            self.meaning[places],
            self.words[places],
            self.concepts_meaning[places],
            self.concepts_words[places],
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a query.

    Attributes:
        terms: Of its own words.
        concept_terms: Of the concepts that it is about.
        wish: What it wants done.
        providers: Ids of those that it names.
        several: Whether it asks for a list.
        everywhere: Whether it looks beyond one place.
        together: Whether something is to be done to many things at once.
        special: Words that may name a variant.
        path: The path that stands in it; empty without one.
        whole: All of it, which may be the id of an operation.
    """

    terms: frozenset[str]
    concept_terms: frozenset[str]
    wish: Wish
    providers: frozenset[int] = frozenset()
    several: bool = False
    everywhere: bool = False
    together: bool = False
    special: frozenset[str] = frozenset()
    path: str = ""
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Operations in order, best first.

    Attributes:
        rows: int64 (n,), rows of `Traits`.
        scores: float32 (n,).
        relevance: float32 (n,), calibrated probability that each is what was asked for.
    """

    rows: Ids
    scores: Floats
    relevance: Floats

    def __len__(self) -> int:
        """The number of operations."""
        return len(self.rows)

    def reordered(self, rows: Sequence[int]) -> Ranked:
        """The same in another order; a row that was not there counts as relevant as the one before it."""
        places = {row: place for place, row in enumerate(numbers(self.rows))}
        kept = [places.get(row, -1) for row in rows]
        known = [place if place >= 0 else kept[max(here - 1, 0)] for here, place in enumerate(kept)]
        chances = np.minimum.accumulate(self.relevance[known])
        return Ranked(np.array(rows, np.int64), self.scores[known], chances)

    def page(self, first: int, count: int) -> list[tuple[int, int]]:
        """Places and rows of some, from `first` on."""
        return list(enumerate(numbers(self.rows)))[first : first + count]


@dataclass(frozen=True, slots=True)
class Head:
    """Gives the probability that an operation is what was asked for: sigmoid of a weighted sum.

    Attributes:
        bias: The constant.
        meaning: Of the inner product with the query.
        concepts: Of the inner product with its concepts.
        words: Of ln(1 + BM25) with the query.
        title: Of the share of the title's words that the query or its concepts say.
        behind: Of how far its score lies behind the best.
    """

    bias: float
    meaning: float
    concepts: float
    words: float
    title: float
    behind: float


FEATURES: Final = (
    "meaning", "words", "concepts_meaning", "concepts_words", "long_words", "action", "action_doubt", "item",
    "item_of_several", "named_provider", "other_provider", "retired", "preview", "older", "special", "title_length",
    "title_said", "title_whole", "path_said", "last_said", "resource", "provider", "one_read", "bulk_together",
    "status", "watch", "parameters", "depth", "wide", "wide_everywhere",
)  # fmt: skip


WEIGHTS: Final = np.array(
    (
        0.55, 0.34, 0.42, 0.11, -0.2, 0.59, 0.89, -0.21,
        -0.79, 0.87, -3.22, -0.93, -2.53, -0.91, 0.33, -0.25,
        1.14, 0.66, 1.44, 0.1, 0.11, 0.04, 0.94, 1.46,
        -1.02, -0.89, 0.24, -0.19, -2.19, 4.25,
    ),
    np.float32,
)  # fmt: skip
"""One a feature."""
HEAD: Final = Head(bias=-10.95, meaning=4.93, concepts=8.57, words=0.67, title=0.34, behind=1.0)
"""Fitted on the first ten operations of the questions that the weights were fitted on, and of 150 foreign ones."""
LEAST_RELEVANCE: Final = 0.03
"""Where no operation reaches it, nothing fits."""
_UNEMBEDDED: Final = -2.0
_TITLE_WORDS: Final = 3.0
"""The same where words alone tell: the constant, and of the share of the title's words that the query says."""
_TYPED: Final = 30.0
"""What an operation gains whose path or id stands in the query, word for word."""
_CROSSING: Final = 0.35
"""What each point of the cross-encoder's logit adds to a score."""
_LOGITS: Final = (-11.0, 4.0)
"""Range of its logits; an operation that it did not read counts as the lowest."""


def ranked(asked: Asked, signals: Signals, traits: Traits) -> Ranked:
    """The best operations for a query, in order.

    Args:
        asked: The query.
        signals: Of every operation in scope.
        traits: Of them.
    """
    typed = _typed(asked, signals.rows, traits)
    near = signals.only(np.unique(np.concatenate([np.argsort(-signals.base, kind="stable")[:CANDIDATES], typed])))
    if not len(near.rows):
        return Ranked(near.rows, near.meaning, near.meaning)
    features = features_of(asked, near, traits)
    scores = features @ WEIGHTS + np.float32(_TYPED) * np.isin(near.rows, signals.rows[typed])
    order = np.lexsort((near.rows, -scores))
    scores, near = scores[order], near.only(order)
    chances = _relevance(scores, near, features[order, FEATURES.index("title_said")])
    kept = (
        chances > 0 if len(typed) or chances.max(initial=0.0) >= LEAST_RELEVANCE else np.zeros(len(chances), np.bool_)
    )
    return Ranked(near.rows[kept], scores[kept], np.minimum.accumulate(chances)[kept])


def reranked(ranking: Ranked, logits: Floats) -> Ranked:
    """A ranking with the cross-encoder's judgement of its first ones.

    Args:
        ranking: As it was.
        logits: float32 (k,), of the first k, higher is better.
    """
    judged = ranking.scores.copy()
    judged[: len(logits)] += _CROSSING * (np.clip(logits, *_LOGITS) - _LOGITS[0])
    order = np.argsort(-judged, kind="stable")
    return Ranked(ranking.rows[order], judged[order], ranking.relevance)


def _relevance(scores: Floats, signals: Signals, title: Floats) -> Floats:
    value = HEAD.bias + HEAD.meaning * signals.meaning + HEAD.concepts * signals.concepts_meaning
    value += HEAD.words * np.log1p(signals.words) + HEAD.title * title - HEAD.behind * (scores[0] - scores)
    if not signals.meaning.any():  # nothing is embedded yet: what is found shares words, and the title's count most
        value = np.where(signals.words > 0, _UNEMBEDDED + _TITLE_WORDS * title, np.float32(-np.inf))
    return (1.0 / (1.0 + np.exp(-np.minimum(value, 60.0)))).astype(np.float32)


def _typed(asked: Asked, rows: Ids, traits: Traits) -> Ids:
    """Places of the operations whose path or id stands in the query."""
    path, whole = asked.path.rstrip("/").lower(), asked.whole.lower()
    if not path and " " in whole:
        return np.empty(0, np.int64)
    briefs = [traits.found[row].brief for row in numbers(rows)]
    return np.array(
        [
            place
            for place, brief in enumerate(briefs)
            if (path and brief.path.rstrip("/").lower() == path) or brief.operation_id.lower() == whole
        ],
        np.int64,
    )


def features_of(asked: Asked, signals: Signals, traits: Traits) -> Floats:
    """The features of some candidates.

    Args:
        asked: The query.
        signals: Of the candidates.
        traits: Of all operations.

    Returns:
        float32 (candidates, features), columns in the order of `FEATURES`.
    """
    rows = signals.rows
    said = asked.terms | asked.concept_terms
    fit = traits.actions[rows] @ np.array(asked.wish.actions, np.float32)
    item = traits.item[rows]
    named = np.isin(traits.providers[rows], list(asked.providers))
    base = signals.base
    spread = float(base.max(initial=0.0))
    chosen = numbers(rows)
    columns = (
        MEANING * signals.meaning,
        signals.words,
        MEANING * signals.concepts_meaning,
        signals.concepts_words,
        signals.words * float(len(asked.terms) > _LONG),
        fit,
        np.log(_DOUBT + fit),
        item,
        item * float(asked.several),
        named,
        ~named * float(bool(asked.providers)),
        traits.retired[rows],
        traits.preview[rows],
        traits.older[rows],
        np.array([len(traits.special[row] - asked.special) for row in chosen]),
        np.array([len(traits.titles[row]) for row in chosen]),
        np.array([_share(traits.titles[row], said) for row in chosen]),
        np.array([traits.titles[row] <= asked.terms for row in chosen]),
        np.array([_share(traits.paths[row], said) for row in chosen]),
        np.array([_share(traits.last[row], said) for row in chosen]),
        _support(base, traits.groups[rows]) - spread,
        _support(base, traits.providers[rows]) - spread,
        item * traits.reads[rows] * np.float32(asked.wish.one),
        traits.variants[rows][:, BULK] * float(asked.together),
        traits.variants[rows][:, STATUS],
        traits.variants[rows][:, WATCH],
        traits.parameters[rows],
        traits.depth[rows],
        traits.wide[rows],
        traits.wide[rows] * float(asked.everywhere),
    )
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


_DOUBT: Final = 0.03
"""What is left of the fit of an operation that does nothing of what is wanted."""
_LONG: Final = 6
"""Words from which on a query tells a story, of which many words name nothing."""


def _share(terms: frozenset[str], said: frozenset[str]) -> float:
    return len(terms & said) / len(terms) if terms else 0.0


def _support(scores: Floats, groups: Ids) -> Floats:
    """Mean score of the best few of each one's group, float32 (n,)."""
    order = np.lexsort((-scores, groups))
    ordered = groups[order]
    depth = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    best = order[depth < _SIBLINGS]
    _, numbers = np.unique(groups, return_inverse=True)
    sums = np.bincount(numbers[best], scores[best])
    counts = np.bincount(numbers[best])
    return (sums / counts)[numbers].astype(np.float32)
