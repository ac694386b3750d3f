"""Composing a context pack: the pieces that fit one token budget, in both delivered forms, and the list of the rest.

Invariant: pure; neither form has more tokens than the budget, and `spent` is the exact count of the larger one. Every
piece that is left out is in the list, by itself or in a count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thresher.context.cursors import Cursors
from thresher.context.records import Listing, Note
from thresher.context.rendering import pack_data, pack_text
from thresher.core import InvalidInput, LeftOut, Piece, dumps
from thresher.embedding import count_tokens


@dataclass(frozen=True, slots=True)
class ComposedContext:
    """What is delivered: see `ContextPack`."""

    pieces: tuple[Piece, ...]
    left_out: Listing
    next: str
    text: str
    data: Mapping[str, Any]
    spent: int


def compose(
    cursors: Cursors, cursor: str, budget: int, *, notes: Sequence[Note], about: Mapping[str, Any], kinds: Sequence[str]
) -> ComposedContext:
    """Fill the budget.

    Args:
        cursors: The candidates and their cursors.
        cursor: Where to continue; empty for the first answer.
        budget: The maximum number of tokens, of the text and of the data each.
        notes: Sentences at the beginning of the text.
        about: What the data says of the whole.
        kinds: All kinds, so that an empty one is listed too.

    Raises:
        InvalidInput: The cursor is stale or invalid, or the budget is too small for anything.
    """
    candidates = cursors.left(cursor)
    before = {id(piece) for piece in candidates}
    already = [piece for piece in cursors.candidates if id(piece) not in before]

    def written(taken: Sequence[Piece], left: Listing) -> ComposedContext:
        following = cursors.after([*already, *taken]) if left else ""
        text = pack_text(taken, left, following, notes)
        return _counted(tuple(taken), left, following, text, pack_data(taken, left, following, about, kinds))

    filling = fill(candidates, budget, lambda taken, left: written(taken, left).spent, cursors.only)
    return written(filling.taken, filling.listing)


def _counted(
    taken: tuple[Piece, ...], left: Listing, following: str, text: str, data: dict[str, Any]
) -> ComposedContext:
    """The answer including its own cost: the tokens of `spent` count too."""
    tokens = count_tokens(text)
    spent = tokens
    while (now := max(tokens, count_tokens(dumps({**data, "spent": spent})))) > spent:
        spent = now
    return ComposedContext(taken, left, following, text, {**data, "spent": spent}, spent)


LISTED_SHARE = 8
"""The names of what is left out may take this part of a budget; if they would take more, kinds are counted."""
SLACK = 8
"""Tokens by which two answers to one question may differ: trace ids and times vary in length."""

NAMED_BUDGET = 300
"""The least budget of an answer that only names what it has no room for."""

Measure = Callable[[Sequence[Piece], Listing], int]
"""Exact tokens of an answer with these pieces and this list of what is left out."""


@dataclass(frozen=True, slots=True)
class BudgetFill:
    """What was taken, in the order of the candidates, and the list of the rest."""

    taken: tuple[Piece, ...]
    listing: Listing


def fill(candidates: Sequence[Piece], budget: int, measure: Measure, cursors: Callable[[Piece], str]) -> BudgetFill:
    """Choose what fits.

    The best piece of each kind comes first, since one of each helps more than two of one; then the most probable
    ones. A
    piece that is too large is skipped, and smaller ones after it may still be taken. What is taken in its short form is
    replaced by the full one if that still fits in the end.

    Args:
        candidates: What fits the message, in the order in which a model reads it.
        budget: The maximum number of tokens.
        measure: Counts an answer.
        cursors: Returns the cursor that fetches one piece.

    Raises:
        InvalidInput: Nothing fits into the budget; the hint names one that is large enough.
    """

    def in_full(left: Sequence[Piece]) -> Listing:
        return listed(left, cursors)

    filling = _filled(candidates, budget, measure, in_full)
    if filling is not None and (filling.taken or not candidates):
        return _in_full(filling, budget, measure)
    # A single piece that is larger than a usual budget, such as long rules, is named with the way to it.
    if budget >= NAMED_BUDGET and candidates and measure((), in_full(candidates)) <= budget:
        return BudgetFill((), in_full(candidates))
    raise InvalidInput(
        f"A budget of {budget} tokens is too small for anything.",
        hint=f"A budget of {least(candidates, measure)} gives something.",
    )


def ordered(candidates: Sequence[Piece]) -> list[Piece]:
    """Return the pieces in the order in which they are taken."""
    by_value = sorted(candidates, key=lambda piece: -piece.value)
    first: dict[str, Piece] = {}
    for piece in by_value:
        first.setdefault(piece.kind, piece)
    return [*first.values(), *(piece for piece in by_value if piece is not first[piece.kind])]


def least(candidates: Sequence[Piece], measure: Measure) -> int:
    """Return a budget that fits the cheapest piece, or an empty answer if there is none."""
    if not candidates:
        return measure((), ()) + SLACK
    return min(measure((piece,), brief(_rest(candidates, [piece]))) for piece in cheapest(candidates)) + SLACK


def cheapest(candidates: Sequence[Piece]) -> list[Piece]:
    """Return the pieces to try with a small budget."""
    return sorted(candidates, key=lambda piece: piece.tokens)[:3]


def _filled(
    candidates: Sequence[Piece], budget: int, measure: Measure, in_full: Callable[[Sequence[Piece]], Listing]
) -> BudgetFill | None:
    """The best filling; None if nothing fits. What is left out is counted first, and named where there is room."""

    def spent(taken: Sequence[Piece]) -> int:
        return measure(_in_order(candidates, taken), brief(_rest(candidates, taken)))

    taken = list(candidates)
    if sum(piece.tokens for piece in taken) <= budget and spent(taken) <= budget:
        return BudgetFill(tuple(taken), ())  # counting an answer takes a millisecond; mostly all of it fits
    taken.clear()
    room = budget - spent(())
    for piece in ordered(candidates):
        if piece.tokens <= room:
            taken.append(piece)
            room -= piece.tokens
    while taken and spent(taken) > budget:
        taken.pop()
    if taken:
        taken = _topped_up(ordered(_rest(candidates, taken)), taken, budget, spent)
    else:
        taken = [piece for piece in cheapest(candidates) if spent([piece]) <= budget][:1]
    rest, kept = _rest(candidates, taken), _in_order(candidates, taken)
    if (counted := spent(taken)) > budget:
        return None
    named = measure(kept, in_full(rest))
    return BudgetFill(kept, in_full(rest) if named <= min(budget, counted + budget // LISTED_SHARE) else brief(rest))


def _in_full(filling: BudgetFill, budget: int, measure: Measure) -> BudgetFill:
    """The same pieces, in full instead of in short while there is room, from the first one on."""
    taken = list(filling.taken)
    for place, piece in enumerate(filling.taken):
        if piece.whole is not None:
            fuller = [*taken[:place], piece.whole, *taken[place + 1 :]]
            taken = fuller if measure(fuller, filling.listing) <= budget else taken
    return BudgetFill(tuple(taken), filling.listing)


def _topped_up(
    rest: Sequence[Piece], taken: list[Piece], budget: int, spent: Callable[[Sequence[Piece]], int]
) -> list[Piece]:
    """What fits after all is taken: each piece that is taken leaves the list, which makes room."""
    room = budget - spent(taken)
    for piece in rest:
        if piece.tokens <= room + _LISTED_TOKENS and (now := spent([*taken, piece])) <= budget:
            taken = [*taken, piece]
            room = budget - now
    return taken


_LISTED_TOKENS = 40
"""What the entry of one left-out piece takes, at most about."""


def _rest(candidates: Sequence[Piece], taken: Sequence[Piece]) -> list[Piece]:
    held = {id(piece) for piece in taken}
    return [piece for piece in candidates if id(piece) not in held]


def _in_order(candidates: Sequence[Piece], taken: Sequence[Piece]) -> tuple[Piece, ...]:
    held = {id(piece) for piece in taken}
    return tuple(piece for piece in candidates if id(piece) in held)


_WHY = "budget"


def listed(left: Sequence[Piece], cursors: Callable[[Piece], str]) -> Listing:
    """Return one entry per piece, with the cursor that fetches it."""
    return tuple(LeftOut(piece.kind, piece.name, _WHY, piece.tokens, cursors(piece)) for piece in left)


def brief(left: Sequence[Piece]) -> Listing:
    """Return one entry per kind."""
    kinds = dict.fromkeys(piece.kind for piece in left)
    of = {kind: [piece.tokens for piece in left if piece.kind == kind] for kind in kinds}
    return tuple(LeftOut(kind, "", _WHY, sum(tokens), count=len(tokens)) for kind, tokens in of.items())
