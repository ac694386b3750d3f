"""Reads and writes the files of packs: folders that others wrote, texts in any encoding, atomic replacement.

Invariant: only regular files inside the folder are opened, never a pipe, a socket or a device, and a link is followed
only to a file of the same folder. What is kept of a file and its recorded hash come from the same bytes; a file that
has changed since it was read is refused. Decoding never fails: the text has Unix line ends, no byte order mark, no NUL
and no lone surrogate. A written file or folder appears whole: a reader, or a kill, sees the state before or after.
"""

from __future__ import annotations

import codecs
import difflib
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from thresher.core import Conflict, InvalidInput, NotFound
from thresher.knowledge.intents.models import Pack, PackFile

RULES_BYTES: Final = 256 << 10
"""Bytes of one text that are kept: about 64,000 tokens, more than a client can use."""
LINES_BYTES: Final = 1 << 20
"""Bytes of one file of training lines or evaluation queries."""
_FILES: Final = 1_000
_FOLDER_BYTES: Final = 64 << 20
_DEPTH: Final = 8
_CHUNK: Final = 1 << 20
TEXTS: Final = (".md", ".txt", ".mdc")
"""File name endings of texts that a model may read."""
_LINES: Final = ("examples.txt", "not_examples.txt", "evals/eval_queries.json")
_PASSED_OVER: Final = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".DS_Store", ".pytest_cache", ".ruff_cache"}
)
"""Not part of a pack: neither hashed nor served."""
_PASSED_OVER_ENDS: Final = (".pyc", ".pyo", ".swp", ".tmp", "~")
_OPEN: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""A pipe without a writer is opened at once and then refused, instead of blocking."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of a folder.

    Attributes:
        files: All files of the pack, by path.
        texts: The bytes of texts, by path inside the folder.
        refused: What was left out: the path inside the folder, and why.
    """

    files: tuple[PackFile, ...]
    texts: dict[str, bytes]
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _PackEntry:
    """A file: its path inside the folder, and its real path."""

    path: str
    file: Path


def read_folder(folder: Path) -> Contents:
    """Read a folder of at most 1,000 files and 64 MiB.

    Args:
        folder: Absolute, without links.

    Raises:
        InvalidInput: It is too large, or cannot be listed.
    """
    files: list[PackFile] = []
    texts: dict[str, bytes] = {}
    refused: list[tuple[str, str]] = []
    left = _FOLDER_BYTES
    for entry in _entries(folder, refused):
        try:
            octets, file = _read(entry, left)
        except (OSError, InvalidInput) as error:
            refused.append((entry.path, _reason(error)))
            continue
        if (left := left - file.size) < 0:
            raise InvalidInput(
                f"It holds more than {_FOLDER_BYTES >> 20} MiB.", hint="Keep large files outside the folder."
            )
        files.append(file)
        if octets is not None:
            texts[file.path] = octets
    return Contents(tuple(sorted(files, key=lambda file: file.path)), texts, tuple(refused))


def read_file(path: Path) -> Contents:
    """Read a single file of rules.

    Raises:
        InvalidInput: It is not a regular file, or too large.
    """
    try:
        octets, file = _read(_PackEntry(path.name, path), RULES_BYTES)
    except OSError as error:
        raise InvalidInput(_reason(error)) from None
    if octets is None or file.size > RULES_BYTES:
        raise InvalidInput(f"It is larger than {RULES_BYTES >> 10} KiB.", hint="Split it.")
    return Contents((file,), {file.path: octets})


def opened(path: Path) -> BinaryIO:
    """Open a regular file that is not a link.

    Raises:
        InvalidInput: It is not a regular file.
        OSError: It cannot be opened.
    """
    descriptor = os.open(path, _OPEN)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise InvalidInput("It is not a regular file.")


def digest_of(files: tuple[PackFile, ...]) -> str:
    """Return SHA-256 in hex over path, size and hash of every file, in the order of paths."""
    digest = hashlib.sha256()
    for file in files:
        path = file.path.encode("utf-8", "surrogateescape")
        digest.update(b"%d %b %d %b\n" % (len(path), path, file.size, file.sha256.encode()))
    return digest.hexdigest()


def _entries(folder: Path, refused: list[tuple[str, str]]) -> Iterator[_PackEntry]:
    """Yield the files of a folder in a fixed order; what cannot belong to it is added to `refused`."""
    folders, seen = [(folder, "", 0)], 0
    while folders:
        current, prefix, depth = folders.pop()
        try:
            names = _names(current, _FILES - seen)
        except OSError as error:
            if current == folder:
                raise InvalidInput(_reason(error)) from None
            refused.append((prefix.rstrip("/"), _reason(error)))
            continue
        for name in names:
            seen += 1
            path = Path(current, name)
            what = _sort(folder, path, depth)
            if what == "folder":
                folders.append((path, f"{prefix}{name}/", depth + 1))
            elif what == "file":
                yield _PackEntry(f"{prefix}{name}", path.resolve())
            else:
                refused.append((_shown(f"{prefix}{name}"), what))


def _names(folder: Path, limit: int) -> list[str]:
    """Return the sorted names in a folder; reading stops as soon as there are too many."""
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in _PASSED_OVER or entry.name.endswith(_PASSED_OVER_ENDS):
                continue
            names.append(entry.name)
            if len(names) > limit:
                raise InvalidInput(f"It holds more than {_FILES:,} files.", hint="Keep them outside the folder.")
    return sorted(names)


def _sort(folder: Path, path: Path, depth: int) -> str:
    """Return `file`, `folder`, or why it is neither."""
    if not path.name.isprintable() or "\\" in path.name:
        return "its name cannot be shown"
    try:
        if path.is_symlink():
            target = path.resolve(strict=True)
            return "file" if target.is_file() and target.is_relative_to(folder) else "it is a link out of the folder"
        mode = path.lstat().st_mode
    except (OSError, RuntimeError) as error:
        return _reason(error)
    if stat.S_ISDIR(mode):
        return "folder" if depth < _DEPTH else "it is nested too deeply"
    return "file" if stat.S_ISREG(mode) else "it is not a regular file"


def _read(entry: _PackEntry, left: int) -> tuple[bytes | None, PackFile]:
    """Return a file's bytes if it is a text that is kept, else None, and its record."""
    limit = LINES_BYTES if entry.path in _LINES else RULES_BYTES
    digest, size, kept = hashlib.sha256(), 0, bytearray()
    keeps = entry.path.lower().endswith(TEXTS) or entry.path in _LINES
    with opened(entry.file) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if keeps and size <= limit:
                kept += chunk
            if size > left:
                break
    file = PackFile(entry.path, size, digest.hexdigest())
    return (bytes(kept) if keeps and size <= limit else None), file


