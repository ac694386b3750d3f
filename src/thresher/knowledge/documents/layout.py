"""The shape of a document as columns: where its chunks lie, what they cost, what stands above them.

A document is chosen from without its text: the layout is kept packed beside it, and only the texts of chosen chunks are
read.

Invariant: immutable, as the document is; what was packed is unpacked equal.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from thresher.core import one_line
from thresher.embedding import count_tokens
from thresher.knowledge.documents.models import BlockKind, Chunked
from thresher.knowledge.documents.twins import twins_of

Column: TypeAlias = NDArray[np.int64]

_KINDS: Final[tuple[BlockKind, ...]] = get_args(BlockKind)
DEEPEST: Final = 6
"""Levels of headings that a table of contents may show."""
_FORM: Final = 1
_HEAD: Final = struct.Struct("<BIII")
_COLUMNS: Final = (
    "starts",
    "ends",
    "first_lines",
    "last_lines",
    "tokens",
    "kinds",
    "headings",
    "head_starts",
    "head_ends",
    "twins",
)


@dataclass(frozen=True)
class Layout:
    """A document's chunks as int64 columns of equal length n, and its heading paths.

    Attributes:
        starts: First character of each.
        ends: Character after the last.
        first_lines: Line of the first character.
        last_lines: Line of the last character that is no line break.
        tokens: Of its text alone.
        kinds: Place of its kind among the kinds of blocks.
        headings: Place of its heading path.
        head_starts: Where the header of its table starts, if that stands in another chunk.
        head_ends: And where it ends; equal to the start where there is none.
        twins: The first chunk that says the same; itself where there is none.
        paths: Distinct heading paths, outermost first.
        path_tokens: int64 (m,), what naming each path costs.
    """

    starts: Column
    ends: Column
    first_lines: Column
    last_lines: Column
    tokens: Column
    kinds: Column
    headings: Column
    head_starts: Column
    head_ends: Column
    twins: Column
    paths: tuple[tuple[str, ...], ...]
    path_tokens: Column

    def __len__(self) -> int:
        """How many chunks."""
        return len(self.starts)

    @cached_property
    def sections(self) -> tuple[tuple[tuple[tuple[str, ...], ...], Column], ...]:
        """For each depth of headings from 0 on: the distinct paths cut to it, and the place of each path among them."""
        return tuple(_cut(self.paths, depth) for depth in range(min(max(map(len, self.paths), default=0), DEEPEST) + 1))

    def kind(self, ordinal: int) -> BlockKind:
        """The kind of a chunk."""
        return _KINDS[int(self.kinds[ordinal])]

    def packed(self) -> bytes:
        """All of it in bytes: about 40 a chunk."""
        columns = np.stack([np.asarray(getattr(self, name)) for name in _COLUMNS]).astype("<u4")
        paths = json.dumps(self.paths, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        costs = self.path_tokens.astype("<u4").tobytes()
        return _HEAD.pack(_FORM, len(self), len(self.path_tokens), len(paths)) + columns.tobytes() + costs + paths

    @classmethod
    def unpacked(cls, packed: bytes) -> Layout:
        """The layout that was packed.

        Raises:
            ValueError: The bytes are no layout, or of a form that this code does not know.
        """
        form, count, labels, size = _HEAD.unpack_from(packed)
        costs_at = _HEAD.size + 4 * count * len(_COLUMNS)
        paths_at = costs_at + 4 * labels
        if form != _FORM or len(packed) != paths_at + size:
            raise ValueError("This is no layout of a document.")
        values = np.frombuffer(packed, "<u4", count * len(_COLUMNS), _HEAD.size).astype(np.int64)
        columns = dict(zip(_COLUMNS, values.reshape(len(_COLUMNS), count), strict=True))
        costs = np.frombuffer(packed, "<u4", labels, costs_at).astype(np.int64)
        paths: list[list[str]] = json.loads(packed[paths_at:].decode("utf-8", "surrogatepass"))
        return cls(**columns, paths=tuple(tuple(path) for path in paths), path_tokens=costs)


def layout_of(chunked: Chunked, text: str) -> Layout:
    """The layout of a document that was cut up.

    Args:
        chunked: Its chunks; they partition the text.
        text: Of the document.
    """
    chunks = chunked.chunks
    return Layout(
        starts=_column([chunk.start for chunk in chunks]),
        ends=_column([chunk.end for chunk in chunks]),
        first_lines=_column([chunk.first_line for chunk in chunks]),
        last_lines=_column([chunk.last_line for chunk in chunks]),
        tokens=_column([chunk.tokens for chunk in chunks]),
        kinds=_column([_KINDS.index(chunk.kind) for chunk in chunks]),
        headings=_column([chunk.heading for chunk in chunks]),
        head_starts=_column([chunk.head_start for chunk in chunks]),
        head_ends=_column([chunk.head_end for chunk in chunks]),
        twins=twins_of([text[chunk.start : chunk.end] for chunk in chunks]),
        paths=chunked.headings,
        path_tokens=_column([count_tokens(written_path(path)) for path in chunked.headings]),
    )


def _cut(paths: Sequence[tuple[str, ...]], depth: int) -> tuple[tuple[tuple[str, ...], ...], Column]:
    numbers: dict[tuple[str, ...], int] = {}
    places = [numbers.setdefault(path[:depth], len(numbers)) for path in paths]
    return tuple(numbers), _column(places)


HEADING_CHARACTERS: Final = 80
"""Of each heading that is named in an answer; longer ones are shortened."""


def written_path(path: Sequence[str]) -> str:
    """A heading path as an answer names it; empty where there are no headings."""
    return " > ".join(brief(heading) for heading in path)


def brief(heading: str) -> str:
    """A heading on one line, shortened where it is long."""
    return one_line(heading, HEADING_CHARACTERS)


def _column(values: Sequence[int]) -> Column:
    return np.array(values, np.int64)
