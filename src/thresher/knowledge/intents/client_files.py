"""Files written for other clients: packs as Agent Skills, and lines that make a client call `process_prompt` first.

Invariant: an exported folder is valid by the specification (agentskills.io): front matter of known fields only, the
name of the folder, lengths kept. A folder that was not exported, or was changed since, is overwritten only by request;
without one nothing is written at all. In a client's file everything outside the markers stays the same byte for byte:
line ends, byte order mark, encoding, a missing last line end. A file with damaged markers is not touched.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from thresher.core import Conflict, InvalidInput
from thresher.knowledge.intents.files import (
    decoded,
    delete_file,
    digest_of,
    file_of,
    line_end,
    opened,
    place_file,
    place_folder,
    read_folder,
)
from thresher.knowledge.intents.front_matter import is_name, split
from thresher.knowledge.intents.models import Pack, PackFile
from thresher.knowledge.intents.reader import LONGEST_COMPATIBILITY, LONGEST_DESCRIPTION, RULES

LEDGER: Final = ".thresher-export.json"
"""Beside the folders: what was exported, by folder, with its digest, so that a changed folder is recognised."""
_FIELDS: Final = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export.

    Attributes:
        written: Folders that are new or were updated.
        unchanged: Folders that had exactly this content already, including a pack's own folder.
        left: Packs without rules, which cannot be a skill.
    """

    written: tuple[Path, ...]
    unchanged: tuple[Path, ...]
    left: tuple[str, ...] = ()


def export_skills(packs: Sequence[Pack], target: Path, *, force: bool = False) -> Exported:
    """Write each pack as a skill.

    Args:
        packs: Packs of different names.
        target: The folder of skills; created if it does not exist.
        force: Overwrite folders that were not exported, or were changed since.

    Raises:
        Conflict: There are such folders, and nothing was written; or a pack has changed since it was read.
        InvalidInput: A file cannot be written.
    """
    whole = [pack for pack in packs if pack.rules.strip()]
    left = tuple(pack.name for pack in packs if not pack.rules.strip())
    ledger = _ledger(target)
    wanted = {pack.name: skill_files(pack) for pack in whole}
    digests = {name: _digest(files) for name, files in wanted.items()}
    present = {name: _present(target / name) for name in wanted}
    stale = [name for name in wanted if present[name] != digests[name]]
    foreign = [name for name in stale if present[name] is not None and present[name] != ledger.get(name)]
    if foreign and not force:
        raise Conflict(
            f"Not exported by Thresher, or changed since: {', '.join(str(target / name) for name in foreign)}. "
            "Nothing was written.",
            hint="Move them away, or overwrite them: --force.",
        )
    for name in stale:
        place_folder(target / name, wanted[name])
    if whole and ledger != (merged := {**ledger, **digests}):
        place_file(target / LEDGER, (json.dumps(merged, indent=2, sort_keys=True) + "\n").encode())
    unchanged = tuple(target / name for name in wanted if name not in stale)
    return Exported(tuple(target / name for name in stale), unchanged, left)


def skill_files(pack: Pack) -> dict[str, bytes]:
    """Return the files of a pack's skill, by path; its own `SKILL.md` if that is valid.

    Raises:
        NotFound: A file is gone.
        Conflict: A file has changed since the pack was read.
    """
    if pack.path.is_file():
        return {RULES: skill_text(pack).encode()}
    files = {file.path: file_of(pack, file.path) for file in pack.files}
    written = next((name for name in files if name.lower() == RULES.lower()), RULES)
    own = files.pop(written)
    valid = written == RULES and is_valid(own, pack.name)
    return {RULES: own if valid else skill_text(pack, _further(own)).encode(), **files}


