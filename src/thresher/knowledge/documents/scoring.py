"""Scores the chunks of one repository, or of all that a caller sees.

Invariant: what is scored belongs to documents that are current; which repositories there are is read beside the
embedding of the question, and not before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from thresher.core import Caller, NotFound, Tenant, did_you_mean, nearest
from thresher.knowledge.documents import ranking
from thresher.knowledge.documents.entries import KIND, facets_of
from thresher.knowledge.documents.layout import Column
from thresher.knowledge.documents.models import CHUNK_BITS, Document, chunk_id, key_of
from thresher.knowledge.documents.queries import Head
from thresher.knowledge.documents.question import Question
from thresher.knowledge.documents.shelf import Holdings, Shelf, places_of
from thresher.search import Filter, Floats, Scoring, SearchIndex

_PATIENCE_SECONDS: Final = 10.0
"""How long an answer waits for the first document of a repository that is being indexed."""
_LOOK_SECONDS: Final = 0.05
_ATTEMPTS: Final = 3
"""How often the index is asked while other repositories come to be seen."""
_NAMED: Final = 10
"""Repositories that an error names."""
_MANY: Final = 4_096
"""Chunks above which documents are chosen by the best of all chunks."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The chunks of current documents, scored.

    Attributes:
        heads: The repositories by key.
        holdings: Their documents, by the key of the repository.
        ids: int64 (n,), sorted.
        scores: float32 (n,), fused.
        fits: Whether anything has to do with the question.
        scoring: As the index gave it.
        dense: float32 (n,), inner product of each with the question; None where that has no say.
        coverage: float32 (n,), the share of the question's words that each holds.
    """

    heads: Mapping[int, Head]
    holdings: Mapping[int, Holdings]
    ids: Column
    scores: Floats
    fits: bool
    scoring: Scoring
    dense: Floats | None
    coverage: Floats

    @property
    def owners(self) -> Column:
        """int64 (n,), the repository of each chunk."""
        holdings = list(self.holdings.values())
        documents = np.concatenate([np.empty(0, np.int64), *(one.ids for one in holdings)])
        owners = np.repeat([one.repository for one in holdings], [len(one.ids) for one in holdings])
        order = np.argsort(documents)
        return owners[order][np.searchsorted(documents[order], self.ids >> CHUNK_BITS)]

    def among(self, repositories: Collection[int]) -> Scored:
        """The same of some repositories alone; whether anything fits is what it was for all."""
        places = np.flatnonzero(np.isin(self.owners, list(repositories)))
        return replace(
            self,
            heads={key: head for key, head in self.heads.items() if key in repositories},
            holdings={key: one for key, one in self.holdings.items() if key in repositories},
            ids=self.ids[places],
            scores=self.scores[places],
            dense=None if self.dense is None else self.dense[places],
            coverage=self.coverage[places],
        )

    def document(self, key: int) -> Document:
        """A current document by its key."""
        return next(found for one in self.holdings.values() if (found := one.by_id.get(key)) is not None)

    def of(self, document: int, chunks: int) -> Floats:
        """The scores of one document's chunks in their order; what is not in the index comes last."""
        first, end = np.searchsorted(self.ids, [document << CHUNK_BITS, document + 1 << CHUNK_BITS])
        scores = np.full(chunks, -np.inf, np.float32)
        places = self.ids[first:end] & (1 << CHUNK_BITS) - 1
        scores[places] = self.scores[first:end]
        return scores

    def best(self, limit: int) -> Column:
        """Places of the best chunks, best first: int64; the first of them are the same whatever the limit."""
        if limit >= len(self.scores):
            return np.argsort(-self.scores, kind="stable")
        least = np.partition(self.scores, -limit)[-limit]
        top = np.flatnonzero(self.scores >= least)
        return top[np.argsort(-self.scores[top], kind="stable")][:limit]

    def best_documents(self, limit: int = 5) -> list[int]:
        """Keys of the documents that hold the best chunks, best first."""
        if len(self.ids) <= _MANY:
            return ranking.best_documents(self.ids, self.scores, limit)
        top = np.sort(self.best(_MANY))
        return ranking.best_documents(self.ids[top], self.scores[top], limit)


@dataclass(frozen=True, slots=True)
class _Arms:
    """What the two arms say of some chunks."""

    dense: Floats | None
    lexical: Floats

    def at(self, places: Column | None) -> _Arms:
        """The same of some of them."""
        if places is None:
            return self
        return _Arms(None if self.dense is None else self.dense[places], self.lexical[places])


