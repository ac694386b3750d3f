"""Answers `search_api_docs`: the operations that do what is asked for, best first, or a list of what there is.

Invariant: only operations of active providers that the caller sees, and that their descriptions still have, are found;
pages of one question follow each other without gaps while the descriptions stay.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from thresher.core import Arm, Caller, EncoderError, NotFound, Why, check_limit
from thresher.embedding import CrossEncoder
from thresher.knowledge.apis import browsing, cleaning, concepts, cursors, detecting, ranking, shipped, steps, verbs
from thresher.knowledge.apis.browsing import Browse, Part
from thresher.knowledge.apis.entries import KIND, facets_of
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.listing import named
from thresher.knowledge.apis.models import DEFAULT_LIMIT, LIMIT_CAP, FoundEndpoint, FoundEndpoints
from thresher.knowledge.apis.ranking import Asked, Ranked, Signals
from thresher.knowledge.apis.shelf import Located, Shelf
from thresher.knowledge.apis.synonyms import ShortForms, short_forms, spelled_out
from thresher.knowledge.apis.traits import Traits, numbers, title, traits_of
from thresher.knowledge.apis.wishes import Wish
from thresher.knowledge.apis.wording import first_sentence, plain
from thresher.search import Filter, Floats, Scoring, SearchIndex

PAIRS: Final = 25
"""Operations that the cross-encoder reads."""
_KEPT: Final = 8
"""Sets of versions whose columns are kept."""
_SHOWN: Final = 300
_READ: Final = 200
_TERMS: Final = 6


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked.

    Attributes:
        text: Any words; may be empty.
        providers: Names or aliases of the only ones that are searched.
        methods: The only HTTP methods.
        tags: Of which an operation has one.
        limit: Operations or tags at most.
        cursor: Where an earlier answer goes on.
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
class Scope:
    """What is searched: the operations of some versions.

    Attributes:
        parts: By provider and version.
        traits: As columns.
        forms: Short forms that their descriptions teach.
        finders: What finds things of a kind, as rows.
    """

    parts: tuple[Part, ...]
    traits: Traits
    forms: ShortForms
    finders: Mapping[steps.Key, int]


@dataclass(frozen=True, slots=True)
class _Wish:
    """A query, checked against what the caller sees."""

    scope: Scope
    methods: tuple[str, ...]
    tags: tuple[str, ...]
    limit: int
    place: int
    question: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Understood:
    """What is made of a query before anything is searched.

    Attributes:
        context: Names of the concepts that it is about, and what its short forms stand for.
        wish: What it wants done.
        embedding_ms: Time spent on embedding it.
    """

    context: str
    wish: Wish
    embedding_ms: float


class Searcher:
    """Finds operations.

    Args:
        index: Where they are found.
        shelf: What is known of them.
        crossing: Reads query and operation together.
    """

    def __init__(self, index: SearchIndex, shelf: Shelf, crossing: CrossEncoder) -> None:
        self._index = index
        self._shelf = shelf
        self._crossing = crossing
        self._scopes: OrderedDict[tuple[tuple[int, int, int], ...], Scope] = OrderedDict()

    async def search(self, caller: Caller, query: Query) -> FoundEndpoints:
        """Answer one query.

        Raises:
            InvalidInput: The limit is out of bounds, a method is none, or the cursor belongs to another question.
            NotFound: There is no such provider, or no operation with such a tag.
            StoreUnavailable: The database cannot be reached.
        """
        started = time.perf_counter()
        cleaned = cleaning.clean(query.text)
        wish = await self._wish(caller, query)
        browse = browsing.browse_of(cleaned, wish.scope.parts, wish.tags)
        if browse is not None:
            found = _browsed(wish, cleaned.text, browse)
        else:
            found = await self._searched(caller, cleaned.text, wish, rerank=query.rerank)
        if not found.providers:
            found = replace(found, notes=(*found.notes, *_switched_off(await self._shelf.directory(caller))))
        total = (time.perf_counter() - started) * 1000
        return replace(found, search_ms=max(total - found.embedding_ms, 0.0))

    async def _wish(self, caller: Caller, query: Query) -> _Wish:
        check_limit(query.limit, LIMIT_CAP)
        heads = _asked_for(await self._shelf.directory(caller), query.providers)
        scope = await self._scope(caller, heads)
        methods = browsing.checked_methods(query.methods)
        tags = browsing.checked_tags(query.tags, scope.parts)
        question = (query.text, "\t".join(head.name for head in heads), "\t".join(methods), "\t".join(tags))
        place = cursors.place_of(query.cursor, question)
        return _Wish(scope, methods, tags, query.limit, place, question)

    async def _scope(self, caller: Caller, heads: Sequence[ProviderHead]) -> Scope:
        """The operations of some providers; kept while their versions stay as they are."""
        versions = [(head, version) for head in heads for version in head.versions]
        key = tuple((caller.tenant.id, version.id, version.edition) for _, version in versions)
        if (kept := self._scopes.get(key)) is None:
            parts = [(head, one, await self._shelf.operations(caller.tenant, one)) for head, one in versions]
            briefs = (brief for _, _, held in parts for brief in held.briefs)
            traits = traits_of(parts)
            kept = self._scopes[key] = Scope(tuple(parts), traits, short_forms(briefs), steps.finders(traits.found))
            while len(self._scopes) > _KEPT:
                self._scopes.popitem(last=False)
        self._scopes.move_to_end(key)
        return kept

    async def _searched(self, caller: Caller, text: str, wish: _Wish, *, rerank: bool) -> FoundEndpoints:
        scope = wish.scope
        heads = {provider.id: provider for provider, _, _ in scope.parts}
        mentioned = detecting.named_providers(text, heads.values())
        methods = wish.methods or detecting.typed_methods(text)
        understood = await self._understood(text, scope.forms)
        versions = [version.id for _, version, _ in scope.parts]
        scoring = await self._index.score(
            caller, KIND, text, filter=Filter(facets_of(versions)), context=understood.context
        )
        signals = _within(signals_of(scoring, scope.traits), scope.traits, methods, wish.tags)
        asked = asked_of(text, understood, [head.id for head in mentioned])
        ranked = ranking.ranked(asked, signals, scope.traits)
        notes: list[str] = []
        if rerank and len(ranked):
            ranked, note = await self._reranked(text, ranked, scope.traits)
            notes += [note] if note else []
        if steps.names_a_thing(text, _names_of(heads.values())):
            ranked = ranked.reordered(steps.with_finders(numbers(ranked.rows), scope.traits.found, scope.finders))
        page = ranked.page(wish.place, wish.limit)
        end = wish.place + len(page)
        return FoundEndpoints(
            query=text,
            mode="search",
            endpoints=tuple(
                _found(scope.traits.found[row], ranked.relevance[place], _why(scoring, scope.traits, row))
                for place, row in page
            ),
            total=len(ranked),
            cursor=cursors.written(wish.question, end) if end < len(ranked) else "",
            providers=tuple(head.name for head in mentioned or heads.values()),
            methods=methods,
            clauses=(text,),
            degraded=scoring.degraded,
            notes=tuple(notes),
            embedding_ms=scoring.embedding_ms + understood.embedding_ms,
            reranked=rerank and not notes,
        )

    async def _understood(self, text: str, forms: ShortForms) -> Understood:
        """What a query is about and what it wants done; by its words alone where the encoder is away."""
        embedded = await self._index.embed_query(text)
        known = shipped.packaged()
        near: Floats | None = None
        wish = Wish(verbs.wanted_actions(text))
        if known is not None and embedded.matrix is not None and embedded.model == known.model:
            near, wish = known.nearness(embedded.matrix[0]), known.wish(embedded.matrix[0], text)
        names = (*spelled_out(text, forms), *(concept.name for concept in concepts.chosen(text, near)))
        return Understood(", ".join(dict.fromkeys(names)), wish, embedded.milliseconds)

    async def _reranked(self, text: str, ranked: Ranked, traits: Traits) -> tuple[Ranked, str]:
        rows = numbers(ranked.rows[:PAIRS])
        briefs = [traits.found[row].brief for row in rows]
        texts = [
            f"{title(one)}. {first_sentence(plain(one.description), _READ)} {one.method} {one.path}" for one in briefs
        ]
        try:
            logits = await self._crossing.rerank(text, texts)
        except EncoderError as error:
            return ranked, f"Not reranked: {error.message}"
        return ranking.reranked(ranked, logits), ""


def signals_of(scoring: Scoring, traits: Traits) -> Signals:
    """The scores of the operations that are known, as the ranking takes them."""
    rows = traits.rows_of(scoring.ids)
    known = np.flatnonzero(rows >= 0)
    zeros = np.zeros(len(known), np.float32)
    concepts_words = zeros if scoring.context_lexical is None else scoring.context_lexical[known]
    meaning = zeros if scoring.dense is None else _filled(scoring.dense)[known]
    near = meaning if scoring.context_dense is None else _filled(scoring.context_dense)[known]
    return Signals(rows[known], meaning, scoring.lexical[known], near, concepts_words)


def asked_of(text: str, understood: Understood, providers: Sequence[int]) -> Asked:
    """What the ranking must know of a query."""
    return Asked(
        detecting.distinct_terms(text),
        detecting.distinct_terms(understood.context),
        understood.wish,
        frozenset(providers),
        detecting.asks_for_several(text),
        detecting.asks_everywhere(text),
        detecting.asks_together(text),
        frozenset(detecting.said_words(text)),
        detecting.typed_path(text),
        text.strip(),
    )


def _names_of(heads: Iterable[ProviderHead]) -> frozenset[str]:
    """The words of providers' names, which name no thing in them."""
    names = (name for head in heads for name in (head.name, head.display_name, *head.aliases))
    return frozenset(word for name in names for word in detecting.said_words(name))


