"""Markdown: its blocks, found by markdown-it, and the HTML tables in it.

Only the block structure is parsed, not the inside of lines. Markdown uses HTML tables where pipe tables do not suffice:
for cells with line breaks and blank lines, at which CommonMark would end the table.

Invariant: offsets are those of the given text; blocks are whole lines, in order, and do not overlap; a table inside
another one belongs to it.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from thresher.knowledge.documents.models import Block, BlockKind
from thresher.knowledge.documents.reading.blocks import (
    TextStructure,
    block_within,
    cut_at_bare_tables,
    line_starts,
    trimmed_end,
    with_matter,
)
from thresher.knowledge.documents.reading.headings import heading_text, title_of, wiki_headings
from thresher.knowledge.documents.reading.plain import read_plain

_MOST_LINES: Final = 400_000
"""A longer text is read as plain text: the parser takes 10 µs and 2 kB per line."""
_CONTENTS: Final = 5
"""This many consecutive links into the document itself are a table of contents."""
_CONTENTS_ITEM: Final = re.compile(r"[\s>]*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[^\[\]]{0,300}\]\(#[^()]{0,300}\)\s*)+")
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]*(['\"]?)([^\n]{1,300}?)\1[ \t]*$", re.M)
_NO_PROSE: Final = re.compile(r"\s*(?:<!--.*-->\s*)+", re.S)
_VERBATIM: Final = re.compile(r"\s*<(?:pre|textarea)\b", re.I)


def read_markdown(text: str) -> TextStructure:
    """The blocks of a Markdown text with Unix line ends."""
    starts = line_starts(text)
    if len(starts) > _MOST_LINES:
        return read_plain(text)
    found = [block for leaf in _leaves(_parser().parse(text)) if (block := leaf.block(text, starts)).end > block.start]
    fences = [block for block in found if block.kind == "fence"]
    tables = [table for table in html_tables(text) if not _inside(table.start, fences)]
    blocks = _cut_at_wiki_headings(text, list(_clipped(text, found, tables)))
    blocks = _with_contents_as_matter(text, cut_at_bare_tables(text, blocks))
    front = _FRONT_TITLE.search(text, 0, blocks[0].end) if text.startswith("---") and blocks else None
    return TextStructure(with_matter(text, blocks), heading_text(front[2]) if front else title_of(blocks))


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").use(front_matter_plugin)
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


@dataclass(frozen=True, slots=True)
class _LeafBlock:
    """A block that contains no other: its lines from 0, without `last`."""

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    title: str = ""
    rows: tuple[int, ...] = ()

    def block(self, text: str, starts: Sequence[int]) -> Block:
        start = starts[self.first]
        end = trimmed_end(text, start, starts[min(self.last, len(starts) - 1)])
        rows = tuple(starts[row] for row in self.rows)
        return Block(self.kind, start, end, self.level, self.title, rows[0] if rows else 0, rows)


def _leaves(tokens: Sequence[Token]) -> Iterator[_LeafBlock]:
    """The leaf blocks in order; lists and quotes determine the kind of their paragraphs."""
    items, quotes, waiting = 0, 0, -1
    for place, token in enumerate(tokens):
        lines = token.map or [0, 0]
        if token.type == "list_item_open":
            items, waiting = items + 1, lines[0]
        elif token.type == "list_item_close":
            items -= 1
        elif token.type in ("blockquote_open", "blockquote_close"):
            quotes += token.nesting
        elif token.map and (leaf := _leaf(tokens, place, items, quotes)) is not None:
            yield replace(leaf, first=min(leaf.first, waiting)) if waiting >= 0 else leaf
            waiting = -1


def _leaf(tokens: Sequence[Token], place: int, items: int, quotes: int) -> _LeafBlock | None:
    token = tokens[place]
    first, last = token.map or (0, 0)
    match token.type:
        case "heading_open":
            return _LeafBlock("heading", first, last, int(token.tag[1]), heading_text(tokens[place + 1].content))
        case "paragraph_open":
            kind: BlockKind = "item" if items else "quote" if quotes else "paragraph"
            return _LeafBlock(kind, first, last, items or quotes)
        case "fence" | "code_block":
            return _LeafBlock("fence", first, last, items)
        case "table_open":
            return _LeafBlock("table", first, last, rows=_pipe_rows(tokens, place))
        case "front_matter":
            return _LeafBlock("matter", first, last)
        case "html_block":
            kind = "fence" if _VERBATIM.match(token.content) else "paragraph"
            return _LeafBlock("matter" if _NO_PROSE.fullmatch(token.content) else kind, first, last, items)
        case "hr":
            return _LeafBlock("paragraph", first, last, items)
        case _:
            return None


def _pipe_rows(tokens: Sequence[Token], place: int) -> tuple[int, ...]:
    """Lines of the rows after the header of a pipe table."""
    rows: list[int] = []
    level = tokens[place].level
    for token in tokens[place + 1 :]:
        if token.type == "table_close" and token.level == level:
            break
        if token.type == "tr_open" and token.map:
            rows.append(token.map[0])
    return tuple(rows[1:])


def _inside(place: int, blocks: Sequence[Block]) -> bool:
    before = bisect_right(blocks, place, key=lambda block: block.start) - 1
    return before >= 0 and place < blocks[before].end


def _clipped(text: str, found: Sequence[Block], tables: Sequence[Block]) -> Iterator[Block]:
    """The blocks with the tables between them; what a block shares with a table belongs to the table."""
    waiting, place = list(reversed(tables)), 0
    for block in found:
        while waiting and waiting[-1].start < block.end:
            table = waiting.pop()
            yield from block_within(text, max(place, block.start), table.start, block)
            yield table
            place = table.end
        if block.start >= place:
            yield block
        else:
            yield from block_within(text, place, block.end, block)
        place = max(place, block.end)
    yield from reversed(waiting)


def _cut_at_wiki_headings(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Cut paragraphs at the wiki headings inside them."""
    pieces: list[Block] = []
    for block in blocks:
        headings = wiki_headings(text, block.start, block.end) if block.kind == "paragraph" else []
        if not headings:
            pieces.append(block)
            continue
        place = block.start
        for heading in headings:
            pieces.extend(block_within(text, place, heading.start, block))
            pieces.append(heading)
            place = heading.end
        pieces.extend(block_within(text, place, block.end, block))
    return pieces


