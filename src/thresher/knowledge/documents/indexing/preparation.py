"""What to read of a source, and what to store of a file.

Invariant: pure, except that documents are parsed in a process of their own; the texts of a document's chunks joined
together are its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from thresher.embedding import count_tokens
from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.entries import stemming_of
from thresher.knowledge.documents.guides.structure import outline_of
from thresher.knowledge.documents.layout import DocumentLayout, layout_of
from thresher.knowledge.documents.models import CHUNK_BITS, SourceFile
from thresher.knowledge.documents.queries import DocumentWrite, RefusedFile, StoredVersion
from thresher.knowledge.documents.reading import UnreadableDocument, parse
from thresher.knowledge.documents.sections import sections_of

FORMAT: Final = 2
"""Raised when files are read or cut in a new way, so that the next run reads every file again."""
_LONGEST_TITLE: Final = 300
_MOST_CHUNKS: Final = 1 << CHUNK_BITS


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A new version of a file, ready to be stored.

    Attributes:
        write: Its row.
        layout: Its chunks.
        texts: The texts of its chunks, in order.
    """

    write: DocumentWrite
    layout: DocumentLayout
    texts: tuple[str, ...]


def prepare(file: SourceFile, data: bytes) -> PreparedFile:
    """Read a file and cut it into chunks.

    Args:
        file: The file as its source lists it.
        data: Its bytes.

    Raises:
        UnreadableDocument: It has no text, or too much.
    """
    parsed = parse(file.path, data)
    chunked = chunk(parsed)
    if not chunked.chunks:
        raise UnreadableDocument("empty", "There is no text in it.")
    if len(chunked.chunks) > _MOST_CHUNKS:
        raise UnreadableDocument("too large", f"It would be cut into more than {_MOST_CHUNKS:,} pieces.")
    layout = layout_of(chunked, parsed.text)
    write = DocumentWrite(
        path=file.path,
        title=" ".join(parsed.title.split())[:_LONGEST_TITLE],
        media=parsed.media,
        blob=file.blob,
        format=FORMAT,
        tokens=count_tokens(parsed.text),
        lines=lines_in(parsed.text),
        chunks=len(chunked.chunks),
        notes=parsed.notes,
        outline=outline_of(file.path, parsed, chunked),
        sections=sections_of(parsed.blocks),
        layout=layout.packed(),
        stemming=stemming_of(parsed.text),
    )
    return PreparedFile(write, layout, tuple(parsed.text[one.start : one.end] for one in chunked.chunks))


def lines_in(text: str) -> int:
    """Number of lines of a text; a line break at the end begins no further line."""
    return text.count("\n") + (not text.endswith("\n"))


BATCH_BYTES: Final = 1 << 20
"""Most bytes of files in a batch, whose texts are held in memory at once; a larger file is a batch of its own."""
BATCH_FILES: Final = 64


@dataclass(frozen=True, slots=True)
class Difference:
    """How a source differs from what is stored.

    Attributes:
        read: Files to read.
        finish: Versions that are stored completely but not current yet, because an earlier run ended before that.
        gone: Current versions of files that no longer exist.
        stale: Versions that are not current and never will be.
        refused: Unchanged files that an earlier run could not read.
        kept: Number of unchanged files.
    """

    read: tuple[SourceFile, ...]
    finish: tuple[StoredVersion, ...]
    gone: tuple[StoredVersion, ...]
    stale: tuple[StoredVersion, ...]
    refused: tuple[RefusedFile, ...]
    kept: int


def difference(
    files: Iterable[SourceFile],
    stored: Sequence[StoredVersion],
    unreadable: Mapping[str, RefusedFile] = MappingProxyType({}),
) -> Difference:
    """Compare by path and blob id; a version made by another edition of the readers counts as changed.

    Args:
        files: The files that the source lists.
        stored: The versions in the database.
        unreadable: The files that an earlier run could not read, by path.
    """
    current = {one.path: one for one in stored if one.current}
    others = {(one.path, one.blob): one for one in stored if not one.current and one.format == FORMAT}
    read: list[SourceFile] = []
    finish: list[StoredVersion] = []
    again: list[RefusedFile] = []
    paths: set[str] = set()
    for file in files:
        paths.add(file.path)
        known = current.get(file.path)
        if known is not None and (known.blob, known.format) == (file.blob, FORMAT):
            continue
        if (refused := unreadable.get(file.path)) is not None and (refused.blob, refused.format) == (file.blob, FORMAT):
            again.append(refused)
        elif (ready := others.get((file.path, file.blob))) is not None:
            finish.append(ready)
        else:
            read.append(file)
    kept = len(paths) - len(read) - len(finish)
    there = paths - {one.path for one in again}
    finished = {one.id for one in finish}
    return Difference(
        tuple(read),
        tuple(finish),
        tuple(one for path, one in current.items() if path not in there),
        tuple(one for one in stored if not one.current and one.id not in finished),
        tuple(again),
        kept,
    )


def batches(files: Sequence[SourceFile]) -> list[list[SourceFile]]:
    """Group files into batches, in order."""
    groups: list[list[SourceFile]] = []
    size = 0
    for file in files:
        size += file.size
        if groups and len(groups[-1]) < BATCH_FILES and size <= BATCH_BYTES:
            groups[-1].append(file)
        else:
            groups.append([file])
            size = file.size
    return groups
