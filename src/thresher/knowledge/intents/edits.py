"""Edits of the packs that a person keeps on this machine: their texts, what an edit would do, and writing it.

Invariant: nothing is written unless the pack is, byte for byte, what the person saw. Packs of others are not written:
those that ship or are installed would be lost with the next version, and those of a project are the project's.
"""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thresher.core import Conflict, InvalidInput, NotAllowed
from thresher.knowledge.intents.files import (
    LINES_BYTES,
    RULES_BYTES,
    decoded,
    file_of,
    line_end,
    place_file,
)
from thresher.knowledge.intents.models import Origin, Pack
from thresher.knowledge.intents.reader import EXAMPLES, NOT_EXAMPLES, RULES, ReadPack, read_pack

_OTHERS: Final[Mapping[Origin, str]] = {
    "built-in": "It ships with Thresher, and the next version would replace what is changed here.",
    "entry point": "It belongs to an installed Python package.",
    "project": "It belongs to a project: edit it there, then trust it again.",
}
_LONGEST: Final = 2_000
"""Lines of a difference."""


@dataclass(frozen=True, slots=True)
class PackTexts:
    """The texts of a pack that people write; empty where there is no such file.

    Attributes:
        rules: `SKILL.md`, or the rule file: front matter and body.
        examples: `examples.txt`.
        not_examples: `not_examples.txt`.
    """

    rules: str
    examples: str = ""
    not_examples: str = ""


def texts_of(pack: Pack) -> PackTexts:
    """Return the texts of a pack as they were when it was read.

    Raises:
        NotFound: A file is gone.
        Conflict: A file has changed since.
    """
    return PackTexts(*(decoded(octets)[0] for octets in _octets(pack).values()))


def lock_of(pack: Pack) -> str:
    """Return why a pack cannot be edited here; empty if it can."""
    if pack.path.is_file():
        return "It is a rule file of another program: edit it there."
    if (reason := _OTHERS.get(pack.origin)) is not None:
        return reason
    fixed = next((path for path in (pack.path, *map(pack.path.joinpath, _names(pack))) if not _is_writable(path)), None)
    return "" if fixed is None else f"{fixed} cannot be written by this account."


def _is_writable(path: Path) -> bool:
    """Return whether a file may be written: by its mode, too, which does not bind root."""
    return not path.exists() or (path.stat().st_mode & 0o222 != 0 and os.access(path, os.W_OK))


def _names(pack: Pack) -> tuple[str, str, str]:
    """The files of the texts, inside the folder."""
    if pack.path.is_file():
        return pack.path.name, EXAMPLES, NOT_EXAMPLES
    written = {file.path for file in pack.files}
    near = next((name for name in sorted(written) if name.lower() == RULES.lower()), RULES)
    return RULES if RULES in written else near, EXAMPLES, NOT_EXAMPLES


def _octets(pack: Pack) -> dict[str, bytes]:
    written = {file.path for file in pack.files}
    return {name: file_of(pack, name) if name in written else b"" for name in _names(pack)}


def _changed(pack: Pack, texts: PackTexts) -> dict[str, tuple[bytes, bytes]]:
    """The files that an edit changes, each as it was and as it will be; line ends stay what they were.

    Raises:
        InvalidInput: A text is too long.
        NotFound: A file is gone.
        Conflict: A file has changed since the pack was read.
    """
    wanted = (texts.rules, texts.examples, texts.not_examples)
    changed: dict[str, tuple[bytes, bytes]] = {}
    for (name, octets), text, most in zip(
        _octets(pack).items(), wanted, (RULES_BYTES, *[LINES_BYTES] * 2), strict=True
    ):
        plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
        if plain == decoded(octets)[0]:
            continue
        fresh = plain.encode("utf-8", "replace").replace(b"\n", line_end(octets))
        if len(fresh) > most:
            raise InvalidInput(f"{name} is larger than {most >> 10} KiB.", hint="Move details into files beside it.")
        changed[name] = octets, fresh
    return changed


