"""What a search looks for: phrases, their terms, and the pieces that the encoder reads.

Invariant: pure but for the encoder's tokenizer; a text of any size gives a bounded plan, and what was left out is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thresher.core import InvalidInput
from thresher.embedding import Encoder
from thresher.search.clauses import clauses
from thresher.search.terms import query_terms

MAX_QUERIES = 20
"""Phrases that a caller may give; each costs one embedding."""
HEAD_CHARACTERS, TAIL_CHARACTERS = 16_000, 4_000
"""What is read of a longer message: what is asked stands at its beginning or its end, pasted material between."""
_SURELY_SHORT = 400
"""Characters that fit every encoder of the registry, so that short texts are not tokenised twice."""
_PREFIX_TOKENS = 16
"""Room for the query prefix and the special tokens."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to search.

    Attributes:
        phrases: The texts searched, in order; a message that was split stands first, whole.
        terms: The distinct terms of each phrase.
        split: The phrases came from one message.
        whole: The first phrase is the whole message; beside others it only lends them context.
        notes: What was left out, in words.
    """

    phrases: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    split: bool
    whole: bool
    notes: tuple[str, ...] = ()

    @property
    def all_terms(self) -> list[str]:
        """The distinct terms of all phrases."""
        return list(dict.fromkeys(term for terms in self.terms for term in terms))


@dataclass(frozen=True, slots=True)
class Pieces:
    """What the encoder reads of a plan.

    Attributes:
        texts: All pieces, in the phrases' order.
        owners: The phrase that each piece belongs to; never decreasing.
        left_out: Characters in no piece.
    """

    texts: tuple[str, ...]
    owners: tuple[int, ...]
    left_out: int


def plan_of(queries: Sequence[str], *, split: bool, message: str = "") -> Plan:
    """Decide what to search.

    Args:
        queries: One message, or the phrases that the calling model wrote.
        split: Whether a single query is a message that may hold several tasks.
        message: What the phrases were written for; it lends them context.

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
    return Plan(phrases, tuple(tuple(query_terms(text)) for text in phrases), cut, whole, tuple(notes))


def pieces_of(plan: Plan, encoder: Encoder) -> Pieces:
    """Cut each phrase into pieces that the encoder reads whole.

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
    return Pieces(tuple(texts), tuple(owners), left_out)


def _shortened(text: str, notes: list[str]) -> str:
    if len(text) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return text
    notes.append(
        f"Of {len(text):,} characters the first {HEAD_CHARACTERS:,} and the last {TAIL_CHARACTERS:,} were read."
    )
    return f"{text[:HEAD_CHARACTERS]}\n{text[-TAIL_CHARACTERS:]}"
