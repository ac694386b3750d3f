"""The daemon's life: take the data folder, open the product, listen, wait, close.

A daemon is started by a client, detached, or by a person, in the foreground.

Invariant: at most one daemon lives in a data folder (it holds the daemon lock from first to last), and whatever ends
it short of a kill closes sessions, upstream children and the embedded database, within a bounded time. The process
that started it is told once, in one line, whether it serves or why not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from thresher import __version__
from thresher.core import Conflict, Settings, ThresherError, configure_logging, event, load_settings
from thresher.daemon.attaching import attach
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.lock import FileLock
from thresher.daemon.memory import Importing
from thresher.daemon.paths import DaemonPaths, here
from thresher.daemon.server.http import bind, check_keyless
from thresher.store import open_store

if TYPE_CHECKING:
    from thresher.upstream import ServerConfig

logger = logging.getLogger("thresher.daemon")

LOCK_SECONDS = 1.0
"""A client that checks whether the lock is free holds it for an instant."""
CLOSE_SECONDS = 20.0
"""The maximum time of an orderly end; after it the process exits, and the next start recovers."""

THREAD_SECONDS = 2.0
"""The time left to driver threads at the end; one inside an SQLite function cannot be interrupted."""


class FolderInUse(Exception):
    """Another daemon holds the data folder."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the daemon was started.

    Attributes:
        started_by: `client` or `person`; only a daemon that a client started ends by itself.
        http: Whether to open the HTTP door.
        servers: Servers to add to the catalogue.
    """

    started_by: Literal["client", "person"]
    http: bool = False
    servers: Sequence[ServerConfig] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """The report of a daemon that is ready.

    Attributes:
        pid: The daemon's process.
        socket: Its local address.
        url: The MCP address over HTTP; empty without the HTTP door.
        access: A sentence that states whom HTTP serves without a key.
    """

    pid: int
    socket: str
    url: str
    access: str


def paths_of(settings: Settings) -> DaemonPaths:
    """The daemon's files in the data folder of the settings."""
    return DaemonPaths(str(Path(settings.data_dir).expanduser().absolute()))


def run_daemon(settings: Settings, options: Options, announce: Callable[[Ready], None]) -> int:
    """Run the daemon of the settings' data folder until it is stopped.

    Args:
        settings: The settings.
        options: How it is started.
        announce: Called once, when clients are served.

    Returns:
        The exit code: 0, or 130 after an interrupt.

    Raises:
        FolderInUse: Another daemon holds the data folder.
        ThresherError: It cannot start; or DaemonFailure, for the data folder.
    """
    if options.http:
        check_keyless(settings)
    paths = paths_of(settings)
    paths.prepare()
    door = bind(settings.host, settings.port) if options.http else None
    try:
        # Never released by us: it is held until the process is gone, with any thread that a driver does not let go.
        if not FileLock(paths.daemon_lock).acquire(LOCK_SECONDS):
            raise FolderInUse
        code = asyncio.run(_live(settings, options, paths, door, announce))
    except BaseExceptionGroup as group:
        raise _sole(group) from None
    finally:
        if door is not None:
            door.close()
    _end_within(THREAD_SECONDS, code)
    return code


def _end_within(seconds: float, code: int) -> None:
    """Make the process end after some seconds, even if threads are still running."""
    watchdog = threading.Timer(seconds, partial(os._exit, code))
    watchdog.daemon = True
    watchdog.start()


def _sole(error: BaseException) -> BaseException:
    """The single error inside nested exception groups."""
    inner = cast("tuple[BaseException, ...]", error.exceptions) if isinstance(error, BaseExceptionGroup) else ()
    return _sole(inner[0]) if len(inner) == 1 else cast("BaseException", error)


