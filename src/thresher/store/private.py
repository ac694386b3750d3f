"""Files that only their owner can read, and the data folder that holds them.

Invariant: a private file appears whole or not at all, with mode 0600, and the first writer wins.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from thresher.core import ConfigurationError
from thresher.store.account import Account, owner_name

LOCK_NAME = "owner.lock"


@contextmanager
def explained(folder: Path) -> Generator[None]:
    """Turn errors of the operating system below a data folder into a `ConfigurationError` with a hint."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"The data folder {folder} cannot be used: {error.strerror or error}"
            + (f" ({error.filename})." if error.filename else "."),
            hint="Free or correct that path, or set THRESHER_DATA_DIR to a folder that you may write.",
        ) from error


def read_or_create(path: Path, fresh: bytes) -> bytes:
    """Return the content of a private file; if it does not exist, it is created with `fresh`.

    If several processes create it at once, one wins and all read the same bytes.

    Raises:
        ConfigurationError: The file cannot be read or written, or others may read it.
    """
    with explained(path.parent):
        if not path.exists():
            draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            write_new(draft, fresh)
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        _check_mode(path)
        return path.read_bytes()


def write_new(path: Path, content: bytes, account: Account | None = None) -> None:
    """Write a private file that must not exist yet, and make an account its owner."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        if account is not None and account.switched:
            os.fchown(file.fileno(), account.uid, account.groups[0])
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can enter, and its missing parents likewise.

    The mode given to `Path.mkdir` applies to the last folder only.

    Raises:
        OSError: It cannot be created.
    """
    for one in [*reversed(folder.parents), folder]:
        if not one.is_dir():
            one.mkdir(mode=0o700, exist_ok=True)


def _check_mode(path: Path) -> None:
    if sys.platform != "win32" and path.stat().st_mode & 0o077:
        raise ConfigurationError(f"Others may read {path}, which holds secrets.", hint=f"Run: chmod 600 {path}")


def prepare_folder(folder: Path, account: Account) -> Path:
    """Create or check the data folder; returns its real path.

    A folder that is new, empty or holds Thresher's lock is closed to others, or gets mode 0711 if the server runs under
    another account and must pass. Any other folder keeps its mode.

    Raises:
        ConfigurationError: Someone else owns it, others may write it, or the server could not enter it.
    """
    with explained(folder):
        folder = folder.expanduser().resolve()
        for parent in [*reversed(folder.parents), folder]:
            if not parent.exists():
                parent.mkdir(mode=0o711 if account.switched else 0o700, exist_ok=True)
        if sys.platform == "win32":
            return folder
        _check_owner(folder, account)
        if (folder / LOCK_NAME).exists() or not any(folder.iterdir()):
            folder.chmod(0o711 if account.switched else 0o700)
        _check_access(folder, account)
    return folder


def _check_owner(folder: Path, account: Account) -> None:
    if folder.stat().st_uid not in (os.geteuid(), account.uid):
        raise ConfigurationError(
            f"The data folder {folder} belongs to {owner_name(folder)!r}.",
            hint="Run Thresher as that user, or set THRESHER_DATA_DIR to a folder of your own.",
        )


def _check_access(folder: Path, account: Account) -> None:
    if folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigurationError(
            f"Others may write the folder {folder}.",
            hint="Set THRESHER_DATA_DIR to a new or empty folder, or take that right away from them.",
        )
    if barrier := account.barrier(folder):
        raise ConfigurationError(
            f"The database's account {account.name!r} cannot enter {barrier} on the way to the data folder.",
            hint="Set THRESHER_DATA_DIR to a folder below one that everyone may enter, such as /var/lib/thresher.",
        )
