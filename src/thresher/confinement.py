"""Runs programs of ours in processes of their own, with limits, where foreign data or a library could do harm.

A program is a folder or a module that Python runs. It begins with `limit`.

Invariant: the standard library alone, so that a program starts quickly. A program inherits no variable that could hold
a secret, and no module is imported from the working folder or the user's own packages.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any, Final

_INHERITED: Final = frozenset(
    {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "WINDIR"}
)
_SETTINGS: Final = {"MALLOC_ARENA_MAX": "2"}
"""glibc reserves 64 MB of addresses for each arena, and address space is what `limit` bounds."""


def command(program: Path | str, *arguments: str) -> list[str]:
    """The command that runs a program: a folder with a `__main__.py`, or the name of a package."""
    start = ("-m", program) if isinstance(program, str) else (str(program),)
    return [sys.executable, "-I", *start, *arguments]


def environment() -> dict[str, str]:
    """The whole environment of a program."""
    kept = {name: value for name, value in os.environ.items() if name.upper() in _INHERITED}  # noqa: TID251 - handed on
    return kept | _SETTINGS


def limit(
    *, seconds: int | None = None, addresses: int | None = None, memory: int | None = None, files: int | None = None
) -> None:
    """Bound what this process may take, where the system can; it writes no file, and no core when it crashes.

    Args:
        seconds: Processor time.
        addresses: Bytes of address space, mapped files included.
        memory: Bytes of memory of its own.
        files: Files open at once.
    """
    try:
        resource: Any = importlib.import_module("resource")
    except ImportError:  # Windows
        return
    limits = (
        (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, addresses), (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NOFILE, files), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0),
    )  # fmt: skip
    for kind, most in limits:
        if most is not None:
            hard = resource.getrlimit(kind)[1]
            with contextlib.suppress(ValueError, OSError):  # macOS bounds no memory
                resource.setrlimit(kind, (most if hard < 0 else min(most, hard), hard))
