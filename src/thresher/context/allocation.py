"""Which of the pieces on offer are worth their tokens, and what each kind's share is.

A piece is worth its tokens if the probability that it is needed is at least `PRICE` for each of them. That probability
is the one that its kind is needed, times the one that the kind needs this piece. A kind that is needed too improbably
gets nothing, and what a piece of another kind already says is left out.

Invariant: pure; how much fits into a budget is decided afterwards, from the pieces that are worth it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from thresher.context.probabilities import ENDPOINTS, PASSAGES, SCHEMAS, TOOLS
from thresher.context.sources import RULES, SourcePieces, counted
from thresher.core import KindShare, Piece

PRICE: Final = 0.0003
"""Probability that a token must bring."""
LEAST_VALUE: Final = 0.012
"""The least probability with which a piece is needed, however few tokens it has."""
LEAST: Final[Mapping[str, float]] = {RULES: 0.5, TOOLS: 0.1, PASSAGES: 0.12, ENDPOINTS: 0.15, SCHEMAS: 0.08}
"""The least probability with which a kind is needed that gets anything. For one of several tasks half of it is enough:
a message that has several is hardly small talk."""
LEAST_ANY: Final = 0.15
"""The least probability of the likeliest kind for a message that gets no rules: below it, it needs nothing."""
_REPEATED: Final = 0.8
"""The share of a passage's words in a row that stand in rules from which it repeats them."""
_ROW: Final = 4
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Allocation:
    """What is worth its tokens.

    Attributes:
        pieces: In the order in which a model reads them, with the probability that each is needed.
        shares: One for each kind that was searched, as long as nothing of it was delivered.
    """

    pieces: tuple[Piece, ...]
    shares: tuple[KindShare, ...]


def allocate(kinds: Sequence[tuple[str, SourcePieces]], probabilities: Mapping[str, Sequence[float]]) -> Allocation:
    """Choose the pieces that are worth their tokens.

    Args:
        kinds: What each kind offers, in the order in which a model reads it; the value of a piece is the probability
            that it is needed if its kind is; tokens that are 0 are counted here.
        probabilities: The probability that each task needs each kind; the values of a kind without one are
            probabilities already.
    """
    kept: list[Piece] = []
    shares: list[KindShare] = []
    said = _Said()
    ruled = any(found.pieces for kind, found in kinds if kind == RULES)
    likeliest = max((chance for chances in probabilities.values() for chance in chances), default=0.0)
    for kind, found in kinds:
        offered = (*found.pieces, *found.attached)
        if not offered:
            continue
        chances = probabilities.get(kind) or (1.0,)
        tasks = found.tasks or (0,) * len(found.pieces)
        least = LEAST[kind] / min(len(chances), 2) if ruled or likeliest >= LEAST_ANY else LEAST_ANY
        valued = [
            replace(piece, value=piece.value * chances[task])
            for piece, task in zip(found.pieces, tasks, strict=True)
            if kind not in probabilities or chances[task] >= least
        ]
        probability = max(chances) if kind in probabilities else max(piece.value for piece in offered)
        if probability < least:
            valued, why = [], f"needed too improbably, {probability:.2f} of at least {least:.2f}"
        else:
            why = "worth their tokens" if probability else "named by rules"
        worth = [piece for piece in map(counted, (*valued, *found.attached)) if _is_worth(piece)]
        own = [piece for piece in worth if not said.already(piece)]
        if len(own) < len(worth):
            why = f"{why}; {len(worth) - len(own)} said by another kind"
        elif valued and not own:
            why = "none is worth its tokens"
        for piece in own:
            said.add(piece)
        kept += own
        shares.append(KindShare(kind, len(offered), 0, round(probability, 3), 0, why))
    return Allocation(tuple(kept), tuple(shares))


def _is_worth(piece: Piece) -> bool:
    """Return whether a piece is worth its tokens; rules that are needed at all have no price."""
    return piece.value >= (LEAST[RULES] if piece.kind == RULES else max(PRICE * piece.tokens, LEAST_VALUE))


def delivered(shares: Sequence[KindShare], pieces: Sequence[Piece], left: Sequence[str]) -> tuple[KindShare, ...]:
    """Return the shares with what was delivered.

    Args:
        shares: Of `allocate`.
        pieces: What was delivered.
        left: The kinds of the pieces that found no room.
    """
    found: list[KindShare] = []
    for share in shares:
        own = [piece for piece in pieces if piece.kind == share.kind]
        why = f"{share.why}; {left.count(share.kind)} over the budget" if share.kind in left else share.why
        found.append(replace(share, taken=len(own), tokens=sum(piece.tokens for piece in own), why=why))
    return tuple(found)


class _Said:
    """What the pieces taken so far say: names of tools, and words of rules in a row."""

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._rows: set[tuple[str, ...]] = set()

    def add(self, piece: Piece) -> None:
        """Note a piece that is taken."""
        if piece.kind == TOOLS:
            self._calls.add(_call(piece.name))
        elif piece.kind == RULES:
            self._rows |= _rows(piece.text)

    def already(self, piece: Piece) -> bool:
        """Return whether a tool is the operation, or rules hold the passage."""
        if piece.kind == ENDPOINTS:
            call = _call(piece.content.partition("\n")[0])
            return bool(call) and any(tool.endswith(call) for tool in self._calls)
        if piece.kind == PASSAGES and self._rows:
            rows = _rows(str(piece.data["text"]))
            return bool(rows) and len(rows & self._rows) >= _REPEATED * len(rows)
        return False


def _call(name: str) -> str:
    """A name without case and separators: `list_open_issues` and `listOpenIssues` are one."""
    return "".join(_WORD.findall(name.lower())).replace("_", "")


def _rows(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return {tuple(words[place : place + _ROW]) for place in range(len(words) - _ROW + 1)}
