"""Names that people give to what they add, and hosts in the addresses that they give.

Invariant: pure; a name that passes can stand in a command, an address and a message as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from thresher.core.errors import InvalidInput

_NAME: Final = re.compile(r"[^\W_][\w.-]{0,62}")
_CONTROL: Final = r"\x00-\x1f\x7f\ud800-\udfff"
_LABEL_TEXT: Final = re.compile(rf"[^\s{_CONTROL}](?:[^{_CONTROL}]{{0,98}}[^\s{_CONTROL}])?")
_SYNONYMS: Final = {"servername": "connection"}
"""What other tools of this kind call an argument, in small letters, and what ours do."""
_NUMBER: Final = re.compile(r"\d+|0x[0-9a-f]*")
"""What makes a host a number, where it stands behind the last dot (WHATWG URL, "ends in a number")."""
_LABEL: Final = re.compile(r"(?!xn--$)\w(?:[\w-]{0,61}\w)?", re.ASCII)


def checked_name(name: str, what: str) -> str:
    """A name that a thing may have.

    Args:
        name: As somebody wrote it.
        what: The thing with its article, such as `a connection`.

    Raises:
        InvalidInput: It is none.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"'{name[:80]}' is no name for {what}.",
            hint="Use up to 63 letters, digits, hyphens, dots and underscores, beginning with a letter or digit.",
        )
    return name


def checked_label(label: str, what: str) -> str:
    """A label that people tell things apart by, such as the name of a user: in any script, without blanks around it.

    Args:
        label: As somebody wrote it.
        what: What it is, such as `A user's name`.

    Raises:
        InvalidInput: It is empty, too long, has a blank at an end, or a character that cannot be shown.
    """
    if not _LABEL_TEXT.fullmatch(label):
        raise InvalidInput(
            f"{what} has 1 to 100 printable characters, and no blanks around them.", hint="Choose another."
        )
    return label


def argument_meant(name: str, known: Collection[str]) -> str:
    """The argument that a name means: `primaryDataSource` is `primary_datasource`, `serverName` is `connection`.

    Args:
        name: As a caller wrote it.
        known: The arguments that there are.

    Returns:
        One of `known`, or the name as it is where none of them, or several, could be meant.
    """
    if name in known:
        return name
    folded = _folded(name)
    alike = [one for one in known if _folded(one) in (folded, _SYNONYMS.get(folded))]
    return alike[0] if len(alike) == 1 else name


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def is_host(name: str) -> bool:
    """Whether a host is a name that every resolver reads alike, or an address in its usual form.

    Refused are numbers in other forms (`0177.0.0.1`, `2130706433`, `127.1`, a dot behind them, digits of full width),
    which each resolver reads in its own way, and labels that are empty or too long (WHATWG URL, RFC 1123).
    """
    try:
        if ":" in name:
            return bool(IPv6Address(name.partition("%")[0]))
        plain = name.encode("idna").decode("ascii").lower()
        if _NUMBER.fullmatch(plain.rstrip(".").rpartition(".")[2]):
            return plain == name and bool(IPv4Address(name))
    except ValueError:
        return False
    return all(_LABEL.fullmatch(label) for label in plain.removesuffix(".").split("."))
