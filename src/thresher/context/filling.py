"""Fills one token budget with pieces of every kind.

Invariant: pure; what is delivered is measured whole and never exceeds the budget, and what found no room is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thresher.context.listing import Listing, brief, listed
from thresher.core import InvalidInput, Piece

LISTED_SHARE = 8
"""The names of what is left out may take this part of a budget; where they would take more, kinds are counted."""
SLACK = 8
"""Tokens by which two answers to one question may differ: trace ids and times are written with more or fewer."""

Measure = Callable[[Sequence[Piece], Listing], int]
"""Exact tokens of an answer that holds these pieces and this list of what is left out."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What was taken, in the order of the candidates, and the list of the rest."""

    taken: tuple[Piece, ...]
    listing: Listing


def fill(candidates: Sequence[Piece], budget: int, measure: Measure, cursors: Callable[[Piece], str]) -> Filling:
    """Choose what fits.

    The best piece of each kind comes first, since one of each helps more than two of one; then the most probable ones.
    A piece that is too large is passed over, and smaller ones after it may still be taken. What is taken in its short
    form is replaced by the whole where that still fits in the end.

    Args:
        candidates: What fits the message, in the order in which a model reads it.
        budget: Tokens at most.
        measure: Counts an answer.
        cursors: Gives the cursor that fetches one piece.

    Raises:
        InvalidInput: Nothing fits into the budget; the hint names one that gives something.
    """

    def in_full(left: Sequence[Piece]) -> Listing:
        return listed(left, cursors)

    for listing in (in_full, brief):
        filling = _filled(candidates, budget, measure, listing)
        if filling is not None and (filling.taken or not candidates):
            return _in_full(filling, budget, measure)
    raise InvalidInput(
        f"A budget of {budget} tokens is too small for anything.",
        hint=f"A budget of {least(candidates, measure)} gives something.",
    )


def ordered(candidates: Sequence[Piece]) -> list[Piece]:
    """The pieces in the order in which they are taken."""
    by_value = sorted(candidates, key=lambda piece: -piece.value)
    first: dict[str, Piece] = {}
    for piece in by_value:
        first.setdefault(piece.kind, piece)
    return [*first.values(), *(piece for piece in by_value if piece is not first[piece.kind])]


def least(candidates: Sequence[Piece], measure: Measure) -> int:
    """A budget into which the cheapest piece goes; that of an empty answer where there is none."""
    if not candidates:
        return measure((), ()) + SLACK
    return min(measure((piece,), brief(_rest(candidates, [piece]))) for piece in cheapest(candidates)) + SLACK


def cheapest(candidates: Sequence[Piece]) -> list[Piece]:
    """The pieces that a small budget is tried with."""
    return sorted(candidates, key=lambda piece: piece.tokens)[:3]


def _filled(
    candidates: Sequence[Piece], budget: int, measure: Measure, listing: Callable[[Sequence[Piece]], Listing]
) -> Filling | None:
    """The best filling with one form of list; None where that form takes too much."""

    def spent(taken: Sequence[Piece]) -> int:
        return measure(_in_order(candidates, taken), listing(_rest(candidates, taken)))

    taken: list[Piece] = []
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
    names_cost = measure(kept, listing(rest)) - measure(kept, brief(rest))
    if spent(taken) > budget or names_cost > budget // LISTED_SHARE:
        return None
    return Filling(kept, listing(rest))


def _in_full(filling: Filling, budget: int, measure: Measure) -> Filling:
    """The same things, whole instead of in short as far as there is room, from the first one on."""
    taken = list(filling.taken)
    for place, piece in enumerate(filling.taken):
        if piece.whole is not None:
            fuller = [*taken[:place], piece.whole, *taken[place + 1 :]]
            taken = fuller if measure(fuller, filling.listing) <= budget else taken
    return Filling(tuple(taken), filling.listing)


def _topped_up(
    rest: Sequence[Piece], taken: list[Piece], budget: int, spent: Callable[[Sequence[Piece]], int]
) -> list[Piece]:
    """Takes what fits after all: each piece that is taken leaves the list, which makes room."""
    room = budget - spent(taken)
    for piece in rest:
        if piece.tokens <= room + _LISTED_TOKENS and (now := spent([*taken, piece])) <= budget:
            taken = [*taken, piece]
            room = budget - now
    return taken


_LISTED_TOKENS = 40
"""What the entry of one left-out piece may take, at most about."""


def _rest(candidates: Sequence[Piece], taken: Sequence[Piece]) -> list[Piece]:
    held = {id(piece) for piece in taken}
    return [piece for piece in candidates if id(piece) not in held]


def _in_order(candidates: Sequence[Piece], taken: Sequence[Piece]) -> tuple[Piece, ...]:
    held = {id(piece) for piece in taken}
    return tuple(piece for piece in candidates if id(piece) in held)
