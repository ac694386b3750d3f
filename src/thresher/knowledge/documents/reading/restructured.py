"""reStructuredText: its blocks, found by indentation, adornment and the marks at the start of a line.

docutils is not used: its nodes do not give their positions in the source, and it returns the content of unknown
directives (all of Sphinx) as one text.

Invariant: blocks are whole lines, in order, and do not overlap; each line is examined a limited number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from thresher.knowledge.documents.models import Block, BlockKind
from thresher.knowledge.documents.reading.blocks import TextStructure, line_starts, trimmed_end, with_matter
from thresher.knowledge.documents.reading.headings import heading_text, title_of

_ADORNMENT: Final = re.compile(r"([!-/:-@\[-`{-~])\1{1,}\s*")
_EXPLICIT: Final = re.compile(
    r"\s*\.\.(?:\s+(?:(\|)|(\[)|(_)|(?:\|[^|\n]{1,100}\|\s+)?([\w:.+-]{1,60})::(?:\s|$))|\s|$)"
)
_ITEM: Final = re.compile(r"\s*(?:[-*+\u2022]|\(?(?:\d{1,4}|[A-Za-z]|#|[ivxIVX]{1,6})[.)])(?:\s+\S|\s*$)")
_GRID: Final = re.compile(r"\s*\+(?:[-=]+\+)+\s*")
_SIMPLE: Final = re.compile(r"\s*={2,}(?:\s+={2,})+\s*")
_LIST_ROW: Final = re.compile(r"\s*\* - ")
_HEADER_ROWS: Final = re.compile(r"\s*:header-rows:\s*(\d{1,2})\s*")
_ROLE: Final = re.compile(r":[\w:.+-]{1,60}:`~?([^`<\n]{1,300}?)\s*(?:<[^`>\n]{0,300}>)?`")
_VERBATIM: Final = re.compile(
    "code|code-block|code-tab|sourcecode|literalinclude|parsed-literal|math|prompt|testcode|testoutput|testsetup|doctest|"
    "ipython|graphviz|mermaid|uml|raw|productionlist|console"
)
_TABLES: Final = re.compile("table|list-table|csv-table|flat-table")
_SILENT: Final = re.compile(
    "toctree|contents|index|highlight|meta|module|currentmodule|py:currentmodule|default-role|role|include|sectnum|"
    "tabularcolumns|sectionauthor|codeauthor"
)


@dataclass(frozen=True, slots=True)
class _Scan:
    """The lines of a text, and the heading styles found so far.

    Attributes:
        lines: Lines without their line feeds.
        indents: Columns before the first word of each line; -1 if it is blank.
        levels: Adornments of headings, outermost first, in the order in which the text introduces them.
    """

    lines: Sequence[str]
    indents: Sequence[int]
    levels: list[str] = field(default_factory=list[str])

    def run(self, row: int, indent: int = -1) -> int:
        """The line after a run of lines without a blank one that are all indented deeper."""
        while row < len(self.lines) and self.indents[row] > indent:
            row += 1
        return row

    def body(self, row: int, indent: int) -> int:
        """The line after a run of lines that are blank or indented deeper."""
        while row < len(self.lines) and (self.indents[row] < 0 or self.indents[row] > indent):
            row += 1
        return row


@dataclass(frozen=True, slots=True)
class _LineBlock:
    """Lines that make a block, without `last`."""

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    title: str = ""
    head: int = 0
    rows: tuple[int, ...] = ()


def read_restructured(text: str) -> TextStructure:
    """The blocks of a reStructuredText with Unix line ends."""
    starts = line_starts(text)
    lines = text.split("\n")[: len(starts) - 1]
    scan = _Scan(lines, [len(line) - len(line.lstrip()) if line.strip() else -1 for line in lines])
    blocks: list[Block] = []
    for part in _parts(scan):
        start = starts[part.first]
        end = trimmed_end(text, start, starts[min(part.last, len(starts) - 1)])
        rows = tuple(starts[row] for row in part.rows)
        blocks.append(Block(part.kind, start, end, part.level, part.title, starts[part.head] if rows else 0, rows))
    return TextStructure(with_matter(text, blocks), title_of(blocks))


def _parts(scan: _Scan) -> Iterator[_LineBlock]:
    row = 0
    while row < len(scan.lines):
        if scan.indents[row] < 0:
            row += 1
            continue
        part = _heading(scan, row) or _table(scan, row) or _explicit(scan, row) or _paragraph(scan, row)
        yield part
        row = part.last
        if literal := _literal(scan, part):
            yield literal
            row = literal.last


def _literal(scan: _Scan, before: _LineBlock) -> _LineBlock | None:
    """The deeper lines after a paragraph that ends with two colons."""
    if before.kind not in ("paragraph", "item", "quote") or not scan.lines[before.last - 1].rstrip().endswith("::"):
        return None
    first, end = before.last, scan.body(before.last, scan.indents[before.first])
    while first < end and scan.indents[first] < 0:
        first += 1
    return (
        _LineBlock("fence", first, end, before.level)
        if first < end and not _EXPLICIT.match(scan.lines[before.first])
        else None
    )


def _heading(scan: _Scan, row: int) -> _LineBlock | None:
    """A title with a line of marks below it, or with one above and one below."""
    if scan.indents[row] != 0 and not _ADORNMENT.fullmatch(scan.lines[row]):
        over = ""
    else:
        over = scan.lines[row].rstrip() if _ADORNMENT.fullmatch(scan.lines[row]) else ""
    title, under = row + bool(over), row + bool(over) + 1
    if under >= len(scan.lines) or scan.indents[title] < 0 or (not over and scan.indents[title] != 0):
        return None
    marks = scan.lines[under].rstrip()
    words = scan.lines[title].strip()
    if not _ADORNMENT.fullmatch(marks) or (over and over != marks) or len(marks) < min(4, len(words)):
        return None
    style = marks[0] + ("^" if over else "")
    if style not in scan.levels:
        scan.levels.append(style)
    level = min(6, scan.levels.index(style) + 1)
    return _LineBlock("heading", row, under + 1, level, heading_text(_ROLE.sub(r"\1", words)))


def _table(scan: _Scan, row: int) -> _LineBlock | None:
    line = scan.lines[row]
    if _GRID.fullmatch(line):
        end = scan.run(row)
        borders = [place for place in range(row, end) if _GRID.fullmatch(scan.lines[place])]
        double = next((place for place in borders[1:] if "=" in scan.lines[place]), row)
        rows = [place + 1 for place in borders if double <= place < end - 1]
        return _rows_part(row, end, rows, level=scan.indents[row] // 2)
    if _SIMPLE.fullmatch(line):
        end = scan.run(row)
        borders = [place for place in range(row, end) if _SIMPLE.fullmatch(scan.lines[place])]
        head = borders[1] if len(borders) > 2 else row
        rows = [place for place in range(head + 1, borders[-1]) if scan.indents[place] == scan.indents[row]]
        return _rows_part(row, end, rows, level=scan.indents[row] // 2)
    return None


def _rows_part(first: int, last: int, rows: Sequence[int], level: int) -> _LineBlock:
    if len(rows) < 2:
        return _LineBlock("table", first, last, level)
    return _LineBlock("table", first, last, level, head=rows[0], rows=tuple(rows))


def _explicit(scan: _Scan, row: int) -> _LineBlock | None:
    """A directive, comment, target or footnote. If a directive contains text, the text is read as such."""
    match = _EXPLICIT.match(scan.lines[row])
    if match is None:
        return None
    indent = scan.indents[row]
    end, level = scan.body(row + 1, indent), min(indent // 2, 6)
    name = match[4]
    if name and _VERBATIM.fullmatch(name):
        return _LineBlock("fence", row, end, level)
    if name and _TABLES.fullmatch(name):
        return _directive_table(scan, row, end, level)
    if match[2]:
        return _LineBlock("paragraph", row, end, level)
    if not name or _SILENT.fullmatch(name):
        return _LineBlock("matter", row, end)
    return _LineBlock("paragraph", row, scan.run(row + 1, indent), level)


def _directive_table(scan: _Scan, row: int, end: int, level: int) -> _LineBlock:
    rows = [place for place in range(row + 1, end) if _LIST_ROW.match(scan.lines[place])]
    counted = (_HEADER_ROWS.fullmatch(scan.lines[place]) for place in range(row + 1, min(end, row + 12)))
    heads = next((int(match[1]) for match in counted if match), 0)
    return _rows_part(row, end, rows[heads:], level)


def _paragraph(scan: _Scan, row: int) -> _LineBlock:
    """Lines up to a blank one, or to one with less indentation; in a list, up to the next item."""
    indent = scan.indents[row]
    level = min(indent // 2, 6)
    item = _ITEM.match(scan.lines[row]) is not None
    end = row + 1
    while end < len(scan.lines) and scan.indents[end] >= indent + item and not (item and _ITEM.match(scan.lines[end])):
        end += 1
    if scan.lines[row].lstrip().startswith(">>>"):
        return _LineBlock("fence", row, end, level)
    return _LineBlock("item" if item else "quote" if indent else "paragraph", row, end, level + item)
