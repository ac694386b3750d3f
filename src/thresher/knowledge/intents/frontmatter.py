"""Splits a file of rules into its front matter and its body, however sloppily it was written.

Invariant: values are text, lists of text and mappings of text, as written: nothing is a number, a date or an object,
nothing refers to anything else, and the work is bounded by the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from thresher.knowledge.intents.yaml_subset import Unreadable, Value, parsed, read_loosely

_LONGEST: Final = 64 << 10
_LINES: Final = 2_000
_FENCE: Final = re.compile(r"-{3,}\s*")
_CLOSE: Final = re.compile(r"(?:-{3,}|\.{3})\s*")
_ENTRY: Final = re.compile(r"[A-Za-z][\w.-]*\s*:(?:\s|$)")
_INNER: Final = re.compile(r"(?:\s|#|-\s)|\Z")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A file of rules in its two parts.

    Attributes:
        fields: What the front matter says, keys in lower case.
        body: The rest, without blank lines around it.
        mended: What had to be mended, one sentence each.
        present: Whether there was any front matter.
    """

    fields: dict[str, Value] = field(default_factory=dict[str, Value])
    body: str = ""
    mended: tuple[str, ...] = ()
    present: bool = False


def split(text: str, *, quietly: bool = False) -> FrontMatter:
    """Take a file of rules apart.

    Args:
        text: With Unix line ends.
        quietly: Whether front matter that is no YAML is what its writers are used to, and no word is said of it.
    """
    lines = text.lstrip("\n\t \ufeff").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return FrontMatter(body=text.strip())
    end, mended = _end(lines)
    head = "\n".join(lines[1:end])
    body = "\n".join(lines[end + 1 :] if end < len(lines) and _CLOSE.fullmatch(lines[end]) else lines[end:])
    if len(head) > _LONGEST:
        return FrontMatter(body=body.strip(), mended=("The front matter is longer than 64 KiB and was left out.",))
    fields, reread = _fields(head)
    return FrontMatter(fields, body.strip(), mended if quietly else (*mended, *reread), present=True)


def _end(lines: list[str]) -> tuple[int, tuple[str, ...]]:
    """Index of the line that closes the front matter; without one, of the first that cannot belong to it."""
    for number, line in enumerate(lines[1 : _LINES + 1], 1):
        if _CLOSE.fullmatch(line):
            return number, ()
    mended = ("The line --- that closes the front matter is missing.",)
    for number, line in enumerate(lines[1:], 1):
        if number > _LINES or line.startswith("# ") or not (_ENTRY.match(line) or _INNER.match(line)):
            return number, mended
        if not line.strip() and not any(_ENTRY.match(later) for later in lines[number + 1 : number + 2]):
            return number, mended
    return len(lines), mended


def _fields(head: str) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Read as YAML, and line by line where that fails."""
    try:
        value = parsed(head)
    except Unreadable as error:
        return _lowered(read_loosely(head)), (
            f"The front matter is no plain YAML ({error}) and was read line by line.",
        )
    if isinstance(value, dict):
        return _lowered(value), ()
    if not value:
        return {}, ()
    return _lowered(read_loosely(head)), ("The front matter is no list of keys and values.",)


def _lowered(fields: dict[str, Value]) -> dict[str, Value]:
    return {key.lower(): value for key, value in fields.items()}
