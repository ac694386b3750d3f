"""Cursors of answers: which chunks of which document were delivered.

The chunks are written in decimal digits, because a model pays one token for three digits: no other characters are
cheaper.

Invariant: pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from thresher.core import CursorCodec, InvalidCursor
from thresher.search import Bools

_CURSOR: Final[CursorCodec[int, str]] = CursorCodec("retrieve_document", int, str)
"""Key of the document, and the delivered chunks."""
_ORDER_BITS: Final = 5
_BLOCK_BITS: Final = 93
_BLOCK_DIGITS: Final = 28
"""2**93 < 10**28: a block of this many bits is written as this many digits, however long the cursor."""
LONGEST: Final = 60_000
"""Most digits that are decoded."""
_DIGITS: Final = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class DeliveredChunks:
    """What earlier answers contained.

    Attributes:
        document: Key of the document.
        runs: First ordinal and the one after the last, of each run of adjacent chunks, in order.
    """

    document: int
    runs: tuple[tuple[int, int], ...]

    def mask(self, chunks: int) -> Bools:
        """The delivered chunks, bool (chunks,).

        Raises:
            InvalidCursor: The document has fewer chunks.
        """
        if self.runs and self.runs[-1][1] > chunks:
            raise InvalidCursor
        delivered = np.zeros(chunks, np.bool_)
        for first, end in self.runs:
            delivered[first:end] = True
        return delivered


def encode(document: int, delivered: Bools, question: Sequence[str]) -> str:
    """The cursor that continues after these chunks; empty if all were delivered.

    Args:
        document: Key of the document.
        delivered: bool (n,), chunks of this answer and of those before it.
        question: The words that identify the question, in order.
    """
    if delivered.all():
        return ""
    edges = np.flatnonzero(np.diff(np.r_[False, delivered, False].astype(np.int8))).tolist()
    gaps = [edge - before for edge, before in zip(edges, [0, *edges], strict=False)]
    order = max((sum(gaps[::2]) // max(len(gaps[::2]), 1)).bit_length() - 1, 0)
    # Gaps between runs are long, runs are short: the length of a run is encoded from 0.
    runs = "".join(_number(gap - place % 2, 0 if place % 2 else order) for place, gap in enumerate(gaps))
    return _CURSOR.encode(document, _digits(f"1{order:0{_ORDER_BITS}b}{runs}"), question=question)


def decode(cursor: str, question: Sequence[str]) -> DeliveredChunks:
    """Decode a cursor.

    Raises:
        InvalidCursor: The cursor is not valid, or belongs to another question.
    """
    document, digits = _CURSOR.decode(cursor, question)
    try:
        return DeliveredChunks(document, _runs(digits))
    except (StopIteration, ValueError):
        raise InvalidCursor from None


def _runs(digits: str) -> tuple[tuple[int, int], ...]:
    bits = _bits(digits)
    order = int("".join(next(bits) for _ in range(_ORDER_BITS)), 2)
    runs: list[tuple[int, int]] = []
    end = 0
    for first in bits:
        start = end + _next(chain(first, bits), order)
        end = start + 1 + _next(bits, 0)
        runs.append((start, end))
    return tuple(runs)


def _number(value: int, order: int) -> str:
    """Exponential Golomb code of a non-negative number: short for numbers near 2 to the power of `order`."""
    upper = f"{(value >> order) + 1:b}"
    lower = f"{value & (1 << order) - 1:0{order}b}" if order else ""
    return "0" * (len(upper) - 1) + upper + lower


def _next(bits: Iterator[str], order: int) -> int:
    zeros = 0
    while next(bits) == "0":
        zeros += 1
    upper = int("1" + "".join(next(bits) for _ in range(zeros)), 2) - 1
    return upper << order | int("0" + "".join(next(bits) for _ in range(order)), 2)


def _digits(bits: str) -> str:
    head = len(bits) % _BLOCK_BITS
    blocks = [bits[at : at + _BLOCK_BITS] for at in range(head, len(bits), _BLOCK_BITS)]
    tail = "".join(f"{int(block, 2):0{_BLOCK_DIGITS}d}" for block in blocks)
    return (str(int(bits[:head], 2)) if head else "") + tail


def _bits(digits: str) -> Iterator[str]:
    if not _DIGITS.fullmatch(digits) or len(digits) > LONGEST:
        raise InvalidCursor
    head = len(digits) % _BLOCK_DIGITS
    numbers = [int(digits[at : at + _BLOCK_DIGITS]) for at in range(head, len(digits), _BLOCK_DIGITS)]
    bits = "".join(f"{number:0{_BLOCK_BITS}b}" for number in numbers)
    return iter(((f"{int(digits[:head]):b}" if head else "") + bits).lstrip("0")[1:])
