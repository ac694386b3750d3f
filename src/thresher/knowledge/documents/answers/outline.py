"""The table of contents of what an answer leaves out.

Invariant: pure; entries follow the document's order and cover every chunk that is left out.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents.layout import Column, DocumentLayout, heading_label, path_label, shared_path
from thresher.knowledge.documents.models import Omitted
from thresher.search import Bools

SHARE: Final = 16
"""The table may take this part (1/n) of a budget."""
MOST_ENTRIES: Final = 40
_ENTRY_TOKENS: Final = 9
_COARSE: Final = 3
"""If the headings of one depth fill less than this part of the table, joined headings of the next depth say more."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """Left-out chunks under one heading, or under several neighbouring ones.

    Attributes:
        path: The common beginning of their heading paths.
        last: If there are several, the heading path of the last; else empty.
        first_chunk: The first chunk.
        last_chunk: The last chunk.
        tokens: Tokens of all chunks.
    """

    path: tuple[str, ...]
    last: tuple[str, ...]
    first_chunk: int
    last_chunk: int
    tokens: int


def left_out(layout: DocumentLayout, missing: Bools, most: int = MOST_ENTRIES) -> tuple[Omitted, ...]:
    """What is missing, by headings, as deep as the number of entries allows.

    Args:
        layout: Layout of the document.
        missing: bool (n,), chunks that neither this answer nor an earlier one contains.
        most: Most entries.
    """
    return tuple(
        Omitted(
            shared_path(one.path, one.last) if one.last else one.path,
            int(layout.first_lines[one.first_chunk]),
            int(layout.last_lines[one.last_chunk]),
            one.tokens,
        )
        for one in _gaps(layout, missing, most)
    )


def table(layout: DocumentLayout, missing: Bools, tokens: int) -> str:
    """The most detailed table within a token budget: one line per entry, each after a line break.

    Empty for a document without headings, and if not even two entries fit.
    """
    most = tokens // _ENTRY_TOKENS
    while most > 1 and len(layout.paths) > 1 and missing.any():
        gaps = _gaps(layout, missing, most)
        above = len(functools.reduce(shared_path, [one.path[:-1] for one in gaps]))
        text = "".join(_line(layout, one, above) for one in gaps)
        if (cost := count_tokens(text)) <= tokens:
            return text
        most = min(most - 1, most * tokens // cost)
    return ""


def table_tokens(layout: DocumentLayout, missing: Bools, budget: int) -> int:
    """Tokens that the table takes inside a budget."""
    return count_tokens(table(layout, missing, budget // SHARE))


def _line(layout: DocumentLayout, one: _Gap, above: int) -> str:
    """A line of the table, without the headings above all entries."""
    lines = f"{layout.first_lines[one.first_chunk]}-{layout.last_lines[one.last_chunk]}"
    if not one.last:
        return f"\n{lines} {path_label(one.path[above:])}".rstrip()
    other = one.last[len(shared_path(one.path, one.last)) :]
    return f"\n{lines} {path_label(one.path[above:])} … {heading_label(other[0]) if other else ''}".rstrip(" …")


def _gaps(layout: DocumentLayout, missing: Bools, most: int) -> list[_Gap]:
    """What is missing, in at most `most` gaps."""
    places = np.flatnonzero(missing)
    if not len(places):
        return []
    headings = layout.headings[places]
    firsts = [_borders(cut[headings]) for _, cut in layout.sections]
    deepest = max((depth for depth, found in enumerate(firsts) if len(found) <= most), default=0)
    if deepest + 1 < len(firsts) and (deepest == 0 or len(firsts[deepest]) < max(2, most // _COARSE)):
        return _merged(_under_headings(layout, places, deepest + 1, firsts[deepest + 1]), most)
    return _under_headings(layout, places, deepest, firsts[deepest])


def _borders(labels: Column) -> Column:
    """Where a row of labels changes: the index of the first label of each run of equal ones."""
    return np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])


def _under_headings(layout: DocumentLayout, places: Column, depth: int, firsts: Column) -> list[_Gap]:
    """The missing chunks under each heading down to a depth; the chunks of a heading make one gap."""
    names, cut = layout.sections[depth]
    labels: list[int] = cut[layout.headings[places[firsts]]].tolist()
    ends = np.r_[firsts[1:], len(places)]
    sums = np.add.reduceat(layout.tokens[places], firsts)
    return [
        _Gap(names[label], (), first, last, tokens)
        for label, first, last, tokens in zip(
            labels, places[firsts].tolist(), places[ends - 1].tolist(), sums.tolist(), strict=True
        )
    ]


def _merged(gaps: list[_Gap], most: int) -> list[_Gap]:
    """Join neighbouring gaps into groups of about equal length."""
    bounds = np.linspace(0, len(gaps), max(most, 1) + 1).astype(int).tolist()
    groups = [gaps[first:last] for first, last in pairwise(bounds) if first < last]
    return [
        _Gap(
            group[0].path,
            group[-1].path if len(group) > 1 else (),
            group[0].first_chunk,
            group[-1].last_chunk,
            sum(one.tokens for one in group),
        )
        for group in groups
    ]
