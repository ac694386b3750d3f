"""One question to both arms, for kinds that rank by themselves.

Invariant: every item that the filter lets through has the exact score of each arm that ran.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from thresher.embedding import Encoder
from thresher.search.lexical.query_expansion import MAX_UNKNOWN, Alternative, ExpandedQuery, Synonyms, expand_query
from thresher.search.lexical.word_scores import (
    WordScores,
    is_quoted_in,
    quotation_candidates,
    quotations,
    score_words,
    with_quotations,
)
from thresher.search.plan import EmbeddedQuery, SearchPlan, embed
from thresher.search.reading import CollectionReader, CollectionReading, IndexScope
from thresher.search.records import Floats, Scoring, SearchType

TextLoader: TypeAlias = Callable[[Sequence[int]], Awaitable[Mapping[int, str]]]
"""Returns the texts of some ids, which the index does not store; an id that is gone is left out."""


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A question and its options.

    Attributes:
        request: The caller, kind and filter.
        plan: The question, and its context as a second phrase.
        search_type: The arms that decide.
        synonyms: Other expressions for words of the question.
        texts_of: Reads texts to look up quotations; None: the words of a quotation count.
    """

    request: IndexScope
    plan: SearchPlan
    search_type: SearchType
    synonyms: Synonyms
    texts_of: TextLoader | None = None


async def score(reader: CollectionReader, encoder: Encoder, question: ScoreRequest) -> Scoring:
    """Score everything that may be returned; the caller sets `search_ms`."""
    plan, request = question.plan, question.request
    embedding = embed(plan, encoder) if question.search_type != "text" else _not_embedded()
    (queries, (reading, words, lost)), embedded = await asyncio.gather(_expanded(reader, question), embedding)
    if lost and question.search_type == "text":
        embedded = await embed(plan, encoder)
    if lost or question.search_type != "text":
        embedded = await reader.matching(plan, reading, embedded, lost)
    dense, bare = await reader.dense(request, reading, embedded)
    if dense is None and not lost and (guesses := await _guesses(reader, request, queries[0], reading)):
        queries[0] = replace(queries[0], alternatives=(*queries[0].alternatives, *guesses))
        reading, words, _ = await _words(reader, request, queries)
    words[0], unquoted = await _look_up_quotations(question, reading, words[0])
    made = _scoring(question.search_type, reading, queries[0], words, dense)
    notes = (*plan.notes, lost, embedded.note, bare, _partly(made.dense), unquoted)
    return replace(made, degraded=" ".join(filter(None, notes)), embedding_ms=embedded.milliseconds)


async def _expanded(
    reader: CollectionReader, question: ScoreRequest
) -> tuple[list[ExpandedQuery], tuple[CollectionReading, list[WordScores], str]]:
    """The texts with what else they may mean in the languages of the collection, and their words; see `_words`."""
    languages = reader.languages(question.request)
    while True:
        queries = [expand_query(text, question.synonyms, languages) for text in question.plan.phrases]
        found = await _words(reader, question.request, queries)
        if found[2] or found[0].languages == languages:
            return queries, found
        languages = found[0].languages  # a first document in another language has been indexed


async def _words(
    reader: CollectionReader, request: IndexScope, queries: Sequence[ExpandedQuery]
) -> tuple[CollectionReading, list[WordScores], str]:
    """The collection, the word scores of each text, and a note on what was missing; in parallel with the embedding."""
    terms = list(dict.fromkeys(term for query in queries for term in query.all_terms))
    reading, lost = await reader.read(request, terms, narrow=True)
    return reading, [score_words(query, reading.postings, reading.ids) for query in queries], lost


async def _not_embedded() -> EmbeddedQuery:
    return EmbeddedQuery(None, (), "", 0.0)


async def _guesses(
    reader: CollectionReader, request: IndexScope, query: ExpandedQuery, reading: CollectionReading
) -> list[Alternative]:
    """Likely replacements for words that no item contains."""
    held = (way for way in query.alternatives if all(term in reading.postings for term in way.instead))
    terms = {term for way in held for term in way.terms}
    unknown = [term for term in query.terms if term not in reading.postings and term not in terms]
    unknown = sorted(unknown, key=lambda term: -len(term))[:MAX_UNKNOWN]
    guesses = {term: await reader.near_terms(request, query.written[term], term) for term in unknown}
    return [Alternative((term,), (guess,)) for term, found in guesses.items() for guess in found]


async def _look_up_quotations(
    question: ScoreRequest, reading: CollectionReading, words: WordScores
) -> tuple[WordScores, str]:
    """The word scores with those of quotations, and a note on quotations that were not found."""
    if question.texts_of is None or not (quoted := quotations(question.plan.phrases[0])):
        return words, ""
    rows = {quotation: quotation_candidates(quotation, words) for quotation in quoted}
    read = np.unique(np.concatenate(list(rows.values())))
    texts: Mapping[int, str] = await question.texts_of(reading.ids[read].tolist()) if len(read) else {}
    found = {
        quotation: [row for row in places.tolist() if is_quoted_in(quotation, texts.get(int(reading.ids[row]), ""))]
        for quotation, places in rows.items()
    }
    missing = [quotation for quotation, places in found.items() if not places]
    held = {quotation: places for quotation, places in found.items() if places}
    named = ", ".join(f'"{quotation}"' for quotation in missing)
    note = f"Not found word for word, so searched by its words: {named}." if missing else ""
    return with_quotations(words, held) if held else words, note


def _scoring(
    search_type: SearchType,
    reading: CollectionReading,
    query: ExpandedQuery,
    words: Sequence[WordScores],
    dense: Floats | None,
) -> Scoring:
    own, *context = words
    lexical = own.scores
    if search_type == "semantic" and dense is not None:
        lexical = np.where(np.isnan(dense[0]), lexical, 0).astype(np.float32)
    unknown = tuple(term for term in query.terms if term not in own.cells)
    guessed = {term: [way.instead[0] for way in query.alternatives if way.terms == (term,)] for term in unknown}
    return Scoring(
        reading.ids,
        None if dense is None else dense[0],
        lexical,
        own.coverage,
        own.tiers,
        None if dense is None or not context else dense[1],
        context[0].scores if context else None,
        query.terms,
        unknown,
        {term: tuple(guesses) for term, found in guessed.items() if (guesses := [g for g in found if g in own.cells])},
        "text" if dense is None else search_type,
        items=reading.items,
        model=reading.model,
        holders={term: (reading.ids[rows], weights) for term, (rows, weights) in own.cells.items()},
    )


def _partly(dense: Floats | None) -> str:
    """The note if only some items have vectors."""
    if dense is None or not (missing := int(np.count_nonzero(np.isnan(dense)))):
        return ""
    return f"{missing:,} of {len(dense):,} are not embedded yet; these are found by their words alone."