def is_valid(octets: bytes, folder: str) -> bool:
    """Return whether a `SKILL.md` is valid by the specification.

    Args:
        octets: The file.
        folder: The name of its folder.
    """
    text, mended = decoded(octets)
    if mended or not text.startswith("---\n"):
        return False
    matter = split(text)
    fields = matter.fields
    texts = all(isinstance(value, str) for key, value in fields.items() if key != "metadata")
    if matter.mended or not texts or not _FIELDS.issuperset(fields) or "" in fields.values():
        return False
    metadata = fields.get("metadata", {})
    return (
        fields.get("name") == folder
        and is_name(folder)
        and 0 < len(str(fields.get("description", ""))) <= LONGEST_DESCRIPTION
        and len(str(fields.get("compatibility", ""))) <= LONGEST_COMPATIBILITY
        and isinstance(metadata, dict)
        and all(isinstance(value, str) for value in metadata.values())
    )


def skill_text(pack: Pack, further: Mapping[str, str] | None = None) -> str:
    """Return a valid `SKILL.md`; texts that are too long are cut at a word.

    Args:
        pack: The pack.
        further: Fields of foreign front matter, which go into the metadata.
    """
    metadata = {**(further or {}), **pack.metadata}
    if pack.globs:
        metadata["globs"] = ", ".join(pack.globs)
    fields = {
        "name": pack.name,
        "description": _fitting(pack.description or pack.name, LONGEST_DESCRIPTION),
        "license": pack.license,
        "compatibility": _fitting(pack.compatibility, LONGEST_COMPATIBILITY),
        "allowed-tools": " ".join(pack.allowed_tools),
    }
    lines = [f"{key}: {_scalar(value)}" for key, value in fields.items() if value]
    if metadata:
        lines += ["metadata:", *(f"  {_scalar(key)}: {_scalar(value)}" for key, value in sorted(metadata.items()))]
    return "\n".join(["---", *lines, "---", "", pack.rules.strip(), ""])


def _further(octets: bytes) -> dict[str, str]:
    """Return the text fields that the specification does not know."""
    fields = split(decoded(octets)[0]).fields
    return {key: value for key, value in fields.items() if key not in _FIELDS and isinstance(value, str) and value}


