"""Reads rows until one of the caps is reached.

Invariant: rows come one after another and what is beyond a cap is never held; at least one row is given where there is
one, so that the next question gets further.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

from thresher.connectors.records import Caps, ResultColumn, Rows
from thresher.connectors.values import to_json

_SMALLEST_CELL: Final = 8
_SEPARATOR: Final = 2


def fill(columns: Sequence[ResultColumn], source: Iterable[Sequence[Any]], caps: Caps) -> Rows:
    """Take rows from a source that streams them, up to the caps; the time is for the caller to fill in.

    One row more than `caps.rows` is asked for, to know whether there are more. What the source raises is passed on.
    """
    rows: list[tuple[Any, ...]] = []
    used = clipped = 0
    truncated = ""
    for raw in islice(source, caps.skip, None):
        if len(rows) >= caps.rows:
            truncated = "rows"
            break
        row, cut, size = _row(raw, caps.cell)
        if used + size > caps.bytes:
            if rows:
                truncated = "bytes"
                break
            row, cut, size = _squeezed(raw, caps)
        rows.append(row)
        used += size
        clipped += cut
    return Rows(tuple(columns), tuple(rows), truncated, clipped, more=bool(truncated))


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