def _filled(scores: Floats) -> Floats:
    """Scores where an operation without a vector has what one in ten of the others reaches: its words decide."""
    missing = np.isnan(scores)
    return np.where(missing, np.nanquantile(scores, 0.9), scores).astype(np.float32) if missing.any() else scores


def _within(signals: Signals, traits: Traits, methods: Sequence[str], tags: Sequence[str]) -> Signals:
    """The signals of operations with one of these methods and one of these tags."""
    if not methods and not tags:
        return signals
    wanted = frozenset(tag.lower() for tag in tags)
    briefs = [traits.found[row].brief for row in numbers(signals.rows)]
    kept = [
        place
        for place, brief in enumerate(briefs)
        if (not methods or brief.method in methods) and (not wanted or browsing.carries(brief, wanted))
    ]
    return signals.only(np.array(kept, np.int64))


def _asked_for(seen: Sequence[ProviderHead], names: Sequence[str]) -> tuple[ProviderHead, ...]:
    """The active providers among those asked for, or all active ones.

    Raises:
        NotFound: There is no such provider, or it is switched off.
    """
    wanted = list({head.id: head for name in names if name.strip() for head in [named(seen, name)]}.values())
    for head in wanted:
        if not head.active:
            raise NotFound(
                f"The API '{head.name}' is switched off.", hint=f"Enable it: thresher apis enable {head.name}"
            )
    return tuple(wanted) if wanted else tuple(head for head in seen if head.active)


