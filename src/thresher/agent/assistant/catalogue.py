"""Answers about the tools of connected servers: which one does something, how to call it, and what it returns.

A tool is called from here only if that is harmless and certain: it only reads (`call_tool` takes no other), the
question gives every required argument, and it fits well. Otherwise the answer names the tool with the known arguments,
and a person or a model makes the call. Arguments are read from the question by the tool's schema: a value of an
enumeration, a zone whose city is named, a path, an address, a quoted text, a date, a time, a number, a place.

Invariant: only values from the question are sent to a server.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, cast

from thresher.agent.assistant import endpoints, passages, schemas
from thresher.agent.assistant.inquiry import Findings, Inquiry, Item, nonempty, record_of, rows_of
from thresher.agent.assistant.records import AssistantCall, ResultSubject
from thresher.agent.assistant.toolbox import ToolAnswer, Toolbox
from thresher.core import shortened

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
class FilledArguments:
    """Arguments found in a question.

    Attributes:
        arguments: By name.
        missing: Names of required arguments that the question does not give.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    missing: tuple[str, ...] = ()


def fill(schema: Mapping[str, Any], text: str) -> FilledArguments:
    """Return a tool's arguments that a text gives.

    Args:
        schema: The tool's input schema, as its server wrote it.
        text: The question.
    """
    text = text[:READ_CHARACTERS]
    properties = _mapping(schema.get("properties"))
    required = [str(name) for name in cast("Sequence[Any]", schema.get("required") or ())]
    reading, arguments = _ArgumentReader(text), dict[str, Any]()
    for name in sorted(properties, key=lambda name: name not in required):  # required arguments choose first
        about = _mapping(properties[name])
        value = reading.value(name, about)
        if value is not None and (name in required or _is_said(name, about, value)):
            arguments[name] = value
    return FilledArguments(arguments, tuple(name for name in required if name not in arguments))


def _is_said(_name: str, about: Mapping[str, Any], value: Any) -> bool:
    """Return whether an optional argument is given: by a value of its own kind, not by any text."""
    return "enum" in about or not isinstance(value, str) or bool(_DATE.fullmatch(value)) or "/" in value


class _ArgumentReader:
    """The values in a text; each is used once.

    Args:
        text: The question.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._taken: set[str] = set()

    def value(self, name: str, about: Mapping[str, Any]) -> Any:
        """Return the value of an argument; None if the text does not certainly give one."""
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
    """Return the zones by their last part in words, such as `new york`; names of several zones are left out."""
    found: dict[str, set[str]] = {}
    for zone in zoneinfo.available_timezones():
        area, _, city = zone.partition("/")
        if city and area not in ("Etc", "posix", "right", "SystemV", "US", "Canada", "Brazil", "Mexico", "Chile"):
            found.setdefault(city.rpartition("/")[2].replace("_", " ").casefold(), set()).add(zone)
    return {city: next(iter(zones)) for city, zones in found.items() if len(zones) == 1}


def _zones(text: str, name: str) -> list[str]:
    """Return the zones in a text, in its order; for a target the last one first."""
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
    """Return the times of day in a text, in 24 hours; a number alone is not one."""
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
"""Words in an argument's name or description for its kind, and the reader of such values; the first match counts."""


FIND: Final = "find_tools"
DESCRIBE: Final = "describe_tools"
RUN: Final = "call_tool"
"""The meta-tool that calls tools that only read, and refuses all others."""
CHANGE: Final = "call_tool_write"
TOOLS: Final = 10
"""Tools that are considered; Thresher's own, which answer the other kinds, are among them and left out."""
SHOWN_TOOLS: Final = 5
CERTAIN, CERTAIN_WITHOUT = 0.15, 0.4
"""Least probability at which a tool is called: one whose arguments the question gives, and one that takes none."""
_DESCRIPTION: Final = 1_200
_RESULT: Final = 6_000
_OWN: Final = frozenset(
    (
        *(endpoints.SEARCH, endpoints.READ, endpoints.PROVIDERS, endpoints.USAGE, endpoints.IMPROVE),
        *(passages.SEARCH, passages.READ, schemas.SCHEMA, schemas.CONNECTIONS, schemas.LOG, schemas.QUERY),
    )
)
_OWN_SERVERS: Final = frozenset(("apis:pack", "databases:pack", "documents:pack"))
"""The packs whose tools answer the other kinds."""


async def find_tools(box: Toolbox, inquiry: Inquiry) -> Findings:
    """Find tools for a task; if the question continues about a server, its tools first."""
    arguments = {"message": inquiry.text, "limit": TOOLS, "threshold": 0.0, "include_core_tools": False}
    if inquiry.asked.kind == "tools" and inquiry.asked.sources:
        found = await _described(
            box, await box.call(AssistantCall(FIND, {**arguments, "servers": list(inquiry.asked.sources)}))
        )
        if found.results:
            return found
    return await _described(box, await box.call(AssistantCall(FIND, arguments)))


