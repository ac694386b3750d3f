"""Writes into a client's instructions file what makes it call `process_prompt` first, and takes it out again.

Invariant: what stands outside the markers stays octet for octet: line ends, byte order mark, encoding, a missing last
line end. A file whose markers are damaged is not touched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from thresher.core import InvalidInput
from thresher.knowledge.intents.folders import opened
from thresher.knowledge.intents.placing import delete_file, place_file

Client: TypeAlias = Literal["copilot", "cursor", "claude", "agents"]
FILES: Final[dict[Client, str]] = {
    "copilot": ".github/copilot-instructions.md",
    "cursor": ".cursor/rules/thresher.mdc",
    "claude": "CLAUDE.md",
    "agents": "AGENTS.md",
}
"""Where each client reads its instructions, below the project."""

BEGIN: Final = b"<!-- thresher: begin -->"
BEGIN_FILE: Final = b"<!-- thresher: begin (file made by thresher) -->"
"""In a file that was not there before: such a file is deleted when nothing else is left in it."""
END: Final = b"<!-- thresher: end -->"
TEXT: Final = """\
## Thresher

Before you answer a message that asks you to do or look up something, call Thresher's tool `process_prompt` with the
message as the person wrote it. Do so again when the topic changes.

- It returns rules: follow them, and use the tools that it names.
- It returns `PASS_THROUGH`: answer as you would without it.
- It fails or is not there: say so in one sentence, and go on without it.\
"""
_CURSOR_HEAD: Final = b"""\
---
description: Call Thresher's process_prompt first
alwaysApply: true
---
"""
_MARK: Final = re.compile(rb"<!--[ \t]*thresher:[ \t]*(begin|end)\b[^\r\n>]*?-->")
_TRACE: Final = re.compile(rb"<!-*[ \t]*thresher:[ \t]*(?:begin|end)\b|thresher:[ \t]*(?:begin|end)[^\r\n]{0,40}-->")
"""What is left of a marker when its comment is damaged."""
_LARGEST: Final = 8 << 20
_BOM: Final = b"\xef\xbb\xbf"
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done to a client's file.

    Attributes:
        path: The file.
        did: `created`, `added`, `updated`, `removed` (the lines), `deleted` (the file, which held nothing else) or
            `unchanged`.
    """

    path: Path
    did: Literal["created", "added", "updated", "removed", "deleted", "unchanged"]


def install_lines(client: Client, project: Path) -> Installed:
    """Put the lines into the client's file, or bring those that are there up to date.

    Raises:
        InvalidInput: The file cannot be read or written, or its markers are damaged.
    """
    path = _place(client, project)
    octets = _read(path)
    if octets is None:
        head = _CURSOR_HEAD if client == "cursor" else b""
        place_file(path, head + _block(BEGIN_FILE, b"\n") + b"\n")
        return Installed(path, "created")
    changed = with_lines(octets, str(path))
    if changed == octets:
        return Installed(path, "unchanged")
    place_file(path, changed)
    return Installed(path, "updated" if _MARK.search(octets) else "added")


def remove_lines(client: Client, project: Path) -> Installed:
    """Take the lines out again, and the file too where it was made for them and holds nothing else.

    Raises:
        InvalidInput: As `install_lines`.
    """
    path = _place(client, project)
    octets = _read(path)
    if octets is None or (left := without_lines(octets, str(path))) == octets:
        return Installed(path, "unchanged")
    if BEGIN_FILE in octets and left.strip() in (b"", _CURSOR_HEAD.strip()):
        _delete(path, project)
        return Installed(path, "deleted")
    place_file(path, left)
    return Installed(path, "removed")


def with_lines(octets: bytes, name: str) -> bytes:
    """A file's octets with the lines in them, once.

    Lines between markers are replaced where they stand; new ones go to the end. They begin a line of their own unless
    the last line has no end: then they begin behind its last letter, so that no octet of it changes.

    Args:
        octets: The file.
        name: What to call it in an error.

    Raises:
        InvalidInput: Its markers are damaged, or it is not a text of single octets.
    """
    span, end = _span(octets, name), _line_end(octets)
    if span is not None:
        begin = BEGIN_FILE if octets.startswith(BEGIN_FILE, span[0]) else BEGIN
        return octets[: span[0]] + _block(begin, end) + octets[span[1] :]
    if _starts_line(octets, len(octets)):
        return octets + _block(BEGIN, end) + end
    return octets + _block(BEGIN, end)


def without_lines(octets: bytes, name: str) -> bytes:
    """A file's octets without what `with_lines` put there; unchanged where there are no markers.

    Args:
        octets: The file.
        name: What to call it in an error.

    Raises:
        InvalidInput: As `with_lines`.
    """
    span = _span(octets, name)
    if span is None:
        return octets
    before, after = octets[: span[0]], octets[span[1] :]
    if _starts_line(octets, span[0]):
        after = after.removeprefix(next((end for end in (b"\r\n", b"\n", b"\r") if after.startswith(end)), b""))
    return before + after


def _span(octets: bytes, name: str) -> tuple[int, int] | None:
    """From the first octet of the markers to the one behind the last; None without any."""
    if octets.startswith(_WIDE) or b"\0" in octets:
        raise InvalidInput(f"{name} is not UTF-8.", hint="Save it as UTF-8, then try again.")
    marks = list(_MARK.finditer(octets))
    if len(_TRACE.findall(octets)) != len(marks) or [mark[1] for mark in marks] not in ([], [b"begin", b"end"]):
        raise InvalidInput(
            f"The markers in {name} are damaged; nothing was changed.",
            hint=f"Leave one '{BEGIN.decode()}' and one '{END.decode()}' after it, or take out all of it.",
        )
    return (marks[0].start(), marks[1].end()) if marks else None


def _starts_line(octets: bytes, place: int) -> bool:
    before = octets[:place]
    return before.endswith((b"\n", b"\r")) or before in (b"", _BOM)


def _line_end(octets: bytes) -> bytes:
    """The commonest line end of the file."""
    pairs = octets.count(b"\r\n")
    counts = {b"\n": octets.count(b"\n") - pairs, b"\r\n": pairs, b"\r": octets.count(b"\r") - pairs}
    return max(counts, key=lambda end: counts[end])


def _block(begin: bytes, end: bytes) -> bytes:
    return end.join([begin, *TEXT.encode("ascii").split(b"\n"), END])


def _place(client: Client, project: Path) -> Path:
    if not project.is_dir():
        raise InvalidInput(f"{project} is no folder.", hint="Name the project's folder: --project DIR.")
    return project / FILES[client]


def _read(path: Path) -> bytes | None:
    """The file's octets; None where nothing is, a link that leads nowhere included."""
    try:
        with opened(path.resolve()) as stream:
            octets = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except InvalidInput:
        raise InvalidInput(f"{path} is no regular file.", hint="Move it away.") from None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be read: {reason}.", hint="Look at its rights.") from None
    if len(octets) > _LARGEST:
        raise InvalidInput(f"{path} is larger than {_LARGEST >> 20} MiB.", hint="Is it the right file?")
    return octets


def _delete(path: Path, project: Path) -> None:
    """Delete a file, and the folders of the client above it that are empty then."""
    if not delete_file(path):
        return
    for folder in path.parents:
        if folder == project or next(folder.iterdir(), None) is not None:
            return
        folder.rmdir()
