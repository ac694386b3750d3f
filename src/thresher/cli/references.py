"""Fills `${NAME}` and `${file:PATH}` in option values, so that a secret need not stand on a command line.

Invariant: what a value refers to is read here, in the user's shell, and never shown; other programs see the reference
alone (`ps` shows every command line to every user of the machine).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import typer

_REFERENCE = re.compile(r"\$\{(?!connection:)(?:(?P<kind>env|file):)?(?P<name>[^}]+)\}")
LONGEST = 65_536
"""Characters of a file that is a secret."""


def filled(option: str, text: str) -> str:
    """The text with `${NAME}`, `${env:NAME}` and `${file:PATH}` replaced; `${file:/dev/stdin}` reads a pipe.

    `${connection:NAME}` stays: the daemon fills it in when it starts the server.

    Raises:
        BadParameter: A variable is not set here, or a file cannot be read.
    """

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        read = _file(name) if found["kind"] == "file" else variable_here(name)
        if read is None:
            what = "the file cannot be read" if found["kind"] == "file" else "the variable is not set here"
            raise typer.BadParameter(f"{option} refers to {found[0]}: {what}.")
        return read

    return _REFERENCE.sub(value, text)


def variable_here(name: str) -> str | None:
    """A variable of the user's shell."""
    return os.environ.get(name)  # noqa: TID251 - no setting of ours; core.settings would slow each command


def _file(path: str) -> str | None:
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            return file.read(LONGEST).strip()
    except (OSError, ValueError):
        return None
