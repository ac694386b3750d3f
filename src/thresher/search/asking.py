"""Asks both arms one question, for kinds that rank by themselves.

Invariant: every item that the filter lets through has the exact score of each arm that ran.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thresher.search.arms import Arms
from thresher.search.arrays import Floats
from thresher.search.phrases import Embedded
from thresher.search.planning import Plan
from thresher.search.reading import Reading, Request
from thresher.search.records import Scoring, SearchType
from thresher.search.scoring import ByWords, by_words
from thresher.search.wanted import Synonyms, Wanted, wanted_of


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        request: Who asks, and what may be returned.
        plan: The question, and its context as a second phrase.
        search_type: Which arms decide.
        synonyms: Other ways of saying words of the question.
    """

    request: Request
    plan: Plan
    search_type: SearchType
    synonyms: Synonyms


async def score(arms: Arms, question: Question) -> Scoring:
    """Score everything that may be returned; the whole time is the caller's to tell."""
    plan, request = question.plan, question.request
    wanted = [wanted_of(text, question.synonyms) for text in plan.phrases]
    read = arms.read(request, list(dict.fromkeys(term for one in wanted for term in one.all_terms)), narrow=True)
    embed = arms.embed(plan) if question.search_type != "text" else _not_embedded()
    (reading, lost), embedded = await asyncio.gather(read, embed)
    if lost and question.search_type == "text":
        embedded = await arms.embed(plan)
    if lost or question.search_type != "text":
        embedded = await arms.matching(plan, reading, embedded, lost)
    dense, bare = await arms.dense(request, reading, embedded)
    words = [by_words(one, reading.postings, reading.ids) for one in wanted]
    made = _scoring(question.search_type, reading, wanted[0], words, dense)
    notes = (*plan.notes, lost, embedded.note, bare, _partly(made.dense))
    return replace(made, degraded=" ".join(filter(None, notes)), embedding_ms=embedded.milliseconds)


async def _not_embedded() -> Embedded:
    return Embedded(None, (), "", 0.0)


def _scoring(
    asked: SearchType, reading: Reading, wanted: Wanted, words: Sequence[ByWords], dense: Floats | None
) -> Scoring:
    own, *context = words
    lexical = own.scores
    if asked == "semantic" and dense is not None:
        lexical = np.where(np.isnan(dense[0]), lexical, 0).astype(np.float32)
    return Scoring(
        reading.ids,
        None if dense is None else dense[0],
        lexical,
        own.tiers,
        None if dense is None or not context else dense[1],
        context[0].scores if context else None,
        wanted.terms,
        tuple(term for term in wanted.terms if term not in own.cells),
        _carried_out(asked, dense),
        items=reading.items,
        model=reading.model,
        holders={term: (reading.ids[rows], weights) for term, (rows, weights) in own.cells.items()},
    )


def _carried_out(asked: SearchType, dense: Floats | None) -> SearchType:
    return "text" if dense is None else asked


def _partly(dense: Floats | None) -> str:
    """What to say where only some items have vectors."""
    if dense is None or not (missing := int(np.count_nonzero(np.isnan(dense)))):
        return ""
    return f"{missing:,} of {len(dense):,} are not embedded yet; these are found by their words alone."
