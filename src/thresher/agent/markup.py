"""Writes other people's text into Markdown so that it stays text.

Invariant: pure; nothing that is written so ends its line, opens a link or an image, or closes the fence that it is in.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from thresher.core import shortened

_SPECIAL: Final = re.compile(r"([\\`*\[\]<|~]|(?<!\w)_|_(?!\w))")
_STARTS: Final = re.compile(r"^(\d{1,9}(?=[.)](?:\s|$))|)([-+=>#.)])")
_AUTOLINK: Final = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data|www)([:.])")
_RUN: Final = re.compile(r"`+")


def words(text: object, limit: int = 300) -> str:
    """A text as plain words of one line.

    Args:
        text: Anything; None is nothing.
        limit: Characters at most, before what Markdown needs is added.
    """
    plain = shortened(" ".join(_visible("" if text is None else str(text)).split()), limit)
    escaped = _STARTS.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", plain))
    return _AUTOLINK.sub(r"\1\\\2", escaped)


def code(text: object, limit: int = 200) -> str:
    """A text as code inside a line."""
    plain = shortened(" ".join(_visible("" if text is None else str(text)).split()), limit)
    if not plain:
        return ""
    fence = "`" * (max(map(len, _RUN.findall(plain)), default=0) + 1)
    space = " " if plain[0] == "`" or plain[-1] == "`" else ""
    return f"{fence}{space}{plain}{space}{fence}"


def block(text: str, language: str = "", limit: int = 4_000) -> str:
    """A text as a fenced block; of a long one the beginning, and that it was cut."""
    plain = _visible(text.strip("\n"), keep="\n\t")
    cut = plain if len(plain) <= limit else f"{plain[:limit]}\n… ({len(plain) - limit} more characters)"
    fence = "`" * max(3, max(map(len, _RUN.findall(cut)), default=0) + 1)
    return f"{fence}{language}\n{cut}\n{fence}"


def _visible(text: str, keep: str = "") -> str:
    """The text without characters that control a terminal or cannot be seen; blanks instead."""
    return "".join(
        mark if mark in keep or unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else " "
        for mark in text
    )
