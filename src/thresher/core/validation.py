"""Checks names, hosts and bounds, and says in our own words what is wrong with values that pydantic refused.

Invariant: no text of pydantic, which speaks of types and inputs, reaches a person or a model. A name that passes can
stand in a command, an address and a message as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final, cast

from pydantic import ValidationError

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
    """Return a name that a thing may have.

    Args:
        name: The name as its author wrote it.
        what: The thing with its article, such as `a connection`.

    Raises:
        InvalidInput: It is not a valid name.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"'{name[:80]}' is no name for {what}.",
            hint="Use up to 63 letters, digits, hyphens, dots and underscores, beginning with a letter or digit.",
        )
    return name


def checked_label(label: str, what: str) -> str:
    """Return a label that people tell things apart by, such as a user's name: any script, no blanks around it.

    Args:
        label: As its author wrote it.
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
    """Return the argument that is meant: `primaryDataSource` is `primary_datasource`, `serverName` is `connection`.

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


_MAX_ERRORS: Final = 1_000
_KINDS: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    **dict.fromkeys(("string_type", "string_sub_type", "string_unicode"), "must be a text"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "iterable_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "must be an object"),
    **dict.fromkeys(("path_type", "path_not_file", "path_not_directory"), "must be a path"),
    **dict.fromkeys(("uuid_parsing", "uuid_type"), "must be a UUID"),
    **dict.fromkeys(("url_parsing", "url_type", "url_scheme"), "must be an address"),
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
        "must be a date, such as 2026-03-01",
    ),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
        "must be a date and time, such as 2026-03-01T14:30:00Z",
    ),
    "string_pattern_mismatch": "does not have the form that is expected",
    "none_required": "must be null",
}
UNSUPPORTED: Final = "unsupported"
"""The type of a `PydanticCustomError` of ours, whose context holds a `message` for people."""
_WITH: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "greater_than_equal": lambda about: f"must be at least {about['ge']}",
    "less_than_equal": lambda about: f"must be at most {about['le']}",
    "greater_than": lambda about: f"must be more than {about['gt']}",
    "less_than": lambda about: f"must be less than {about['lt']}",
    "literal_error": lambda about: f"must be {about['expected']}",
    "enum": lambda about: f"must be {about['expected']}",
    "string_too_short": lambda about: f"must have at least {about['min_length']} characters",
    "string_too_long": lambda about: f"must have at most {about['max_length']} characters",
    "too_short": lambda about: f"must have at least {about['min_length']} entries",
    "too_long": lambda about: f"must have at most {about['max_length']} entries",
    "value_error": lambda about: str(about["error"]),
    UNSUPPORTED: lambda about: str(about["message"]),
}


def check_limit(limit: int, most: int) -> None:
    """Check a requested number of rows; every kind has the same message for it.

    Raises:
        InvalidInput: It is not 1 to `most`.
    """
    if not 1 <= limit <= most:
        raise InvalidInput(f"limit is {limit}; it must be 1 to {most:,}.", hint="Ask for some at a time.")


_LEAST_CHECK_SECONDS: Final = 10
"""As of the setting."""


def check_schedule(seconds: int | None) -> None:
    """Check how often a source shall be checked: None as the settings say, 0 never.

    Raises:
        InvalidInput: It is too often.
    """
    if seconds and seconds < _LEAST_CHECK_SECONDS:
        raise InvalidInput(
            f"A source is checked every {_LEAST_CHECK_SECONDS} seconds at most.", hint="0 stands for never."
        )


def problem_of(entry: Mapping[str, Any]) -> str:
    """What is wrong with one value, as the end of a sentence that begins with its name.

    Args:
        entry: Of `ValidationError.errors()`.
    """
    kind, about = str(entry["type"]), cast("Mapping[str, Any]", entry.get("ctx") or {})
    if kind in _WITH and about:
        return _WITH[kind](about)
    return _KINDS.get(kind, "is not valid")


def first_problem(error: ValidationError) -> str:
    """The first wrong value of a record as the beginning of a sentence, without the value: `inputSchema is missing`.

    Of very many only their number is given: pydantic writes out all errors or none.
    """
    if (count := error.error_count()) > _MAX_ERRORS:
        return f"it is wrong in {count:,} places"
    entry = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in entry['loc']) or 'it'} {problem_of(entry)}"


def problems_of(error: ValidationError) -> str:
    """Every wrong value of a record, `name: problem`, with semicolons between them."""
    return "; ".join(f"{'.'.join(str(part) for part in e['loc'])}: {problem_of(e)}" for e in error.errors())
