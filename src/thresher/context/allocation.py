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
from typing import Final, Literal, TypeAlias

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


Refusal: TypeAlias = Literal["improbable", "worthless", "repeated"]
"""Why a piece is not offered: its kind is needed too improbably, by the message or by the piece's task, it brings too
little for its tokens, or a piece of another kind says the same."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """What is worth its tokens.

    Attributes:
        pieces: In the order in which a model reads them, with the probability that each is needed.
        shares: One for each kind that was searched, as long as nothing of it was delivered.
        refused: The other pieces, with the reasons; the value of an improbable one is still that inside its kind.
    """

    pieces: tuple[Piece, ...]
    shares: tuple[KindShare, ...]
    refused: tuple[tuple[Piece, Refusal], ...] = ()


def least_probability(
    kind: str, kinds: Sequence[tuple[str, SourcePieces]], probabilities: Mapping[str, Sequence[float]]
) -> float:
    """Return the least probability of a need with which a kind gets anything; arguments as for `allocate`.

    A message without rules, of which nothing is likely enough, gets nothing.
    """
    ruled = any(found.pieces for other, found in kinds if other == RULES)
    likeliest = max((chance for chances in probabilities.values() for chance in chances), default=0.0)
    if not ruled and likeliest < LEAST_ANY:
        return LEAST_ANY
    return LEAST[kind] / min(len(probabilities.get(kind) or (1.0,)), 2)


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
    refused: list[tuple[Piece, Refusal]] = []
    said = _Said()
    for kind, found in kinds:
        offered = (*found.pieces, *found.attached)
        if not offered:
            continue
        chances = probabilities.get(kind) or (1.0,)
        tasks = found.tasks or (0,) * len(found.pieces)
        least = least_probability(kind, kinds, probabilities)
        probability = max(chances) if kind in probabilities else max(piece.value for piece in offered)
        why = "worth their tokens" if probability else "named by rules"
        if probability < least:
            why = f"needed too improbably, {probability:.2f} of at least {least:.2f}"
        valued: list[Piece] = []
        for piece, task in zip(found.pieces, tasks, strict=True):
            if probability >= least and (kind not in probabilities or chances[task] >= least):
                valued.append(replace(piece, value=piece.value * chances[task]))
            else:
                refused.append((piece, "improbable"))
        offers = [*map(counted, (*valued, *found.attached))]
        refusals: list[Refusal | None] = [_refusal(piece, said) for piece in offers]
        own = [piece for piece, refusal in zip(offers, refusals, strict=True) if refusal is None]
        refused.extend((piece, refusal) for piece, refusal in zip(offers, refusals, strict=True) if refusal is not None)
        if repeated := refusals.count("repeated"):
            why = f"{why}; {repeated} said by another kind"
        elif valued and not own:
            why = "none is worth its tokens"
        for piece in own:
            said.add(piece)
        kept += own
        shares.append(KindShare(kind, len(offered), 0, round(probability, 3), 0, why))
    return Allocation(tuple(kept), tuple(shares), tuple(refused))


def _refusal(piece: Piece, said: _Said) -> Refusal | None:
    """Why a piece is not worth its tokens; None if it is. Rules that are needed at all have no price."""
    if piece.value < (LEAST[RULES] if piece.kind == RULES else max(PRICE * piece.tokens, LEAST_VALUE)):
        return "worthless"
    return "repeated" if said.already(piece) else None


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
