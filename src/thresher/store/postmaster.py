"""Runs one PostgreSQL server: starts it, waits until it answers, stops it, and removes the remains of a dead owner.

Invariant: a server is started only when none of its cluster is alive, and it is ready once it has answered. A process
id proves nothing: it may have been reused, be a zombie, or come from another container. The process itself is examined,
and only one of this cluster is ever signalled.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import psycopg

from thresher.core import StoreUnavailable, event
from thresher.store.account import Account, child_environment
from thresher.store.cluster import disown, recorded_pid
from thresher.store.private import explained
from thresher.store.programs import Binaries, last_lines, release, start_guarded
from thresher.store.sockets import ServerAddress

_PROC = Path("/proc")


def serves(pid: int, cluster: Path) -> bool:
    """Return whether the process is a living PostgreSQL process of this cluster.

    Every process of a server keeps the cluster as its working folder, which Linux shows and which cannot be faked from
    outside; on other systems the command line must name the cluster.
    """
    if pid <= 0:
        return False
    if sys.platform == "linux" and _PROC.is_dir():
        return _serves_by_folder(_PROC / str(pid), cluster)
    return _serves_by_command(pid, cluster)


def _serves_by_folder(entry: Path, cluster: Path) -> bool:
    try:
        program = (entry / "exe").readlink().name.removesuffix(" (deleted)")
        return program == "postgres" and (entry / "cwd").readlink() == cluster.resolve()
    except OSError:  # gone, a zombie, or another user's
        return False


def _serves_by_command(pid: int, cluster: Path) -> bool:
    if sys.platform == "win32":
        return False  # PostgreSQL itself recognises a reused id there: its signals use a named pipe
    shown = subprocess.run(
        ["/bin/ps", "-p", str(pid), "-o", "stat=,command="],
        capture_output=True,
        text=True,
        check=False,
        env=child_environment(),
    ).stdout.strip()
    return bool(shown) and not shown.startswith("Z") and "postgres" in shown and str(cluster) in shown


def orphans(cluster: Path) -> list[int]:
    """Return all processes of this cluster (Linux only; empty elsewhere)."""
    if sys.platform != "linux":
        return []
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if serves(pid, cluster)]


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal; does nothing if the process is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


_logger = logging.getLogger("thresher.store")

Progress: TypeAlias = Callable[[str], None]
"""Called with a description of what a slow start is doing."""

# One laptop, few connections: modest memory, no JIT compilation (it takes longer than the queries), no
# replication, and no statement in the log, since parameters may hold secrets.
_SETTINGS = {
    "shared_buffers": "128MB",
    "jit": "off",
    "max_connections": "60",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "max_logical_replication_workers": "0",
    "password_encryption": "scram-sha-256",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_checkpoints": "off",
    "log_min_error_statement": "panic",
    "huge_pages": "off",
}
_SETTINGS_18 = {"io_method": "sync"}  # spares three worker processes that reads from a warm cache never use
_STILL_STARTING = ("starting up", "not yet accepting", "No such file", "Connection refused", "in recovery mode")
_ORPHANS_REMAIN = "pre-existing shared memory block"
_LOG_LIMIT = 4_000_000
_REPORT_SECONDS = 2.0
_POLL_SECONDS = 0.02


@dataclass(slots=True)
class Postmaster:
    """A server of one cluster.

    Attributes:
        cluster: Its data folder.
        binaries: The programs to run.
        account: The account that runs it.
        address: Where it listens.
        log: The file that receives its output.
        options: Further server settings.
    """

    cluster: Path
    binaries: Binaries
    account: Account
    address: ServerAddress
    log: Path
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    _process: Process | None = None

    @property
    def running(self) -> bool:
        """Whether the server's process runs, as far as known."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        """The server's process id; 0 if it does not run."""
        return recorded_pid(self.cluster) if self.running else 0

    async def start(self, check_url: str, progress: Progress | None = None) -> None:
        """Start the server and wait, as long as it takes, until it answers.

        Args:
            check_url: ServerAddress to connect to; a refusal (wrong password, no such database) counts as an answer.
            progress: Called with the state of a long recovery.

        Raises:
            StoreUnavailable: The server stopped by itself; the message holds its last output.
        """
        deadline = time.monotonic() + 10
        while True:
            offset = await self._launch()
            try:
                await self._answered(check_url, offset, progress)
                return
            except StoreUnavailable as error:
                if _ORPHANS_REMAIN not in error.message or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.2)

    async def stop(self, *, patience: float = 60.0) -> None:
        """Stop the server: disconnect clients and write data; after `patience` seconds, at once."""
        process, pid = self._process, self.pid
        if process is None:
            return
        if sys.platform == "win32":
            process.terminate()
        release(process)
        try:
            await asyncio.wait_for(process.wait(), patience)
        except TimeoutError:
            if sys.platform != "win32":
                send_signal(pid, signal.SIGQUIT)
            await process.wait()
        self._process = None

    async def exited(self) -> None:
        """Wait until the server's process has ended."""
        if self._process is not None:
            await self._process.wait()

    async def _launch(self) -> int:
        """Start the process; returns the position in the log at which its output begins."""
        with explained(self.log.parent):
            if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
                self.log.replace(self.log.with_suffix(".log.old"))
            with os.fdopen(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
                offset = output.seek(0, os.SEEK_END)
                self._process = await start_guarded(
                    self._command(), self.account, self.cluster, stop_signal="INT", output=output
                )
        return offset

    def _command(self) -> list[str]:
        version = _SETTINGS_18 if self.binaries.major >= 18 else {}
        settings = {**_SETTINGS, **version, **self.options, **self.address.options()}
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self.binaries.program("postgres"), "-D", str(self.cluster), *given]

    async def _answered(self, url: str, offset: int, progress: Progress | None) -> None:
        started = reported = time.monotonic()
        pause = 0.01
        while not await _answers(url):
            if not self.running:
                raise StoreUnavailable(
                    f"PostgreSQL did not start: {last_lines(self._said(offset))}",
                    hint=f"See {self.log}; `thresher doctor` checks the usual causes.",
                )
            if time.monotonic() - reported > _REPORT_SECONDS:
                reported = time.monotonic()
                self._report(progress, offset, reported - started)
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, 0.1)

    def _report(self, progress: Progress | None, offset: int, seconds: float) -> None:
        said = last_lines(self._said(offset), 1)
        event(_logger, "database is starting", seconds=round(seconds, 1), said=said)
        if progress is not None:
            progress(f"The database is starting ({seconds:.0f} s): {said}")

    def _said(self, offset: int) -> str:
        with self.log.open("rb") as log:
            log.seek(offset)
            return log.read(_LOG_LIMIT).decode("utf-8", "replace")


