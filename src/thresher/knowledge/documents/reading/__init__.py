"""Makes text and blocks of a file's octets, whatever its format.

Invariant: pure but for PDF and DOCX, which are taken apart in a process of their own that cannot take more than its
share of time and memory; whatever the octets are, the answer is a record or `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from thresher.knowledge.documents.models import Block, Parsed
from thresher.knowledge.documents.reading.code import read_code
from thresher.knowledge.documents.reading.conversion import convert
from thresher.knowledge.documents.reading.encodings import decoded
from thresher.knowledge.documents.reading.failures import Unreadable
from thresher.knowledge.documents.reading.formats import media_of
from thresher.knowledge.documents.reading.languages import LANGUAGES
from thresher.knowledge.documents.reading.lines import Reading
from thresher.knowledge.documents.reading.markdown import read_markdown
from thresher.knowledge.documents.reading.notebook import convert_notebook
from thresher.knowledge.documents.reading.plain import read_plain
from thresher.knowledge.documents.reading.restructured import read_restructured

__all__ = ["Unreadable", "parse"]

_READERS: Final[Mapping[str, Callable[[str], Reading]]] = {
    "markdown": read_markdown,
    "rst": read_restructured,
}
_CONVERTED: Final = {"html", "pdf", "docx"}
_PROSE: Final = {"markdown", "rst", "html", "pdf", "docx", "notebook"}
_SPEECHLESS: Final = {"readme", "index", "main", "overview", "_index"}
_WORDS: Final = re.compile(r"[^\s_-]+")


def parse(path: str, data: bytes) -> Parsed:
    """Read a file.

    Args:
        path: Inside its repository; its name tells the format.
        data: What the file holds.

    Raises:
        Unreadable: It is empty, no text, broken, or too large when unpacked.
    """
    media = media_of(path, data)
    text, reading = convert(media, data) if media in _CONVERTED else _read(media, data)
    if not text.strip():
        raise Unreadable("empty", "There is no text in it.")
    return Parsed(text, reading.title or _title(path, media, reading.blocks), media, reading.blocks, reading.notes)


def _read(media: str, data: bytes) -> tuple[str, Reading]:
    """The text that a file holds, and its blocks."""
    text, note = decoded(data)
    if media == "notebook":
        text, reading = convert_notebook(text)
    elif media in LANGUAGES:
        reading = read_code(text, media)
    else:
        reading = _READERS.get(media, read_plain)(text)
    return text, Reading(reading.blocks, reading.title, tuple(part for part in (note, *reading.notes) if part))


def _title(path: str, media: str, blocks: Sequence[Block]) -> str:
    """A title for a document that gives itself none: its name, or its first heading where the name says nothing."""
    name = PurePosixPath(path)
    if media not in _PROSE:
        return name.name
    first = next((block.title for block in blocks if block.kind == "heading" and block.title), "")
    if first and name.stem.lower() in _SPEECHLESS:
        return first
    return " ".join(_WORDS.findall(name.stem)) or name.name
