"""Start a daemon that outlives the client that started it, and stop one.

Invariant: the standard library only. The child reports on its standard output, once, whether it is ready; stopping
works whatever the version of the daemon.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from thresher.daemon.attaching import attach, failure
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.lock import POLL_SECONDS, is_free
from thresher.daemon.paths import DaemonPaths, as_object, unwritable

COMMAND = "_daemon"
"""The argument under which `python -m thresher` is a daemon that a client started."""
TAIL_BYTES = 2000
NOTICE_SECONDS = 0.5
"""A start that takes longer is announced."""


@contextmanager
def later(seconds: float, action: Callable[[], None] | None) -> Generator[None]:
    """Call an action if the block takes longer than some seconds."""
    timer = threading.Timer(seconds, action or (lambda: None))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def start_daemon(paths: DaemonPaths, deadline: float) -> None:
    """Start a daemon and wait until it answers, or until another one holds the data folder.

    Args:
        paths: The data folder's files; the folder exists.
        deadline: When to give up, on the monotonic clock.

    Raises:
        DaemonFailure: It ended with an error, or is not ready in time.
    """
    try:
        errors = open(paths.stderr, "ab")  # noqa: SIM115 - closed below, once the child holds it
        errors.truncate(0)
    except OSError as error:
        raise unwritable(paths.folder, error) from None
    with errors:
        child = _spawn(paths, errors.fileno())
    report = _first_line(child, deadline)
    if report is None:
        raise DaemonFailure(
            f"The daemon (process {child.pid}) is not ready after a long wait.",
            hint=f"It may still be starting: look into {paths.log}, then try again.",
        )
    if "failed" in report:
        raise failure(as_object(report["failed"]) or {})
    if "taken" in report:
        _wait_for_other(paths, deadline)
    elif "ready" not in report:
        raise DaemonFailure(
            f"The daemon ended while it started (exit code {child.wait()}): {_tail(paths.stderr)}",
            hint=f"Look into {paths.log}, or run thresher doctor.",
        )


def start_in_background(paths: DaemonPaths) -> None:
    """Start a daemon without waiting; if another one is running, the new one ends by itself.

    Raises:
        DaemonFailure: The data folder cannot be used.
    """
    paths.prepare()
    try:
        errors = open(paths.stderr, "ab")  # noqa: SIM115 - closed below, once the child holds it
    except OSError as error:
        raise unwritable(paths.folder, error) from None
    with errors:
        _spawn(paths, errors.fileno(), report=subprocess.DEVNULL)


def _spawn(paths: DaemonPaths, errors: int, report: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    # -P: neither the client's folder nor the data folder may shadow a module.
    command = [sys.executable, "-P", "-m", "thresher", COMMAND]
    environment = dict(os.environ, THRESHER_DATA_DIR=paths.folder)  # noqa: TID251 - handed on, not read
    for own in ("THRESHER_KEY", "THRESHER_PROJECT"):  # they are this client's alone
        environment.pop(own, None)
    if sys.platform == "win32":  # not run by the tests
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=report, stderr=errors, cwd=paths.folder, env=environment,
            creationflags=flags,
        )  # fmt: skip
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=report, stderr=errors, cwd=paths.folder, env=environment,
        start_new_session=True,
    )  # fmt: skip


def _first_line(child: subprocess.Popen[bytes], deadline: float) -> dict[str, object] | None:
    """The child's report: empty if it ended without one, None on timeout."""
    lines: list[bytes] = []
    stream = child.stdout
    if stream is None:  # pragma: no cover - Popen with PIPE always has one
        return {}
    reader = threading.Thread(target=lambda: lines.append(stream.readline()), daemon=True)
    reader.start()
    reader.join(max(0.0, deadline - time.monotonic()))
    if not lines:
        return None
    try:
        report = json.loads(lines[0])
    except ValueError:
        return {}
    return as_object(report) or {}


def _wait_for_other(paths: DaemonPaths, deadline: float) -> None:
    """Another daemon holds the folder: wait until it has written its card or has gone."""
    pause = threading.Event()
    while time.monotonic() < deadline and paths.read() is None and not is_free(paths.daemon_lock):
        pause.wait(POLL_SECONDS)


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return "no message"
    said = [line for line in lines if ": " in line]  # the last line of a group of errors is a frame
    return (said or lines or ["no message"])[-1].strip(" |")


STOP_SECONDS = 30.0
"""The daemon bounds its own end to 20 seconds (`thresher.daemon.server.runtime`)."""


def stop_daemon(paths: DaemonPaths, *, force: bool = False, seconds: float = STOP_SECONDS) -> int | None:
    """Stop the daemon of a data folder and wait until it has ended.

    Args:
        paths: The data folder's files.
        force: Kill it when it does not answer, or does not end in time.
        seconds: The maximum time to wait.

    Returns:
        Its process id, 0 if unknown; None if no daemon ran.

    Raises:
        DaemonFailure: It still runs.
    """
    if not os.path.isdir(paths.folder) or is_free(paths.daemon_lock):
        return None
    found = (paths.read() or {}).get("pid")
    pid = found if isinstance(found, int) else 0
    try:
        _ask_until_gone(paths, seconds)
    except DaemonFailure as error:
        if not force or not pid:
            raise DaemonFailure(error.message, hint="Kill it: thresher stop --force.") from None
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        is_free(paths.daemon_lock, seconds)
    return pid


def _ask_until_gone(paths: DaemonPaths, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            attach(paths, "stop", start=False).close()
        except DaemonFailure as error:
            if error.code != "not_running":  # that is one that is still starting, or just ending
                raise
        if is_free(paths.daemon_lock, POLL_SECONDS):
            return
        if time.monotonic() >= deadline:
            raise DaemonFailure(f"The daemon has not ended within {seconds:.0f} seconds.")
