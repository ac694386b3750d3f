"""Single example values: texts of a format, pattern or length, and numbers within bounds.

Invariant: pure and bounded, whatever a schema demands; no value looks real enough to be taken for a secret.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from thresher.openapi.records import Json

_codes: Any = importlib.import_module("re._constants")
_parser: Any = importlib.import_module("re._parser")
"""The standard library's pattern parser, which has neither types nor a public name."""

_LONGEST: Final = 2_000
"""Longest text that is produced, in characters."""
_LONGEST_PATTERN: Final = 500
_FARTHEST: Final = 1e300
"""Largest magnitude used in arithmetic; larger numbers would overflow to infinity."""
CONTENTS: Final = "(contents of a file)"
"""Placeholder for the content of a file."""
_FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2025-01-31T12:00:00Z",
    "date": "2025-01-31",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "ann@example.com",
    "idn-email": "ann@example.com",
    "hostname": "www.example.com",
    "idn-hostname": "www.example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "iri": "https://example.com/",
    "uri-reference": "/example",
    "iri-reference": "/example",
    "uri-template": "/example/{id}",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "json-pointer": "/example",
    "relative-json-pointer": "0",
    "regex": "^a+$",
    "byte": "ZXhhbXBsZQ==",
    "binary": CONTENTS,
    "password": "(a password)",
}
_NAMES: Final[Mapping[str, str]] = {
    "email": "ann@example.com",
    "emailaddress": "ann@example.com",
    "url": "https://example.com/",
    "uri": "https://example.com/",
    "href": "https://example.com/",
    "hostname": "www.example.com",
    "id": "1",
}
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def text_of(keywords: Mapping[str, Json], name: str) -> str:
    """Return a text of the format, pattern and length that a schema demands, in words of its name."""
    kind = keywords.get("format")
    if isinstance(kind, str) and kind in _FORMATS:
        return _FORMATS[kind]
    least, most = _count(keywords.get("minLength"), 0), _count(keywords.get("maxLength"), _LONGEST)
    pattern = keywords.get("pattern")
    if isinstance(pattern, str) and (found := _matching(pattern, least)) is not None:
        return found
    named = _words_of(name)
    if len(named) < least:
        named = (named + " " + "x" * least)[:least]
    return named[:most]


def _words_of(name: str) -> str:
    plain = re.sub(r"[^a-z]", "", name.lower())
    return _NAMES.get(plain) or " ".join(_WORDS.findall(name)).lower() or "text"


def number_of(keywords: Mapping[str, Json], *, whole: bool) -> int | float:
    """Return the number nearest to 1 within a schema's bounds; 1 if the bounds overflow."""
    try:
        return _number_within(keywords, whole=whole)
    except OverflowError:
        return 1


def _number_within(keywords: Mapping[str, Json], *, whole: bool) -> int | float:
    low, high = _bound(keywords, "minimum", "exclusiveMinimum"), _bound(keywords, "maximum", "exclusiveMaximum")
    step = keywords.get("multipleOf")
    unit = step if is_number(step) and step > 0 else 1 if whole else None
    least = -math.inf if low is None else low[0]
    most = math.inf if high is None else high[0]
    value = _within(least, most, unit)
    if low is not None and low[1] and value <= least:
        value = value + unit if unit else (least + min(most, least + 1)) / 2
    if high is not None and high[1] and value >= most:
        value = value - unit if unit else (most + max(least, most - 1)) / 2
    return int(value) if whole or float(value).is_integer() else value


def _within(least: float, most: float, unit: float | None) -> float:
    value = min(max(1 if unit is None else unit, least), most)
    if unit is None:
        return value
    steps = math.ceil(value / unit - 1e-9)
    return steps * unit if steps * unit <= most else math.floor(most / unit) * unit


