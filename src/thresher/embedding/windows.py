"""Cuts a text that is too long for an encoder into overlapping windows; pure functions over token offsets.

Invariant: no window has more than `size` tokens, and every token is in a window unless windows were left out.
"""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]
"""Start and end, in characters of the text."""


def cut(offsets: Sequence[Span], *, size: int, overlap: int) -> list[Span]:
    """Cut a tokenised text into character spans.

    A window ends and begins at a gap between words if there is one in its overlap, so that words stay whole; the last
    window reaches further back, so that it is as long as the others.

    Args:
        offsets: Character span of each token, in order.
        size: Most tokens of a window, at least 1.
        overlap: Tokens that a window shares with the one before, less than `size`.
    """
    spans: list[Span] = []
    start = 0
    while start < len(offsets):
        end = _window_end(offsets, start, size, overlap)
        spans.append((offsets[start][0], offsets[end - 1][1]))
        if end == len(offsets):
            break
        start = _next_start(offsets, start, end, size, overlap)
    return spans


def _next_start(offsets: Sequence[Span], start: int, end: int, size: int, overlap: int) -> int:
    earliest = max(start + 1, min(end - overlap, len(offsets) - size))
    gaps = (place for place in range(earliest, end) if offsets[place][0] > offsets[place - 1][1])
    return next(gaps, earliest)


def _window_end(offsets: Sequence[Span], start: int, size: int, overlap: int) -> int:
    end = start + size
    if end >= len(offsets):
        return len(offsets)
    lowest = max(start + 1, end - overlap)
    gaps = (place for place in range(end, lowest - 1, -1) if offsets[place][0] > offsets[place - 1][1])
    return next(gaps, end)


def keep_ends(spans: Sequence[Span], most: int) -> tuple[list[Span], int]:
    """Keep at most `most` spans, half from the head and half from the tail (the head gets the odd one).

    Returns:
        The spans kept, and the number of characters between head and tail that are in none of them.
    """
    if len(spans) <= most:
        return list(spans), 0
    head = (most + 1) // 2
    tail = spans[len(spans) - (most - head) :]
    gap_end = tail[0][0] if tail else spans[-1][1]
    return [*spans[:head], *tail], max(0, gap_end - spans[head - 1][1])