class _Life:
    """The daemon's end, caused by a signal, a client or idleness."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._over = asyncio.Event()
        self.serving = False
        self.exit_code = 0

    def end(self) -> None:
        """Stop the daemon; a start in progress is cancelled."""
        if self._over.is_set():
            return
        self._over.set()
        _end_within(CLOSE_SECONDS, 9)
        if not self.serving and self._main is not None:
            self._main.cancel()

    async def over(self) -> None:
        """Wait for the end."""
        self.serving = True
        await self._over.wait()

    @contextmanager
    def signals(self) -> Generator[None]:
        """Let SIGTERM, SIGINT (and SIGHUP) end the daemon."""
        names = [name for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
        previous = {name: signal.signal(getattr(signal, name), self._signalled) for name in names}
        try:
            yield
        finally:
            for name, handler in previous.items():
                signal.signal(getattr(signal, name), handler)

    def _signalled(self, number: int, _frame: object) -> None:
        if number == signal.SIGINT:
            self.exit_code = 130
        self._loop.call_soon_threadsafe(self.end)


async def _live(
    settings: Settings,
    options: Options,
    paths: DaemonPaths,
    door: socket.socket | None,
    announce: Callable[[Ready], None],
) -> int:
    life = _Life()
    try:
        with life.signals():
            async with AsyncExitStack() as stack:
                async with asyncio.TaskGroup() as both:
                    opening = both.create_task(stack.enter_async_context(open_store(settings)))
                    importing = both.create_task(asyncio.to_thread(_open_daemon))
                opened = importing.result()(settings, options, paths, door, opening.result(), life.end)
                ready = await stack.enter_async_context(opened)
                announce(ready)
                event(logger, "daemon ready", pid=ready.pid, version=__version__, url=ready.url, access=ready.access)
                await life.over()
                event(logger, "daemon ending", pid=ready.pid)
    except asyncio.CancelledError:
        event(logger, "start given up", level=logging.WARNING)
    return life.exit_code


def _open_daemon() -> Callable[..., AbstractAsyncContextManager[Ready]]:
    """Import `open_daemon` and with it everything else; the database starts meanwhile."""
    with Importing():
        from thresher.daemon.server.doors import open_daemon  # noqa: PLC0415 - see above

    return open_daemon


LOG_BYTES, LOG_FILES = 5_000_000, 3
"""A log of at most 20 MB."""
STDERR_BYTES = 1_000_000
STDERR_CHECK_SECONDS = 60.0
STDOUT, STDERR = 1, 2


def run_started() -> int:
    """Run a daemon that a client started: report on standard output, log to the data folder.

    Returns:
        The exit code.
    """
    try:
        paths = here()
        paths.prepare()
        settings = load_settings(data_dir=Path(paths.folder))
        _log_to_file(paths, settings)
        return run_daemon(settings, Options("client"), lambda ready: _tell({"ready": ready.pid}))
    except FolderInUse:
        _tell({"taken": True})
    except (ThresherError, DaemonFailure) as error:
        logger.error("daemon not started: %s", error)
        names = ("code", "message", "hint", "exit_code")
        _tell({"failed": {name: getattr(error, name) for name in names}})
        return error.exit_code
    return 0


def _tell(report: Mapping[str, Any]) -> None:
    """Write the line that the starting client waits for, then close its pipe."""
    with suppress(OSError):  # the starter was killed: the daemon goes on for the next one
        os.write(STDOUT, json.dumps(report).encode() + b"\n")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, STDOUT)
    os.close(devnull)
    if "ready" in report:
        _bound_stderr()


def _bound_stderr() -> None:
    """Truncate the file of standard error, to which the interpreter and children write, once it is too long."""
    if os.fstat(STDERR).st_size > STDERR_BYTES:
        os.ftruncate(STDERR, 0)
    asyncio.get_running_loop().call_later(STDERR_CHECK_SECONDS, _bound_stderr)


def _log_to_file(paths: DaemonPaths, settings: Settings) -> None:
    handler = logging.handlers.RotatingFileHandler(
        paths.log, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=True
    )
    configure_logging(settings.log_level, handler=handler, text=settings.log_text == "on")


def serve_foreground(
    announce: Callable[[Ready], None],
    given: Mapping[str, object],
    *,
    config: Path | None = None,
) -> int:
    """Run the daemon in the foreground, with the HTTP port, until Ctrl-C or `thresher stop`.

    Args:
        announce: Called when clients are served.
        given: Settings that override the environment, such as `host` and `port`; None does not.
        config: An `mcpServers` file to take servers from.

    Returns:
        0, or 130 after Ctrl-C.

    Raises:
        ThresherError: It cannot start.
        DaemonFailure: The data folder cannot be used.
    """
    settings = load_settings(**given)
    configure_logging(settings.log_level, text=settings.log_text == "on")
    servers: Sequence[ServerConfig] = ()
    if config is not None:
        from thresher.app import read_servers  # noqa: PLC0415 - a wrong file is found before a daemon is replaced

        file = read_servers(config)
        for problem in file.problems:
            sys.stderr.write(f"thresher: {config}: {problem}\n")
        servers = file
    options = Options("person", http=True, servers=servers)
    try:
        return run_daemon(settings, options, announce)
    except FolderInUse:
        return _replace_daemon(settings, options, announce)


def _replace_daemon(settings: Settings, options: Options, announce: Callable[[Ready], None]) -> int:
    try:
        attach(paths_of(settings), "takeover", start=False).close()
    except DaemonFailure as error:
        if error.code == "conflict":
            raise Conflict(error.message, hint=error.hint) from None
        if error.code != "not_running":
            raise
    try:
        return run_daemon(settings, options, announce)
    except FolderInUse:
        raise Conflict("Another daemon is starting in this data folder.", hint="See: thresher status.") from None
