"""Sets values in YAML's block mappings.

Invariant: lines that an edit does not concern keep every character; comments stay where they are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from thresher.openapi.patching.nodes import Entry, Node
from thresher.openapi.patching.placing import place_of
from thresher.openapi.patching.splices import Splice
from thresher.openapi.patching.styles import Style
from thresher.openapi.patching.yaml_texts import BlockWriter
from thresher.openapi.records import Json

_COMMENT: Final = re.compile(r"[ \t]+#[^\r\n]*")


def replaced_in_block(text: str, node: Node, entry: Entry, value: Json, style: Style, writer: BlockWriter) -> Splice:
    """Put another value under a key that is there, quoted as the old one was where it may be."""
    if entry.style in {"plain", "'", '"'} and entry.end > entry.value:
        style = replace(style, quote=entry.style, quoting=style.quoting if entry.style == "plain" else entry.style)
    fragment = _indented(writer.entry(entry.key, value, style), node.column, style)
    key = writer.entry(entry.key, "", style).rpartition(":")[0]
    fragment = fragment[len(key) + 1 :]
    comment = _header_comment(text, entry)
    if comment:
        head, line, rest = fragment.partition(style.newline)
        fragment = head + comment + line + rest
    colon = _after_colon(text, entry)
    if colon is None:
        return Splice(entry.value, entry.end, fragment.lstrip(" \r\n"))
    return Splice(colon, entry.end, fragment)


def added_in_block(text: str, node: Node, key: str, value: Json, style: Style, writer: BlockWriter) -> Splice:
    """Add an entry to a block mapping."""
    at = place_of(key, [entry.key for entry in node.entries], ordered=style.ordered)
    fragment = _indented(writer.entry(key, value, style), node.column, style)
    margin = " " * node.column
    if at == len(node.entries):
        end = _line_end(text, node.end)
        return Splice(end, end, style.newline + margin + fragment)
    start = node.entries[at].start
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip(" "):
        return Splice(start, start, fragment + style.newline + margin)
    line = _above_comments(text, line, node.column) if at else line
    return Splice(line, line, margin + fragment + style.newline)


def _indented(fragment: str, column: int, style: Style) -> str:
    """A fragment whose later lines stand below its first, which begins at a column."""
    first, *others = fragment.split("\n")
    margin = " " * column
    return style.newline.join([first, *(margin + line if line else "" for line in others)])


def _header_comment(text: str, entry: Entry) -> str:
    """The comment behind a block scalar's sign, which would go with the scalar."""
    if entry.style not in {"|", ">"}:
        return ""
    header = text[entry.value : _line_end(text, entry.value)]
    found = _COMMENT.search(header)
    return found[0] if found else ""


def _after_colon(text: str, entry: Entry) -> int | None:
    """Where the key's colon ends; None where a comment stands between it and the value."""
    at = entry.value
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return at if text[at - 1 : at] == ":" else None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end and text[end - 1] == "\r" and end > at else end


def _above_comments(text: str, line: int, column: int) -> int:
    """The line above the comments that lead to a key: they speak of it."""
    while line:
        above = text.rfind("\n", 0, line - 1) + 1
        content = text[above:line]
        if len(content) - len(content.lstrip(" ")) != column or not content.lstrip(" ").startswith("#"):
            return line
        line = above
    return line
