"""Standard output that takes nothing: one line says so, and no traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest


def ended(redirection: str, *arguments: str) -> tuple[int, str]:
    """The exit code of a command whose output a shell redirects, and what it says."""
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "thresher", *arguments]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("tools", "frobnicate", "--json"), ("packs", "lint", "--words", "--json")],
)
def test_a_full_disk_is_said_in_a_line(arguments: tuple[str, ...]) -> None:
    """For programs, too: where their output is lost, standard error has what was wrong with it."""
    code, said = ended(">/dev/full", *arguments)

    assert code == 1
    assert said.startswith("thresher: Standard output cannot be written: No space left on device.")
    assert "Traceback" not in said


def test_a_closed_output_is_said_before_anything_is_done() -> None:
    """A daemon that writes into a closed descriptor would hit whatever file is opened next."""
    code, said = ended(">&-", "packs", "lint")

    assert code == 1
    assert said.startswith("thresher: Standard output cannot be written: it is closed.")
