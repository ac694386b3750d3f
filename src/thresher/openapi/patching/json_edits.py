"""Sets values in mappings in braces: JSON's, and YAML's flow style.

Invariant: what stands there keeps its characters; a new entry repeats the white space of its neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from thresher.openapi.patching.nodes import Node
from thresher.openapi.patching.placing import place_of
from thresher.openapi.patching.splices import Splice
from thresher.openapi.patching.styles import Style
from thresher.openapi.records import Json

Render: TypeAlias = Callable[[str, Json, str, bool], str]
"""Key, value, the line's indentation and whether lines may be broken, to an entry's text."""

_WHITE: Final = " \t\r\n"


def json_entry(style: Style) -> Render:
    """How an entry is written in JSON of this style."""

    def render(key: str, value: Json, indent: str, breaking: bool) -> str:
        return json.dumps(key, ensure_ascii=style.ascii) + style.colon + json_text(value, style, indent, breaking)

    return render


def json_text(value: Json, style: Style, indent: str, breaking: bool) -> str:
    """A value in JSON of this style."""
    if not breaking or not style.indent:
        comma = ", " if style.colon.endswith(" ") else ","
        return json.dumps(value, ensure_ascii=style.ascii, separators=(comma, style.colon))
    written = json.dumps(value, ensure_ascii=style.ascii, indent=style.indent, separators=(",", style.colon))
    return written.replace("\n", style.newline + indent)


def replaced_in_braces(text: str, node: Node, key: str, value: Json, style: Style) -> Splice:
    """Put another value under a key that is there."""
    entry = node.entry(key)
    assert entry is not None  # noqa: S101 - the caller looked
    before = _white_before(text, entry.start)
    return Splice(entry.value, entry.end, json_text(value, style, _indent_of(before), "\n" in before))


def added_in_braces(text: str, node: Node, key: str, value: Json, style: Style, render: Render) -> Splice:
    """Add an entry to a mapping in braces that has some."""
    at = place_of(key, [entry.key for entry in node.entries], ordered=style.ordered)
    near = node.entries[min(at, len(node.entries) - 1)]
    before = _white_before(text, near.start)
    fragment = render(key, value, _indent_of(before), "\n" in before)
    if at == len(node.entries):
        return Splice(near.end, near.end, f",{before if len(node.entries) > 1 or before else ' '}{fragment}")
    if at == 0 and len(node.entries) > 1:
        before = _white_before(text, node.entries[1].start)
    return Splice(near.start, near.start, f"{fragment},{before}")


def is_bare(text: str, node: Node) -> bool:
    """Whether all that is added to a mapping in braces must be added at once: it is empty, or has no braces.

    YAML lets the braces of a pair in a list be left out.
    """
    return node.flow and (not node.entries or text[node.start] != "{")


def filled_braces(text: str, node: Node, entries: Mapping[str, Json], style: Style, render: Render) -> Splice:
    """Add entries to a bare mapping."""
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
    """The white space that leads to a place."""
    start = at
    while start and text[start - 1] in _WHITE:
        start -= 1
    return text[start:at]


def _indent_of(white: str) -> str:
    return white.rpartition("\n")[2]
