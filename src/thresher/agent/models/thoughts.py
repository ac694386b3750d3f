"""Leaves out what models that think aloud write first, where their server does not set it apart.

Invariant: pure; an answer's words come out once, in order, however they were cut.
"""

from __future__ import annotations

from typing import Final

_OPENING: Final = ("<think>", "<thinking>")
_CLOSING: Final = ("</think>", "</thinking>")
_LONGEST: Final = max(map(len, _CLOSING))


class Spoken:
    """What of a stream is said aloud."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._begun = False

    def feed(self, text: str) -> str:
        """Take a piece; returns what of it, and of what was held back, is said."""
        if self._begun:
            return text
        self._held += text
        if not self._thinking and not self._opened():
            return ""
        return self._closed() if self._thinking else self._begin(self._held)

    def rest(self) -> str:
        """What was held back and turns out to be said, at the end of the answer."""
        return "" if self._thinking else self._held

    def _opened(self) -> bool:
        """Whether it is known how the answer begins."""
        self._held = self._held.lstrip()
        if any(mark.startswith(self._held) for mark in _OPENING if mark != self._held):
            return False  # nothing yet, or the beginning of a mark
        self._thinking = self._held.startswith(_OPENING)
        return True

    def _closed(self) -> str:
        ends = [(place, mark) for mark in _CLOSING if (place := self._held.find(mark)) >= 0]
        if not ends:
            self._held = self._held[-_LONGEST:]
            return ""
        place, mark = min(ends)
        self._thinking = False
        return self._begin(self._held[place + len(mark) :])

    def _begin(self, text: str) -> str:
        self._held = text.lstrip()
        if not self._held:
            return ""
        said, self._held, self._begun = self._held, "", True
        return said
