"""What reading meets and leaves out, gathered until the places are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Code: TypeAlias = Literal[
    "bad-character",
    "bad-encoding",
    "bad-merge",
    "bad-method",
    "bad-parameter",
    "circular-alias",
    "circular-ref",
    "complex-key",
    "duplicate-key",
    "duplicate-operation",
    "long-path",
    "more-documents",
    "more-problems",
    "newer-version",
    "no-responses",
    "not-json",
    "remote-ref",
    "tag",
    "unknown-alias",
    "unresolved-ref",
    "version-not-text",
    "wrong-type",
]
"""The names of problems; the reference of descriptions says what each means."""

_CLIP: Final = 80


@dataclass(frozen=True, slots=True)
class Note:
    """A problem whose line is not known yet.

    Attributes:
        code: Stable name.
        message: What is wrong, and what to do.
        pointer: Where.
        line: Where the reader of the text knew it; 0 where the pointer tells.
    """

    code: Code
    message: str
    pointer: str = ""
    line: int = 0


def doubled(key: str, first: int, last: int) -> str:
    """The message about a key that stands twice in one mapping."""
    named = repr(key if len(key) <= _CLIP else f"{key[:_CLIP]}...")
    return f"The key {named} stands twice, at lines {first} and {last}; the last one counts. Take one away."


@dataclass(slots=True)
class Notes:
    """The problems of one reading, each once, the first `cap` of them."""

    cap: int
    kept: dict[Note, None] = field(default_factory=dict["Note", None])
    beyond: int = 0

    def add(self, code: Code, message: str, pointer: str = "", line: int = 0) -> None:
        """Keep a problem."""
        note = Note(code, message, pointer, line)
        if len(self.kept) < self.cap:
            self.kept[note] = None
        elif note not in self.kept:
            self.beyond += 1
