"""Answers `search_api_docs`: matching operations, best first, or a list of tags or operations.

Invariant: results are operations of active providers that the caller sees and that their descriptions still contain.
Pages of one query follow each other without gaps while the descriptions stay the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from cachetools import LRUCache

from thresher.core import Arm, Caller, CursorCodec, EncoderError, NotFound, Why, check_limit
from thresher.embedding import CrossEncoder
from thresher.knowledge.apis.cache import DescriptionCache, LocatedOperation
from thresher.knowledge.apis.endpoints import found_endpoint
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.ingestion.rows import KIND, facets_of
from thresher.knowledge.apis.ingestion.wording import first_sentence, plain
from thresher.knowledge.apis.models import DEFAULT_LIMIT, LIMIT_CAP, FoundEndpoint, FoundEndpoints
from thresher.knowledge.apis.naming import find_provider
from thresher.knowledge.apis.search import browsing, concepts, ranking, shipped
from thresher.knowledge.apis.search.actions import Goal, requested_actions
from thresher.knowledge.apis.search.browsing import Browse, VersionOperations
from thresher.knowledge.apis.search.query import (
    ShortForms,
    asks_everywhere,
    asks_for_several,
    asks_together,
    clean_query,
    distinct_terms,
    named_providers,
    query_words,
    short_forms,
    spelled_out,
    typed_methods,
    typed_path,
)
from thresher.knowledge.apis.search.ranking import FinderKey, QueryTraits, RankedOperations, Signals
from thresher.knowledge.apis.search.traits import OperationTraits, numbers, traits_of
from thresher.search import Filter, Floats, Scoring, SearchIndex, clauses

PAIRS: Final = 25
"""Operations that the cross-encoder reads."""
_KEPT: Final = 8
"""Maximum sets of versions whose traits are kept."""
_CURSOR: Final[CursorCodec[int]] = CursorCodec("search_api_docs", int)
_SHOWN: Final = 300
_READ: Final = 200
_TERMS: Final = 6


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query with its filters.

    Attributes:
        text: Any words; may be empty.
        providers: Names or aliases of the only providers to search.
        methods: The only HTTP methods.
        tags: An operation must have one of these.
        limit: Maximum operations or tags.
        cursor: Cursor of an earlier answer.
        rerank: Whether the cross-encoder reads the best.
    """

    text: str
    providers: Sequence[str] = ()
    methods: Sequence[str] = ()
    tags: Sequence[str] = ()
    limit: int = DEFAULT_LIMIT
    cursor: str = ""
    rerank: bool = False


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The operations of some versions.

    Attributes:
        parts: Operations by provider and version.
        traits: Their traits as columns.
        forms: Short forms that the descriptions teach.
        finders: Row of the operation that finds things of a kind.
    """

    parts: tuple[VersionOperations, ...]
    traits: OperationTraits
    forms: ShortForms
    finders: Mapping[FinderKey, int]


@dataclass(frozen=True, slots=True)
class _CheckedQuery:
    """A query whose filters are checked against what the caller sees."""

    scope: SearchScope
    methods: tuple[str, ...]
    tags: tuple[str, ...]
    limit: int
    place: int
    question: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interpretation:
    """How a query is understood before anything is searched.

    Attributes:
        context: Names of its concepts, and what its short forms stand for.
        goal: What it wants done.
        embedding_ms: Time spent on embedding it.
    """

    context: str
    goal: Goal
    embedding_ms: float


@dataclass(frozen=True, slots=True)
class _Restriction:
    """What every phrase of a query is restricted to, or prefers.

    Attributes:
        methods: The only HTTP methods.
        tags: An operation must have one of these.
        providers: The providers that the whole query names; a phrase that names others is about those.
    """

    methods: tuple[str, ...]
    tags: tuple[str, ...]
    providers: tuple[ProviderHead, ...]


@dataclass(frozen=True, slots=True)
class _RankedPhrase:
    """The operations for one phrase."""

    ranked: RankedOperations
    scoring: Scoring
    embedding_ms: float


class Searcher:
    """Finds operations.

    Args:
        index: Where operations are found.
        cache: Where their summaries are kept.
        crossing: The cross-encoder.
    """

    def __init__(self, index: SearchIndex, cache: DescriptionCache, crossing: CrossEncoder) -> None:
        self._index = index
        self._cache = cache
        self._crossing = crossing
        self._scopes: LRUCache[tuple[tuple[int, int, int], ...], SearchScope] = LRUCache(_KEPT)

    async def search(self, caller: Caller, query: SearchQuery) -> FoundEndpoints:
        """Answer one query.

        Raises:
            InvalidInput: The limit or a method is not valid.
            InvalidCursor: The cursor belongs to another query.
            NotFound: There is no such provider, or no operation with such a tag.
            StoreUnavailable: The database cannot be reached.
        """
        started = time.perf_counter()
        cleaned = clean_query(query.text)
        checked = await self._checked(caller, query)
        browse = browsing.browse_of(cleaned, checked.scope.parts, checked.tags)
        if browse is not None:
            found = _browsed(checked, cleaned.text, browse)
        else:
            found = await self._searched(caller, cleaned.text, checked, rerank=query.rerank)
        if not found.providers:
            found = replace(found, notes=(*found.notes, *_switched_off(await self._cache.directory(caller))))
        total = (time.perf_counter() - started) * 1000
        return replace(found, search_ms=max(total - found.embedding_ms, 0.0))

    async def _checked(self, caller: Caller, query: SearchQuery) -> _CheckedQuery:
        check_limit(query.limit, LIMIT_CAP)
        heads = _asked_for(await self._cache.directory(caller), query.providers)
        scope = await self._scope(caller, heads)
        methods = browsing.checked_methods(query.methods)
        tags = browsing.checked_tags(query.tags, scope.parts)
        question = (query.text, "\t".join(head.name for head in heads), "\t".join(methods), "\t".join(tags))
        (place,) = _CURSOR.decode(query.cursor, question) if query.cursor.strip() else (0,)
        return _CheckedQuery(scope, methods, tags, query.limit, place, question)

    async def _scope(self, caller: Caller, heads: Sequence[ProviderHead]) -> SearchScope:
        """Return the operations of some providers; kept while their versions stay the same."""
        versions = [(head, version) for head in heads for version in head.versions]
        key = tuple((caller.tenant.id, version.id, version.edition) for _, version in versions)
        if (kept := self._scopes.get(key)) is None:
            parts = [(head, one, await self._cache.operations(caller.tenant, one)) for head, one in versions]
            briefs = (brief for _, _, held in parts for brief in held.briefs)
            traits = traits_of(parts)
            kept = self._scopes[key] = SearchScope(
                tuple(parts), traits, short_forms(briefs), ranking.finders(traits.found)
            )
        return kept

    async def _searched(self, caller: Caller, text: str, checked: _CheckedQuery, *, rerank: bool) -> FoundEndpoints:
        scope = checked.scope
        heads = {provider.id: provider for provider, _, _ in scope.parts}
        mentioned = named_providers(text, heads.values())
        methods = checked.methods or typed_methods(text)
        restriction = _Restriction(methods, checked.tags, mentioned)
        phrases = tuple(clauses(text)) or (text,)
        lists = await asyncio.gather(*(self._ranked(caller, one, scope, restriction) for one in phrases))
        ranked, sources = _interleaved(lists)
        notes: list[str] = []
        if rerank and len(ranked):
            ranked, note = await self._reranked(text, ranked, scope.traits)
            notes += [note] if note else []
        names = (name for head in heads.values() for name in (head.name, head.display_name, *head.aliases))
        if ranking.names_a_thing(text, frozenset(word for name in names for word in query_words(name))):
            ranked = ranked.reordered(ranking.with_finders(numbers(ranked.rows), scope.traits.found, scope.finders))
        page = ranked.page(checked.place, checked.limit)
        end = checked.place + len(page)
        return FoundEndpoints(
            query=text,
            mode="search",
            endpoints=tuple(
                _found(
                    scope.traits.found[row],
                    ranked.relevance[place],
                    _why(sources.get(row, lists[0]).scoring, scope.traits, row),
                )
                for place, row in page
            ),
            total=len(ranked),
            cursor=_CURSOR.encode(end, question=checked.question) if end < len(ranked) else "",
            providers=tuple(head.name for head in mentioned or heads.values()),
            methods=methods,
            clauses=phrases,
            degraded=lists[0].scoring.degraded,
            notes=tuple(notes),
            embedding_ms=max(one.embedding_ms for one in lists),
            reranked=rerank and not notes,
        )

    async def _ranked(self, caller: Caller, text: str, scope: SearchScope, restriction: _Restriction) -> _RankedPhrase:
        """Rank the operations for one phrase."""
        interpretation = await self._interpretation(text, scope.forms)
        versions = [version.id for _, version, _ in scope.parts]
        scoring = await self._index.score(
            caller, KIND, text, filter=Filter(facets_of(versions)), context=interpretation.context
        )
        signals = _within(signals_of(scoring, scope.traits), scope.traits, restriction.methods, restriction.tags)
        providers = named_providers(text, restriction.providers) or restriction.providers
        described = query_traits(text, interpretation, [head.id for head in providers])
        ranked = ranking.rank(described, signals, scope.traits)
        return _RankedPhrase(ranked, scoring, scoring.embedding_ms + interpretation.embedding_ms)

    async def _interpretation(self, text: str, forms: ShortForms) -> Interpretation:
        """Return what a query is about and wants done; by its words alone if the encoder does not answer."""
        embedded = await self._index.embed_query(text)
        known = shipped.packaged()
        near: Floats | None = None
        goal = Goal(requested_actions(text))
        if known is not None and embedded.matrix is not None and embedded.model == known.model:
            near, goal = known.nearness(embedded.matrix[0]), known.goal(embedded.matrix[0], text)
        names = (*spelled_out(text, forms), *(concept.name for concept in concepts.chosen(text, near)))
        return Interpretation(", ".join(dict.fromkeys(names)), goal, embedded.milliseconds)

    async def _reranked(
        self, text: str, ranked: RankedOperations, traits: OperationTraits
    ) -> tuple[RankedOperations, str]:
        rows = numbers(ranked.rows[:PAIRS])
        briefs = [traits.found[row].brief for row in rows]
        texts = [
            f"{one.title}. {first_sentence(plain(one.description), _READ)} {one.method} {one.path}" for one in briefs
        ]
        try:
            logits = await self._crossing.rerank(text, texts)
        except EncoderError as error:
            return ranked, f"Not reranked: {error.message}"
        return ranking.rerank(ranked, logits), ""


def _interleaved(lists: Sequence[_RankedPhrase]) -> tuple[RankedOperations, Mapping[int, _RankedPhrase]]:
    """Return the operations of all phrases in turn, and the phrase that each row comes from.

    An operation is as relevant as to the phrase that it fits best: the whole of two tasks fits neither of them.
    """
    if len(lists) == 1:
        return lists[0].ranked, {}
    chosen: dict[int, tuple[_RankedPhrase, int]] = {}
    likely: dict[int, float] = {}
    for one in lists:
        for row, chance in zip(numbers(one.ranked.rows), one.ranked.relevance.tolist(), strict=True):
            likely[row] = max(chance, likely.get(row, 0.0))
    for place in range(max(len(one.ranked) for one in lists)):
        for one in lists:
            if place < len(one.ranked):
                chosen.setdefault(int(one.ranked.rows[place]), (one, place))
    rows = np.array(list(chosen), np.int64)
    scores = np.array([one.ranked.scores[place] for one, place in chosen.values()], np.float32)
    chances = np.array([likely[row] for row in chosen], np.float32)
    ranked = RankedOperations(rows, scores, np.minimum.accumulate(chances))
    return ranked, {row: one for row, (one, _) in chosen.items()}


def signals_of(scoring: Scoring, traits: OperationTraits) -> Signals:
    """Return the scores of the known operations in the form that the ranking takes."""
    rows = traits.rows_of(scoring.ids)
    known = np.flatnonzero(rows >= 0)
    zeros = np.zeros(len(known), np.float32)
    concepts_words = zeros if scoring.context_lexical is None else scoring.context_lexical[known]
    meaning = zeros if scoring.dense is None else _filled(scoring.dense)[known]
    near = meaning if scoring.context_dense is None else _filled(scoring.context_dense)[known]
    return Signals(rows[known], meaning, scoring.lexical[known], near, concepts_words)


def query_traits(text: str, interpretation: Interpretation, providers: Sequence[int]) -> QueryTraits:
    """Return what the ranking knows about a query."""
    return QueryTraits(
        distinct_terms(text),
        distinct_terms(interpretation.context),
        interpretation.goal,
        frozenset(providers),
        asks_for_several(text),
        asks_everywhere(text),
        asks_together(text),
        frozenset(query_words(text)),
        typed_path(text),
        text.strip(),
    )


def _filled(scores: Floats) -> Floats:
    """Replace missing scores by the 90th percentile of the others, so that words decide."""
    missing = np.isnan(scores)
    return np.where(missing, np.nanquantile(scores, 0.9), scores).astype(np.float32) if missing.any() else scores


def _within(signals: Signals, traits: OperationTraits, methods: Sequence[str], tags: Sequence[str]) -> Signals:
    """Return the signals of operations with one of these methods and one of these tags."""
    if not methods and not tags:
        return signals
    wanted = frozenset(tag.lower() for tag in tags)
    briefs = [traits.found[row].brief for row in numbers(signals.rows)]
    kept = [
        place
        for place, brief in enumerate(briefs)
        if (not methods or brief.method in methods) and (not wanted or browsing.has_tag(brief, wanted))
    ]
    return signals.only(np.array(kept, np.int64))


def _asked_for(seen: Sequence[ProviderHead], names: Sequence[str]) -> tuple[ProviderHead, ...]:
    """Return the named active providers, or all active ones.

    Raises:
        NotFound: There is no such provider, or it is inactive.
    """
    wanted = list({head.id: head for name in names if name.strip() for head in [find_provider(seen, name)]}.values())
    for head in wanted:
        if not head.active:
            raise NotFound(
                f"The API '{head.name}' is switched off.", hint=f"Enable it: thresher apis enable {head.name}"
            )
    return tuple(wanted) if wanted else tuple(head for head in seen if head.active)


def _switched_off(seen: Sequence[ProviderHead]) -> tuple[str, ...]:
    """Return a note that names the inactive providers; empty if there are none."""
    names = [head.name for head in seen if not head.active]
    note = f"Switched off: {', '.join(names)}. Enable an API: thresher apis enable {names[0]}" if names else ""
    return (note,) if note else ()


def _browsed(checked: _CheckedQuery, text: str, browse: Browse) -> FoundEndpoints:
    names = tuple(dict.fromkeys(head.name for head, _, _ in checked.scope.parts if head.id in browse.providers))
    first, end = checked.place, checked.place + checked.limit
    listed = FoundEndpoints(text, "browse", providers=names, methods=checked.methods)
    if browse.tags:
        operations = browsing.list_operations(checked.scope.parts, browse, checked.methods)
        chosen = tuple(_found(one, 1.0, Why("browse")) for one in operations[first:end])
        listed, total = replace(listed, endpoints=chosen), len(operations)
    else:
        tags = browsing.list_tags(checked.scope.parts, browse)
        listed, total = replace(listed, tags=tuple(tags[first:end])), len(tags)
    cursor = _CURSOR.encode(end, question=checked.question) if end < total else ""
    return replace(listed, total=total, cursor=cursor)


def _found(located: LocatedOperation, relevance: float, why: Why) -> FoundEndpoint:
    description = first_sentence(plain(located.brief.description), _SHOWN)
    return replace(found_endpoint(located, why), description=description, relevance=round(float(relevance), 4))


def _why(scoring: Scoring, traits: OperationTraits, row: int) -> Why:
    """Return ranks and scores in both arms, and the matched words."""
    number = int(traits.ids[row])
    place = int(np.searchsorted(scoring.ids, number))
    matched = scoring.matched(number)[:_TERMS]
    lexical = _arm(scoring.lexical, place) if matched else Arm(None, None)
    dense = Arm(None, None)
    if scoring.dense is not None and not np.isnan(scoring.dense[place]):
        dense = _arm(scoring.dense, place)
    source = "hybrid" if matched and dense.rank else "lexical" if matched else "semantic"
    return Why(source, dense, lexical, matched)


def _arm(scores: Floats, place: int) -> Arm:
    return Arm(1 + int(np.count_nonzero(scores > scores[place])), float(scores[place]))
