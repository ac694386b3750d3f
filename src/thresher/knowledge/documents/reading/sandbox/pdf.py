"""PDF as text with headings, by pypdf: one heading per page, and those of the document's outline that are found.

Invariant: pages that cannot be read are counted, and the others are read.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, cast

from pypdf import PdfReader
from pypdf.errors import PyPdfError

_MOST_PAGES: Final = 5_000
_MOST_ENTRIES: Final = 5_000
_DEEPEST: Final = 5
_PAGE_LEVEL: Final = 6
_EDGE: Final = 2
"""Lines at either end of a page that may be its running header or footer."""
_SHORT: Final = 8
"""A page with fewer lines loses none: most of them would be edges."""
_REPEATED: Final = 0.5
"""Share of the pages on which a running header or footer occurs."""
_FEWEST_PAGES: Final = 4
_DIVIDED: Final = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
_DIGITS: Final = re.compile(r"\d+")
_LETTERS: Final = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\u00ad": None, "\u00a0": " "}
)
_FAILURES: Final = (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError, OSError)
"""What pypdf raises for damaged files, besides its own errors."""


def convert(octets: bytes) -> dict[str, Any]:
    """The document's text, its headings (offset, end, level, words), title and notes.

    Raises:
        ValueError: It is damaged, or locked by a password.
    """
    try:
        reader = PdfReader(io.BytesIO(octets))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("It is locked by a password.")
        pages, lost = _pages(reader)
        title = str((reader.metadata.title if reader.metadata is not None else "") or "")
    except _FAILURES as error:
        raise ValueError(str(error) if type(error) is ValueError else "It is not a complete PDF.") from None
    if not any(pages):
        raise ValueError("It contains no text; its pages are pictures." if pages else "It has no pages.")
    text, headings = _joined(_without_edges(pages), _outline(reader))
    notes = [f"{lost} pages could not be read."] if lost else []
    return {"text": text, "headings": headings, "title": " ".join(title.split()), "notes": notes}


def _pages(reader: PdfReader) -> tuple[list[list[str]], int]:
    """The lines of each page, and the number of pages that are left out."""
    pages: list[list[str]] = []
    count = len(reader.pages)
    lost = max(0, count - _MOST_PAGES)
    for number in range(min(count, _MOST_PAGES)):
        try:
            words = reader.pages[number].extract_text()
        except _FAILURES:
            words, lost = "", lost + 1
        words = _DIVIDED.sub("", words.replace("\r\n", "\n").replace("\r", "\n").translate(_LETTERS))
        pages.append([line.strip() for line in words.split("\n") if line.strip()])
    return pages, lost


def _without_edges(pages: Sequence[list[str]]) -> list[list[str]]:
    """The pages without the lines at the top or bottom of most of them."""
    if len(pages) < _FEWEST_PAGES:
        return list(pages)
    seen = Counter(key for lines in pages for key in {_alike(line) for line in (*lines[:_EDGE], *lines[-_EDGE:])})
    running = {key for key, count in seen.items() if count > _REPEATED * len(pages)}
    return [
        [
            line
            for place, line in enumerate(lines)
            if len(lines) < _SHORT or not (min(place, len(lines) - 1 - place) < _EDGE and _alike(line) in running)
        ]
        for lines in pages
    ]


def _alike(line: str) -> str:
    return _DIGITS.sub("0", line)


def _outline(reader: PdfReader) -> dict[int, list[tuple[int, str]]]:
    """The document's own outline: for each page the headings that start on it, with their levels."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        waiting: list[tuple[int, Any]] = [(1, entry) for entry in reversed(reader.outline)]
        for _ in range(_MOST_ENTRIES):
            if not waiting:
                break
            level, entry = waiting.pop()
            if isinstance(entry, list):
                waiting.extend((level + 1, inner) for inner in reversed(cast("list[Any]", entry)))
                continue
            page = reader.get_destination_page_number(entry)
            if page is not None and page >= 0:
                found.setdefault(page, []).append((min(level, _DEEPEST), " ".join(str(entry.title).split())))
    except _FAILURES:
        return found
    return found


def _joined(
    pages: Sequence[Sequence[str]], outline: dict[int, list[tuple[int, str]]]
) -> tuple[str, list[tuple[int, int, int, str]]]:
    """One text, and where its headings are."""
    parts: list[str] = []
    headings: list[tuple[int, int, int, str]] = []
    place = 0
    for number, lines in enumerate(pages):
        wanted = {_squeezed(title): (level, title) for level, title in outline.get(number, ()) if title}
        heads = [(_PAGE_LEVEL, f"Page {number + 1}", f"Page {number + 1}")] if lines else []
        for level, title, line in [*heads, *((*wanted.pop(_squeezed(line), (0, "")), line) for line in lines)]:
            shown = f"{'#' * level} {line}\n\n" if level else f"{line}\n"
            if level:
                gap = "\n" if parts and not parts[-1].endswith("\n\n") else ""
                headings.append((place + len(gap), place + len(gap + shown) - 2, level, title))
                shown = gap + shown
            parts.append(shown)
            place += len(shown)
    return "".join(parts), headings


def _squeezed(words: str) -> str:
    return "".join(words.split()).lower()