def difference(pack: Pack, texts: PackTexts) -> str:
    """Return what an edit changes as a unified difference; empty if nothing.

    Raises:
        InvalidInput: A text is too long.
        NotFound: A file is gone.
        Conflict: A file has changed since the pack was read.
    """
    return "\n".join(
        unified_difference(decoded(old)[0], decoded(new)[0], name) for name, (old, new) in _changed(pack, texts).items()
    )


def unified_difference(before: str, after: str, name: str) -> str:
    """Return two texts of a file as a unified difference, of bounded length."""
    lines = list(
        difflib.unified_diff(before.split("\n"), after.split("\n"), f"a/{name}", f"b/{name}", lineterm="", n=2)
    )
    return "\n".join(
        lines if len(lines) <= _LONGEST else [*lines[:_LONGEST], f"... {len(lines) - _LONGEST} more lines"]
    )


@contextmanager
def edited(pack: Pack, texts: PackTexts) -> Generator[ReadPack]:
    """Read a pack as it would be with other texts, from a copy of its folder that lasts as long as the block.

    Raises:
        InvalidInput: It could not be used as a pack, or a text is too long.
        NotFound: A file is gone.
        Conflict: A file has changed since the pack was read.
    """
    changed = _changed(pack, texts)
    files = {file.path: file_of(pack, file.path) for file in pack.files}
    files |= {name: fresh for name, (_, fresh) in changed.items()}
    with tempfile.TemporaryDirectory(prefix="thresher-edit-") as parent:
        folder = Path(parent).resolve() / pack.path.name
        for name, octets in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(octets)
        yield read_pack(folder, pack.origin)


def save(pack: Pack, texts: PackTexts, digest: str, *, rehearsal: bool = False) -> tuple[str, ...]:
    """Write the texts of a pack, each file at once; if one cannot be written, those before it are put back.

    Args:
        pack: As it was read last.
        texts: All its texts.
        digest: `Pack.digest` of what the person saw.
        rehearsal: Whether to check everything and write nothing.

    Returns:
        The files that change.

    Raises:
        NotAllowed: It cannot be edited here.
        Conflict: Its content is not what the person saw.
        InvalidInput: It could not be used as a pack any longer, or a file cannot be written.
    """
    if reason := lock_of(pack):
        raise NotAllowed(f"The pack '{pack.name}' is not edited here. {reason}", hint="Copy it into a folder of yours.")
    if digest != pack.digest:
        raise Conflict(
            f"The pack '{pack.name}' has changed since it was shown; nothing was written.",
            hint="Load it again, and repeat the edit.",
        )
    with edited(pack, texts):
        changed = _changed(pack, texts)
    done: list[str] = []
    try:
        for name, (_, fresh) in () if rehearsal else changed.items():
            place_file(pack.path / name, fresh)
            done.append(name)
    except InvalidInput:
        for name in done:
            place_file(pack.path / name, changed[name][0])
        raise
    return tuple(changed)


_KEPT_FILE: Final = 256 << 10
_KEPT: Final = 2 << 20
"""Bytes of one text, and of all texts of a pack, that are kept when it is trusted."""


def kept_texts(pack: Pack) -> dict[str, str | None]:
    """Return the texts of a pack's files, to compare later content with; None for one that is no text, or too long.

    Raises:
        NotFound: A file is gone.
        Conflict: A file has changed since the pack was read.
    """
    kept: dict[str, str | None] = {}
    left = _KEPT
    for file in pack.files:
        kept[file.path] = None
        if file.size > min(_KEPT_FILE, left):
            continue
        try:
            text = file_of(pack, file.path).decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            kept[file.path], left = text, left - file.size
    return kept


def compared(before: Mapping[str, str | None], pack: Pack) -> str:
    """Return how a pack differs from texts that were kept, as a unified difference.

    Args:
        before: By path; see `kept_texts`.
        pack: The pack as it is.

    Raises:
        NotFound: A file is gone.
        Conflict: A file has changed since the pack was read.
    """
    after = kept_texts(pack)
    parts: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, ""), after.get(name, "")
        if old is None or new is None:
            parts.append(f"{name}: it is no text, or too long to be compared; look at the file.")
        elif old != new:
            parts.append(unified_difference(old, new, name))
    return "\n".join(parts)
