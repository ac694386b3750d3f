"""What a starter makes of the child that it started, whatever the child does."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from thresher.daemon import DaemonFailure, DaemonPaths
from thresher.daemon.process import start_daemon


def interpreter(folder: Path, script: str) -> str:
    """A program that takes the interpreter's place."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def start(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, seconds: float = 20.0) -> DaemonPaths:
    """Start a daemon that is this script."""
    place = DaemonPaths(str(folder / "data"))
    place.prepare()
    monkeypatch.setattr(sys, "executable", interpreter(folder, script))
    start_daemon(place, time.monotonic() + seconds)
    return place


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'ValueError: boom' >&2; exit 3", r"exit code 3\): ValueError: boom"),
        ("printf '%s\\n' '  | OSError: deep down' '  +-----' >&2; exit 1", r"exit code 1\): OSError: deep down"),
        ("echo nothing in particular >&2", "nothing in particular"),
        ("exit 0", "no message"),
        ("echo this is no report", "no message"),
        ("echo '[]'", "no message"),
        ("""echo '{"failed": {"message": "The port is taken."}}'""", "The port is taken"),
        ("""echo '{"failed": 3}'""", "The daemon refused"),
    ],
)
def test_a_child_that_ends_is_reported_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    """Its own report where there is one, else what it wrote to standard error."""
    with pytest.raises(DaemonFailure, match=message):
        start(tmp_path, monkeypatch, script)


def test_a_child_that_never_gets_ready_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The starter gives up in time and says where to look."""
    with pytest.raises(DaemonFailure, match="not ready") as caught:
        start(tmp_path, monkeypatch, "exec sleep 2", seconds=0.2)

    assert "daemon.log" in caught.value.hint


@pytest.mark.parametrize("report", ['{"ready": 1}', '{"taken": true}'])
def test_a_daemon_that_is_ready_or_another_that_was_first_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    """The caller then attaches."""
    place = start(tmp_path, monkeypatch, f"echo '{report}'")

    assert Path(place.stderr).exists()


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Before anything is started."""
    with pytest.raises(DaemonFailure, match="cannot be written"):
        start_daemon(DaemonPaths(str(tmp_path / "missing")), time.monotonic() + 1)