def _bound(keywords: Mapping[str, Json], key: str, strict: str) -> tuple[float, bool] | None:
    """Return a bound and whether it is exclusive, which OpenAPI 3.0 says by a flag."""
    limit, flag = keywords.get(key), keywords.get(strict)
    if is_number(flag):
        return float(flag), True
    return (float(limit), flag is True) if is_number(limit) else None


def is_number(value: Json) -> TypeGuard[int | float]:
    """Return whether a value is a number that arithmetic can handle."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _FARTHEST


def _count(value: Json, default: int) -> int:
    return min(value, _LONGEST) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def _matching(pattern: str, least: int) -> str | None:
    """Return a text that a simple pattern matches; None for an invalid one or one with lookaround or backreferences."""
    if len(pattern) > _LONGEST_PATTERN:
        return None
    try:
        found = _written(_parser.parse(pattern), least)
    except (re.error, RecursionError, OverflowError, _TooHard):
        return None
    return found if len(found) <= _LONGEST else None


class _TooHard(Exception):
    """No text is generated for this pattern."""


def _written(parsed: Any, least: int) -> str:
    return "".join(_piece(code, argument, least) for code, argument in parsed)


def _piece(code: Any, argument: Any, least: int) -> str:
    if code is _codes.LITERAL:
        return chr(argument)
    if code is _codes.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    if code is _codes.ANY:
        return "a"
    if code is _codes.AT:
        return ""
    if code is _codes.IN:
        return _of_set(argument)
    if code is _codes.SUBPATTERN:
        return _written(argument[-1], least)
    if code is _codes.BRANCH:
        return _written(argument[1][0], least)
    if code in {_codes.MAX_REPEAT, _codes.MIN_REPEAT, _codes.POSSESSIVE_REPEAT}:
        return _repeated(argument, least)
    raise _TooHard


def _repeated(argument: Any, least: int) -> str:
    fewest, most, inner = argument
    one = _written(inner, 0)
    wanted = max(fewest, min(most, 3 if most > 3 and fewest <= 1 else fewest), 0)
    if one and least:
        wanted = max(wanted, min(most, math.ceil(least / len(one))))
    if len(one) * min(wanted, _LONGEST) > _LONGEST or wanted > _LONGEST:
        raise _TooHard
    return one * wanted


def _of_set(members: Any) -> str:
    negated = bool(members) and members[0][0] is _codes.NEGATE
    if not negated:
        return _member(members[0])
    pattern = [*members[1:]]
    return next((letter for letter in "a0_ -A~" if not any(_holds(one, letter) for one in pattern)), "a")


def _member(member: Any) -> str:
    code, argument = member
    if code is _codes.LITERAL:
        return chr(argument)
    if code is _codes.RANGE:
        return chr(argument[0])
    return _CATEGORIES.get(argument, "a") if code is _codes.CATEGORY else "a"


_CATEGORIES: Final[Mapping[Any, str]] = {
    _codes.CATEGORY_DIGIT: "1",
    _codes.CATEGORY_SPACE: " ",
    _codes.CATEGORY_WORD: "a",
    _codes.CATEGORY_NOT_DIGIT: "a",
    _codes.CATEGORY_NOT_SPACE: "a",
    _codes.CATEGORY_NOT_WORD: "-",
}
_HOLDING: Final[Mapping[Any, str]] = {
    _codes.CATEGORY_DIGIT: r"\d",
    _codes.CATEGORY_SPACE: r"\s",
    _codes.CATEGORY_WORD: r"\w",
    _codes.CATEGORY_NOT_DIGIT: r"\D",
    _codes.CATEGORY_NOT_SPACE: r"\S",
    _codes.CATEGORY_NOT_WORD: r"\W",
}


def _holds(member: Any, letter: str) -> bool:
    code, argument = member
    if code is _codes.LITERAL:
        return chr(argument) == letter
    if code is _codes.RANGE:
        return argument[0] <= ord(letter) <= argument[1]
    return code is _codes.CATEGORY and re.fullmatch(_HOLDING.get(argument, "."), letter) is not None
