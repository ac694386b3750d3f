"""Adds and replaces entries of mappings in the text: in JSON, YAML's flow style and YAML's block style.

Invariant: the rest keeps its characters, comments stay in place, and a new entry takes on the layout of its neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from thresher.openapi.patching.nodes import MappingEntry, MappingNode
from thresher.openapi.patching.splices import Splice
from thresher.openapi.patching.styles import BlockWriter, Style
from thresher.openapi.records import Json

_AFTER: Final[Mapping[str, tuple[str, ...]]] = {
    "summary": ("tags",),
    "description": ("tags", "summary", "title", "name", "in", "url"),
    "example": ("type", "format", "schema", "description", "enum", "items", "properties"),
    "examples": ("description", "schema"),
}
"""Keys after which a new key is placed."""


def place_of(key: str, keys: Sequence[str], *, ordered: bool) -> int:
    """Return the index at which to insert a new key.

    Args:
        key: The new key.
        keys: The existing keys.
        ordered: Whether the source sorts its keys.
    """
    if ordered and list(keys) == sorted(keys):
        return next((index for index, each in enumerate(keys) if each > key), len(keys))
    places = [index for index, each in enumerate(keys) if each in _AFTER.get(key, ())]
    return places[-1] + 1 if places else 0


Render: TypeAlias = Callable[[str, Json, str, bool], str]
"""Writes an entry from key, value, indentation and whether it may span lines."""

_WHITE: Final = " \t\r\n"


def json_entry(style: Style) -> Render:
    """Return how to write an entry in JSON of this style."""

    def render(key: str, value: Json, indent: str, breaking: bool) -> str:
        return json.dumps(key, ensure_ascii=style.ascii) + style.colon + json_text(value, style, indent, breaking)

    return render


def json_text(value: Json, style: Style, indent: str, breaking: bool) -> str:
    """Return a value as JSON of this style."""
    if not breaking or not style.indent:
        comma = ", " if style.colon.endswith(" ") else ","
        return json.dumps(value, ensure_ascii=style.ascii, separators=(comma, style.colon))
    written = json.dumps(value, ensure_ascii=style.ascii, indent=style.indent, separators=(",", style.colon))
    return written.replace("\n", style.newline + indent)


def replaced_in_braces(text: str, node: MappingNode, key: str, value: Json, style: Style) -> Splice:
    """Replace the value of an existing key."""
    entry = node.entry(key)
    assert entry is not None  # noqa: S101 - callers check that the key exists
    before = _white_before(text, entry.start)
    return Splice(entry.value, entry.end, json_text(value, style, _indent_of(before), "\n" in before))


def added_in_braces(text: str, node: MappingNode, key: str, value: Json, style: Style, render: Render) -> Splice:
    """Add an entry to a non-empty mapping in braces."""
    at = place_of(key, [entry.key for entry in node.entries], ordered=style.ordered)
    near = node.entries[min(at, len(node.entries) - 1)]
    before = _white_before(text, near.start)
    fragment = render(key, value, _indent_of(before), "\n" in before)
    if at == len(node.entries):
        return Splice(near.end, near.end, f",{before if len(node.entries) > 1 or before else ' '}{fragment}")
    if at == 0 and len(node.entries) > 1:
        before = _white_before(text, node.entries[1].start)
    return Splice(near.start, near.start, f"{fragment},{before}")


def is_bare(text: str, node: MappingNode) -> bool:
    """Return whether all new entries of a flow mapping must be added together: it is empty or has no braces.

    YAML allows a single pair in a list without braces.
    """
    return node.flow and (not node.entries or text[node.start] != "{")


def filled_braces(text: str, node: MappingNode, entries: Mapping[str, Json], style: Style, render: Render) -> Splice:
    """Add entries to a mapping for which `is_bare` is true."""
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    breaking = bool(style.indent) and "\n" in text and not node.entries
    inner = outer + style.indent
    fragments = [render(key, value, inner, breaking) for key, value in entries.items()]
    if node.entries:
        fragments.insert(0, text[node.start : node.end])
    if breaking:
        rows = f",{style.newline}{inner}".join(fragments)
        return Splice(node.start, node.end, f"{{{style.newline}{inner}{rows}{style.newline}{outer}}}")
    comma = ", " if style.colon.endswith(" ") else ","
    return Splice(node.start, node.end, f"{{{comma.join(fragments)}}}")


def _white_before(text: str, at: int) -> str:
    """Return the white space before a place."""
    start = at
    while start and text[start - 1] in _WHITE:
        start -= 1
    return text[start:at]


def _indent_of(white: str) -> str:
    return white.rpartition("\n")[2]


_COMMENT: Final = re.compile(r"[ \t]+#[^\r\n]*")


def replaced_in_block(
    text: str, node: MappingNode, entry: MappingEntry, value: Json, style: Style, writer: BlockWriter
) -> Splice:
    """Replace the value of an existing key, keeping its quotes if possible."""
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


def added_in_block(text: str, node: MappingNode, key: str, value: Json, style: Style, writer: BlockWriter) -> Splice:
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
    """Indent the later lines of a fragment to a column."""
    first, *others = fragment.split("\n")
    margin = " " * column
    return style.newline.join([first, *(margin + line if line else "" for line in others)])


def _header_comment(text: str, entry: MappingEntry) -> str:
    """Return the comment after a block scalar's indicator, which would be lost with the scalar."""
    if entry.style not in {"|", ">"}:
        return ""
    header = text[entry.value : _line_end(text, entry.value)]
    found = _COMMENT.search(header)
    return found[0] if found else ""


def _after_colon(text: str, entry: MappingEntry) -> int | None:
    """Return the end of the key's colon; None if a comment stands between it and the value."""
    at = entry.value
    while at and text[at - 1] in " \t\r\n":
        at -= 1
    return at if text[at - 1 : at] == ":" else None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end and text[end - 1] == "\r" and end > at else end


def _above_comments(text: str, line: int, column: int) -> int:
    """Return the first line of the comments directly above a key, which belong to it."""
    while line:
        above = text.rfind("\n", 0, line - 1) + 1
        content = text[above:line]
        if len(content) - len(content.lstrip(" ")) != column or not content.lstrip(" ").startswith("#"):
            return line
        line = above
    return line
