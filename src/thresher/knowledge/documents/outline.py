"""The table of contents of what an answer leaves out.

Invariant: pure; entries follow the document's order and cover every chunk that is left out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents.layout import Column, Layout, written_path
from thresher.knowledge.documents.models import Omitted
from thresher.search import Bools

MOST_ENTRIES: Final = 40
_DEEPEST: Final = 6


def left_out(layout: Layout, missing: Bools, most: int = MOST_ENTRIES) -> tuple[Omitted, ...]:
    """What is missing, by headings, as deep as the number of entries allows.

    Args:
        layout: Of the document.
        missing: bool (n,), chunks that neither this answer nor one before it holds.
        most: Entries at most; the whole document in one entry is always allowed.
    """
    places = np.flatnonzero(missing)
    if not len(places):
        return ()
    chosen = _grouped(layout, places, 0)
    for depth in range(1, min(max(map(len, layout.paths), default=0), _DEEPEST) + 1):
        groups = _grouped(layout, places, depth)
        if len(groups) > most:
            break
        chosen = groups
    return tuple(
        Omitted(path, int(layout.first_lines[first]), int(layout.last_lines[last]), tokens)
        for path, first, last, tokens in chosen
    )


def written(entries: tuple[Omitted, ...]) -> str:
    """The entries as lines of text, each with a line break before it; nothing for a document without headings."""
    return "".join(
        f"\n{entry.first_line}-{entry.last_line} {written_path(entry.heading_path)}"
        for entry in entries
        if entry.heading_path
    )


def fitting(layout: Layout, missing: Bools, tokens: int) -> str:
    """The most detailed written map that costs at most so many tokens; empty where none does."""
    most = max(tokens // 6, 1)
    while most:
        text = written(left_out(layout, missing, most))
        if count_tokens(text) <= tokens:
            return text
        most = most * 2 // 3
    return ""


def _grouped(layout: Layout, places: Column, depth: int) -> list[tuple[tuple[str, ...], int, int, int]]:
    """Heading path cut to a depth, first and last chunk, and tokens of each stretch of the document under one."""
    numbers: dict[tuple[str, ...], int] = {}
    cut = np.array([numbers.setdefault(path[:depth], len(numbers)) for path in layout.paths], np.int64)
    labels = cut[layout.headings[places]]
    firsts = np.flatnonzero(np.r_[True, np.diff(labels) != 0])
    ends = np.r_[firsts[1:], len(places)]
    sums = np.add.reduceat(layout.tokens[places], firsts)
    names = list(numbers)
    return [
        (names[int(labels[first])], int(places[first]), int(places[end - 1]), int(tokens))
        for first, end, tokens in zip(firsts, ends, sums, strict=True)
    ]
