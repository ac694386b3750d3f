"""What a search looks for: phrases, their terms, and the pieces that the encoder reads.

Invariant: a text of any size gives a bounded plan, and the plan names what was left out. A failing encoder is a result
with a note, not an error: the lexical arm still answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thresher.core import EncoderError, InvalidInput
from thresher.embedding import Encoder, Matrix
from thresher.search.lexical.clauses import clauses
from thresher.search.lexical.query_expansion import other_stems, spoken_words
from thresher.search.lexical.terms import query_terms

MAX_QUERIES = 20
"""Phrases that a caller may pass; each costs one embedding."""
HEAD_CHARACTERS, TAIL_CHARACTERS = 16_000, 4_000
"""What is read of a longer message: what is asked stands at its beginning or its end, pasted material between."""
_SURELY_SHORT = 400
"""Characters that fit every encoder of the registry, so that short texts are not tokenised twice."""
_PREFIX_TOKENS = 16
"""Room for the query prefix and the special tokens."""


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What to search.

    Attributes:
        phrases: The texts to search, in order; a split message comes first as a whole.
        terms: The distinct terms of each phrase.
        split: Whether the phrases come from one message.
        whole: Whether the first phrase is the whole message: next to others it only adds context.
        notes: What was left out.
    """

    phrases: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    split: bool
    whole: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanPieces:
    """What the encoder reads of a plan.

    Attributes:
        texts: All pieces, in the order of the phrases.
        owners: The phrase of each piece; never decreasing.
        left_out: The number of characters in no piece.
    """

    texts: tuple[str, ...]
    owners: tuple[int, ...]
    left_out: int


def plan_of(queries: Sequence[str], *, split: bool, message: str = "") -> SearchPlan:
    """Decide what to search.

    Args:
        queries: One message, or the phrases that the calling model wrote.
        split: Whether a single query is a message that may contain several tasks.
        message: The message for which the phrases were written; it adds context.

    Raises:
        InvalidInput: There is nothing to search for, or there are too many queries.
    """
    given = [query for query in queries if query.strip()]
    if not given:
        raise InvalidInput("There is nothing to search for.", hint="Say in a few words what the tool shall do.")
    if len(given) > MAX_QUERIES:
        raise InvalidInput(f"{len(given)} queries are too many.", hint=f"Ask for at most {MAX_QUERIES} things at once.")
    notes: list[str] = []
    read = [_shortened(query, notes) for query in given]
    cut = split and len(read) == 1
    phrases = tuple(clauses(read[0])) if cut else tuple(read)
    whole = cut
    if message.strip() and not cut:
        phrases, whole = (_shortened(message, notes), *phrases), True
    return SearchPlan(phrases, tuple(tuple(query_terms(text)) for text in phrases), cut, whole, tuple(notes))


def in_languages(plan: SearchPlan, languages: Collection[str]) -> SearchPlan:
    """Return the plan with its words also as some languages, besides English, stem them."""
    if not languages:
        return plan
    return replace(plan, terms=tuple(_terms_in(text, languages) for text in plan.phrases))


def _terms_in(text: str, languages: Collection[str]) -> tuple[str, ...]:
    words, spoken = spoken_words(text, languages)
    terms = (one for term, word in words.items() for one in (term, *other_stems(word, term, spoken)))
    return tuple(dict.fromkeys(terms))


def pieces_of(plan: SearchPlan, encoder: Encoder) -> PlanPieces:
    """Cut each phrase into pieces that fit the encoder.

    Raises:
        EncoderError: The encoder's tokenizer cannot be loaded.
    """
    texts: list[str] = []
    owners: list[int] = []
    left_out = 0
    for number, text in enumerate(plan.phrases):
        if len(text) <= _SURELY_SHORT:
            windows = [text]
        else:
            windows = encoder.windows(text, tokens=encoder.model.max_tokens - _PREFIX_TOKENS)
            left_out += windows.left_out
        texts += windows or [text]
        owners += [number] * max(len(windows), 1)
    return PlanPieces(tuple(texts), tuple(owners), left_out)


def _shortened(text: str, notes: list[str]) -> str:
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    notes.append(
        f"Of {len(text):,} characters the first {HEAD_CHARACTERS:,} and the last {TAIL_CHARACTERS:,} were read."
    )
    return f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"


_LONG_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """The vectors of a plan.

    Attributes:
        matrix: float32 (pieces, dimension); None if the encoder failed.
        owners: The phrase of each piece.
        model: The model of the vectors; empty if it failed.
        milliseconds: The time that embedding took.
        note: What was left out or went wrong.
    """

    matrix: Matrix | None
    owners: tuple[int, ...]
    model: str
    milliseconds: float
    note: str = ""


def phrase_vectors(embedded: EmbeddedQuery) -> Matrix | None:
    """Return one vector of length 1 for each phrase, the mean direction of its pieces; None without vectors."""
    if embedded.matrix is None or not embedded.owners:
        return None
    owners = np.asarray(embedded.owners)
    if len(owners) == owners[-1] + 1:
        return embedded.matrix
    sums = np.add.reduceat(embedded.matrix, np.flatnonzero(np.diff(owners, prepend=-1)), axis=0)
    return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)


async def embed(plan: SearchPlan, encoder: Encoder) -> EmbeddedQuery:
    """Embed all pieces of a plan in one batch, with the model's query prefix."""
    started = time.perf_counter()
    try:
        # A megabyte is cut in a thread, so that the event loop serves others meanwhile.
        long = sum(map(len, plan.phrases)) > _LONG_CHARACTERS
        pieces = await asyncio.to_thread(pieces_of, plan, encoder) if long else pieces_of(plan, encoder)
        matrix = await encoder.embed_queries(pieces.texts, prefixed=True)
    except EncoderError as error:
        milliseconds = (time.perf_counter() - started) * 1000
        return EmbeddedQuery(None, (), "", milliseconds, f"Searched by words alone: {error}")
    milliseconds = (time.perf_counter() - started) * 1000
    note = f"{pieces.left_out:,} characters in the middle were not embedded." if pieces.left_out else ""
    return EmbeddedQuery(matrix, pieces.owners, encoder.model.id, milliseconds, note)
