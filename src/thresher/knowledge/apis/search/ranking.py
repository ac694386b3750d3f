"""Orders operations by a weighted sum of features.

The features of each of the best candidates are: what both arms say about the query and its concepts, whether the
operation does what the query's verbs ask for, whether it acts on a list or on one thing, and whether it is a variant
that the query does not mention, deprecated, or superseded by a newer version. `benchmarks/api_ranking.py` fitted the
weights.

A path such as `/movie/{movie_id}/images` needs an id. If the query names a thing, by a proper name or in quotation
marks, the operation that finds such things is placed behind the first one that needs its id.

Invariant: pure; every candidate appears exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.apis.cache import LocatedOperation
from thresher.knowledge.apis.heads import Brief
from thresher.knowledge.apis.ingestion.paths import literals, parameters, squeezed
from thresher.knowledge.apis.search.actions import Goal
from thresher.knowledge.apis.search.traits import BULK, STATUS, WATCH, OperationTraits, numbers
from thresher.search import Floats, Ids

CANDIDATES: Final = 200
"""Operations whose features are computed."""
MEANING: Final = 28.0
"""Weight of a point of cosine relative to a point of BM25."""
_SIBLINGS: Final = 3
"""Number of the best operations of a resource or provider whose mean counts for it."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Scores of every operation in scope.

    Attributes:
        rows: int64 (n,), rows of `OperationTraits`.
        meaning: float32 (n,), inner product with the query; 0 if unknown.
        words: float32 (n,), BM25 with the query.
        concepts_meaning: float32 (n,), inner product with the concepts.
        concepts_words: float32 (n,), BM25 with the concepts.
    """

    rows: Ids
    meaning: Floats
    words: Floats
    concepts_meaning: Floats
    concepts_words: Floats

    @property
    def base(self) -> Floats:
        """Preliminary score, float32 (n,)."""
        meaning = 0.5 * (self.meaning + self.concepts_meaning)
        return (MEANING * meaning + 0.5 * self.words + 0.4 * self.concepts_words).astype(np.float32)

    def best(self, count: int) -> Signals:
        """Return the best by preliminary score."""
        return self.only(np.argsort(-self.base, kind="stable")[:count])

    def only(self, places: Ids) -> Signals:
        """Return those at some positions, in that order."""
        return Signals(
            self.rows[places],
            self.meaning[places],
            self.words[places],
            self.concepts_meaning[places],
            self.concepts_words[places],
        )


@dataclass(frozen=True, slots=True)
class QueryTraits:
    """What the ranking knows about a query.

    Attributes:
        terms: Terms of its own words.
        concept_terms: Terms of its concepts.
        goal: What it wants done.
        providers: Ids of the providers that it names.
        several: Whether it asks for a list.
        everywhere: Whether it looks beyond one place.
        together: Whether something is to be done to many things at once.
        special: Words that may name a variant.
        path: The path in it; empty if there is none.
        whole: The whole text, which may be the id of an operation.
    """

    terms: frozenset[str]
    concept_terms: frozenset[str]
    goal: Goal
    providers: frozenset[int] = frozenset()
    several: bool = False
    everywhere: bool = False
    together: bool = False
    special: frozenset[str] = frozenset()
    path: str = ""
    whole: str = ""


@dataclass(frozen=True, slots=True)
class RankedOperations:
    """Operations in order, best first.

    Attributes:
        rows: int64 (n,), rows of `OperationTraits`.
        scores: float32 (n,).
        relevance: float32 (n,), calibrated probability that each is the one asked for.
    """

    rows: Ids
    scores: Floats
    relevance: Floats

    def __len__(self) -> int:
        """Return the number of operations."""
        return len(self.rows)

    def reordered(self, rows: Sequence[int]) -> RankedOperations:
        """Return another order; a row that was not ranked gets the relevance of the one before it."""
        places = {row: place for place, row in enumerate(numbers(self.rows))}
        kept = [places.get(row, -1) for row in rows]
        known = [place if place >= 0 else kept[max(here - 1, 0)] for here, place in enumerate(kept)]
        chances = np.minimum.accumulate(self.relevance[known])
        return RankedOperations(np.array(rows, np.int64), self.scores[known], chances)

    def page(self, first: int, count: int) -> list[tuple[int, int]]:
        """Return positions and rows of a page that starts at `first`."""
        return list(enumerate(numbers(self.rows)))[first : first + count]


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """A logistic model of the probability that an operation is the one asked for.

    Attributes:
        bias: Constant.
        meaning: Weight of the inner product with the query.
        concepts: Weight of the inner product with its concepts.
        words: Weight of ln(1 + BM25) with the query.
        title: Weight of the share of the title's words in the query or its concepts.
        behind: Weight of the distance to the best score.
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
        0.62, 0.33, 0.34, 0.15, -0.29, 2.53, 0.74, 0.07,
        -1.1, 0.26, -1.03, -1.0, -1.5, -0.45, 0.27, -0.14,
        0.39, 0.33, 1.29, -0.24, 0.25, 0.09, 0.86, 1.71,
        -0.81, 0.03, 0.16, -0.35, -2.17, 4.2,
    ),
    np.float32,
)  # fmt: skip
"""One for each feature, drawn towards plain fusion (`docs/decisions/0075-apis-nobody-asked-about.md`)."""
RELEVANCE: Final = RelevanceModel(bias=-10.95, meaning=4.93, concepts=8.57, words=0.67, title=0.34, behind=1.0)
"""Fitted on the first ten operations of the questions that fitted the weights, and of 150 foreign questions."""
LEAST_RELEVANCE: Final = 0.03
"""If no operation reaches this, nothing fits."""
_UNEMBEDDED: Final = -2.0
_TITLE_WORDS: Final = 3.0
"""Bias, and weight of the share of the title's words in the query, if only words are known."""
_TYPED: Final = 30.0
"""What an operation gains if the query contains its path or id word for word."""
_CROSSING: Final = 0.35
"""What each point of the cross-encoder's logit adds to a score."""
_LOGITS: Final = (-11.0, 4.0)
"""Range of the logits; an operation that the cross-encoder did not read counts as the lowest."""


