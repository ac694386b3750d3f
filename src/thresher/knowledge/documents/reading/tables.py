"""HTML tables in a text, where they start, end and how their rows lie.

Markdown holds HTML tables where pipe tables do not do: cells with line breaks and blank lines, at which CommonMark
would end the table.

Invariant: one pass over the tags; a table inside another one belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from thresher.knowledge.documents.models import Block

_OPENS: Final = re.compile(
    r"^[ \t]{0,3}(?:<(?:div|center|p|figure|details|section)\b[^<>\n]{0,500}>[ \t]*)*<table\b", re.I | re.M
)
_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tr|th|td)\b[^<>]{0,2000}>", re.I)
_HEADER_LIMIT: Final = 800
"""Characters; a longer header is content by its form, and far too dear to be repeated with every part of its table."""


def html_tables(text: str) -> list[Block]:
    """The tables that start on a line of their own (or within tags that open there), in order."""
    if not (openings := [match.start() for match in _OPENS.finditer(text)]):
        return []
    tables: list[Block] = []
    tags = list(_TAG.finditer(text))
    place = 0
    for opening in openings:
        if tables and opening < tables[-1].end:
            continue
        while place < len(tags) and tags[place].start() < opening:
            place += 1
        last = _close(tags, place)
        if last is None:
            break
        tables.append(_table(text, opening, tags[place : last + 1]))
        place = last
    return tables


def _close(tags: Sequence[re.Match[str]], first: int) -> int | None:
    """Place of the tag that closes the table which the first tag opens."""
    depth = 0
    for place in range(first, len(tags)):
        if tags[place][2].lower() == "table":
            depth += -1 if tags[place][1] else 1
            if depth == 0:
                return place
    return None


def _table(text: str, start: int, tags: Sequence[re.Match[str]]) -> Block:
    end = tags[-1].end()
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    if not text[end:line_end].strip():
        end = line_end
    rows = _rows(tags)
    head = _head(tags, rows)
    rows = [row for row in rows if row >= head]
    if head - start > _HEADER_LIMIT or not rows:
        head = start
    return Block("table", start, end, head=head if rows else 0, rows=tuple(rows))


def _rows(tags: Sequence[re.Match[str]]) -> list[int]:
    """Where the rows of the outermost table start."""
    depth, rows = 0, list[int]()
    for tag in tags:
        if tag[2].lower() == "table":
            depth += -1 if tag[1] else 1
        elif depth == 1 and not tag[1] and tag[2].lower() == "tr":
            rows.append(tag.start())
    return rows


def _head(tags: Sequence[re.Match[str]], rows: Sequence[int]) -> int:
    """Where the rows after the header start: after `thead`, else after the first rows that hold header cells only."""
    if len(rows) < 2:
        return rows[0] if rows else 0
    closed = next((tag.end() for tag in tags if tag[1] and tag[2].lower() == "thead"), 0)
    if closed:
        return next((row for row in rows if row >= closed), rows[-1])
    first = [tag[2].lower() for tag in tags if rows[0] < tag.start() < rows[1] and not tag[1]]
    return rows[1] if "th" in first and "td" not in first else rows[0]
