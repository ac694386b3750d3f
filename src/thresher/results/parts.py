"""A large result cut into parts, ranges of one text under labels that say where they stand; budgets filled with them.

Invariant: pure; parts are in the order of the result. Parts are chosen by estimated costs and counted as written: what
is returned has at most as many tokens as the budget, or no parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from thresher.embedding import count_tokens
from thresher.search import Floats, Ids, Units, select

LEVEL: Final = " > "
"""Stands between the levels of a label."""
_SAMPLES: Final = 16
_SAMPLE: Final = 160
"""Characters of each sample, from which the tokens of a long text are estimated: counting them all would take longer
than choosing what to deliver."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a result, as columns of equal length n.

    Attributes:
        kind: `json`, `csv`, `log`, `html`, `markdown`, `code` or `text`.
        text: What is searched and delivered; empty for JSON.
        starts: int64, first character of each part.
        ends: int64, character after the last.
        labels: int64, the label of each part.
        names: The labels: headings, the names around a function, the path and the identity of a JSON element.
        prefix: Lines that go before the parts of a table: its header.
        shape: What the whole consists of; empty where nothing is to be said.
        neighbours: Whether a part's neighbours are likely to belong to its answer.
        first: Parts that go before all others.
        blob: Of JSON alone: the parts as UTF-8, to which starts and ends belong.
    """

    kind: str
    text: str
    starts: Ids
    ends: Ids
    labels: Ids
    names: Sequence[str]
    prefix: str = ""
    shape: str = ""
    neighbours: bool = False
    blob: bytes = b""
    first: Sequence[int] = ()

    def octets(self, *, ascii_only: bool) -> tuple[bytes, Ids, Ids]:
        """The text in lower case as UTF-8, with the starts and the ends of its parts in it.

        Args:
            ascii_only: Whether only letters of ASCII need be in lower case, which is quicker.
        """
        if self.blob:
            return self.blob.lower() if ascii_only else self.blob.decode().lower().encode(), self.starts, self.ends
        text = self.text if ascii_only else self.text.replace("İ", "i").lower()
        octets = text.encode("utf-8", "replace").lower()
        if len(octets) == len(text):
            return octets, self.starts, self.ends
        firsts = np.flatnonzero((np.frombuffer(octets, np.uint8) & 0xC0) != 0x80)
        firsts = np.append(firsts, len(octets))
        return octets, firsts[self.starts], firsts[self.ends]

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.starts)


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has; exact up to some thousand characters."""
    if len(text) <= 2 * _SAMPLES * _SAMPLE:
        return count_tokens(text)
    step = (len(text) - _SAMPLE) // (_SAMPLES - 1)
    sample = [text[place : place + _SAMPLE] for place in range(0, len(text) - _SAMPLE + 1, step)]
    return round(sum(map(count_tokens, sample)) / (len(sample) * _SAMPLE) * len(text))


def clipped(text: str, most: int, around: int = 0) -> str:
    """A text of at most about `most` characters, with its length where something was cut.

    Args:
        text: The text.
        most: Characters that are kept.
        around: A place that is kept.
    """
    if len(text) <= most:
        return text
    first = max(0, min(around - most // 3, len(text) - most))
    last = first + most
    before = "…" if first else ""
    return f"{before}{text[first:last]}… [{len(text):,} characters]"


_ROUNDS: Final = 4
_FULL: Final = 0.95
_OVER: Final = 0.97

Write: TypeAlias = Callable[[Sequence[int]], tuple[str, int]]
"""Writes an answer with some parts; returns it and its tokens."""


def filled(units: Units, scores: Floats, budget: int, frame: int, write: Write) -> tuple[list[int], str, int]:
    """Choose the parts with which an answer fills its budget best.

    Costs are estimates. Where an answer turns out smaller than they said, it is chosen again with the room that was
    left; where it is larger, the parts that were taken last go.

    Args:
        units: The parts, with their estimated costs.
        scores: float32 (n,), higher is better.
        budget: Most tokens of the answer.
        frame: Tokens of an answer without parts.
        write: Writes an answer.

    Returns:
        The parts in the order in which they were taken, the answer, and its tokens.
    """
    room = float(max(budget - frame, 0))
    kept: list[int] = []
    text, tokens = write(kept)
    for _ in range(_ROUNDS):
        chosen = select(units, scores, int(room)).tolist()
        written, spent = write(chosen)
        while spent > budget and chosen:
            over = spent - budget
            while chosen and over > 0:
                over -= max(1, int(_OVER * units.costs[chosen.pop()]))
            written, spent = write(chosen)
        if spent <= budget and len(chosen) >= len(kept):
            kept, text, tokens = chosen, written, spent
        if tokens >= _FULL * budget or spent > budget or len(kept) == len(units):
            break
        room *= (budget - frame) / max(tokens - frame, 1)
        room = min(room, 4.0 * budget)
    write(kept)
    return kept, text, tokens
