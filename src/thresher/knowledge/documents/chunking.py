"""Cuts a document into chunks: pieces that are found, chosen and returned as a whole.

Chunks of about 120 tokens keep the most answers inside a small budget: with single sentences and with 320 tokens,
answers of the same length contain less of what was asked for. What belongs together stays together: a heading and what
follows it, a list item, a table row, a code block, a function.

Invariant: pure; the chunks partition the text exactly; time is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from thresher.embedding import count_tokens
from thresher.knowledge.documents.layout import shared_path
from thresher.knowledge.documents.models import Chunk, Chunked, Parsed
from thresher.knowledge.documents.units import Unit, units

TARGET: Final = 100
"""Tokens of a chunk: on three corpora, retention is level from 80 to 120 tokens and worse with single sentences and
with 320; 100 fills budgets best."""
MOST: Final = 1.5
"""Largest size of a chunk of several units, as a multiple of the target."""
SMALL: Final = 0.4
"""A section below this share of the target joins its neighbour under the same heading."""
CODE_WHOLE: Final = 320
"""Tokens; a function up to this size is one chunk: half a function answers nothing."""


@dataclass(frozen=True, slots=True)
class _UnitGroup:
    """Neighbouring units that become a chunk."""

    units: Sequence[Unit]
    tokens: int
    path: tuple[str, ...]


def chunk(parsed: Parsed, *, target: int = TARGET) -> Chunked:
    """Cut a document into chunks.

    Args:
        parsed: The document as its reader parsed it.
        target: Preferred tokens per chunk.

    Returns:
        Chunks that partition the text; none for an empty text.
    """
    if not parsed.text:
        return Chunked((), ((),))
    groups = [
        group
        for _, section in groupby(units(parsed), key=lambda unit: (unit.path, unit.group))
        for group in _cut(list(section), target)
    ]
    groups = _small_joined(groups, target)
    headings = {path: place for place, path in enumerate(dict.fromkeys([(), *(group.path for group in groups)]))}
    return Chunked(tuple(_chunks(parsed.text, groups, headings)), tuple(headings))


def _cut(section: Sequence[Unit], target: int) -> list[_UnitGroup]:
    """The units of one section in groups near the target size."""
    sizes = [unit.tokens for unit in section]
    most = target * MOST
    if section[0].kind == "code" and section[0].path:
        most = max(most, CODE_WHOLE)
        if sum(sizes) <= most:
            return [_UnitGroup(section, sum(sizes), section[0].path)]
    bounds = partition(sizes, [unit.price for unit in section], target, int(most))
    return [_UnitGroup(section[first:last], sum(sizes[first:last]), section[0].path) for first, last in bounds]


def _small_joined(groups: Sequence[_UnitGroup], target: int) -> list[_UnitGroup]:
    """Join small sections to the one before if both are under one heading."""
    joined: list[_UnitGroup] = []
    for group in groups:
        last = joined[-1] if joined else None
        if last is not None and _belong(last, group, target):
            path = shared_path(last.path, group.path)
            joined[-1] = _UnitGroup([*last.units, *group.units], last.tokens + group.tokens, path)
        else:
            joined.append(group)
    return joined


def _belong(first: _UnitGroup, second: _UnitGroup, target: int) -> bool:
    if first.tokens + second.tokens > target or min(first.tokens, second.tokens) >= SMALL * target:
        return False
    if (first.units[-1].kind == "matter") != (second.units[0].kind == "matter"):
        return False
    return len(shared_path(first.path, second.path)) >= min(len(first.path), len(second.path) - 1)


def _chunks(text: str, groups: Sequence[_UnitGroup], headings: dict[tuple[str, ...], int]) -> Iterator[Chunk]:
    line = 1
    for group in groups:
        first = group.units[0]
        start, end = first.start, group.units[-1].end
        words = text[start:end]
        yield Chunk(
            start,
            end,
            first_line=line,
            last_line=line + words.rstrip("\n").count("\n"),
            tokens=count_tokens(words),
            kind=first.kind,
            heading=headings[group.path],
            head_start=first.head_start,
            head_end=first.head_end,
        )
        line += words.count("\n")


def partition(sizes: Sequence[int], prices: Sequence[float], target: int, most: int) -> list[tuple[int, int]]:
    """Partition units into groups of neighbours with the least total cost.

    A group costs the square of its relative distance from the target plus the price of the cut before it. Time is
    linear in the number of units times the units of one group.

    Args:
        sizes: Size of each unit, above 0.
        prices: Price of a cut before each unit; the first is ignored.
        target: Best size of a group.
        most: Largest size of a group of several units.

    Returns:
        First unit and the unit after the last, for each group.
    """
    best, origin = [0.0] * (len(sizes) + 1), [0] * (len(sizes) + 1)
    for end in range(1, len(sizes) + 1):
        size, best[end] = 0, float("inf")
        for start in range(end - 1, -1, -1):
            size += sizes[start]
            if size > most and start < end - 1:
                break
            cost = best[start] + ((size - target) / target) ** 2 + (prices[start] if start else 0.0)
            if cost < best[end]:
                best[end], origin[end] = cost, start
    cuts = [len(sizes)]
    while cuts[-1]:
        cuts.append(origin[cuts[-1]])
    return list(pairwise(reversed(cuts)))
