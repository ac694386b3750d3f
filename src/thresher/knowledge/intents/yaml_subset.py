"""The part of YAML that front matter needs: text, lists and mappings, without anchors, tags and types.

Invariant: no object is ever made from a tag, no alias is ever followed, nothing nests deeper than a few levels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeAlias, cast

import yaml

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

_DEPTH: Final = 10
_NODES: Final = 5_000
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_EVENTS: Final = cast("Callable[[str], Iterator[Any]]", partial(cast("Any", yaml).parse, Loader=_LOADER))
"""The parser alone: nothing is composed or constructed."""
_EMPTY: Final = ("", "~", "null", "Null", "NULL")
_ENTRY: Final = re.compile(r"([A-Za-z][\w.-]*)\s*:(?:\s+(.*))?$")
_QUOTED: Final = re.compile(r"(['\"])(.*)\1\s*(?:#.*)?$", re.S)
_BLOCK: Final = re.compile(r"([|>])[+-]?\d?\s*$")


class Unreadable(ValueError):
    """It is no YAML, or YAML that is not read: the message says why, as part of a sentence."""


def parsed(text: str) -> Value:
    """Read YAML; every scalar is the text that stands there.

    Raises:
        Unreadable: It is not well formed, has anchors, aliases or tags, or nests too deep.
    """
    try:
        return _Builder(_EVENTS(text)).document()
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        raise Unreadable(_where(error)) from None


def read_loosely(text: str) -> dict[str, Value]:
    """Read `key: value` line by line; what stands after the first colon is the value, whatever it holds.

    Indented lines go on with the key above: a list where they begin with `- `, a mapping where they are entries and the
    key had no value, else more text.
    """
    fields: dict[str, Value] = {}
    key, below = "", list[str]()
    for line in (*text.replace("\t", "  ").split("\n"), "end:"):
        entry = _ENTRY.match(line)
        if entry is None:
            below.append(line)
            continue
        if key:
            fields[key] = _value(cast("str", fields[key]), below)
        key, below = entry[1], []
        fields.setdefault(key, "")
        fields[key] = (entry[2] or "").strip()
    fields.pop("end", None)
    return fields


def _value(first: str, below: list[str]) -> Value:
    inner = [line.strip() for line in below if line.strip() and not line.lstrip().startswith("#")]
    if not inner:
        return _listed(first)
    if _BLOCK.match(first):
        return ("\n" if first.startswith("|") else " ").join(inner)
    if not first and all(line.startswith("- ") or line == "-" for line in inner):
        return [_plain(line[1:].strip()) for line in inner]
    entries = [_ENTRY.match(line) for line in inner]
    if not first and all(entries):
        return {entry[1]: _plain((entry[2] or "").strip()) for entry in entries if entry}
    return _plain(" ".join((first, *inner)).strip())


def _listed(text: str) -> Value:
    if text.startswith("[") and text.endswith("]"):
        return [_plain(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    return _plain(text)


def _plain(text: str) -> str:
    quoted = _QUOTED.match(text)
    return quoted[2] if quoted else ("" if text in _EMPTY else text)


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it is not well formed"
    return f"line {mark.line + 2}: {problem}" if mark is not None else str(problem)


class _Builder:
    """Builds plain values from the events of a parser."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._nodes = 0

    def document(self) -> Value:
        """The first document; what follows it is left alone."""
        for event in self._events:
            if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                return "" if isinstance(event, yaml.StreamEndEvent) else self._node(event, 0)
        return ""

    def _node(self, event: Any, depth: int) -> Value:
        self._check(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            value = cast("str", event.value)
            return "" if not event.style and value in _EMPTY else value
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._node(inner, depth + 1) for inner in self._until(yaml.SequenceEndEvent)]
        mapping: dict[str, Value] = {}
        for inner in self._until(yaml.MappingEndEvent):
            key = self._node(inner, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if isinstance(key, str):
                mapping[key] = value
        return mapping

    def _until(self, end: type) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _check(self, event: Any, depth: int) -> None:
        self._nodes += 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Unreadable("anchors and aliases are not read")
        if getattr(event, "tag", None):
            raise Unreadable("tags are not read")
        if depth > _DEPTH or self._nodes > _NODES:
            raise Unreadable("it nests too deep or holds too much")
