"""Puts files and folders in place as a whole or not at all.

Invariant: a reader, or a kill in between, sees a file as it was before or as it is afterwards; a folder that makes way
is moved as a whole, so that it is never seen in part.
"""

from __future__ import annotations

import difflib
import os
import secrets
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from thresher.core import InvalidInput

Note: TypeAlias = Callable[[dict[str, object], str], None]
"""Takes a change of a file, `{what, name, change, before, after}`, and its unified diff."""

_note: ContextVar[Note | None] = ContextVar("note", default=None)


@contextmanager
def rehearsed_files(note: Note) -> Generator[None]:
    """Within the block, note what would be written and deleted, and write and delete nothing.

    Args:
        note: Called for each file that would be different.
    """
    before = _note.set(note)
    try:
        yield
    finally:
        _note.reset(before)


def _rehearsed(path: Path, after: bytes | None) -> bool:
    """Whether a change of a file was noted in place of being made."""
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
    """Delete a file, or what a link leads to.

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
            f"{path} cannot be deleted: {error.strerror or error}.", hint="Look at its rights."
        ) from None
    return True


def place_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder beside its place and move it there; one that is there already makes way.

    Args:
        folder: Its place.
        files: Octets by path inside the folder, with forward slashes.

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
            f"{folder} cannot be written: {error.strerror or error}.", hint="Look at its rights."
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
    """Write a file beside its place and move it there, with the mode of the one it replaces.

    A link is followed: what it leads to is replaced, and the link stays.

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
        raise InvalidInput(f"{path} cannot be written: {reason}.", hint="Look at its rights.") from None


def _beside(path: Path) -> Path:
    """A name beside a place, on the same file system, that a search for packs passes over."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
