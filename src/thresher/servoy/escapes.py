"""Texts in quotation marks, as Servoy writes and reads them.

Invariant: `unquoted(quoted(text))` is the text, for every text but one with a raw carriage return, which is escaped.
"""

from __future__ import annotations

import re
from typing import Final

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
    """A backslash before what cannot follow one.

    Args:
        offset: Of the backslash, in the text as it stands between the quotation marks.
        text: The backslash and what follows it.
    """

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(text)
        self.offset = offset
        self.text = text


def quoted(text: str) -> str:
    """A text with its quotation marks; a line feed becomes a backslash before a real one.

    Source: org.json's `quote`, and Servoy's own rule for line feeds.
    """
    return f'"{_SPECIAL.sub(_written, text)}"'


def _written(found: re.Match[str]) -> str:
    text = found.group()
    return _WRITTEN.get(text) or f"\\u{ord(text):04x}"


def unquoted(raw: str) -> str:
    """What stands between two quotation marks; raw carriage returns are no part of it.

    Raises:
        UnknownEscape: It has an escape that means nothing.
    """
    if "\\" not in raw and "\r" not in raw:
        return raw
    text = ESCAPE.sub(lambda found: _meant(found, raw), raw.replace("\r", ""))
    return _paired(text) if "\\u" in raw else text


def _meant(found: re.Match[str], raw: str) -> str:
    after = found.group(1)
    if len(after) == 5:
        return chr(int(after[1:], 16))
    if after not in _MEANT:
        raise UnknownEscape(max(raw.find(found.group()), 0), found.group())
    return _MEANT[after]


def _paired(text: str) -> str:
    """Characters that were escaped as two surrogates become one; a lone surrogate stays."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
