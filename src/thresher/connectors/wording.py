"""Looks at the first word of a statement.

Invariant: pure; only asked about statements that the guard has let through, to choose how to run them: never whether.
"""

from __future__ import annotations

import re
from typing import Final

_SKIPPED: Final = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|#[^\n]*(?:\n|$))+")
_BORDER: Final = re.compile(r"/\*|\*/")
_WORD: Final = re.compile(r"[A-Za-z]+")


def first_word(sql: str) -> str:
    """The first word, lower case, after blanks, comments and opening parentheses; empty when there is none."""
    place = 0
    while True:
        if skipped := _SKIPPED.match(sql, place):
            place = skipped.end()
        if not sql.startswith("/*", place):
            word = _WORD.match(sql, place)
            return word[0].lower() if word else ""
        place = _after_comment(sql, place)


def _after_comment(sql: str, place: int) -> int:
    """Where a comment ends, which may hold others (PostgreSQL)."""
    depth = 0
    for border in _BORDER.finditer(sql, place):
        depth += 1 if border[0] == "/*" else -1
        if depth == 0:
            return border.end()
    return len(sql)