def rank(query: QueryTraits, signals: Signals, traits: OperationTraits) -> RankedOperations:
    """Return the best operations for a query, in order.

    Args:
        query: The query.
        signals: Scores of every operation in scope.
        traits: Traits of all operations.
    """
    typed = _typed(query, signals.rows, traits)
    near = signals.only(np.unique(np.concatenate([np.argsort(-signals.base, kind="stable")[:CANDIDATES], typed])))
    if not len(near.rows):
        return RankedOperations(near.rows, near.meaning, near.meaning)
    features = features_of(query, near, traits)
    scores = features @ WEIGHTS + np.float32(_TYPED) * np.isin(near.rows, signals.rows[typed])
    order = np.lexsort((near.rows, -scores))
    scores, near = scores[order], near.only(order)
    chances = _relevance(scores, near, features[order, FEATURES.index("title_said")])
    kept = (
        chances > 0 if len(typed) or chances.max(initial=0.0) >= LEAST_RELEVANCE else np.zeros(len(chances), np.bool_)
    )
    return RankedOperations(near.rows[kept], scores[kept], np.minimum.accumulate(chances)[kept])


def rerank(ranking: RankedOperations, logits: Floats) -> RankedOperations:
    """Return a ranking adjusted by the cross-encoder's judgement of its first operations.

    Args:
        ranking: The ranking before.
        logits: float32 (k,), of the first k; higher is better.
    """
    judged = ranking.scores.copy()
    judged[: len(logits)] += _CROSSING * (np.clip(logits, *_LOGITS) - _LOGITS[0])
    order = np.argsort(-judged, kind="stable")
    return RankedOperations(ranking.rows[order], judged[order], ranking.relevance)


def _relevance(scores: Floats, signals: Signals, title: Floats) -> Floats:
    value = RELEVANCE.bias + RELEVANCE.meaning * signals.meaning + RELEVANCE.concepts * signals.concepts_meaning
    value += (
        RELEVANCE.words * np.log1p(signals.words) + RELEVANCE.title * title - RELEVANCE.behind * (scores[0] - scores)
    )
    if not signals.meaning.any():  # nothing is embedded yet: words decide, those of the title most
        value = np.where(signals.words > 0, _UNEMBEDDED + _TITLE_WORDS * title, np.float32(-np.inf))
    return (1.0 / (1.0 + np.exp(-np.minimum(value, 60.0)))).astype(np.float32)


def _typed(query: QueryTraits, rows: Ids, traits: OperationTraits) -> Ids:
    """Return the positions of the operations whose path or id the query contains."""
    path, whole = query.path.rstrip("/").lower(), query.whole.lower()
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


