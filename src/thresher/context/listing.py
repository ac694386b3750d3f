"""Lists what an answer leaves out: piece by piece, or counted by kind where the names alone would take too much.

Invariant: pure; every piece that is left out is in the list, by itself or in a count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from thresher.core import LeftOut, Piece

Listing: TypeAlias = tuple[LeftOut, ...]

_WHY = "budget"


def listed(left: Sequence[Piece], cursors: Callable[[Piece], str]) -> Listing:
    """One entry a piece, with the cursor that fetches it."""
    return tuple(LeftOut(piece.kind, piece.name, _WHY, piece.tokens, cursors(piece)) for piece in left)


def brief(left: Sequence[Piece]) -> Listing:
    """One entry a kind."""
    kinds = dict.fromkeys(piece.kind for piece in left)
    of = {kind: [piece.tokens for piece in left if piece.kind == kind] for kind in kinds}
    return tuple(LeftOut(kind, "", _WHY, sum(tokens), count=len(tokens)) for kind, tokens in of.items())