async def _answers(url: str) -> bool:
    try:
        connection = await psycopg.AsyncConnection.connect(url, connect_timeout=5)
    except psycopg.OperationalError as error:
        # libpq gives no SQLSTATE for a refused connection; the server speaks English (locale C).
        return not any(words in str(error) for words in _STILL_STARTING) and "FATAL" in str(error)
    await connection.close()
    return True


async def clear_leftovers(cluster: Path) -> None:
    """Stop a server that a killed owner left, and make a stale lock file harmless.

    Call this only as owner of the data folder.

    Raises:
        StoreUnavailable: Such a server does not stop.
    """
    pid = recorded_pid(cluster)
    if serves(pid, cluster):
        event(_logger, "stopping a server whose owner is gone", pid=pid)
        await _end(pid, cluster, [(signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0)])
    else:
        disown(cluster)
    # Backends that outlived their postmaster hold its shared memory, which recovery will not use.
    for orphan in orphans(cluster):
        await _end(orphan, cluster, [(signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)])


async def _end(pid: int, cluster: Path, steps: list[tuple[signal.Signals, float]]) -> None:
    for number, patience in steps:
        if not serves(pid, cluster):
            return
        send_signal(pid, number)
        for _ in range(int(patience / _POLL_SECONDS)):
            if not serves(pid, cluster):
                return
            await asyncio.sleep(_POLL_SECONDS)
    raise StoreUnavailable(
        f"Process {pid} still serves the data in {cluster} and does not stop.", hint=f"Try: kill -QUIT {pid}"
    )
