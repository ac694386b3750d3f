"""Changes of a text by offsets, and their unified diff.

Invariant: the diff is made from the changes, so its cost depends on them and not on the text; applied to the text it
gives exactly the changed text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

CONTEXT: Final = 3
"""Unchanged lines shown around a change, as by `diff -u`."""
_UNFIT: Final = re.compile(r"[^\w./@+,=~ -]")


@dataclass(frozen=True, slots=True)
class Splice:
    """Replaces the characters `start` to `end` of a text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class LineChange:
    """Replaces the lines `first` to `last` (exclusive, from 0) of a text; each new line includes its line break."""

    first: int
    last: int
    lines: tuple[str, ...]


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """Return the text with the changes made.

    Args:
        text: The original.
        splices: In order, without overlaps.
    """
    parts: list[str] = []
    at = 0
    for splice in splices:
        parts += (text[at : splice.start], splice.text)
        at = splice.end
    return "".join((*parts, text[at:]))


def unified_diff(text: str, splices: Sequence[Splice], name: str, *, mark: str = "") -> str:
    """Return a unified diff for `git apply` and `patch -p1`; empty if nothing changes.

    Args:
        text: The original.
        splices: In order, without overlaps.
        name: File name for the header.
        mark: Byte order mark before the text in the file.
    """
    if mark:
        splices = [Splice(each.start + len(mark), each.end + len(mark), each.text) for each in splices]
        text = mark + text
    lines = text.splitlines(keepends=True) if _plain_breaks(text) else _lines(text)
    changes = [change for change in _changes(text, lines, splices) if change.first < change.last or change.lines]
    if not changes:
        return ""
    file = file_name(name)
    end = "\t\n" if " " in file else "\n"
    parts = [f"--- a/{file}{end}+++ b/{file}{end}"]
    shift = 0
    for group in _groups(changes):
        hunk, grown = _hunk(lines, group, shift)
        parts.append(hunk)
        shift += grown
    return "".join(parts)


def file_name(name: str) -> str:
    """Return a name that needs no quotes in a diff's header."""
    parts = (_UNFIT.sub("_", part) for part in name.replace("\\", "/").split("/"))
    return "/".join(part for part in parts if part.strip(" .")) or "openapi"


def _plain_breaks(text: str) -> bool:
    """Return whether `str.splitlines` splits this text at line feeds only."""
    return text.isascii() and not re.search("[\r\x0b\x0c\x1c-\x1e]", text)


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _changes(text: str, lines: Sequence[str], splices: Iterable[Splice]) -> list[LineChange]:
    """Turn splices into changes of whole lines; splices that share a line are joined."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    changes: list[LineChange] = []
    group: list[Splice] = []
    last = -1
    for splice in splices:
        first = _line_at(starts, splice.start)
        if group and first >= last:
            changes.append(_change(text, lines, starts, group))
            group = []
        group.append(splice)
        last = max(last, _line_at(starts, splice.end) + 1)
    return [*changes, _change(text, lines, starts, group)] if group else changes


def _line_at(starts: Sequence[int], at: int) -> int:
    return min(bisect_right(starts, at) - 1, len(starts) - 2) if len(starts) > 1 else 0


def _change(text: str, lines: Sequence[str], starts: Sequence[int], group: Sequence[Splice]) -> LineChange:
    """Return a change of whole lines without unchanged lines at its edges."""
    first, last = _line_at(starts, group[0].start), _line_at(starts, group[-1].end) + 1
    low, high = starts[first], starts[min(last, len(starts) - 1)]
    moved = [Splice(splice.start - low, splice.end - low, splice.text) for splice in group]
    new, old = _lines(spliced(text[low:high], moved)), lines[first:last]
    same = 0
    while same < min(len(new), len(old)) and new[same] == old[same]:
        same += 1
    tail = 0
    while tail < min(len(new), len(old)) - same and new[-1 - tail] == old[-1 - tail]:
        tail += 1
    return LineChange(first + same, min(last, len(lines)) - tail, tuple(new[same : len(new) - tail]))


def _groups(changes: Sequence[LineChange]) -> list[list[LineChange]]:
    """Group changes whose contexts touch."""
    groups = [[changes[0]]]
    for change in changes[1:]:
        if change.first - groups[-1][-1].last <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(lines: Sequence[str], group: Sequence[LineChange], shift: int) -> tuple[str, int]:
    """Return a hunk, and how many lines it adds."""
    low, high = max(group[0].first - CONTEXT, 0), min(group[-1].last + CONTEXT, len(lines))
    body: list[str] = []
    at = low
    for change in group:
        body += [_row(" ", line) for line in lines[at : change.first]]
        body += [_row("-", line) for line in lines[change.first : change.last]]
        body += [_row("+", line) for line in change.lines]
        at = change.last
    body += [_row(" ", line) for line in lines[at:high]]
    grown = sum(len(change.lines) - (change.last - change.first) for change in group)
    old = _range(low, high - low)
    new = _range(low + shift, high - low + grown)
    return f"@@ -{old} +{new} @@\n" + "".join(body), grown


def _row(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _range(first: int, count: int) -> str:
    start = first + 1 if count else first
    return str(start) if count == 1 else f"{start},{count}"
