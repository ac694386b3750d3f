"""What reading a description refuses, and the notes on what it leaves out.

A description beyond its `Limits` is refused. A part that cannot be read is left out and kept as a note until its
line is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from thresher.core import InvalidInput
from thresher.openapi.records import Json


@dataclass(frozen=True, slots=True)
class DescriptionLimits:
    """Bounds of one description; beyond them it is refused, never read in part.

    Attributes:
        octets: Size of the source in bytes.
        depth: Nesting of lists and mappings.
        values: Entries of all lists and mappings, estimated from the text before it is parsed.
        aliased: Characters that expanding YAML aliases would add, plus 8 for each value.
        problems: Problems that are kept; further ones are only counted.
        reached: Schema names kept for one operation, nearest first.
        parts: Parameters, responses, media types and security requirements of all operations. A shared one counts for
            each operation: a short description can give ten thousand operations the same ten thousand parameters.
    """

    octets: int = 32 * 1024 * 1024
    depth: int = 200
    values: int = 4_000_000
    aliased: int = 16_000_000
    problems: int = 1_000
    reached: int = 400
    parts: int = 500_000


LIMITS: Final = DescriptionLimits()


def too_deep(limits: DescriptionLimits) -> InvalidInput:
    """Return the error for a description that is nested too deeply."""
    return InvalidInput(
        f"The description is nested more than {limits.depth} levels deep.", hint="Use $ref instead of nesting."
    )


def too_large(what: str) -> InvalidInput:
    """Return the error for a description that is too large, as `what` says."""
    return InvalidInput(what, hint="Split it by product or version, and add each part as a version of its own.")


def check_depth(value: Json, limits: DescriptionLimits) -> None:
    """Refuse a value that is nested too deeply.

    Raises:
        InvalidInput: It is nested more than `limits.depth` levels deep.
    """
    level = [value]
    for _ in range(limits.depth):
        level = [child for each in level for child in _children(each) if isinstance(child, dict | list)]
        if not level:
            return
    raise too_deep(limits)


def _children(value: Json) -> Iterable[Json]:
    """Return the values in a list or mapping."""
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
"""Problem codes; the reference page of API descriptions explains each."""

_CLIP: Final = 80


@dataclass(frozen=True, slots=True)
class ProblemNote:
    """A problem whose line is not known yet.

    Attributes:
        code: Stable name.
        message: What is wrong and what to do.
        pointer: Where.
        line: Set if the parser knew it; 0 if it follows from the pointer.
    """

    code: Code
    message: str
    pointer: str = ""
    line: int = 0


def duplicate_key_message(key: str, first: int, last: int) -> str:
    """Return the message for a key that a mapping holds twice."""
    named = repr(key if len(key) <= _CLIP else f"{key[:_CLIP]}...")
    return f"The key {named} appears twice, at lines {first} and {last}; the last one counts. Remove one."


@dataclass(slots=True)
class Notes:
    """The distinct problems of one description, at most `cap` of them; `beyond` counts the rest."""

    cap: int
    kept: dict[ProblemNote, None] = field(default_factory=dict["ProblemNote", None])
    beyond: int = 0

    def add(self, code: Code, message: str, pointer: str = "", line: int = 0) -> None:
        """Record a problem."""
        note = ProblemNote(code, message, pointer, line)
        if len(self.kept) < self.cap:
            self.kept[note] = None
        elif note not in self.kept:
            self.beyond += 1
