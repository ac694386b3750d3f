"""Scores the chunks of one repository, or of all that a caller sees.

Invariant: only chunks of current documents are scored; the list of repositories is read while the question is embedded,
not before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from thresher.core import Caller, NotFound, Tenant, did_you_mean, nearest
from thresher.knowledge.documents.answers import ranking
from thresher.knowledge.documents.cache import DocumentCache, Holdings, chunks_of_documents
from thresher.knowledge.documents.entries import KIND, facets_of
from thresher.knowledge.documents.layout import Column, DocumentLayout
from thresher.knowledge.documents.models import CHUNK_BITS, Document, DocumentPart, chunk_id, key_of
from thresher.knowledge.documents.queries import RepositoryHead
from thresher.knowledge.documents.question import DocumentQuestion
from thresher.search import Filter, Floats, Scoring, SearchIndex, query_terms, without_terms

_PATIENCE_SECONDS: Final = 10.0
"""How long an answer waits for the first document of a repository that is being indexed."""
_LOOK_SECONDS: Final = 0.05
_ATTEMPTS: Final = 3
"""How often the index is queried again while the set of repositories changes."""
_NAMED: Final = 10
"""Repositories that an error names."""
EVERYWHERE: Final = 0.3
"""A word in this share of a document's chunks, headings included, is a name there: it says which document is meant."""
LEAST_CHUNKS: Final = 50
"""Chunks from which a document is long enough to say what stands everywhere in it."""
_WORDS: Final = 5
"""Most words that explain a passage."""


@dataclass(frozen=True, slots=True)
class ScoredChunks:
    """The chunks of current documents, scored.

    Attributes:
        heads: The repositories by key.
        holdings: Their documents, by key of the repository.
        ids: int64 (n,), sorted.
        scores: float32 (n,), fused.
        fits: Whether any chunk is relevant to the question.
        scoring: The index's own result.
        dense: float32 (n,), inner product of each with the question; None if the dense arm did not run.
        coverage: float32 (n,), the share of the question's words in each chunk; at most `NEARLY_ALL` of a sentence.
        words: float32 (n,), the part of the scores that words have.
        context: float32 (n,), inner product of each with the question's context; None if there is none.
    """

    heads: Mapping[int, RepositoryHead]
    holdings: Mapping[int, Holdings]
    ids: Column
    scores: Floats
    fits: bool
    scoring: Scoring
    dense: Floats | None
    coverage: Floats
    words: Floats
    context: Floats | None = None

    @property
    def owners(self) -> Column:
        """int64 (n,), the repository of each chunk."""
        holdings = list(self.holdings.values())
        documents = np.concatenate([np.empty(0, np.int64), *(one.ids for one in holdings)])
        owners = np.repeat([one.repository for one in holdings], [len(one.ids) for one in holdings])
        order = np.argsort(documents)
        keys, firsts = self.documents
        held = owners[order][np.searchsorted(documents[order], keys)]
        return np.repeat(held, np.diff(firsts, append=len(self.ids)))

    @property
    def documents(self) -> tuple[Column, Column]:
        """Keys of the documents, sorted, and the index of the first chunk of each; both int64 (m,)."""
        keys = self.ids >> CHUNK_BITS
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        return keys[firsts], firsts

    def among(self, repositories: Collection[int]) -> ScoredChunks:
        """The chunks of some repositories; `fits` stays that of all."""
        places = np.flatnonzero(np.isin(self.owners, list(repositories)))
        return replace(
            self,
            heads={key: head for key, head in self.heads.items() if key in repositories},
            holdings={key: one for key, one in self.holdings.items() if key in repositories},
            ids=self.ids[places],
            scores=self.scores[places],
            dense=None if self.dense is None else self.dense[places],
            coverage=self.coverage[places],
            words=self.words[places],
            context=None if self.context is None else self.context[places],
        )

    def document(self, key: int) -> Document:
        """A current document by its key."""
        return next(found for one in self.holdings.values() if (found := one.by_id.get(key)) is not None)

    def of(self, document: int, chunks: int) -> Floats:
        """The scores of one document's chunks in their order; -inf for a chunk that is not in the index."""
        return self._of(self.scores, document, chunks, -np.inf)

    def nearness(self, document: int, chunks: int) -> Floats | None:
        """Inner products of one document's chunks with the question; NaN for a chunk that is not in the index."""
        return None if self.dense is None else self._of(self.dense, document, chunks, np.nan)

    def _of(self, values: Floats, document: int, chunks: int, missing: float) -> Floats:
        first, end = np.searchsorted(self.ids, [document << CHUNK_BITS, document + 1 << CHUNK_BITS])
        column = np.full(chunks, missing, np.float32)
        column[self.ids[first:end] & (1 << CHUNK_BITS) - 1] = values[first:end]
        return column

    def names(self, document: int) -> frozenset[str]:
        """The question's words that stand everywhere in a document; none if it is short."""
        bounds = [document << CHUNK_BITS, document + 1 << CHUNK_BITS]
        first, end = np.searchsorted(self.ids, bounds)
        if end - first < LEAST_CHUNKS:
            return frozenset()
        counts = {term: np.diff(np.searchsorted(ids, bounds))[0] for term, (ids, _) in self.scoring.holders.items()}
        return frozenset(
            term
            for term, count in counts.items()
            if count >= EVERYWHERE * (end - first) and not term.isdecimal() and term in self.scoring.terms
        )

    def why(self, chunk: int, after: int) -> str:
        """Why the best of some adjacent chunks was chosen: the question's words in it, or its meaning.

        Args:
            chunk: Index id of the first.
            after: Index id after the last.
        """
        first, end = np.searchsorted(self.ids, [chunk, after]).tolist()
        words: tuple[str, ...] = ()
        if first < end:
            best = first + int(np.argmax(self.scores[first:end]))
            words = self.scoring.matched(int(self.ids[best]))[:_WORDS]
        return f"words: {', '.join(words)}" if words else "meaning"

    def explained(self, part: DocumentPart, document: int, layout: DocumentLayout) -> DocumentPart:
        """A part of a document with the reason why it was chosen."""
        first = int(np.searchsorted(layout.starts, part.start, "right")) - 1
        end = int(np.searchsorted(layout.starts, part.end, "left"))
        return replace(part, why=self.why(chunk_id(document, first), chunk_id(document, end)))

    def best(self, limit: int) -> Column:
        """Indexes of the best chunks, best first, int64; a larger limit only appends to them."""
        if limit >= len(self.scores):
            return np.argsort(-self.scores, kind="stable")
        least = np.partition(self.scores, -limit)[-limit]
        top = np.flatnonzero(self.scores >= least)
        return top[np.argsort(-self.scores[top], kind="stable")][:limit]

    def best_documents(self, limit: int = 5) -> list[int]:
        """Keys of the documents that fit best, best first."""
        return ranking.best_documents(self.ids, self.scores, self.words, limit)