async def _described(box: Toolbox, outcome: ToolAnswer) -> Findings:
    """Return the found tools, with their servers and parameters."""
    found = found_tools(outcome)
    if not found.results:
        return found
    names = [str(item["name"]) for item in found.results]
    described = (await box.call(AssistantCall(DESCRIBE, {"names": names}))).data
    about = {str(row.get("name")): row for row in rows_of(described, "tools")}
    items = [
        item | nonempty({"server": row.get("server"), "input_schema": row.get("inputSchema")})
        for item in found.results
        for row in [about.get(str(item["name"]), {})]
    ]
    kept = _nearest([item for item in items if item.get("server") not in _OWN_SERVERS])
    return replace(
        found,
        results=tuple(kept),
        total=len(kept),
        relevance=max((float(item.get("relevance") or 0.0) for item in kept), default=0.0),
        subjects=tuple(map(_subject, kept)),
        sources=tuple(dict.fromkeys(str(item["server"]) for item in kept if item.get("server"))),
    )


def _nearest(items: Sequence[Item]) -> list[Item]:
    """Return the best tools, and those that fit half as well."""
    best = max((float(item.get("relevance") or 0.0) for item in items), default=0.0)
    return [item for item in items if float(item.get("relevance") or 0.0) >= best / 2][:SHOWN_TOOLS]


def found_tools(outcome: ToolAnswer) -> Findings:
    """Return the answer of `find_tools`, without the tools with which the assistant itself answers."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    data = outcome.data
    degraded = data.get("degraded")
    rows = [] if data.get("abstained") or data.get("fallback") else rows_of(data, "tools")
    items = [_tool(row) for row in rows if row.get("name") not in _OWN]
    return Findings(
        results=tuple(items),
        total=len(items),
        relevance=max((float(item.get("relevance") or 0.0) for item in items), default=0.0),
        notes=(f"limited search of tools: {degraded}",) if degraded else (),
        subjects=tuple(map(_subject, items)),
    )


async def use_best(box: Toolbox, inquiry: Inquiry, found: Findings) -> Findings:
    """Return the found tools, the best with its arguments or answer; in full if the question asks for that."""
    if inquiry.type == "endpoint_info" and (inquiry.cues.names or inquiry.cues.sections):
        named = described(await box.call(AssistantCall(DESCRIBE, {"names": list(inquiry.cues.names)})))
        if not named.results and found.subjects:
            named = described(await box.call(found.subjects[0].read))
        if named.results:
            return replace(named, relevance=found.relevance, named=found.named)
    if not found.results:
        return found
    best, *others = found.results
    filled = filled_for(best, inquiry)
    call, relevance = _call_of(best, filled), float(best.get("relevance") or 0.0)
    best = best | {"call": call} | nonempty({"missing": list(filled.missing)})
    sure = relevance >= (CERTAIN if filled.arguments else CERTAIN_WITHOUT)
    if filled.missing or best.get("write") or RUN not in box or not sure:
        return replace(found, results=(best, *others))
    outcome = await box.call(AssistantCall(RUN, call["arguments"]))
    if outcome.problem:
        return replace(found, results=(best, *others), problems=(*found.problems, outcome.problem))
    answer: Item = {"kind": "tool_result", "tool": RUN, "name": best["name"], "server": best.get("server")}
    answer |= {"arguments": dict(filled.arguments), "text": shortened(outcome.text, _RESULT)}
    return replace(
        found, results=(answer, best, *others), total=found.total + 1, subjects=(_subject(best), *found.subjects)
    )


def filled_for(item: Item, inquiry: Inquiry) -> FilledArguments:
    """Return the arguments in the question, completed from the one that it continues."""
    schema = record_of(item, "input_schema")
    filled = fill(schema, inquiry.query or inquiry.text)
    if not filled.missing or inquiry.text == inquiry.query:
        return filled
    before = fill(schema, inquiry.text)
    arguments = {**before.arguments, **filled.arguments}
    return FilledArguments(arguments, tuple(name for name in filled.missing if name not in arguments))


def _call_of(item: Item, filled: FilledArguments) -> dict[str, Any]:
    """Return how the tool is called through the gateway."""
    tool = CHANGE if item.get("write") else RUN
    return {"tool": tool, "arguments": {"name": item["name"], "arguments": dict(filled.arguments)}}


def described(outcome: ToolAnswer) -> Findings:
    """Return the answer of `describe_tools`."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    items = [_details(row) for row in rows_of(outcome.data, "tools")]
    sources = tuple(dict.fromkeys(str(item["server"]) for item in items if item.get("server")))
    return Findings(
        tuple(items), len(items), 1.0 if items else 0.0, subjects=tuple(map(_subject, items)), sources=sources
    )


def _subject(item: Item) -> ResultSubject:
    sources = (str(item["server"]),) if item.get("server") else ()
    return ResultSubject("tool", str(item["name"]), AssistantCall(DESCRIBE, {"names": [item["name"]]}), sources)


def _tool(row: Mapping[str, Any]) -> Item:
    item: Item = {"kind": "tool", "tool": FIND, "name": row.get("name"), "signature": row.get("signature")}
    item |= nonempty({"relevance": row.get("score"), "why": row.get("why"), "write": row.get("write")})
    return item | {"next": {"tool": DESCRIBE, "arguments": {"names": [row.get("name")]}}}


def _details(row: Mapping[str, Any]) -> Item:
    about = {"title": row.get("title"), "description": shortened(str(row.get("description") or ""), _DESCRIPTION)}
    return {"kind": "tool_details", "tool": DESCRIBE, "name": row.get("name"), **nonempty(about)} | nonempty(
        {"server": row.get("server"), "input_schema": row.get("inputSchema"), "annotations": row.get("annotations")}
    )