def features_of(query: QueryTraits, signals: Signals, traits: OperationTraits) -> Floats:
    """Return the features of some candidates.

    Args:
        query: The query.
        signals: Scores of the candidates.
        traits: Traits of all operations.

    Returns:
        float32 (candidates, features), columns in the order of `FEATURES`.
    """
    rows = signals.rows
    known_terms = query.terms | query.concept_terms
    fit = traits.actions[rows] @ np.array(query.goal.actions, np.float32)
    item = traits.item[rows]
    named = np.isin(traits.providers[rows], list(query.providers))
    base = signals.base
    spread = float(base.max(initial=0.0))
    chosen = numbers(rows)
    columns = (
        MEANING * signals.meaning,
        signals.words,
        MEANING * signals.concepts_meaning,
        signals.concepts_words,
        signals.words * float(len(query.terms) > _LONG),
        fit,
        np.log(_DOUBT + fit),
        item,
        item * float(query.several),
        named,
        ~named * float(bool(query.providers)),
        traits.retired[rows],
        traits.preview[rows],
        traits.older[rows],
        np.array([len(traits.special[row] - query.special) for row in chosen]),
        np.array([len(traits.titles[row]) for row in chosen]),
        np.array([_share(traits.titles[row], known_terms) for row in chosen]),
        np.array([traits.titles[row] <= query.terms for row in chosen]),
        np.array([_share(traits.paths[row], known_terms) for row in chosen]),
        np.array([_share(traits.last[row], known_terms) for row in chosen]),
        _support(base, traits.groups[rows]) - spread,
        _support(base, traits.providers[rows]) - spread,
        item * traits.reads[rows] * np.float32(query.goal.one),
        traits.variants[rows][:, BULK] * float(query.together),
        traits.variants[rows][:, STATUS],
        traits.variants[rows][:, WATCH],
        traits.parameters[rows],
        traits.depth[rows],
        traits.wide[rows],
        traits.wide[rows] * float(query.everywhere),
    )
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


_DOUBT: Final = 0.03
"""Added to the fit before the logarithm, for operations that fit no requested action."""
_LONG: Final = 6
"""Number of terms from which a query tells a story, in which many words name nothing."""


def _share(terms: frozenset[str], known_terms: frozenset[str]) -> float:
    return len(terms & known_terms) / len(terms) if terms else 0.0


def _support(scores: Floats, groups: Ids) -> Floats:
    """Return the mean score of the best few of each one's group, float32 (n,)."""
    order = np.lexsort((-scores, groups))
    ordered = groups[order]
    depth = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    best = order[depth < _SIBLINGS]
    _, numbers = np.unique(groups, return_inverse=True)
    sums = np.bincount(numbers[best], scores[best])
    counts = np.bincount(numbers[best])
    return (sums / counts)[numbers].astype(np.float32)


DEPTH: Final = 6
"""Number of operations whose needs are looked at."""
_QUOTED: Final = re.compile(r"[\"\u201c\u00ab'][^\"\u201d\u00bb']{2,60}[\"\u201d\u00bb']")
_NAME: Final = re.compile(r"(?<=[a-z,:;] )[A-Z][a-z\u00e0-\u00ff]+(?:['\u2019]s)?\b")
_FINDS: Final = re.compile(r"^(?:search|find|lookup)$", re.I)

ANY_KIND: Final = ""
"""The kind of a finder that finds things of all kinds."""
FinderKey = tuple[int, str]
"""Id of a provider, and the name of a kind of thing."""


def names_a_thing(query: str, known: frozenset[str]) -> bool:
    """Return whether a query names one thing: a quotation, or a capitalised word inside a sentence.

    Args:
        query: The query as given.
        known: Lower-case words that are not such a name, such as names of providers.
    """
    names = (found[0].removesuffix("'s").removesuffix("\u2019s").lower() for found in _NAME.finditer(query))
    return _QUOTED.search(query) is not None or any(name not in known for name in names)


def finders(found: Sequence[LocatedOperation]) -> Mapping[FinderKey, int]:
    """Return the position of the operation that finds things of a kind, by provider and kind.

    It is a GET without an id, under a segment such as `search`; the kind is the last word of its path, or any, which is
    the empty name, if the segment is the whole path.
    """
    places: dict[FinderKey, int] = {}
    for place, one in enumerate(found):
        segments = literals(one.brief.path)
        if one.brief.method != "GET" or parameters(one.brief.path) or not segments:
            continue
        if len(segments) == 1:
            if _FINDS.match(segments[0]):
                places.setdefault((one.provider.id, ANY_KIND), place)
        elif _FINDS.match(segments[0]):
            places.setdefault((one.provider.id, squeezed(segments[-1])), place)
        elif _FINDS.match(segments[-1]):
            places.setdefault((one.provider.id, squeezed(segments[-2])), place)
    return places


def required_kind(brief: Brief) -> str:
    """Return the kind of thing whose id a path needs first; empty if it needs none."""
    before = ""
    for segment in brief.path.split("/"):
        if segment.startswith("{"):
            return squeezed(before)
        before = segment
    return ""


def with_finders(rows: Sequence[int], found: Sequence[LocatedOperation], known: Mapping[FinderKey, int]) -> list[int]:
    """Return an order in which a finder stands behind the first of the best operations that needs it.

    Args:
        rows: Rows in order, best first.
        found: The operation of each row.
        known: Finders, as `finders` returns them.
    """
    order: dict[int, None] = {}
    for place, row in enumerate(rows):
        order.setdefault(row)
        if place >= DEPTH:
            continue
        provider, kind = found[row].provider.id, required_kind(found[row].brief)
        finder = known.get((provider, kind), known.get((provider, ANY_KIND)) if kind else None)
        if finder is not None:
            order.setdefault(finder)
    return list(order)