@dataclass(frozen=True, slots=True)
class _ArmScores:
    """The scores of both arms for some chunks."""

    dense: Floats | None
    lexical: Floats

    def at(self, places: Column | None) -> _ArmScores:
        """The scores of a subset."""
        if places is None:
            return self
        return _ArmScores(None if self.dense is None else self.dense[places], self.lexical[places])


class Scorer:
    """Scores chunks for questions.

    Args:
        index: The search index.
        cache: Knows which documents are current.
    """

    def __init__(self, index: SearchIndex, cache: DocumentCache) -> None:
        self._index = index
        self._cache = cache

    async def score(self, caller: Caller, names: Sequence[str], question: DocumentQuestion) -> ScoredChunks:
        """Score the chunks of some repositories; of all that the caller sees without names.

        Raises:
            NotFound: The caller sees no repository of one of these names.
            StoreUnavailable: The database cannot be reached.
        """
        heads = chosen(self._cache.known(caller), names) or await self._ready(caller, names)
        found = NOTHING
        for _ in range(_ATTEMPTS):
            directory, scoring = await asyncio.gather(
                self._cache.directory(caller), self._scoring(caller, heads, question)
            )
            scored_keys = {head.id for head in heads}
            heads = chosen(directory, names)
            if not any(head.documents for head in heads):
                heads = await self._ready(caller, names)
            found = await self._scored(caller, heads, question, scoring)
            # Documents that became current meanwhile are in the index but were not scored.
            if scored_keys == set(found.heads) and len(found.ids) >= sum(one.chunks for one in found.holdings.values()):
                break
        return found

    async def without_names(
        self,
        caller: Caller,
        names: Sequence[str],
        question: DocumentQuestion,
        scored: ScoredChunks,
        named: Collection[str],
    ) -> ScoredChunks:
        """The same chunks, inside documents in the order of the question without the names that it holds.

        A name, such as that of a party or a product, chooses the document and is no question to it: beside chunks that
        repeat it, the one that answers would be neither near nor rare in its words.

        Args:
            caller: The caller of the question.
            names: The repositories of the question; empty for all.
            question: The question.
            scored: Its scores.
            named: The terms that are left out, such as `scored.names(document)`.
        """
        rest = without_terms(question.query, named) if named and question.search_type != "text" else ""
        if not query_terms(rest):
            return scored
        narrowed = await self.score(caller, names, replace(question, query=rest))
        if not np.array_equal(narrowed.ids, scored.ids):
            return scored  # a document was replaced meanwhile
        scoring = replace(
            scored.scoring,
            embedding_ms=scored.scoring.embedding_ms + narrowed.scoring.embedding_ms,
            search_ms=scored.scoring.search_ms + narrowed.scoring.search_ms,
        )
        scores = ranking.inside_documents(scored.scores, narrowed.scores, scored.ids)
        return replace(scored, scores=scores, dense=narrowed.dense, scoring=scoring)

    async def head(self, caller: Caller, name: str) -> RepositoryHead:
        """A repository by its name.

        Raises:
            NotFound: The caller sees no repository of this name.
        """
        directory = await self._cache.directory(caller)
        if (found := directory.get(name)) is None:
            raise unknown_repository(name, directory)
        return found

    async def _ready(self, caller: Caller, names: Sequence[str]) -> list[RepositoryHead]:
        """The repositories; waits, up to a limit, until a named one has its first document."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE_SECONDS
        while True:
            directory = await self._cache.directory(caller)
            if unknown := [name for name in names if name not in directory]:
                raise unknown_repository(unknown[0], directory)
            heads = chosen(directory, names)
            coming = bool(names) and any(head.state in ("waiting", "indexing") for head in heads)
            if any(head.documents for head in heads) or not coming or loop.time() >= until:
                return heads
            await asyncio.sleep(_LOOK_SECONDS)

    async def _scoring(self, caller: Caller, heads: Sequence[RepositoryHead], question: DocumentQuestion) -> Scoring:
        if not heads:
            return NOTHING.scoring
        return await self._index.score(
            caller,
            KIND,
            question.query,
            filter=Filter(facets_of(head.id for head in heads)),
            search_type=question.search_type,
            context=question.context,
            synonyms=self._cache.acronyms(caller.tenant, heads),
            texts_of=partial(self._texts, caller.tenant),
        )

    async def _texts(self, tenant: Tenant, ids: Sequence[int]) -> dict[int, str]:
        texts = await self._cache.texts_of(tenant, [key_of(number) for number in ids])
        return {chunk_id(*key): text for key, text in texts.items()}

    async def _scored(
        self, caller: Caller, heads: Sequence[RepositoryHead], question: DocumentQuestion, scoring: Scoring
    ) -> ScoredChunks:
        holdings = {head.id: await self._cache.holdings(caller.tenant, head) for head in heads}
        documents = np.sort(np.concatenate([np.empty(0, np.int64), *(one.ids for one in holdings.values())]))
        places = chunks_of_documents(scoring.ids, documents)
        own = _ArmScores(scoring.dense, scoring.lexical).at(places)
        ranked = _ArmScores(scoring.dense, scoring.by_words).at(places) if scoring.search_type == "text" else own
        ids = scoring.ids if places is None else scoring.ids[places]
        scores = ranking.fuse(ranked.dense, ranked.lexical, scoring.model) if len(ids) else np.empty(0, np.float32)
        context = None
        if scoring.context_lexical is not None and len(ids):
            context = _ArmScores(scoring.context_dense, scoring.context_lexical).at(places)
            scores = ranking.with_context(scores, ranking.fuse(context.dense, context.lexical, scoring.model))
        coverage = scoring.coverage if places is None else scoring.coverage[places]
        if own.dense is not None and (question.message or len(question.query.split()) > len(scoring.terms)):
            coverage = np.minimum(coverage, ranking.NEARLY_ALL)  # some chunk contains all the words of a sentence
        fits = bool(len(ids)) and not ranking.nothing_fits(own.dense, coverage, scoring.model)
        near = None if context is None else context.dense
        words = ranking.words_of(ranked.lexical, scoring.model)
        return ScoredChunks(
            {head.id: head for head in heads}, holdings, ids, scores, fits, scoring, own.dense, coverage, words, near
        )


NOTHING: Final = ScoredChunks(
    {},
    {},
    np.empty(0, np.int64),
    np.empty(0, np.float32),
    fits=False,
    scoring=Scoring(
        np.empty(0, np.int64), None, np.empty(0, np.float32), np.empty(0, np.float32), np.empty(0, np.int8)
    ),
    dense=None,
    coverage=np.empty(0, np.float32),
    words=np.empty(0, np.float32),
)
"""The result if there is no repository."""


def chosen(directory: Mapping[str, RepositoryHead] | None, names: Sequence[str]) -> list[RepositoryHead]:
    """The repositories that are searched; none if one of the names is unknown."""
    if directory is None or any(name not in directory for name in names):
        return []
    return [directory[name] for name in dict.fromkeys(names)] if names else list(directory.values())


def unknown_repository(name: str, directory: Collection[str]) -> NotFound:
    """The error for a repository that the caller does not see."""
    near = did_you_mean(nearest(name, directory))
    if not directory:
        return NotFound(
            f"There is no repository '{name}'.", hint="None is indexed yet: thresher index docs NAME SOURCE"
        )
    more = " and more: list_repositories" if len(directory) > _NAMED else ""
    return NotFound(
        f"There is no repository '{name}'.", hint=near or f"There are: {', '.join(sorted(directory)[:_NAMED])}{more}."
    )
