"""Paths that a command is given, and the text of files.

Invariant: what cannot be read is one line with a hint, as every error of a command; an empty path, which a shell makes
of a variable that is not set, never stands for the current folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from thresher.daemon import DaemonFailure


def given_path(text: str | Path) -> Path:
    """The path that a text names, with `~` filled in; the parser of arguments and options that are paths.

    Raises:
        BadParameter: It is empty.
    """
    if not str(text).strip():
        raise typer.BadParameter("The path is empty; is a variable not set? Write . for the current folder.")
    return Path(text).expanduser()


def placed(source: str) -> str:
    """A source as the daemon, which works in no folder, understands it: a path absolute, an address as it is.

    Raises:
        BadParameter: It is empty.
    """
    return source if "://" in source else str(given_path(source).absolute())


def text_of(file: Path) -> str:
    """The text of a file; `-` is standard input.

    Raises:
        DaemonFailure: It cannot be read, or is not UTF-8.
    """
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DaemonFailure(
            f"{file} cannot be read: {error}.", hint="Correct the path.", code="invalid_input", exit_code=2
        ) from None
