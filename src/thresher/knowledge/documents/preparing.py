"""From the bytes of a file to the rows that are stored of it.

Invariant: pure but for the readers' own process; the texts of a document's chunks, put together, are its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from thresher.embedding import count_tokens
from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.guide import outline_of
from thresher.knowledge.documents.layout import Layout, layout_of
from thresher.knowledge.documents.models import CHUNK_BITS, SourceFile
from thresher.knowledge.documents.queries import DocumentWrite
from thresher.knowledge.documents.reading import Unreadable, parse
from thresher.knowledge.documents.sections import sections_of

FORMAT: Final = 1
"""Raised when files are read or cut otherwise than before, so that the next run takes every file again."""
_LONGEST_TITLE: Final = 300
_MOST_CHUNKS: Final = 1 << CHUNK_BITS


@dataclass(frozen=True, slots=True)
class Prepared:
    """A new version of a file, ready to be stored.

    Attributes:
        write: Its row.
        layout: Its chunks.
        texts: Theirs, in order.
    """

    write: DocumentWrite
    layout: Layout
    texts: tuple[str, ...]


def prepare(file: SourceFile, data: bytes) -> Prepared:
    """Read a file and cut it up.

    Args:
        file: As its source lists it.
        data: Its bytes.

    Raises:
        Unreadable: No text can be made of it, or too much.
    """
    parsed = parse(file.path, data)
    chunked = chunk(parsed)
    if not chunked.chunks:
        raise Unreadable("empty", "There is no text in it.")
    if len(chunked.chunks) > _MOST_CHUNKS:
        raise Unreadable("too large", f"It would be cut into more than {_MOST_CHUNKS:,} pieces.")
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
    )
    return Prepared(write, layout, tuple(parsed.text[one.start : one.end] for one in chunked.chunks))


def lines_in(text: str) -> int:
    """How many lines a text has; a line break at its end begins no further one."""
    return text.count("\n") + (not text.endswith("\n"))
