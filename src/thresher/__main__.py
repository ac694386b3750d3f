"""The command `thresher`, and `python -m thresher`.

Invariant: nothing heavy is imported before the arguments tell that it is needed, so that a stdio bridge starts in
the time that Python itself takes.
"""

from __future__ import annotations

import os
import sys
from typing import Final

_ONE_THREAD: Final = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Matrices here are small. Threads of the linear algebra that wait for each other beside the encoder's made fitting the
router eighteen times as dear on two busy cores, and search twice; the libraries read these when they are imported."""

_BRIDGES: Final[tuple[list[str], ...]] = ([], *(["--expose", much] for much in ("meta", "own", "all")))
"""What may follow `stdio` where a client starts it; anything else is read by the command line."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The command line without the program's name; the process's own by default.

    Returns:
        The exit code (docs/reference/cli.md).
    """
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # while still importing
        return 130


def _run(given: list[str]) -> int:
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")  # noqa: TID251 - written for libraries, not read
    if given[:1] == ["stdio"] and given[1:] in _BRIDGES:
        from thresher.daemon import run_bridge  # noqa: PLC0415 - see the invariant

        return run_bridge(expose="".join(given[2:]))
    if given[:1] == ["hook"] and not {"-h", "--help"}.intersection(given):
        from thresher.daemon import run_hook  # noqa: PLC0415 - see the invariant

        return run_hook(given[1:])
    from thresher.daemon import Importing  # noqa: PLC0415 - see the invariant

    if given == ["_daemon"]:
        with Importing():
            from thresher.daemon.server import run_started  # noqa: PLC0415 - see the invariant

        return run_started()
    with Importing():
        from thresher.cli import run  # noqa: PLC0415 - see the invariant

    return run(given)


if __name__ == "__main__":
    sys.exit(main())
