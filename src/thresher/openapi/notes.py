"""What reading meets and leaves out, gathered until the places are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_CLIP: Final = 80


@dataclass(frozen=True, slots=True)
class Note:
    """A problem whose line is not known yet.

    Attributes:
        code: Stable name.
        message: What is wrong, and what to do.
        pointer: Where.
    """

    code: str
    message: str
    pointer: str = ""


def doubled(key: str, first: int, last: int) -> str:
    """The message about a key that stands twice in one mapping."""
    named = repr(key if len(key) <= _CLIP else f"{key[:_CLIP]}...")
    return f"The key {named} stands twice, at lines {first} and {last}; the last one counts. Take one away."


@dataclass(slots=True)
class Notes:
    """The problems of one reading, each once, the first `cap` of them."""

    cap: int
    kept: dict[tuple[str, str, str], Note] = field(default_factory=dict[tuple[str, str, str], Note])
    beyond: int = 0

    def add(self, code: str, message: str, pointer: str = "") -> None:
        """Keep a problem."""
        key = (code, pointer, message)
        if key in self.kept:
            return
        if len(self.kept) >= self.cap:
            self.beyond += 1
            return
        self.kept[key] = Note(code, message, pointer)

    def all(self) -> tuple[Note, ...]:
        """Those kept, and one that counts the others."""
        if not self.beyond:
            return tuple(self.kept.values())
        return (*self.kept.values(), Note("more-problems", f"{self.beyond:,} more problems are not listed."))
