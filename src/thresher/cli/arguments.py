"""Reads the values of arguments and options: paths, files, references to secrets, addresses of databases.

`${NAME}`, `${env:NAME}` and `${file:PATH}` keep a secret off the command line, which every user of the machine sees.

Invariant: what a value refers to is read here, in the user's shell, and shown nowhere. A path is relative to the user's
working folder and passed to the daemon as an absolute path; an empty one never means the current folder.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import typer

from thresher.cli.output import note
from thresher.daemon import DaemonFailure


def given_path(text: str | Path) -> Path:
    """The path that a text names, with `~` expanded. It is the parser of arguments and options that are paths.

    Raises:
        BadParameter: The text is empty.
    """
    if not str(text).strip():
        raise typer.BadParameter("The path is empty; is a variable not set? Write . for the current folder.")
    return Path(text).expanduser()


def path_option(text: str, *names: str, metavar: str = "FILE") -> Any:
    """An option whose value is a path.

    Args:
        text: Its help.
        names: Its names; by default that of the parameter.
        metavar: What the help shows for its value.
    """
    return typer.Option(*names, parser=given_path, metavar=metavar, help=text)


def absolute_source(source: str) -> str:
    """A source as the daemon understands it: a path made absolute, a URL as it is.

    Raises:
        BadParameter: The text is empty.
    """
    return source if "://" in source else str(given_path(source).absolute())


def schedule_of(every: int | None, never: bool) -> int | None:
    """The seconds between two checks of a source: 0 for never, None for the setting.

    Raises:
        BadParameter: Both are given.
    """
    if never and every is not None:
        raise typer.BadParameter("Give --every or --never, not both.")
    return 0 if never else every


def text_of(file: Path) -> str:
    """The text of a file, or of standard input for `-`.

    Raises:
        DaemonFailure: The file cannot be read, or is not UTF-8.
    """
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DaemonFailure(
            f"{file} cannot be read: {error}.", hint="Correct the path.", code="invalid_input", exit_code=2
        ) from None


def bytes_of(file: Path) -> bytes:
    """The bytes of a file.

    Raises:
        DaemonFailure: The file cannot be read.
    """
    try:
        return file.read_bytes()
    except OSError as error:
        raise DaemonFailure(
            f"{file} cannot be read: {error}.", hint="Correct the path.", code="invalid_input", exit_code=2
        ) from None


_REFERENCE = re.compile(r"\$\{(?!connection:)(?:(?P<kind>env|file):)?(?P<name>[^}]+)\}")

LONGEST = 65_536
"""Characters that are read of a file with a secret."""


def filled(option: str, text: str) -> str:
    """The text with `${NAME}`, `${env:NAME}` and `${file:PATH}` replaced; `${file:/dev/stdin}` reads a pipe.

    `${connection:NAME}` stays: the daemon replaces it when it starts the server.

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
    """The value of an environment variable, or None."""
    return os.environ.get(name)  # noqa: TID251 - not a setting of Thresher


def _file(path: str) -> str | None:
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            return file.read(LONGEST).strip()
    except (OSError, ValueError):
        return None


STANDARD_INPUT = "-"

_USER = re.compile(r"(?P<scheme>^[^:/@]+://)(?P<user>[^/?#]*)@")

_PASSWORD = re.compile(r":(?!\$\{[^}]+\}$).+$")
"""A password in clear, not a reference."""

_IN_OPTIONS = re.compile(r"[?&](?:password|passwd|pwd)=(?!\$\{)[^&]", re.IGNORECASE)

_IN_USER = re.compile(r"\$\{[^}]+\}")

_FILE = re.compile(r"^(?P<scheme>(?:sqlite|duckdb)(?:\+\w+)?:///)(?P<path>[^/?:][^?]*)(?P<rest>\?.*)?$")


def read_address(url: str | None, option: str = "--url") -> str:
    """The address of a database: from the option, from standard input, or from a prompt; its references are replaced.

    Args:
        url: The option's value; None asks for the address, `-` reads it from standard input.
        option: The option's name, for messages.

    Raises:
        BadParameter: There is no address, or a reference cannot be resolved.
    """
    if url is None:
        return _absolute(filled(option, _prompted(option)))
    if url == STANDARD_INPUT:
        return _absolute(_line_read())
    if shows_password(url):
        note(
            "thresher: this password is visible in the list of processes and in the shell's history.\n"
            f"  Use {option} - and standard input, or '${{NAME}}' for a variable."
        )
    return _absolute(_filled_address(url, option))


def shows_password(url: str) -> bool:
    """Return whether an address contains a password in clear."""
    user = _USER.match(url)
    return bool((user and _PASSWORD.search(user["user"])) or _IN_OPTIONS.search(url))


def _prompted(option: str) -> str:
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"Give {option} URL, or {option} - and the address on standard input.")
    return str(typer.prompt("Address (not shown)", hide_input=True, err=True)).strip()


def _line_read() -> str:
    if not (line := sys.stdin.readline().strip()):
        raise typer.BadParameter("Standard input holds no address.")
    return line


def _filled_address(url: str, option: str) -> str:
    """The address with its references replaced; user and password are quoted, so that they may hold any character."""
    user = _USER.match(url)
    if user is None:
        return filled(option, url)
    quoted = _IN_USER.sub(lambda one: quote(filled(option, one[0]), safe=""), user["user"])
    return f"{user['scheme']}{quoted}@{filled(option, url[user.end() :])}"


def _absolute(url: str) -> str:
    """An address with an absolute path, if it is that of a file."""
    found = _FILE.match(url)
    if found is None or found["path"] == ":memory:":
        return url
    return f"{found['scheme']}{Path(found['path']).expanduser().absolute()}{found['rest'] or ''}"
