"""What a part of an explanation is, and how other people's words are put into one.

Invariant: pure; other people's words stand on single lines, behind quotation marks of Markdown, or inside of a fence
that is longer than any in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

_OPENING: Final = 600
"""Characters of a description that stand near the top."""
_NARROW: Final = 100
_FENCE: Final = re.compile(r"`{3,}")


class Section(IntEnum):
    """Where a part stands, in the order in which it is read."""

    HEAD = 0
    ABOUT = 1
    AUTH = 2
    PARAMETERS = 3
    REQUEST = 4
    RESPONSES = 5
    ERRORS = 6
    CURL = 7
    PYTHON = 8
    SCHEMAS = 9
    MORE = 10


TITLES: Final[Mapping[Section, str]] = {
    Section.AUTH: "## Sign-in",
    Section.PARAMETERS: "## Parameters (* must be given)",
    Section.REQUEST: "## Request body",
    Section.RESPONSES: "## Responses",
    Section.ERRORS: "## Errors",
    Section.CURL: "## curl",
    Section.PYTHON: "## Python",
    Section.SCHEMAS: "## Schemas (* must be there)",
    Section.MORE: "## More of its description",
}


@dataclass(frozen=True, slots=True)
class Said:
    """A part as it is said.

    Attributes:
        text: For a reader.
        field: Which field of the answer it fills besides; empty for none.
        value: With what.
    """

    text: str
    field: str = ""
    value: Any = None


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to say.

    Attributes:
        section: Where it stands.
        group: What it is one of, for a reader who does not get it: `optional parameters`.
        name: Which one; empty where there is only one of the group.
        forms: Ways to say it, the fullest first; made when there may be room for it.
    """

    section: Section
    group: str
    name: str
    forms: tuple[Callable[[], Said], ...]


def opening_of(text: str) -> tuple[str, str]:
    """The beginning of a description and the rest of it, cut at a line or a word."""
    whole = text.strip()
    if len(whole) <= _OPENING:
        return whole, ""
    at = max(whole.rfind("\n", 0, _OPENING), whole.rfind(". ", 0, _OPENING) + 1)
    if at < _OPENING // 3:
        at = max(whole.rfind(" ", 0, _OPENING), _OPENING // 3)
    return whole[:at].rstrip(), whole[at:].lstrip()


def quoted(text: str) -> str:
    """Other people's Markdown, each line behind a mark."""
    return "\n".join(f"> {line.rstrip()}".rstrip() for line in text.splitlines())


def fenced(value: Any) -> str:
    """A value as JSON in a block of its own."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    text = line if len(line) <= _NARROW else json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return fenced_text(text, "json")


def fenced_text(text: str, language: str) -> str:
    """A text in a block of its own, which nothing in it can end."""
    fence = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(text))])
    return f"{fence}{language}\n{text}\n{fence}"