def _with_contents_as_matter(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Turn tables of contents into `matter`: they name everything and answer nothing."""
    marked: list[Block] = []
    run = 0
    for block in blocks:
        link = block.kind == "item" and _CONTENTS_ITEM.fullmatch(text, block.start, block.end) is not None
        run = run + 1 if link else 0
        marked.append(block)
        if run >= _CONTENTS:
            first = len(marked) - run if run == _CONTENTS else len(marked) - 1
            marked[first:] = [replace(item, kind="matter") for item in marked[first:]]
    return marked


_OPENS: Final = re.compile(
    r"^[ \t]{0,3}(?:<(?:div|center|p|figure|details|section)\b[^<>\n]{0,500}>[ \t]*)*<table\b", re.I | re.M
)
_TAG: Final = re.compile(r"<(/?)(table|thead|tbody|tr|th|td)\b[^<>]{0,2000}>", re.I)
_HEADER_LIMIT: Final = 800
"""Characters; a longer header is really content, and too expensive to repeat with every part of its table."""


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
    """Index of the tag that closes the table which the first tag opens."""
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
    """Starts of the rows of the outermost table."""
    depth, rows = 0, list[int]()
    for tag in tags:
        if tag[2].lower() == "table":
            depth += -1 if tag[1] else 1
        elif depth == 1 and not tag[1] and tag[2].lower() == "tr":
            rows.append(tag.start())
    return rows


def _head(tags: Sequence[re.Match[str]], rows: Sequence[int]) -> int:
    """Start of the rows after the header: after `thead`, else after a first row with header cells only."""
    if len(rows) < 2:
        return rows[0] if rows else 0
    closed = next((tag.end() for tag in tags if tag[1] and tag[2].lower() == "thead"), 0)
    if closed:
        return next((row for row in rows if row >= closed), rows[-1])
    first = [tag[2].lower() for tag in tags if rows[0] < tag.start() < rows[1] and not tag[1]]
    return rows[1] if "th" in first and "td" not in first else rows[0]
