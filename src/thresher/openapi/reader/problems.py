"""What reading a description refuses and what it leaves out.

A description beyond `Limits` is refused. A part that cannot be read is left out and kept as a
note until its line is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from thresher.core import InvalidInput
from thresher.openapi.records import Json


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one description; beyond them it is refused, never read in part.

    Attributes:
        octets: Of its source.
        depth: Of lists and mappings in each other.
        values: Entries of all lists and mappings, as far as the text tells before it is read.
        aliased: Characters that YAML's aliases add when they are written out; 8 more for each value.
        problems: Kept of those that reading meets; the others are counted.
        reached: Names of schemas kept with one operation, nearest first.
        parts: Parameters, answers, forms of bodies and ways to be let in of all operations, each counted for every
            operation that has it: a short description may give ten thousand operations the same ten thousand.
    """

    octets: int = 32 * 1024 * 1024
    depth: int = 200
    values: int = 4_000_000
    aliased: int = 16_000_000
    problems: int = 1_000
    reached: int = 400
    parts: int = 500_000


LIMITS: Final = Limits()


def too_deep(limits: Limits) -> InvalidInput:
    """The refusal of what is nested too deeply."""
    return InvalidInput(
        f"The description is nested more than {limits.depth} levels deep.", hint="Use $ref instead of nesting."
    )


def too_large(what: str) -> InvalidInput:
    """The refusal of what has too many octets or values, as `what` says."""
    return InvalidInput(what, hint="Split it by product or version, and add each part as a version of its own.")


def check_depth(value: Json, limits: Limits) -> None:
    """Refuse what is nested too deeply.

    Raises:
        InvalidInput: It is.
    """
    level = [value]
    for _ in range(limits.depth):
        level = [child for each in level for child in _children(each) if isinstance(child, dict | list)]
        if not level:
            return
    raise too_deep(limits)


def _children(value: Json) -> Iterable[Json]:
    """What a list or a mapping holds."""
    return cast("dict[str, Json]", value).values() if isinstance(value, dict) else cast("list[Json]", value)


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
