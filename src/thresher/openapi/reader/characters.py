"""Characters that a description must not hold: those that no later consumer accepts, and invisible ones."""

from __future__ import annotations

import json
import re
from typing import Final, cast

from thresher.openapi.reader.problems import Notes
from thresher.openapi.records import Json

REPLACED: Final = "\ufffd"
_ESCAPED: Final = re.compile(r"\\(?:0|x00|u0000|U00000000|u[dD][89a-fA-F][0-9a-fA-F]{2})")
"""NUL and halves of surrogate pairs as JSON and YAML escape them; `\\0` exists only in YAML."""
_BAD: Final = re.compile("[\0\ud800-\udfff]")
_UNREADABLE: Final = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that libyaml rejects, and those that it takes for a line break although YAML 1.2 does not."""
_BREAKS: Final = str.maketrans("\x85\u2028\u2029", "   ")

UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that are invisible or change how the text around them is displayed; line breaks and tabs excluded."""


def visible(text: str) -> str:
    """Return the text with invisible characters written as JSON escapes."""
    return UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f"), text)


def legible(text: str) -> str:
    """Return the text as the YAML reader accepts it, of the same length; see `readable`."""
    return _UNREADABLE.sub(REPLACED, text.translate(_BREAKS))


def readable(text: str, notes: Notes) -> str:
    """Return the text as the YAML reader accepts it, of the same length, and note the first control character.

    Control characters become U+FFFD, Unicode line separators become spaces.
    """
    found = _UNREADABLE.search(text)
    if found is None:
        return text
    line = text.count("\n", 0, found.start()) + 1
    notes.add("bad-character", f"Line {line} holds a control character (U+{ord(found[0]):04X}). Remove it.", line=line)
    return legible(text)


def cleaned(value: Json, text: str, notes: Notes) -> Json:
    """Replace NUL and lone surrogates, which no store accepts, in place, and note each.

    Args:
        value: Plain data.
        text: Its source; without an escape in it there is nothing to replace.
        notes: Receives the problems.
    """
    if not _ESCAPED.search(text):
        return value
    root = [value]
    waiting: list[Json] = [root]
    seen: set[int] = set()
    while waiting:
        holder = waiting.pop()
        if id(holder) not in seen:
            seen.add(id(holder))
            waiting.extend(_cleaned_inside(holder, notes))
    return root[0]


def _cleaned_inside(holder: Json, notes: Notes) -> list[Json]:
    """Clean the texts of a container and return the containers that it holds."""
    if isinstance(holder, list):
        listed = cast("list[Json]", holder)
        listed[:] = [_clean(each, notes) for each in listed]
        inside = listed
    else:
        entries = cast("dict[str, Json]", holder)
        fresh = {_clean(key, notes): _clean(each, notes) for key, each in entries.items()}
        entries.clear()
        entries.update(fresh)
        inside = list(entries.values())
    return [each for each in inside if isinstance(each, dict | list)]


def _clean(value: Json, notes: Notes) -> Json:
    if not isinstance(value, str) or not _BAD.search(value):
        return value
    notes.add("bad-character", "A text holds NUL or half of a surrogate pair; it was replaced. Remove it.")
    return _BAD.sub(REPLACED, value)