def _scalar(text: str) -> str:
    """Return a YAML scalar: a JSON string is one, except for characters that YAML wants escaped."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _fitting(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rsplit(' ', 1)[0]}…"


def _digest(files: Mapping[str, bytes]) -> str:
    entries = (PackFile(path, len(octets), hashlib.sha256(octets).hexdigest()) for path, octets in files.items())
    return digest_of(tuple(sorted(entries, key=lambda file: file.path)))


def _present(folder: Path) -> str | None:
    """Return the digest of what is at a path; empty if it is unreadable, None if nothing is."""
    if not folder.exists() and not folder.is_symlink():
        return None
    try:
        contents = read_folder(folder.resolve())
    except (InvalidInput, OSError, RuntimeError):
        return ""
    return "" if contents.refused else digest_of(contents.files)


def _ledger(target: Path) -> dict[str, str]:
    try:
        with opened(target / LEDGER) as stream:
            entries: Any = json.load(stream)
    except (OSError, ValueError, InvalidInput, RecursionError):
        return {}
    if not isinstance(entries, dict):
        return {}
    return {key: value for key, value in cast("dict[str, Any]", entries).items() if isinstance(value, str)}


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
"""In a file that did not exist before: such a file is deleted when nothing else is left in it."""
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
    """The result for a client's file.

    Attributes:
        path: The file.
        did: `created`, `added`, `updated`, `removed` (the lines), `deleted` (the file, which held nothing else) or
            `unchanged`.
    """

    path: Path
    did: Literal["created", "added", "updated", "removed", "deleted", "unchanged"]


def install_lines(client: Client, project: Path) -> Installed:
    """Add the lines to the client's file, or update those in it.

    Raises:
        InvalidInput: The file cannot be read or written, or its markers are damaged.
    """
    path = _client_file(client, project)
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
    """Remove the lines, and also the file if it was created for them and holds nothing else.

    Raises:
        InvalidInput: As for `install_lines`.
    """
    path = _client_file(client, project)
    octets = _read(path)
    if octets is None or (left := without_lines(octets, str(path))) == octets:
        return Installed(path, "unchanged")
    if BEGIN_FILE in octets and left.strip() in (b"", _CURSOR_HEAD.strip()):
        _delete(path, project)
        return Installed(path, "deleted")
    place_file(path, left)
    return Installed(path, "removed")


def with_lines(octets: bytes, name: str) -> bytes:
    """Return a file's bytes with the lines in them, once.

    Lines between markers are replaced in place; new ones go to the end. They start on a line of their own unless the
    last line has no end: then they start behind its last letter, so that no byte of it changes.

    Args:
        octets: The file.
        name: Its name in an error.

    Raises:
        InvalidInput: Its markers are damaged, or it is not a text of single bytes.
    """
    span, end = _span(octets, name), line_end(octets)
    if span is not None:
        begin = BEGIN_FILE if octets.startswith(BEGIN_FILE, span[0]) else BEGIN
        return octets[: span[0]] + _block(begin, end) + octets[span[1] :]
    if _starts_line(octets, len(octets)):
        return octets + _block(BEGIN, end) + end
    return octets + _block(BEGIN, end)


def without_lines(octets: bytes, name: str) -> bytes:
    """Return a file's bytes without what `with_lines` added; unchanged if there are no markers.

    Args:
        octets: The file.
        name: Its name in an error.

    Raises:
        InvalidInput: As for `with_lines`.
    """
    span = _span(octets, name)
    if span is None:
        return octets
    before, after = octets[: span[0]], octets[span[1] :]
    if _starts_line(octets, span[0]):
        after = after.removeprefix(next((end for end in (b"\r\n", b"\n", b"\r") if after.startswith(end)), b""))
    return before + after


def _span(octets: bytes, name: str) -> tuple[int, int] | None:
    """Return the range from the first byte of the markers to the one behind the last; None without any."""
    if octets.startswith(_WIDE) or b"\0" in octets:
        raise InvalidInput(f"{name} is not UTF-8.", hint="Save it as UTF-8, then try again.")
    marks = list(_MARK.finditer(octets))
    if len(_TRACE.findall(octets)) != len(marks) or [mark[1] for mark in marks] not in ([], [b"begin", b"end"]):
        raise InvalidInput(
            f"The markers in {name} are damaged; nothing was changed.",
            hint=f"Leave one '{BEGIN.decode()}' and one '{END.decode()}' after it, or take out all of it.",
        )
    return (marks[0].start(), marks[1].end()) if marks else None


def _starts_line(octets: bytes, position: int) -> bool:
    before = octets[:position]
    return before.endswith((b"\n", b"\r")) or before in (b"", _BOM)


def _block(begin: bytes, end: bytes) -> bytes:
    return end.join([begin, *TEXT.encode("ascii").split(b"\n"), END])


def _client_file(client: Client, project: Path) -> Path:
    if not project.is_dir():
        raise InvalidInput(f"{project} is not a folder.", hint="Name the project's folder: --project DIR.")
    return project / FILES[client]


def _read(path: Path) -> bytes | None:
    """Return the file's bytes; None if it does not exist, or is a link that leads nowhere."""
    try:
        with opened(path.resolve()) as stream:
            octets = stream.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except InvalidInput:
        raise InvalidInput(f"{path} is not a regular file.", hint="Move it away.") from None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be read: {reason}.", hint="Check its permissions.") from None
    if len(octets) > _LARGEST:
        raise InvalidInput(f"{path} is larger than {_LARGEST >> 20} MiB.", hint="Is it the right file?")
    return octets


def _delete(path: Path, project: Path) -> None:
    """Delete a file, and the client's folders above it that are then empty."""
    if not delete_file(path):
        return
    for folder in path.parents:
        if folder == project or next(folder.iterdir(), None) is not None:
            return
        folder.rmdir()
