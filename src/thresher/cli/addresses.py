"""Reads the address of a database so that its password need not stand on the command line.

Invariant: what a reference stands for is read in the user's shell and shown nowhere; a file is meant from where the
user stands, and the daemon is told its absolute path.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import quote

import typer

from thresher.cli.output import note
from thresher.cli.references import filled

STANDARD_INPUT = "-"

_USER = re.compile(r"(?P<scheme>^[^:/@]+://)(?P<user>[^/?#]*)@")
_PASSWORD = re.compile(r":(?!\$\{[^}]+\}$).+$")
"""A password that stands there itself, and not by its name."""
_IN_OPTIONS = re.compile(r"[?&](?:password|passwd|pwd)=(?!\$\{)[^&]", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{[^}]+\}")
_FILE = re.compile(r"^(?P<scheme>(?:sqlite|duckdb)(?:\+\w+)?:///)(?P<path>[^/?:][^?]*)(?P<rest>\?.*)?$")


def read_address(url: str | None, option: str = "--url") -> str:
    """The whole address: from standard input, from a prompt, or from the option, its references filled.

    Args:
        url: As the option has it; None: it was not given.
        option: Its name, for what is said of it.

    Raises:
        BadParameter: There is none, or a reference leads nowhere.
    """
    if url is None:
        return _placed(filled(option, _prompted(option)))
    if url == STANDARD_INPUT:
        return _placed(_read())
    if shows_password(url):
        note(
            "thresher: this password can be seen in the list of processes and in the shell's history.\n"
            f"  Write {option} - and give it on standard input, or '${{NAME}}' for a variable."
        )
    return _placed(_filled(url, option))


def shows_password(url: str) -> bool:
    """Whether a password stands in an address itself."""
    user = _USER.match(url)
    return bool((user and _PASSWORD.search(user["user"])) or _IN_OPTIONS.search(url))


def _prompted(option: str) -> str:
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"Give {option} URL, or {option} - and the address on standard input.")
    return str(typer.prompt("Address (not shown)", hide_input=True, err=True)).strip()


def _read() -> str:
    if not (line := sys.stdin.readline().strip()):
        raise typer.BadParameter("Standard input holds no address.")
    return line


def _filled(url: str, option: str) -> str:
    """The address with its references filled; user and password may hold any character, and are quoted."""
    user = _USER.match(url)
    if user is None:
        return filled(option, url)
    quoted = _REFERENCE.sub(lambda one: quote(filled(option, one[0]), safe=""), user["user"])
    return f"{user['scheme']}{quoted}@{filled(option, url[user.end() :])}"


def _placed(url: str) -> str:
    """A file's path as the daemon, which works in no folder, understands it."""
    found = _FILE.match(url)
    if found is None or found["path"] == ":memory:":
        return url
    return f"{found['scheme']}{Path(found['path']).expanduser().absolute()}{found['rest'] or ''}"
