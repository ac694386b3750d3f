"""Starts PostgreSQL's programs so that none outlives the process that started it.

Invariant: every child sits behind a guard that holds a pipe to us; when we die, even by `kill -9`, the pipe closes
and the guard stops the child. (Linux's parent-death signal would be tied to a thread, and exists nowhere else.)
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from pathlib import Path
from typing import IO, cast

from thresher.core import StoreError
from thresher.store.account import Account, child_environment

# $1 is the signal that stops the child; the rest is its command line. A background job of a shell ignores INT, but
# PostgreSQL's servers set their own handlers. `wait` keeps the child's number from being reused before the watch ends.
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
    """Start a program behind a guard; closing the returned process's `stdin` stops it.

    Args:
        command: The program and its arguments.
        account: Whom to run it as.
        folder: Its working folder.
        stop_signal: Name without SIG of the signal that stops it.
        output: Where its standard output and error go.
    """
    return await asyncio.create_subprocess_exec(
        *_guarded(command, stop_signal),
        stdin=PIPE,
        stdout=output,
        stderr=STDOUT,
        cwd=folder,
        env=child_environment(),
        start_new_session=True,  # a Ctrl-C in our terminal is ours to handle
        **account.options(),
    )


async def run_program(command: list[str], account: Account, folder: Path, **variables: str) -> str:
    """Run a program to its end and return what it printed.

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
    """The last lines of a program's output, for an error message."""
    return " | ".join(line.strip() for line in text.strip().splitlines()[-count:]) or "it printed nothing"