class Scorer:
    """Scores chunks for questions.

    Args:
        index: Where they are found.
        shelf: Says which documents are current.
    """

    def __init__(self, index: SearchIndex, shelf: Shelf) -> None:
        self._index = index
        self._shelf = shelf

    async def score(self, caller: Caller, name: str | None, question: Question) -> Scored:
        """Score the chunks of a repository by its name, or of all.

        Raises:
            NotFound: The caller sees no repository of this name.
            StoreUnavailable: The database cannot be reached.
        """
        heads = chosen(self._shelf.known(caller), name) or await self._ready(caller, name)
        found = NOTHING
        for _ in range(_ATTEMPTS):
            directory, scoring = await asyncio.gather(
                self._shelf.directory(caller), self._scoring(caller, heads, question)
            )
            asked = {head.id for head in heads}
            heads = chosen(directory, name)
            if not any(head.documents for head in heads):
                heads = await self._ready(caller, name)
            found = await self._scored(caller, heads, scoring)
            # Documents that came into use meanwhile are in the index and not yet among what was scored.
            if asked == set(found.heads) and len(found.ids) >= sum(one.chunks for one in found.holdings.values()):
                break
        return found

    async def head(self, caller: Caller, name: str) -> Head:
        """A repository by name.

        Raises:
            NotFound: The caller sees none of this name.
        """
        directory = await self._shelf.directory(caller)
        if (found := directory.get(name)) is None:
            raise unknown(name, directory)
        return found

    async def _ready(self, caller: Caller, name: str | None) -> list[Head]:
        """The repositories; one that is asked by name once it holds something, or for long enough does not."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE_SECONDS
        while True:
            directory = await self._shelf.directory(caller)
            if name is not None and name not in directory:
                raise unknown(name, directory)
            heads = chosen(directory, name)
            coming = name is not None and any(head.state in ("waiting", "indexing") for head in heads)
            if any(head.documents for head in heads) or not coming or loop.time() >= until:
                return heads
            await asyncio.sleep(_LOOK_SECONDS)

    async def _scoring(self, caller: Caller, heads: Sequence[Head], question: Question) -> Scoring:
        if not heads:
            return NOTHING.scoring
        return await self._index.score(
            caller,
            KIND,
            question.query,
            filter=Filter(facets_of(head.id for head in heads)),
            search_type=question.search_type,
            context=question.context,
            synonyms=self._shelf.acronyms(caller.tenant, heads),
            texts_of=partial(self._texts, caller.tenant),
        )

    async def _texts(self, tenant: Tenant, ids: Sequence[int]) -> dict[int, str]:
        texts = await self._shelf.texts_of(tenant, [key_of(number) for number in ids])
        return {chunk_id(*key): text for key, text in texts.items()}

    async def _scored(self, caller: Caller, heads: Sequence[Head], scoring: Scoring) -> Scored:
        holdings = {head.id: await self._shelf.holdings(caller.tenant, head) for head in heads}
        documents = np.sort(np.concatenate([np.empty(0, np.int64), *(one.ids for one in holdings.values())]))
        places = places_of(scoring.ids, documents)
        own = _Arms(scoring.dense, scoring.lexical).at(places)
        ranked = _Arms(scoring.dense, scoring.by_words).at(places) if scoring.search_type == "text" else own
        ids = scoring.ids if places is None else scoring.ids[places]
        scores = ranking.fuse(ranked.dense, ranked.lexical, scoring.model) if len(ids) else np.empty(0, np.float32)
        if scoring.context_lexical is not None and len(ids):
            context = _Arms(scoring.context_dense, scoring.context_lexical).at(places)
            scores = ranking.with_context(scores, ranking.fuse(context.dense, context.lexical, scoring.model))
        coverage = scoring.coverage if places is None else scoring.coverage[places]
        fits = bool(len(ids)) and not ranking.nothing_fits(own.dense, coverage, scoring.model)
        return Scored({head.id: head for head in heads}, holdings, ids, scores, fits, scoring, own.dense, coverage)


NOTHING: Final = Scored(
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
)
"""What there is to say where there is no repository."""


def chosen(directory: Mapping[str, Head] | None, name: str | None) -> list[Head]:
    """The repositories that are asked."""
    if directory is None:
        return []
    if name is None:
        return list(directory.values())
    return [directory[name]] if name in directory else []


def unknown(name: str, directory: Collection[str]) -> NotFound:
    """The error of a repository that the caller does not see."""
    near = did_you_mean(nearest(name, directory))
    if not directory:
        return NotFound(
            f"There is no repository '{name}'.", hint="None is indexed yet: thresher index docs NAME SOURCE"
        )
    more = " and more: list_repositories" if len(directory) > _NAMED else ""
    return NotFound(
        f"There is no repository '{name}'.", hint=near or f"There are: {', '.join(sorted(directory)[:_NAMED])}{more}."
    )
