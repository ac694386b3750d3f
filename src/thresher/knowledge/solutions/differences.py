"""A change as a unified diff, as `git diff` shows it.

Invariant: pure, and bounded: a long diff ends with how much is missing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from thresher.knowledge.solutions.workspace import FileChange

LONGEST: Final = 400
"""Lines of a diff that are shown; a person reads no more, and `git diff` has the rest."""
_CONTEXT: Final = 3
_NO_FINAL_LINE_FEED: Final = "\\ No newline at end of file"


def unified(changes: Sequence[FileChange], longest: int = LONGEST) -> str:
    """A unified diff of all files, at most so many lines.

    One file that goes and one that comes in its place are shown as what they are, a file that was renamed.
    """
    gone = [change for change in changes if change.after is None]
    come = [change for change in changes if change.before is None]
    lines: list[str] = []
    if len(gone) == len(come) == 1:
        lines.extend(_file(gone[0].path, come[0].path, gone[0].before, come[0].after))
        changes = [change for change in changes if change not in (gone[0], come[0])]
    for change in changes:
        lines.extend(_file(change.path, change.path, change.before, change.after))
    if len(lines) > longest:
        lines = [*lines[:longest], f"... {len(lines) - longest} more lines"]
    return "\n".join(lines)


def _file(old: str, new: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    if before == after:
        yield from (f"rename from {old}", f"rename to {new}")
        return
    if old != new:
        yield from (f"rename from {old}", f"rename to {new}")
    was, now = _lines(before), _lines(after)
    skipped = _alike(was, now)
    ending = _alike(was[skipped:][::-1], now[skipped:][::-1])
    start = max(skipped - _CONTEXT, 0)
    end = max(ending - _CONTEXT, 0)
    hunks = difflib.unified_diff(
        was[start : len(was) - end],
        now[start : len(now) - end],
        f"a/{old}" if before is not None else "/dev/null",
        f"b/{new}" if after is not None else "/dev/null",
        n=_CONTEXT,
        lineterm="",
    )
    for line in hunks:
        yield from (_moved(line, start) if line.startswith("@@") else line).split("\n")


def _alike(was: Sequence[str], now: Sequence[str]) -> int:
    """How many lines are the same from the start on; what is the same need not be compared in the square."""
    count = 0
    for one, other in zip(was, now, strict=False):
        if one != other:
            break
        count += 1
    return count


def _moved(hunk: str, lines: int) -> str:
    """The head of a hunk, as many lines further down as were left out before."""

    def later(part: str) -> str:
        first, _, count = part[1:].partition(",")
        return f"{part[0]}{int(first) + lines}" + (f",{count}" if count else "")

    _, was, now, _ = hunk.split(" ", 3)
    return f"@@ {later(was)} {later(now)} @@"


def _lines(content: bytes | None) -> list[str]:
    """Lines by line feeds alone, the last one marked where it has none."""
    if not content:
        return []
    lines = content.decode(errors="replace").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n{_NO_FINAL_LINE_FEED}"]
