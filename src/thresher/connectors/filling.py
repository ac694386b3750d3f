"""Reads rows until one of the caps is reached.

Invariant: rows come one after another and what is beyond a cap is never held; at least one row is given where there is
one, so that the next question gets further.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from thresher.connectors.records import Caps
from thresher.connectors.values import to_json

_SMALLEST_CELL: Final = 8
_SEPARATOR: Final = 2


@dataclass(frozen=True, slots=True)
class Filled:
    """What was read: `Rows` without columns and time.

    Attributes:
        rows: JSON values.
        truncated: Empty, `rows` or `bytes`.
        clipped: How many values were clipped.
        more: Whether further rows exist.
    """

    rows: tuple[tuple[Any, ...], ...]
    truncated: str = ""
    clipped: int = 0
    more: bool = False


def fill(source: Iterable[Sequence[Any]], caps: Caps) -> Filled:
    """Take rows from a source that streams them, up to the caps.

    One row more than `caps.rows` is asked for, to know whether there are more. What the source raises is passed on.
    """
    rows: list[tuple[Any, ...]] = []
    used = clipped = 0
    for raw in _after(source, caps.skip):
        if len(rows) >= caps.rows:
            return Filled(tuple(rows), "rows", clipped, more=True)
        row, cut, size = _row(raw, caps.cell)
        if used + size > caps.bytes:
            if rows:
                return Filled(tuple(rows), "bytes", clipped, more=True)
            row, cut, size = _squeezed(raw, caps)
        rows.append(row)
        used += size
        clipped += cut
    return Filled(tuple(rows), "", clipped)


def _after(source: Iterable[Sequence[Any]], skip: int) -> Iterator[Sequence[Any]]:
    return islice(source, skip, None)


def _row(raw: Sequence[Any], cell: int) -> tuple[tuple[Any, ...], int, int]:
    """The row as JSON values, how many were clipped, and its bytes."""
    values = [to_json(value, cell) for value in raw]
    row = tuple(value for value, _ in values)
    size = len(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")) + _SEPARATOR
    return row, sum(clipped for _, clipped in values), size


def _squeezed(raw: Sequence[Any], caps: Caps) -> tuple[tuple[Any, ...], int, int]:
    """A first row that does not fit: its cells are clipped shorter until it does, or nothing is left to clip."""
    cell = caps.cell
    while True:
        cell //= 2
        row, cut, size = _row(raw, cell)
        if size <= caps.bytes or cell <= _SMALLEST_CELL:
            return row, cut, size
