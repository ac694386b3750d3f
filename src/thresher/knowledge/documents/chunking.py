"""Cuts a document into chunks: pieces that are found, chosen and returned as a whole.

Chunks of about 120 tokens keep the most answers inside a small budget: with single sentences and with 320 tokens,
answers of the same length hold less of what was asked for. What belongs together stays together: a heading and what
follows it, a list item, a row of a table, a code block, a function.

Invariant: pure; the chunks partition the text exactly; time grows with the length of the text and with nothing faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from thresher.embedding import count_tokens
from thresher.knowledge.documents.models import Chunk, Chunked, Parsed
from thresher.knowledge.documents.partition import partition
from thresher.knowledge.documents.units import Unit, units

TARGET: Final = 100
"""Tokens of a chunk: full retention on three corpora is level from 80 to 120, and worse with single sentences and with
320; with 100 budgets are filled best."""
MOST: Final = 1.5
"""A chunk of several units is at most this many times the target."""
SMALL: Final = 0.4
"""Below this share of the target a section joins its neighbour under the same heading."""
CODE_WHOLE: Final = 320
"""Tokens; a function up to this long is one chunk: half a function answers nothing."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring units that become a chunk."""

    units: Sequence[Unit]
    tokens: int
    path: tuple[str, ...]


def chunk(parsed: Parsed, *, target: int = TARGET) -> Chunked:
    """Cut a document up.

    Args:
        parsed: What a reader made of the file.
        target: Tokens that a chunk should have.

    Returns:
        Chunks that partition the text; none for an empty one.
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


def _cut(section: Sequence[Unit], target: int) -> list[_Group]:
    """The units of one section in groups near the target."""
    sizes = [unit.tokens for unit in section]
    most = target * MOST
    if section[0].kind == "code" and section[0].path:
        most = max(most, CODE_WHOLE)
        if sum(sizes) <= most:
            return [_Group(section, sum(sizes), section[0].path)]
    bounds = partition(sizes, [unit.price for unit in section], target, int(most))
    return [_Group(section[first:last], sum(sizes[first:last]), section[0].path) for first, last in bounds]


def _small_joined(groups: Sequence[_Group], target: int) -> list[_Group]:
    """Small sections joined to the one before, where both lie under one heading."""
    joined: list[_Group] = []
    for group in groups:
        last = joined[-1] if joined else None
        if last is not None and _belong(last, group, target):
            path = _shared(last.path, group.path)
            joined[-1] = _Group([*last.units, *group.units], last.tokens + group.tokens, path)
        else:
            joined.append(group)
    return joined


def _belong(first: _Group, second: _Group, target: int) -> bool:
    if first.tokens + second.tokens > target or min(first.tokens, second.tokens) >= SMALL * target:
        return False
    if (first.units[-1].kind == "matter") != (second.units[0].kind == "matter"):
        return False
    return len(_shared(first.path, second.path)) >= min(len(first.path), len(second.path) - 1)


def _shared(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """The beginning that two heading paths have in common."""
    same = next((place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), None)
    return first[: min(len(first), len(second))] if same is None else first[:same]


def _chunks(text: str, groups: Sequence[_Group], headings: dict[tuple[str, ...], int]) -> Iterator[Chunk]:
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
