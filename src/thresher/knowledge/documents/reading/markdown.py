"""Markdown: its blocks, found by markdown-it, and the HTML tables inside it.

Only the block structure is parsed; what stands inside a line is nobody's concern here.

Invariant: offsets are those of the text as given; blocks are whole lines, in order, and do not overlap.
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
from thresher.knowledge.documents.reading.headings import plain, title_of, wiki_headings
from thresher.knowledge.documents.reading.lines import Reading, line_starts, stretch, trimmed, with_matter
from thresher.knowledge.documents.reading.plain import read_plain
from thresher.knowledge.documents.reading.tables import html_tables

_MOST_LINES: Final = 400_000
"""A text of more lines is read as plain text: the parser takes 10 µs and 2 kB a line."""
_CONTENTS: Final = 5
"""Links into the document itself, one after another, that make a table of contents."""
_CONTENTS_ITEM: Final = re.compile(r"[\s>]*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[^\[\]]{0,300}\]\(#[^()]{0,300}\)\s*)+")
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]*(['\"]?)([^\n]{1,300}?)\1[ \t]*$", re.M)
_NO_PROSE: Final = re.compile(r"\s*(?:<!--.*-->\s*)+", re.S)
_VERBATIM: Final = re.compile(r"\s*<(?:pre|textarea)\b", re.I)


def read_markdown(text: str) -> Reading:
    """The blocks of a Markdown text with Unix line ends."""
    starts = line_starts(text)
    if len(starts) > _MOST_LINES:
        return read_plain(text)
    found = [block for leaf in _leaves(_parser().parse(text)) if (block := leaf.block(text, starts)).end > block.start]
    fences = [block for block in found if block.kind == "fence"]
    tables = [table for table in html_tables(text) if not _inside(table.start, fences)]
    blocks = _contents_apart(text, _wiki_apart(text, list(_clipped(text, found, tables))))
    front = _FRONT_TITLE.search(text, 0, blocks[0].end) if text.startswith("---") and blocks else None
    return Reading(with_matter(text, blocks), plain(front[2]) if front else title_of(blocks))


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").use(front_matter_plugin)
    parser.core.ruler.disable(["inline", "text_join"])
    return parser


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A block that holds no other: its lines from 0, `last` excluded."""

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    title: str = ""
    rows: tuple[int, ...] = ()

    def block(self, text: str, starts: Sequence[int]) -> Block:
        start = starts[self.first]
        end = trimmed(text, start, starts[min(self.last, len(starts) - 1)])
        rows = tuple(starts[row] for row in self.rows)
        return Block(self.kind, start, end, self.level, self.title, rows[0] if rows else 0, rows)


def _leaves(tokens: Sequence[Token]) -> Iterator[_Leaf]:
    """The leaves in order; lists and quotes say what their paragraphs are."""
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


def _leaf(tokens: Sequence[Token], place: int, items: int, quotes: int) -> _Leaf | None:
    token = tokens[place]
    first, last = token.map or (0, 0)
    match token.type:
        case "heading_open":
            return _Leaf("heading", first, last, int(token.tag[1]), plain(tokens[place + 1].content))
        case "paragraph_open":
            kind: BlockKind = "item" if items else "quote" if quotes else "paragraph"
            return _Leaf(kind, first, last, items or quotes)
        case "fence" | "code_block":
            return _Leaf("fence", first, last, items)
        case "table_open":
            return _Leaf("table", first, last, rows=_rows(tokens, place))
        case "front_matter":
            return _Leaf("matter", first, last)
        case "html_block":
            kind = "fence" if _VERBATIM.match(token.content) else "paragraph"
            return _Leaf("matter" if _NO_PROSE.fullmatch(token.content) else kind, first, last, items)
        case "hr":
            return _Leaf("paragraph", first, last, items)
        case _:
            return None


def _rows(tokens: Sequence[Token], place: int) -> tuple[int, ...]:
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
            yield from stretch(text, max(place, block.start), table.start, block)
            yield table
            place = table.end
        if block.start >= place:
            yield block
        else:
            yield from stretch(text, place, block.end, block)
        place = max(place, block.end)
    yield from reversed(waiting)


def _wiki_apart(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Paragraphs cut at the wiki headings inside them."""
    apart: list[Block] = []
    for block in blocks:
        headings = wiki_headings(text, block.start, block.end) if block.kind == "paragraph" else []
        if not headings:
            apart.append(block)
            continue
        place = block.start
        for heading in headings:
            apart.extend(stretch(text, place, heading.start, block))
            apart.append(heading)
            place = heading.end
        apart.extend(stretch(text, place, block.end, block))
    return apart


def _contents_apart(text: str, blocks: Sequence[Block]) -> list[Block]:
    """Tables of contents become `matter`: they name everything and answer nothing."""
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
