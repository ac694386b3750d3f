"""Reads the arguments of a tool out of a question, by the tool's schema.

Only what the question says for certain is taken: a value of an enumeration, a zone whose city is named, a path, an
address, a quoted text, a date, a time, a number that stands by the argument's name, the name of a place. What a tool
requires and the question does not say is missing, and named.

Invariant: pure; bounded by the question's length. A value is never invented, and defaults are the tool's own.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, cast

READ_CHARACTERS: Final = 2_000
_QUOTED: Final = re.compile("[\"'`\u201c\u2018]([^\"'`\u201d\u2019]{1,200})[\"'`\u201d\u2019](?!\\w)")
_PATH: Final = re.compile(r"(?:^|(?<=[\s\"'`(]))((?:~|\.{1,2})?/[\w./+@~-]*[\w/]|[\w-]+(?:/[\w.-]+)*\.[A-Za-z]{1,5}\b)")
_URL: Final = re.compile(r"https?://[^\s\"'<>]+[\w/]")
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_CLOCK: Final = re.compile(r"\b([01]?\d|2[0-3])(?::([0-5]\d))?\s*(am|pm|a\.m\.|p\.m\.)?(?!\w)", re.I)
_NUMBER: Final = re.compile(r"(?<![\w.:/-])\d{1,9}(?![\w:/-]|\.\d)")
_NAME: Final = "[A-ZÀ-Þ][\\w'\u2019.-]*"
_PLACE: Final = re.compile(
    rf"\b(?:in|for|of|at|from|near|around)\s+({_NAME}(?:[ -](?:de|la|del|di|am|der)?\s?{_NAME}){{0,3}})"
)
_ZONE_WORDS: Final = ("timezone", "time_zone", "iana", "tz")
_PATH_WORDS: Final = ("path", "file", "directory", "folder", "repo", "dir")
_PLACE_WORDS: Final = ("city", "location", "place", "town", "address")


@dataclass(frozen=True, slots=True)
class Filled:
    """Arguments that a question gives.

    Attributes:
        arguments: By name.
        missing: Names that the tool requires and the question does not give.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    missing: tuple[str, ...] = ()


def fill(schema: Mapping[str, Any], text: str) -> Filled:
    """The arguments for a tool that a text gives.

    Args:
        schema: Of the tool's input, as its server wrote it.
        text: The question.
    """
    text = text[:READ_CHARACTERS]
    properties = _mapping(schema.get("properties"))
    required = [str(name) for name in cast("Sequence[Any]", schema.get("required") or ())]
    reading, arguments = _Reading(text), dict[str, Any]()
    for name in sorted(properties, key=lambda name: name not in required):  # what is required chooses first
        about = _mapping(properties[name])
        value = reading.value(name, about)
        if value is not None and (name in required or _is_said(name, about, value)):
            arguments[name] = value
    return Filled(arguments, tuple(name for name in required if name not in arguments))


def _is_said(_name: str, about: Mapping[str, Any], value: Any) -> bool:
    """Whether an optional argument is meant: a value of its own kind, not any text."""
    return "enum" in about or not isinstance(value, str) or bool(_DATE.fullmatch(value)) or "/" in value


class _Reading:
    """The values in a text; each is given once.

    Args:
        text: The question.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._taken: set[str] = set()

    def value(self, name: str, about: Mapping[str, Any]) -> Any:
        """The value for an argument; None where the text gives none for certain."""
        if options := about.get("enum"):
            return self._option(cast("Sequence[Any]", options))
        match about.get("type"):
            case "integer" | "number":
                return self._number(name)
            case "string" | None:
                return self._string(name, f"{name} {about.get('title') or ''} {about.get('description') or ''}".lower())
            case "array" if _mapping(about.get("items")).get("type") in ("string", None):
                one = self._string(name, f"{name} {about.get('description') or ''}".lower())
                return None if one is None else [one]
            case _:
                return None

    def _option(self, options: Sequence[Any]) -> Any:
        said = [one for one in options if re.search(rf"(?<!\w){re.escape(str(one))}(?!\w)", self._text, re.I)]
        return said[0] if len(said) == 1 else None

    def _number(self, name: str) -> int | None:
        numbers = _NUMBER.findall(_DATE.sub(" ", self._text))
        counts = re.search(r"count|limit|max|number|days|hours|size|n\b|id\b", name, re.I)
        return int(numbers[0]) if len(numbers) == 1 and counts else None

    def _string(self, name: str, said: str) -> str | None:
        for words, read in _READERS:
            if any(word in (name.lower() if words is _PATH_WORDS else said) for word in words):
                return self._first(read(self._text, name))
        if "time" in name.lower():
            return self._first(_clocks(self._text))
        return self._first(_QUOTED.findall(self._text))

    def _first(self, values: Sequence[str]) -> str | None:
        free = next((one for one in values if one not in self._taken), None)
        if free is not None:
            self._taken.add(free)
        return free


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


@cache
def _cities() -> Mapping[str, str]:
    """The zones by their last part in words, such as `new york`; of several with one name, none."""
    found: dict[str, set[str]] = {}
    for zone in zoneinfo.available_timezones():
        area, _, city = zone.partition("/")
        if city and area not in ("Etc", "posix", "right", "SystemV", "US", "Canada", "Brazil", "Mexico", "Chile"):
            found.setdefault(city.rpartition("/")[2].replace("_", " ").casefold(), set()).add(zone)
    return {city: next(iter(zones)) for city, zones in found.items() if len(zones) == 1}


def _zones(text: str, name: str) -> list[str]:
    """The zones that a text names, in its order; for a target the last first."""
    known, places = _cities(), list[tuple[int, str]]()
    for zone in re.finditer(r"\b[A-Z][A-Za-z_]+/[A-Z][A-Za-z_/-]+\b|\bUTC\b|\bGMT\b", text):
        if zone[0] in zoneinfo.available_timezones():
            places.append((zone.start(), zone[0]))
    words = list(re.finditer("[\\w'\u2019.-]+", text))
    for first in range(len(words)):
        for last in range(first, min(first + 3, len(words))):
            city = text[words[first].start() : words[last].end()].casefold().strip(".'")
            if city in known and not any(known[city] == zone for _, zone in places):
                places.append((words[first].start(), known[city]))
    zones = [zone for _, zone in sorted(places)]
    return zones[::-1] if re.search(r"target|\bto|dest", name, re.I) else zones


def _paths(text: str, _name: str) -> list[str]:
    return _PATH.findall(_URL.sub(" ", text))


def _places(text: str, _name: str) -> list[str]:
    return [place.strip(" .?!") for place in _PLACE.findall(text)]


def _dates(text: str, _name: str) -> list[str]:
    return _DATE.findall(text)


def _urls(text: str, _name: str) -> list[str]:
    return _URL.findall(text)


def _clocks(text: str) -> list[str]:
    """Times of day in a text, in 24 hours; a number alone is none."""
    found = list[str]()
    for hour, minute, half in _CLOCK.findall(_DATE.sub(" ", text)):
        if minute or half:
            shift = 12 * (half[:1].lower() == "p") - 12 * (bool(half) and int(hour) == 12)
            found.append(f"{int(hour) + shift:02}:{minute or '00'}")
    return found


_READERS: Final[Sequence[tuple[Sequence[str], Callable[[str, str], Sequence[str]]]]] = (
    (_ZONE_WORDS, _zones),
    (("url", "uri"), _urls),
    (_PATH_WORDS, _paths),
    (_PLACE_WORDS, _places),
    (("yyyy-mm-dd", "date"), _dates),
)
"""What an argument's name or description says of its kind, and what reads such values; the first that fits."""
