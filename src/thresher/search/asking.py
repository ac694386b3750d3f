"""Asks both arms one question, for kinds that rank by themselves.

Invariant: every item that the filter lets through has the exact score of each arm that ran.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from thresher.search.arms import Arms
from thresher.search.arrays import Floats
from thresher.search.guessing import MOST_UNKNOWN
from thresher.search.phrases import Embedded
from thresher.search.planning import Plan
from thresher.search.quoting import holders, quotations, quoted, stands_in
from thresher.search.reading import Reading, Request
from thresher.search.records import Scoring, SearchType
from thresher.search.scoring import ByWords, by_words
from thresher.search.wanted import Synonyms, Wanted, Way, wanted_of

TextsOf: TypeAlias = Callable[[Sequence[int]], Awaitable[Mapping[int, str]]]
"""Gives the texts of some ids, which the index does not keep; an id that is gone is left out."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        request: Who asks, and what may be returned.
        plan: The question, and its context as a second phrase.
        search_type: Which arms decide.
        synonyms: Other ways of saying words of the question.
        texts_of: Reads texts, to look for quotations; None: a quotation counts by its words.
    """

    request: Request
    plan: Plan
    search_type: SearchType
    synonyms: Synonyms
    texts_of: TextsOf | None = None


async def score(arms: Arms, question: Question) -> Scoring:
    """Score everything that may be returned; the whole time is the caller's to tell."""
    plan, request = question.plan, question.request
    wanted = [wanted_of(text, question.synonyms) for text in plan.phrases]
    embed = arms.embed(plan) if question.search_type != "text" else _not_embedded()
    (reading, words, lost), embedded = await asyncio.gather(_words(arms, request, wanted), embed)
    if lost and question.search_type == "text":
        embedded = await arms.embed(plan)
    if lost or question.search_type != "text":
        embedded = await arms.matching(plan, reading, embedded, lost)
    dense, bare = await arms.dense(request, reading, embedded)
    if dense is None and not lost and (guesses := await _guesses(arms, request, wanted[0], reading)):
        wanted[0] = replace(wanted[0], ways=(*wanted[0].ways, *guesses))
        reading, words, _ = await _words(arms, request, wanted)
    words[0], unquoted = await _with_quotations(question, reading, words[0])
    made = _scoring(question.search_type, reading, wanted[0], words, dense)
    notes = (*plan.notes, lost, embedded.note, bare, _partly(made.dense), unquoted)
    return replace(made, degraded=" ".join(filter(None, notes)), embedding_ms=embedded.milliseconds)


async def _words(arms: Arms, request: Request, wanted: Sequence[Wanted]) -> tuple[Reading, list[ByWords], str]:
    """The collection, what the words of each text say, and what was not as it should be; all beside the embedding."""
    terms = list(dict.fromkeys(term for one in wanted for term in one.all_terms))
    reading, lost = await arms.read(request, terms, narrow=True)
    return reading, [by_words(one, reading.postings, reading.ids) for one in wanted], lost


async def _not_embedded() -> Embedded:
    return Embedded(None, (), "", 0.0)


async def _guesses(arms: Arms, request: Request, asked: Wanted, reading: Reading) -> list[Way]:
    """What may be meant by words that no item holds."""
    said = {term for way in asked.ways for term in way.said}
    unknown = [term for term in asked.terms if term not in reading.postings and term not in said]
    unknown = sorted(unknown, key=lambda term: -len(term))[:MOST_UNKNOWN]
    guesses = {term: await arms.near_terms(request, asked.written[term], term) for term in unknown}
    return [Way((term,), (guess,)) for term, found in guesses.items() for guess in found]


async def _with_quotations(question: Question, reading: Reading, words: ByWords) -> tuple[ByWords, str]:
    """The words' scores with those of quotations, and which quotations stand nowhere."""
    if question.texts_of is None or not (wanted := quotations(question.plan.phrases[0])):
        return words, ""
    rows = {quotation: holders(quotation, words) for quotation in wanted}
    read = np.unique(np.concatenate(list(rows.values())))
    texts: Mapping[int, str] = await question.texts_of(reading.ids[read].tolist()) if len(read) else {}
    found = {
        quotation: [row for row in places.tolist() if stands_in(quotation, texts.get(int(reading.ids[row]), ""))]
        for quotation, places in rows.items()
    }
    missing = [quotation for quotation, places in found.items() if not places]
    held = {quotation: places for quotation, places in found.items() if places}
    named = ", ".join(f'"{quotation}"' for quotation in missing)
    note = f"Not found word for word, so searched by its words: {named}." if missing else ""
    return quoted(words, held) if held else words, note


def _scoring(
    asked: SearchType, reading: Reading, wanted: Wanted, words: Sequence[ByWords], dense: Floats | None
) -> Scoring:
    own, *context = words
    lexical = own.scores
    if asked == "semantic" and dense is not None:
        lexical = np.where(np.isnan(dense[0]), lexical, 0).astype(np.float32)
    unknown = tuple(term for term in wanted.terms if term not in own.cells)
    guessed = {term: [way.other[0] for way in wanted.ways if way.said == (term,)] for term in unknown}
    return Scoring(
        reading.ids,
        None if dense is None else dense[0],
        lexical,
        own.coverage,
        own.tiers,
        None if dense is None or not context else dense[1],
        context[0].scores if context else None,
        wanted.terms,
        unknown,
        {term: tuple(guesses) for term, found in guessed.items() if (guesses := [g for g in found if g in own.cells])},
        "text" if dense is None else asked,
        items=reading.items,
        model=reading.model,
        holders={term: (reading.ids[rows], weights) for term, (rows, weights) in own.cells.items()},
    )


def _partly(dense: Floats | None) -> str:
    """What to say where only some items have vectors."""
    if dense is None or not (missing := int(np.count_nonzero(np.isnan(dense)))):
        return ""
    return f"{missing:,} of {len(dense):,} are not embedded yet; these are found by their words alone."
