"""The two ways in which a daemon starts: by a client, detached; by a person, in the foreground.

Invariant: whoever started a daemon learns once, and in one line, whether it serves or why not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from thresher.app import read_servers
from thresher.core import Conflict, Settings, ThresherError, configure_logging, load_settings
from thresher.daemon.attaching import attach
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.place import Place, here
from thresher.daemon.server.runtime import Options, Ready, Taken, place_of, run_daemon

logger = logging.getLogger("thresher.daemon")

LOG_BYTES, LOG_FILES = 5_000_000, 3
"""A log of at most 20 MB."""
STDERR_BYTES = 1_000_000
STDERR_CHECK_SECONDS = 60.0
STDOUT, STDERR = 1, 2


def run_started() -> int:
    """Be a daemon that a client started: tell on standard output whether it serves, log to the data folder.

    Returns:
        The exit code, for nobody but the log.
    """
    try:
        place = here()
        place.prepare()
        settings = load_settings(data_dir=Path(place.folder))
        _log_to_file(place, settings)
        return run_daemon(settings, Options("client"), lambda ready: _tell({"ready": ready.pid}))
    except Taken:
        _tell({"taken": True})
    except (ThresherError, DaemonFailure) as error:
        logger.error("daemon not started: %s", error)
        names = ("code", "message", "hint", "exit_code")
        _tell({"failed": {name: getattr(error, name) for name in names}})
        return error.exit_code
    return 0


def _tell(report: Mapping[str, Any]) -> None:
    """Write the one line that the starter waits for, then let its pipe go."""
    with suppress(OSError):  # the starter was killed: the daemon goes on for the next one
        os.write(STDOUT, json.dumps(report).encode() + b"\n")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, STDOUT)
    os.close(devnull)
    if "ready" in report:
        _bound_stderr()


def _bound_stderr() -> None:
    """Keep what the interpreter and children write to standard error from growing for ever."""
    if os.fstat(STDERR).st_size > STDERR_BYTES:
        os.ftruncate(STDERR, 0)
    asyncio.get_running_loop().call_later(STDERR_CHECK_SECONDS, _bound_stderr)


def _log_to_file(place: Place, settings: Settings) -> None:
    handler = logging.handlers.RotatingFileHandler(
        place.log, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=True
    )
    configure_logging(settings.log_level, handler=handler, text=settings.log_text == "on")


def serve_foreground(
    announce: Callable[[Ready], None],
    given: Mapping[str, object],
    *,
    config: Path | None = None,
) -> int:
    """Be the daemon in the foreground, with the HTTP door, until Ctrl-C or `thresher stop`.

    Args:
        announce: Called when clients are served.
        given: Settings that win over the environment, such as `host` and `port`; None where they do not.
        config: An `mcpServers` file to take servers from.

    Returns:
        0, or 130 after Ctrl-C.

    Raises:
        ThresherError: It cannot start.
        DaemonFailure: The data folder cannot be used.
    """
    settings = load_settings(**given)
    configure_logging(settings.log_level, text=settings.log_text == "on")
    servers = read_servers(config) if config is not None else None
    for problem in servers.problems if servers is not None else ():
        sys.stderr.write(f"thresher: {config}: {problem}\n")
    options = Options("person", http=True, servers=servers or ())
    try:
        return run_daemon(settings, options, announce)
    except Taken:
        return _serve_in_its_place(settings, options, announce)


def _serve_in_its_place(settings: Settings, options: Options, announce: Callable[[Ready], None]) -> int:
    try:
        attach(place_of(settings), "takeover", start=False).close()
    except DaemonFailure as error:
        if error.code == "conflict":
            raise Conflict(error.message, hint=error.hint) from None
        if error.code != "not_running":
            raise
    try:
        return run_daemon(settings, options, announce)
    except Taken:
        raise Conflict("Another daemon is starting in this data folder.", hint="See: thresher status.") from None
