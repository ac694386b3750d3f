"""Other people's text on its way out of the product: to a model, and to a terminal.

Names, headings, descriptions and errors of servers, databases, documents, APIs and workspaces are data, whatever their
source. A model reads a name on one line (`one_line`, `named`) and a longer text between lines of ours, which begin with
a mark that no text of the answer contains (`border_of`). A terminal gets no characters that it obeys or hides
(`visible`).

Invariant: pure, and uses the standard library alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

NAME_CHARACTERS: Final = 200
_MARK: Final = 6
_INVISIBLE: Final = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Characters without a shape of their own that Unicode does not call control or format characters."""
_UNSEEN: Final = re.compile(f"[{_INVISIBLE}]")
_HIDDEN_RUN: Final = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f" + _INVISIBLE + "]+"
)
_ODD: Final = re.compile(r"[^ -~]")
_BLANK: Final = frozenset({"Cc", "Zl", "Zp", "Zs"})
_HIDDEN: Final = frozenset({"Cf"})
_UNKNOWN: Final = frozenset({"Cs", "Co", "Cn"})
_STRUCTURE: Final = re.compile(r"(?=#{1,6}(?:\s|$)|>|`{3}|~{3}|[-*_=]{3,}\s*$|[-*+]\s|\|)")
"""Beginnings of lines that Markdown reads as a heading, quotation, fence, rule, list or table."""
_IDENTIFIER: Final = re.compile(r"[\w$.@:/+-]+")


def one_line(text: str, most: int = NAME_CHARACTERS) -> str:
    """Foreign text as part of a line for a model: without breaks or invisible characters, and bounded.

    A beginning that Markdown reads as structure (a heading, a fence, a list) is escaped with a backslash.

    Args:
        text: Any text.
        most: Maximum characters; a longer text is cut and ends with an ellipsis.
    """
    head = text[: 4 * most + 4]
    seen = head if head.isascii() and head.isprintable() else "".join(map(_readable, head))
    line = " ".join(seen.split())
    line = _STRUCTURE.sub(r"\\", line, count=1) if _STRUCTURE.match(line) else line
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def named(name: str, most: int = NAME_CHARACTERS) -> str:
    """A foreign name inside our text: an identifier unchanged, anything else as a JSON string, which shows its ends."""
    short = name if len(name) <= most else f"{name[: most - 1]}…"
    return short if _IDENTIFIER.fullmatch(short) and not _UNSEEN.search(short) else visible_json(short)


def border_of(texts: Iterable[str]) -> str:
    """A mark such as `[4f09ac]` for an answer with these texts; none of them contains it."""
    whole = "\n".join(texts).casefold()
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
    if not whole.isascii():  # full-width digits, or a zero-width blank inside the mark, would look the same
        whole += _HIDDEN_RUN.sub("", unicodedata.normalize("NFKC", whole)).casefold()
    marks = (digest[start : start + _MARK] for start in range(len(digest) - _MARK))
    return f"[{next((mark for mark in marks if mark not in whole), digest)}]"


def visible(text: str, *, breaks: bool = False) -> str:
    """Foreign text for a terminal: characters that it would obey or hide are written as `<U+001B>`.

    Args:
        text: Any text.
        breaks: Whether to keep line breaks and tabs, for a text with several lines.
    """
    whole = text.replace("\r\n", "\n") if breaks else text
    kept = "\n\t" if breaks else ""
    return _ODD.sub(lambda odd: odd[0] if _shows(odd[0]) or odd[0] in kept else f"<U+{ord(odd[0]):04X}>", whole)


def visible_json(value: Any, *, indent: int | None = None) -> str:
    r"""Exact JSON with visible characters alone: those that a terminal would obey or hide are `\u` escapes.

    Args:
        value: A JSON value.
        indent: Blanks for each level; None for one line.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _ODD.sub(lambda odd: odd[0] if odd[0] == "\n" or _shows(odd[0]) else _escaped(odd[0]), text)


def _readable(mark: str) -> str:
    category = unicodedata.category(mark)
    if category in _HIDDEN or _UNSEEN.match(mark):
        return ""
    return " " if category in _BLANK else "\ufffd" if category in _UNKNOWN else mark


def _shows(mark: str) -> bool:
    return mark.isprintable() and not _UNSEEN.match(mark)


def _escaped(mark: str) -> str:
    """A character as a JSON escape: one or two UTF-16 units."""
    units = mark.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
