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
from thresher.knowledge.documents.layout import Column, Layout, brief, written_path
from thresher.knowledge.documents.models import Omitted
from thresher.search import Bools

SHARE: Final = 16
"""The written table may take this part of a budget."""
MOST_ENTRIES: Final = 40
_ENTRY_TOKENS: Final = 9
_COARSE: Final = 3
"""Headings of one depth that fill less than such a part of the room say less than joined ones of the next."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Chunks that are left out under one heading, or under several neighbouring ones.

    Attributes:
        path: What their heading paths have in common.
        last: Of several, the heading path of the last; else empty.
        first_chunk: The first of them.
        last_chunk: The last.
        tokens: Of all of them.
    """

    path: tuple[str, ...]
    last: tuple[str, ...]
    first_chunk: int
    last_chunk: int
    tokens: int


def left_out(layout: Layout, missing: Bools, most: int = MOST_ENTRIES) -> tuple[Omitted, ...]:
    """What is missing, by headings, as deep as the number of entries allows.

    Args:
        layout: Of the document.
        missing: bool (n,), chunks that neither this answer nor one before it holds.
        most: Entries at most.
    """
    return tuple(
        Omitted(
            _shared(one.path, one.last) if one.last else one.path,
            int(layout.first_lines[one.first_chunk]),
            int(layout.last_lines[one.last_chunk]),
            one.tokens,
        )
        for one in _stretches(layout, missing, most)
    )


def written(layout: Layout, missing: Bools, tokens: int) -> str:
    """The most detailed table that costs at most so many tokens: a line an entry, each after a line break.

    Empty for a document without headings, and where not even two entries fit.
    """
    most = tokens // _ENTRY_TOKENS
    while most > 1 and len(layout.paths) > 1 and missing.any():
        stretches = _stretches(layout, missing, most)
        above = len(functools.reduce(_shared, [one.path[:-1] for one in stretches]))
        text = "".join(_line(layout, one, above) for one in stretches)
        if (cost := count_tokens(text)) <= tokens:
            return text
        most = min(most - 1, most * tokens // cost)
    return ""


def room(layout: Layout, missing: Bools, budget: int) -> int:
    """Tokens that the table may come to take inside a budget."""
    return count_tokens(written(layout, missing, budget // SHARE))


def _line(layout: Layout, one: _Stretch, above: int) -> str:
    """A line of the table, without the headings above all of its entries."""
    lines = f"{layout.first_lines[one.first_chunk]}-{layout.last_lines[one.last_chunk]}"
    if not one.last:
        return f"\n{lines} {written_path(one.path[above:])}".rstrip()
    other = one.last[len(_shared(one.path, one.last)) :]
    return f"\n{lines} {written_path(one.path[above:])} … {brief(other[0]) if other else ''}".rstrip(" …")


def _stretches(layout: Layout, missing: Bools, most: int) -> list[_Stretch]:
    """What is missing in at most so many stretches."""
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
    """Where a row of labels changes: the place of the first of each stretch of equal ones."""
    return np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])


def _under_headings(layout: Layout, places: Column, depth: int, firsts: Column) -> list[_Stretch]:
    """The missing chunks under each heading down to a depth; a heading's chunks make one stretch, whatever it lacks."""
    names, cut = layout.sections[depth]
    labels: list[int] = cut[layout.headings[places[firsts]]].tolist()
    ends = np.r_[firsts[1:], len(places)]
    sums = np.add.reduceat(layout.tokens[places], firsts)
    return [
        _Stretch(names[label], (), first, last, tokens)
        for label, first, last, tokens in zip(
            labels, places[firsts].tolist(), places[ends - 1].tolist(), sums.tolist(), strict=True
        )
    ]


def _merged(stretches: list[_Stretch], most: int) -> list[_Stretch]:
    """Neighbouring stretches joined, so that about equally many stand in each."""
    bounds = np.linspace(0, len(stretches), max(most, 1) + 1).astype(int).tolist()
    groups = [stretches[first:last] for first, last in pairwise(bounds) if first < last]
    return [
        _Stretch(
            group[0].path,
            group[-1].path if len(group) > 1 else (),
            group[0].first_chunk,
            group[-1].last_chunk,
            sum(one.tokens for one in group),
        )
        for group in groups
    ]


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The beginning that two heading paths have in common."""
    same = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    return one[: min(len(one), len(other))] if same is None else one[:same]
