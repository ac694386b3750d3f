"""Puts a context pack together: the pieces that fit, in both forms in which they are delivered.

Invariant: pure; neither form has more tokens than the budget, and `spent` is the exact count of the larger one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thresher.context.cursors import Cursors
from thresher.context.filling import fill
from thresher.context.listing import Listing
from thresher.context.records import Note
from thresher.context.rendering import pack_data, pack_text
from thresher.core import Piece, dumps
from thresher.embedding import count_tokens


@dataclass(frozen=True, slots=True)
class Answer:
    """What is delivered: see `ContextPack`."""

    pieces: tuple[Piece, ...]
    left_out: Listing
    next: str
    text: str
    data: Mapping[str, Any]
    spent: int


def compose(
    cursors: Cursors, cursor: str, budget: int, *, notes: Sequence[Note], about: Mapping[str, Any], kinds: Sequence[str]
) -> Answer:
    """Fill the budget.

    Args:
        cursors: The candidates and their cursors.
        cursor: Where to go on; empty for the first answer.
        budget: Tokens at most, of the text and of the data each.
        notes: Sentences that stand first in the text.
        about: What the data says of the whole.
        kinds: All kinds, so that an empty one is there too.

    Raises:
        InvalidInput: The cursor is stale or none, or the budget is too small for anything.
    """
    candidates = cursors.left(cursor)
    before = {id(piece) for piece in candidates}
    already = [piece for piece in cursors.candidates if id(piece) not in before]

    def written(taken: Sequence[Piece], left: Listing) -> Answer:
        following = cursors.after([*already, *taken]) if left else ""
        text = pack_text(taken, left, following, notes)
        return _counted(tuple(taken), left, following, text, pack_data(taken, left, following, about, kinds))

    filling = fill(candidates, budget, lambda taken, left: written(taken, left).spent, cursors.only)
    return written(filling.taken, filling.listing)


def _counted(taken: tuple[Piece, ...], left: Listing, following: str, text: str, data: dict[str, Any]) -> Answer:
    """The answer with its own cost in it: `spent` counts as one of its tokens too."""
    tokens = count_tokens(text)
    spent = tokens
    while (now := max(tokens, count_tokens(dumps({**data, "spent": spent})))) > spent:
        spent = now
    return Answer(taken, left, following, text, {**data, "spent": spent}, spent)
