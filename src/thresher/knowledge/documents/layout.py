"""The layout of a document as columns: where its chunks are, what they cost, which headings are above them.

Passages are chosen without the document's text: the packed layout is stored with the document, and only the texts of
chosen chunks are read.

Invariant: immutable, like the document; unpacking a packed layout gives an equal one.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from thresher.core import one_line
from thresher.embedding import count_tokens
from thresher.knowledge.documents.models import BlockKind, Chunked

Column: TypeAlias = NDArray[np.int64]

_KINDS: Final[tuple[BlockKind, ...]] = get_args(BlockKind)
DEEPEST: Final = 6
"""Most levels of headings in a table of contents."""
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
class DocumentLayout:
    """A document's chunks as int64 columns of equal length n, and its heading paths.

    Attributes:
        starts: First character of each chunk.
        ends: Character after the last.
        first_lines: Line of the first character.
        last_lines: Line of the last character that is not a line break.
        tokens: Tokens of the chunk's text alone.
        kinds: Index of its kind among the kinds of blocks.
        headings: Index of its heading path.
        head_starts: Start of its table's header, if the header is in another chunk.
        head_ends: End of that header; equal to the start if there is none.
        twins: The first chunk that says the same; the chunk itself if there is none.
        paths: Distinct heading paths, outermost heading first.
        path_tokens: int64 (m,), tokens of each path as an answer names it.
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
        """Number of chunks."""
        return len(self.starts)

    @cached_property
    def sections(self) -> tuple[tuple[tuple[tuple[str, ...], ...], Column], ...]:
        """For each depth of headings from 0: the distinct paths cut to it, and the index of each path among them."""
        return tuple(_cut(self.paths, depth) for depth in range(min(max(map(len, self.paths), default=0), DEEPEST) + 1))

    def kind(self, ordinal: int) -> BlockKind:
        """The kind of a chunk."""
        return _KINDS[int(self.kinds[ordinal])]

    def packed(self) -> bytes:
        """The layout as bytes: about 40 per chunk."""
        columns = np.stack([np.asarray(getattr(self, name)) for name in _COLUMNS]).astype("<u4")
        paths = json.dumps(self.paths, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        costs = self.path_tokens.astype("<u4").tobytes()
        return _HEAD.pack(_FORM, len(self), len(self.path_tokens), len(paths)) + columns.tobytes() + costs + paths

    @classmethod
    def unpacked(cls, packed: bytes) -> DocumentLayout:
        """The layout that was packed.

        Raises:
            ValueError: The bytes are not a layout, or have an unknown form.
        """
        form, count, labels, size = _HEAD.unpack_from(packed)
        costs_at = _HEAD.size + 4 * count * len(_COLUMNS)
        paths_at = costs_at + 4 * labels
        if form != _FORM or len(packed) != paths_at + size:
            raise ValueError("This is not the layout of a document.")
        values = np.frombuffer(packed, "<u4", count * len(_COLUMNS), _HEAD.size).astype(np.int64)
        columns = dict(zip(_COLUMNS, values.reshape(len(_COLUMNS), count), strict=True))
        costs = np.frombuffer(packed, "<u4", labels, costs_at).astype(np.int64)
        paths: list[list[str]] = json.loads(packed[paths_at:].decode("utf-8", "surrogatepass"))
        return cls(**columns, paths=tuple(tuple(path) for path in paths), path_tokens=costs)


def layout_of(chunked: Chunked, text: str) -> DocumentLayout:
    """The layout of a document that was cut into chunks.

    Args:
        chunked: Its chunks; they partition the text.
        text: Text of the document.
    """
    chunks = chunked.chunks
    return DocumentLayout(
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
        path_tokens=_column([count_tokens(path_label(path)) for path in chunked.headings]),
    )


def _cut(paths: Sequence[tuple[str, ...]], depth: int) -> tuple[tuple[tuple[str, ...], ...], Column]:
    numbers: dict[tuple[str, ...], int] = {}
    places = [numbers.setdefault(path[:depth], len(numbers)) for path in paths]
    return tuple(numbers), _column(places)


HEADING_CHARACTERS: Final = 80
"""Most characters of a heading in an answer; longer headings are shortened."""


def path_label(path: Sequence[str]) -> str:
    """A heading path as an answer names it; empty if there are no headings."""
    return " > ".join(heading_label(heading) for heading in path)


def heading_label(heading: str) -> str:
    """A heading on one line, shortened if it is long."""
    return one_line(heading, HEADING_CHARACTERS)


def shared_path(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The common beginning of two heading paths."""
    same = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    return one[: min(len(one), len(other))] if same is None else one[:same]


def _column(values: Sequence[int]) -> Column:
    return np.array(values, np.int64)


_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+")
_BITS: Final = 64
_BANDS: Final = 4
"""Two hashes that differ in at most three bits agree in one of four bands of 16 bits."""
_FAR: Final = 4
_LONGEST_BUCKET: Final = 64
"""Most chunks of one band that are compared; a longer text consists of copies that these already find."""


def twins_of(texts: Sequence[str]) -> NDArray[np.int64]:
    """For each text the index of the first text that says the same, int64 (n,); its own index if there is none.

    Two chunks are twins if their numbers are equal, in order, and the 64-bit similarity hashes of their words
    (Charikar, "Similarity estimation techniques from rounding algorithms", 2002) differ in at most three bits. A table
    row or a setting with another number is never a twin.
    """
    twins = np.arange(len(texts), dtype=np.int64)
    hashes = similarity_hashes(texts)
    numbers = [zlib.crc32(" ".join(_NUMBER.findall(text)).encode()) for text in texts]
    buckets: dict[tuple[int, int, int], list[int]] = {}
    for place, value in enumerate(hashes):
        keys = [(band, value >> 16 * band & 0xFFFF, numbers[place]) for band in range(_BANDS)]
        for key in keys:
            bucket = buckets.setdefault(key, [])
            near = next((other for other in bucket if (hashes[other] ^ value).bit_count() < _FAR), None)
            if near is not None:
                twins[place] = near
                break
        else:
            for key in keys:
                if len(bucket := buckets[key]) < _LONGEST_BUCKET:
                    bucket.append(place)
    return twins


def similarity_hashes(texts: Sequence[str]) -> list[int]:
    """The 64-bit similarity hash of each text's words."""
    words = [_WORD.findall(text.casefold()) or [text.strip()] for text in texts]
    known = {word: number for number, word in enumerate(dict.fromkeys(word for each in words for word in each))}
    encoded = [word.encode("utf-8", "replace") for word in known]
    signs = np.empty((len(known), _BITS), np.int8)
    halves = np.array([(zlib.crc32(word), zlib.crc32(word, 0x9E3779B9)) for word in encoded], np.uint64).reshape(-1, 2)
    mixed = (halves[:, 0] << np.uint64(32) | halves[:, 1]) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    signs[:] = (mixed[:, None] >> np.arange(_BITS, dtype=np.uint64) & np.uint64(1)).astype(np.int8) * 2 - 1
    powers = np.uint64(1) << np.arange(_BITS, dtype=np.uint64)
    return [int(powers[signs[[known[word] for word in each]].sum(axis=0, dtype=np.int64) > 0].sum()) for each in words]
