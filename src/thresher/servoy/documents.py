"""Files as documents: their values, the positions of these, and the bytes to write.

Invariant: a document is immutable; it is rendered from its values and layout, not from the bytes that were read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias

from thresher.core import BrokenFile, Lines
from thresher.servoy.layout import CLASSIC, JSON, LAYOUTS, FileLayout, Value
from thresher.servoy.parser import ParsedNode, Parser
from thresher.servoy.records import RELATION_ITEM_TYPE, Dialect
from thresher.servoy.writer import BARE_KEY, written

LARGEST: Final = 32 * 2**20
"""Bytes; the largest real form has about one million."""
Path: TypeAlias = "tuple[str | int, ...]"
"""Keys, and list indexes from 0, from the outermost value down."""
_CONFLICT: Final = tuple(
    re.compile(marker, re.MULTILINE) for marker in (r"^<{7}(?: |\r?$)", r"^={7}\r?$", r"^>{7}(?: |\r?$)")
)
"""Conflict markers that a merge leaves, in this order."""
_BY_HAND: Final = "Correct the file by hand, or restore it from the project's history."


class Document:
    """One file.

    Args:
        text: The source with its carriage returns.
        root: The outermost value.
        layout: How it is written.
    """

    __slots__ = ("_lines", "layout", "root", "text")

    def __init__(self, text: str, root: ParsedNode, layout: FileLayout) -> None:
        self.text = text
        self.root = root
        self.layout = layout
        self._lines: Lines | None = None

    @property
    def value(self) -> Value:
        """The value of the whole file. It is shared and must not be changed."""
        return self.root.value

    @property
    def dialect(self) -> Dialect:
        """The dialect that it is written in."""
        return self.layout.dialect

    def get(self, *path: str | int, default: Value = None) -> Value:
        """Return the value at a path, or the default if there is none."""
        found = self._walk(path)[-1]
        return default if found is None else found[1].value

    def line_of(self, *path: str | int) -> int:
        """Return the line, from 1, on which the value at a path, or its nearest existing ancestor, begins."""
        return self.place_of(*path)[0]

    def place_of(self, *path: str | int) -> tuple[int, int]:
        """Return line and column, from 1, of the key or list entry at a path."""
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines.at(next(found[0] for found in reversed(self._walk(path)) if found is not None))

    def _walk(self, path: Path) -> list[tuple[int, ParsedNode] | None]:
        """Return offset and value of each step of a path; None from the first missing step on."""
        steps: list[tuple[int, ParsedNode] | None] = [(self.root.start, self.root)]
        for part in path:
            held = steps[-1]
            steps.append(None if held is None else _child(held[1], part))
        return steps

    def rendered(self) -> bytes:
        """Return its bytes, made from its values by the rules of the format and its layout."""
        return written(self.value, self.layout).encode("utf-8")


def _child(node: ParsedNode, part: str | int) -> tuple[int, ParsedNode] | None:
    if isinstance(part, str):
        return node.members.get(part)
    if not 0 <= part < len(node.elements):
        return None
    return node.elements[part].start, node.elements[part]


def read_document(data: bytes) -> Document:
    """Read a file of a workspace.

    Args:
        data: Its bytes.

    Raises:
        BrokenFile: It cannot be read unambiguously; with line and column if known.
    """
    text = _decoded(data)
    if "<<<<<<<" in text:
        _refuse_conflict(text)
    root, braces = Parser(text).outermost()
    return Document(text, root, _layout(text, root, braces))


def _refuse_conflict(text: str) -> None:
    """Refuse conflict markers, also inside a text, where they could pass for its lines."""
    at, places = 0, list[int]()
    for marker in _CONFLICT:
        if (found := marker.search(text, at)) is None:
            return
        at = found.end()
        places.append(found.start())
    line, column = Lines(text).at(places[0])
    hint = "Resolve the merge first, then try again."
    raise BrokenFile("The file has conflict markers of a merge.", hint=hint, line=line, column=column)


def _decoded(data: bytes) -> str:
    if len(data) > LARGEST:
        raise BrokenFile(
            f"The file has {len(data):,} bytes; the limit is {LARGEST:,}.", hint="Check whether this is the right file."
        )
    if data.startswith(b"\xef\xbb\xbf"):
        hint = "Servoy cannot read it either: save the file as UTF-8 without one."
        raise BrokenFile("The file begins with a byte order mark.", hint=hint, line=1, column=1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8", "replace")) + 1
        message = f"The file is not UTF-8: there is the byte 0x{data[error.start]:02x}."
        raise BrokenFile(message, hint="Save it as UTF-8.", line=line, column=column) from None


def new_document(value: Value, dialect: Dialect) -> bytes:
    """Return a new file with a value, written in a dialect.

    Raises:
        InvalidInput: It contains a number that the format cannot express.
    """
    return written(value, LAYOUTS[dialect]).encode("utf-8")


def _layout(text: str, root: ParsedNode, braces: bool) -> FileLayout:
    """Return the layout of a text, each property from the first place that shows it."""
    first = next((node for node in _objects(root) if node.members), None)
    default = JSON if first is None and braces else CLASSIC
    quoted, indent, colon = default.quoted, default.indent, default.colon
    if first is not None:
        (at, node), *_ = first.members.values()
        colon = _between_key_and_value(text, at, node.start)
        indent = _indent(text, at) if braces else ""
        quoted = _quoted(text, root, default=braces if root.members else bool(indent))
    default = LAYOUTS["json" if quoted else "classic"]
    crlf = text.count("\r\n")
    return FileLayout(
        quoted=quoted,
        braces=braces,
        indent=indent,
        colon=colon,
        inline=_inline(text, root, default.inline),
        list_feeds=_feeds(text, root, list, default.list_feeds),
        object_feeds=_feeds(text, root, dict, default.object_feeds),
        newline="\r\n" if crlf * 2 > text.count("\n") else "\n",
        ending=text[len(text.rstrip(" \t\r\n")) :],
    )


def _objects(root: ParsedNode) -> Iterator[ParsedNode]:
    """Return the outermost objects: the root, or the members of a root list."""
    yield from [root] if isinstance(root.value, dict) else root.elements


def _quoted(text: str, root: ParsedNode, *, default: bool) -> bool:
    """Return whether keys of the outermost objects have quotes that they do not need."""
    for node in _objects(root):
        for name, (at, _) in node.members.items():
            if BARE_KEY.fullmatch(name):
                return text[at] == '"'
    return default


def _between_key_and_value(text: str, at: int, value: int) -> str:
    blank = value - len(text[at:value].rstrip()) - at
    return ":" + " " * min(blank, 1)


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip(" \t") else ""


def _inline(text: str, root: ParsedNode, default: bool) -> bool:
    """Return whether the first relation item, or user, is on one line."""
    for key in ("items", "users"):
        held = root.members.get(key)
        for node in held[1].elements[:1] if held else ():
            typed = node.members.get("typeid")
            if node.members and (key == "users" or (typed and typed[1].value == RELATION_ITEM_TYPE)):
                return "\n" not in text[node.start : next(iter(node.members.values()))[0]]
    return default


def _has_lines(text: str, node: ParsedNode) -> bool:
    """Return whether members of a container are on other lines than its opening bracket."""
    if node.members:
        first, _ = next(iter(node.members.values()))
        return first == node.start or "\n" in text[node.start : first]
    return bool(node.elements) and "\n" in text[node.start : node.elements[0].start]


def _feeds(text: str, root: ParsedNode, kind: type, default: int) -> int:
    """Return the line feeds in most empty lists, or objects; by rule if there are none."""
    if ("[" if kind is list else "{") not in text:
        return default
    counts: Counter[int] = Counter()
    users = root.members.get("users") if "usergroups" in root.members else None  # an empty one is on one line
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if _has_lines(text, node):
            waiting.extend(one for one in node.elements if one.value or users is None or node is not users[1])
            waiting.extend(member for _, member in node.members.values())
        if not node.value and isinstance(node.value, kind):
            counts[text.count("\n", node.start, node.end)] += 1
    return counts.most_common(1)[0][0] if counts else default
