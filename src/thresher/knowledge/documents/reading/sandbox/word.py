"""DOCX as Markdown, by python-docx: headings, lists and tables from their styles and numbering.

Invariant: nothing is unpacked before its size is known.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any, Final

from docx import Document
from docx.table import Table
from docx.text.paragraph import Paragraph

_MOST_UNPACKED: Final = 256 << 20
_MOST_PARTS: Final = 20_000
_HEADING: Final = re.compile(r"heading (\d)", re.I)
_CODE: Final = re.compile(r"code|preformatted|source|listing", re.I)
_QUOTE: Final = re.compile(r"quote", re.I)
_MARKUP: Final = re.compile(r"^(#{1,6}\s|>|[-+*]\s|\d{1,9}[.)]\s|`{3,}|~{3,}|\||={2,}$|-{2,}$)")
_INDENT: Final = "  "


def convert(octets: bytes) -> dict[str, Any]:
    """The document's text, title and notes.

    Raises:
        ValueError: It is damaged, or unpacks to more than the limit.
    """
    _check(octets)
    try:
        document = Document(io.BytesIO(octets))
        titles = [paragraph.text for paragraph in document.paragraphs if _is_title(paragraph)]
        parts = list(_parts(document, below=bool(titles)))
        title = titles[0] if titles else document.core_properties.title or ""
    except (KeyError, zipfile.BadZipFile, SyntaxError, AttributeError, IndexError, TypeError) as error:
        raise ValueError(f"It is not a complete Word document ({type(error).__name__}).") from None
    return {"text": "".join(parts), "title": title, "notes": ["Notes, headers and pictures were left out."]}


def _check(octets: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(octets)) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile:
        raise ValueError("It is not a Word document, or only a part of one.") from None
    if len(entries) > _MOST_PARTS or sum(entry.file_size for entry in entries) > _MOST_UNPACKED:
        raise ValueError("It unpacks to more than 256 MB.")


def _parts(document: Any, *, below: bool) -> Iterator[str]:
    """Blocks in order, with the blank lines that Markdown needs; headings below the title, if there is one."""
    before = ""
    for block in document.iter_inner_content():
        kind, words = _table(block) if isinstance(block, Table) else _paragraph(block, below)
        if not words.strip():
            continue
        if before == "code" and kind != "code":
            yield "```\n"
        if kind == "code":
            yield words + "\n" if before == "code" else f"\n```\n{words}\n"
        else:
            yield words + "\n" if kind == before == "item" else f"\n{words}\n"
        before = kind
    if before == "code":
        yield "```\n"


def _paragraph(paragraph: Paragraph, below: bool) -> tuple[str, str]:
    style = _style(paragraph)
    words = paragraph.text
    if _CODE.search(style):
        return "code", words.replace("```", "'''")
    words = "\n".join(line.rstrip() for line in words.strip().splitlines())
    if _is_title(paragraph):
        return "heading", f"# {' '.join(words.split())}"
    if (match := _HEADING.match(style)) and words:
        return "heading", f"{'#' * min(6, int(match[1]) + below)} {' '.join(words.split())}"
    level = _list_level(paragraph, style)
    words = "\n".join(_MARKUP.sub(r"\\\1", line) for line in words.split("\n"))
    if level >= 0 and words:
        mark = "1." if "number" in style.lower() else "-"
        return "item", f"{_INDENT * level}{mark} " + words.replace("\n", f"\n{_INDENT * (level + 1)}")
    return "paragraph", f"> {words}".replace("\n", "\n> ") if _QUOTE.search(style) and words else words


def _style(paragraph: Paragraph) -> str:
    return (paragraph.style.name if paragraph.style is not None else "") or ""


def _is_title(paragraph: Paragraph) -> bool:
    return _style(paragraph).lower() == "title" and bool(paragraph.text.strip())


def _list_level(paragraph: Paragraph, style: str) -> int:
    """Depth of a list item; -1 if the paragraph is not one."""
    element: Any = paragraph._element  # pyright: ignore[reportPrivateUsage] - python-docx has no other way to it
    numbering = element.pPr.numPr if element.pPr is not None else None
    if numbering is not None:
        return min(8, int(numbering.ilvl.val)) if numbering.ilvl is not None else 0
    if style.lower().startswith("list"):
        digits = re.findall(r"\d", style)
        return int(digits[0]) - 1 if digits else 0
    return -1


def _table(table: Table) -> tuple[str, str]:
    rows = [[_cell(cell) for cell in _distinct(row.cells)] for row in table.rows]
    width = max((len(row) for row in rows), default=0)
    if not width:
        return "table", ""
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "table", "\n".join(lines)


def _distinct(cells: Any) -> list[Any]:
    """A merged cell occurs at each of its positions; it is kept once."""
    kept: list[Any] = []
    for cell in cells:
        if not kept or kept[-1]._tc is not cell._tc:
            kept.append(cell)
    return kept


def _cell(cell: Any) -> str:
    return "<br>".join(cell.text.replace("|", "\\|").split("\n")).strip()
