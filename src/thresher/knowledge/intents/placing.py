"""Puts files and folders in place as a whole or not at all.

Invariant: a reader, or a kill in between, sees a file as it was before or as it is afterwards; a folder that makes way
is moved as a whole, so that it is never seen in part.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from thresher.core import InvalidInput


def place_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder beside its place and move it there; one that is there already makes way.

    Args:
        folder: Its place.
        files: Octets by path inside the folder, with forward slashes.

    Raises:
        InvalidInput: It cannot be written.
    """
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