def _shown(path: str) -> str:
    return path.encode("unicode_escape").decode("ascii") if not path.isprintable() else path


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidInput):
        return error.message
    if isinstance(error, PermissionError):
        return "It may not be read by this account."
    if isinstance(error, OSError) and error.strerror:
        return f"It cannot be read: {error.strerror}."
    return "It cannot be read: a link that leads to itself."


def file_of(pack: Pack, path: str) -> bytes:
    """Return the bytes of one of a pack's files, exactly as when the pack was read.

    Args:
        pack: The pack.
        path: As in `pack.files`: inside the folder, with forward slashes.

    Raises:
        NotFound: The pack has no such file, or it is gone.
        Conflict: It has changed since the pack was read.
    """
    file = next((file for file in pack.files if file.path == path), None)
    if file is None:
        raise NotFound(f"Pack '{pack.name}' has no file '{path[:200]}'.", hint="Its SKILL.md names those it has.")
    target = pack.path if pack.path.name == path and pack.form in ("cursor", "copilot") else pack.path / path
    try:
        real = target.resolve(strict=True)
        if not real.is_relative_to(pack.path):
            raise NotFound(f"'{path}' of pack '{pack.name}' is gone.")
        with opened(real) as stream:
            octets = stream.read(file.size + 1)
    except (OSError, RuntimeError, InvalidInput):
        raise NotFound(f"'{path}' of pack '{pack.name}' is gone or cannot be read.") from None
    if hashlib.sha256(octets).hexdigest() != file.sha256:
        raise Conflict(
            f"'{path}' of pack '{pack.name}' has changed since the pack was read.", hint="Try again in a few seconds."
        )
    return octets


_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT: Final = 200


def decoded(octets: bytes) -> tuple[str, str]:
    """Return the text, and what was corrected (one sentence; empty for plain UTF-8)."""
    text, mended = _text(octets)
    if "\0" in text:
        text, mended = text.replace("\0", ""), mended or "NUL characters were removed."
    return text.replace("\r\n", "\n").replace("\r", "\n"), mended


