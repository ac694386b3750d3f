"""Writes values as text, by the rules of the format.

Invariant: keys are sorted as Java sorts them; lists keep their order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from thresher.core import InvalidInput
from thresher.servoy.layout import CLASSIC, EmptyList, EmptyObject, FileLayout, Number, Value
from thresher.servoy.records import RELATION_ITEM_TYPE

ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SPECIAL: Final = re.compile('["\\\\\x00-\x1f\x80-\x9f\u2000-\u20ff\ud800-\udfff]|</')
_WRITTEN: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "</": "<\\/",
    "\b": "\\b",
    "\t": "\\t",
    "\f": "\\f",
    "\r": "\\r",
    "\n": "\\\n",
}
_MEANT: Final = {
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "t": "\t",
    "f": "\f",
    "r": "\r",
    "n": "\n",
    "\n": "\n",
}


class UnknownEscape(ValueError):
    """A backslash before a character that cannot be escaped.

    Args:
        offset: Of the backslash in the text between the quotation marks.
        text: The backslash and what follows it.
    """

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(text)
        self.offset = offset
        self.text = text


def quoted(text: str) -> str:
    """Quote a text; a line feed becomes a backslash followed by a line feed.

    Source: org.json's `quote`, and Servoy's own rule for line feeds.
    """
    return f'"{_SPECIAL.sub(_written, text)}"'


def _written(found: re.Match[str]) -> str:
    text = found.group()
    return _WRITTEN.get(text) or f"\\u{ord(text):04x}"


def unquoted(raw: str) -> str:
    """Return the text between two quotation marks, without raw carriage returns.

    Raises:
        UnknownEscape: It contains an invalid escape.
    """
    if "\\" not in raw and "\r" not in raw:
        return raw
    text = ESCAPE.sub(lambda found: _unescaped(found, raw), raw.replace("\r", ""))
    return _paired(text) if "\\u" in raw else text


def _unescaped(found: re.Match[str], raw: str) -> str:
    after = found.group(1)
    if len(after) == 5:
        return chr(int(after[1:], 16))
    if after not in _MEANT:
        raise UnknownEscape(max(raw.find(found.group()), 0), found.group())
    return _MEANT[after]


def _paired(text: str) -> str:
    """Combine characters that were escaped as two surrogates; a lone surrogate stays."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


_BARE: Final = r"""[^\x00-\x1f"'{}\[\]:,;=#/\\]"""
BARE_KEY: Final = re.compile(rf"(?! ){_BARE}*{_BARE}(?<! )")
"""A key that needs no quotation marks."""


def sort_key(name: str) -> bytes:
    """Return the sort key for Java's order of texts, by UTF-16 units."""
    return name.encode("utf-16-be", "surrogatepass")


def written(value: Value, layout: FileLayout) -> str:
    """Return the text of a whole file, with the layout's line breaks."""
    text = _outermost(value, layout) + layout.ending.replace("\r\n", "\n")
    return text if layout.newline == "\n" else text.replace("\n", layout.newline)


def _outermost(value: Value, layout: FileLayout) -> str:
    if isinstance(value, dict) and not layout.braces:
        return ",\n".join(_pairs(value, layout, "", inline=False, outermost=True))
    if isinstance(value, list) and value:
        # Servoy joins the texts of a list of media: each begins a line, whatever the indentation.
        return "[\n" + ",\n".join(text_of(one, layout, "") for one in value) + "\n]"
    return text_of(value, layout, "", outermost=True)


def text_of(value: Value, layout: FileLayout, base: str, *, inline: bool = False, outermost: bool = False) -> str:
    """Return the text of a value, with line feeds between its lines.

    Args:
        value: The value.
        layout: The layout.
        base: Indentation of the line that it begins on.
        inline: Whether all of it is on one line.
        outermost: Whether it is the file's outermost value.
    """
    if isinstance(value, dict):
        return _object(value, layout, base, inline=inline, outermost=outermost)
    if isinstance(value, list):
        if not value:
            kept = value.blanks if isinstance(value, EmptyList) else ""
            return _nothing("[]", 0 if inline else layout.list_feeds, base, "" if inline else kept)
        return _list([(one, one_line(one, layout)) for one in value], layout, base, inline=inline)
    return scalar(value)


def _object(value: Mapping[str, Value], layout: FileLayout, base: str, *, inline: bool, outermost: bool) -> str:
    if not value:
        kept = value.blanks if isinstance(value, EmptyObject) else ""
        return _nothing("{}", 0 if inline else layout.object_feeds, base, "" if inline else kept)
    pairs = _pairs(value, layout, base + layout.indent, inline=inline, outermost=outermost)
    if inline:
        return "{" + ",".join(pairs) + "}"
    lead = "\n" + base + layout.indent
    return "{" + lead + ("," + lead).join(pairs) + "\n" + base + "}"


def _pairs(value: Mapping[str, Value], layout: FileLayout, base: str, *, inline: bool, outermost: bool) -> list[str]:
    users = outermost and "usergroups" in value
    pairs: list[str] = []
    for name in sorted(value, key=sort_key):
        one = value[name]
        if users and name == "users" and isinstance(one, list) and layout.inline:
            text = _list([(user, True) for user in one], layout, base, inline=inline)
        else:
            text = text_of(one, layout, base, inline=inline)
        pairs.append(key_text(name, layout) + layout.colon + text)
    return pairs


def _list(value: Sequence[tuple[Value, bool]], layout: FileLayout, base: str, *, inline: bool) -> str:
    if not value:
        return _nothing("[]", 0 if inline else layout.list_feeds, base)
    if inline:
        return "[" + ",".join(text_of(one, layout, base, inline=True) for one, _ in value) + "]"
    lead = "\n" + base + layout.indent
    parts = [text_of(one, layout, base + layout.indent, inline=line) for one, line in value]
    return "[" + lead + ("," + lead).join(parts) + "\n" + base + "]"


def _nothing(brackets: str, feeds: int, base: str, kept: str = "") -> str:
    """Return an empty container with its own white space, or by the rule."""
    if kept:
        return brackets[0] + kept + brackets[1]
    return brackets if not feeds else brackets[0] + "\n" * feeds + base + brackets[1]


def one_line(value: Value, layout: FileLayout) -> bool:
    """Return whether a member of a list is on one line, like relation items in the classic dialect."""
    return layout.inline and isinstance(value, dict) and value.get("typeid") == RELATION_ITEM_TYPE


def key_text(name: str, layout: FileLayout) -> str:
    """Return a key as written."""
    return name if not layout.quoted and BARE_KEY.fullmatch(name) else quoted(name)


def scalar(value: Value) -> str:
    """Return the text of a value that is neither an object nor a list.

    Raises:
        InvalidInput: It is a number that the format cannot express.
    """
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return value.text
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{value} is not a number that a file can hold.", hint="Give a finite number.")
    return str(value)


def custom_text(value: Mapping[str, Value]) -> str:
    """Return `customProperties` in the classic dialect: a text that is written like a file."""
    return written(dict(value), CLASSIC)