def _switched_off(seen: Sequence[ProviderHead]) -> tuple[str, ...]:
    """A note that names the providers that are switched off; none where there are none."""
    names = [head.name for head in seen if not head.active]
    said = f"Switched off: {', '.join(names)}. Enable an API: thresher apis enable {names[0]}" if names else ""
    return (said,) if said else ()


def _browsed(wish: _Wish, text: str, browse: Browse) -> FoundEndpoints:
    names = tuple(dict.fromkeys(head.name for head, _, _ in wish.scope.parts if head.id in browse.providers))
    first, end = wish.place, wish.place + wish.limit
    listed = FoundEndpoints(text, "browse", providers=names, methods=wish.methods)
    if browse.tags:
        operations = browsing.list_operations(wish.scope.parts, browse, wish.methods)
        chosen = tuple(_found(one, 1.0, Why("browse")) for one in operations[first:end])
        listed, total = replace(listed, endpoints=chosen), len(operations)
    else:
        tags = browsing.list_tags(wish.scope.parts, browse)
        listed, total = replace(listed, tags=tuple(tags[first:end])), len(tags)
    return replace(listed, total=total, cursor=cursors.written(wish.question, end) if end < total else "")


def _found(located: Located, relevance: float, why: Why) -> FoundEndpoint:
    brief = located.brief
    return FoundEndpoint(
        id=brief.endpoint,
        title=title(brief),
        description=first_sentence(plain(brief.description), _SHOWN),
        provider=located.provider.name,
        version=located.version.label,
        method=brief.method,
        path=brief.path,
        operation_id=brief.operation_id,
        tags=brief.tags,
        deprecated=brief.deprecated,
        relevance=round(float(relevance), 4),
        why=why,
        tips=brief.tips,
    )


def _why(scoring: Scoring, traits: Traits, row: int) -> Why:
    """Ranks and scores in both arms, and the words that matched."""
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