def _text(octets: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if octets.startswith(mark):
            text = octets[len(mark) :].decode(encoding, "replace")
            return text, "" if encoding == "utf-8" else f"It was read as {encoding.upper()}; write UTF-8."
    if encoding := _wide(octets[:_LOOKED_AT]):
        return octets.decode(encoding, "replace"), f"It was read as {encoding.upper()}; write UTF-8."
    try:
        return octets.decode("utf-8"), ""
    except UnicodeDecodeError:
        return octets.decode("cp1252", "replace"), "It is not UTF-8 and was read as Windows-1252; write UTF-8."


def _wide(head: bytes) -> str:
    """Recognise UTF-16 without a mark: every second byte of Latin text is zero."""
    if len(head) < 4:
        return ""
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[start::2].count(0), head[1 - start :: 2].count(0)
        if zeros > 0.7 * (len(head) // 2) and not others:
            return encoding
    return ""


def line_end(octets: bytes) -> bytes:
    """Return the most frequent line end of the file."""
    pairs = octets.count(b"\r\n")
    counts = {b"\n": octets.count(b"\n") - pairs, b"\r\n": pairs, b"\r": octets.count(b"\r") - pairs}
    return max(counts, key=lambda end: counts[end])


Note: TypeAlias = Callable[[dict[str, object], str], None]
"""Receives a change of a file, `{what, name, change, before, after}`, and its unified diff."""

_note: ContextVar[Note | None] = ContextVar("note", default=None)


@contextmanager
def rehearsed_files(note: Note) -> Generator[None]:
    """Within the block, note what would be written and deleted; write and delete nothing.

    Args:
        note: Called for each file that would change.
    """
    before = _note.set(note)
    try:
        yield
    finally:
        _note.reset(before)


def _rehearsed(path: Path, after: bytes | None) -> bool:
    """Note a change of a file instead of making it; returns whether that was done."""
    if (note := _note.get()) is None:
        return False
    before = path.read_bytes() if path.is_file() else None
    if before != after:
        change = "added" if before is None else "removed" if after is None else "changed"
        old, new = ((octets or b"").decode("utf-8", "replace").splitlines() for octets in (before, after))
        diff = difflib.unified_diff(old, new, f"a/{path.name}", f"b/{path.name}", lineterm="")
        sizes = [{} if octets is None else {"octets": len(octets)} for octets in (before, after)]
        row: dict[str, object] = {"what": "file", "name": str(path), "change": change}
        note(row | {"before": sizes[0], "after": sizes[1]}, "\n".join(diff))
    return True


def delete_file(path: Path) -> bool:
    """Delete a file, or the target of a link.

    Returns:
        Whether it was deleted, and not merely noted.

    Raises:
        InvalidInput: It cannot be deleted.
    """
    if _rehearsed(path, None):
        return False
    try:
        path.resolve().unlink()
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be deleted: {error.strerror or error}.", hint="Check its permissions."
        ) from None
    return True


def place_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder beside its final path and move it there; an existing one is replaced.

    Args:
        folder: Its path.
        files: Bytes by path inside the folder, with forward slashes.

    Raises:
        InvalidInput: It cannot be written.
    """
    gone = [file for file in folder.rglob("*") if file.is_file() and file.relative_to(folder).as_posix() not in files]
    if all([*(_rehearsed(file, None) for file in gone), *(_rehearsed(folder / path, files[path]) for path in files)]):
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = _beside(folder)
        try:
            for path, octets in files.items():
                file = fresh / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(octets)
            _swap(fresh, folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be written: {error.strerror or error}.", hint="Check its permissions."
        ) from None


def _swap(fresh: Path, folder: Path) -> None:
    if not (folder.exists() or folder.is_symlink()):
        fresh.rename(folder)
        return
    old = _beside(folder)
    folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        old.rename(folder)
        raise
    if old.is_symlink():
        old.unlink()
    else:
        shutil.rmtree(old, ignore_errors=True)


def place_file(path: Path, octets: bytes) -> None:
    """Write a file beside its final path and move it there, with the mode of the one it replaces.

    A link is followed: its target is replaced, and the link stays.

    Raises:
        InvalidInput: It cannot be written.
    """
    if _rehearsed(path, octets):
        return
    try:
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = _beside(path)
        try:
            with fresh.open("xb") as stream:
                stream.write(octets)
                stream.flush()
                os.fsync(stream.fileno())
            if path.exists():
                shutil.copymode(path, fresh)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be written: {reason}.", hint="Check its permissions.") from None


def _beside(path: Path) -> Path:
    """Return a new path in the same folder that a search for packs skips."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
