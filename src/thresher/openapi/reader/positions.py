"""Line and column of any part of a description, found on demand.

Invariant: an absent part gets the position of its nearest existing ancestor, so every pointer has a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

import yaml

from thresher.core import Lines
from thresher.openapi.pointers import join, split

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_scan: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode
"""Parses one value and returns it with its end offset."""


class Index(Protocol):
    """Offsets of keys in a text."""

    def find(self, keys: tuple[str, ...]) -> int:
        """Return the offset of the deepest of these nested keys that exists."""
        ...


class Positions:
    """Positions of the parts of one text.

    Args:
        text: The source.
        form: Its format.
    """

    def __init__(self, text: str, form: Literal["json", "yaml"]) -> None:
        self._lines = Lines(text)
        self._index: Index = JsonIndex(text) if form == "json" else YamlIndex(text)
        self._known: dict[str, tuple[int, int]] = {}

    def line(self, pointer: str) -> tuple[int, int]:
        """Return line and column, from 1."""
        if pointer not in self._known:
            self._known[pointer] = self._lines.at(self._index.find(split(pointer)))
        return self._known[pointer]


class JsonIndex:
    """Finds the members of JSON containers, indexing each container on first use.

    Values between two members are skipped by the standard library's scanner, the fastest available from Python.

    Args:
        text: Valid JSON.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._members: dict[int, dict[str, tuple[int, int]]] = {}

    def find(self, keys: tuple[str, ...]) -> int:
        """Return the offset of the deepest of these nested keys that exists."""
        place = start = self._after(0)
        for key in keys:
            found = self._inside(start).get(key)
            if found is None:
                break
            place, start = found
        return place

    def duplicate_keys(self) -> Iterator[tuple[str, str, int, int]]:
        """Yield pointer, key and the last two lines for each repeated key of a mapping."""
        lines = Lines(self._text)
        waiting = [("", self._after(0))]
        while waiting:
            pointer, start = waiting.pop()
            seen: dict[str, int] = {}
            for key, place, value in self._walk(start):
                below = join(pointer, key)
                if key in seen:
                    yield below, key, lines.at(seen[key])[0], lines.at(place)[0]
                seen[key] = place
                waiting.append((below, value))

    def _inside(self, start: int) -> dict[str, tuple[int, int]]:
        """Return the offsets of key and value for each member of the container at this offset."""
        if start not in self._members:
            self._members[start] = {key: (place, value) for key, place, value in self._walk(start)}
        return self._members[start]

    def _walk(self, start: int) -> Iterator[tuple[str, int, int]]:
        """Yield key, key offset and value offset for each member of the value at this offset."""
        opened = self._text[start]
        return self._entries(start) if opened == "{" else self._listed(start) if opened == "[" else iter(())

    def _entries(self, start: int) -> Iterator[tuple[str, int, int]]:
        place = self._after(start + 1)
        while self._text[place] == '"':
            key, end = _scan(self._text, place)
            value = self._after(self._after(end) + 1)
            yield key, place, value
            place = self._following(value)

    def _listed(self, start: int) -> Iterator[tuple[str, int, int]]:
        place = self._after(start + 1)
        count = 0
        while self._text[place] != "]":
            yield str(count), place, place
            count += 1
            place = self._following(place)

    def _following(self, value: int) -> int:
        """Return the offset of the next member, or of the closing bracket, after this value."""
        place = self._after(self._end(value))
        return self._after(place + 1) if self._text[place] == "," else place

    def _end(self, value: int) -> int:
        """Return the end offset of a value."""
        return _scan(self._text, value)[1]

    def _after(self, offset: int) -> int:
        """Return the offset of the next character that is not white space."""
        found = _SPACE.match(self._text, offset)
        return found.end() if found else offset


@dataclass(slots=True)
class _Node:
    """A YAML container with the offsets of its members.

    Attributes:
        marks: Offset by key.
        below: Containers by key.
        merged: Containers whose entries are merged into this one.
        keyed: Whether it is a mapping.
        key: The key whose value comes next.
        at: Offset of that key.
        anchor: Its anchor; may be empty.
    """

    keyed: bool
    anchor: str = ""
    marks: dict[str, int] = field(default_factory=dict[str, int])
    below: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    merged: list[_Node] = field(default_factory=list["_Node"])
    key: str | None = None
    at: int = 0


class YamlIndex:
    """Offsets of all keys of a YAML text, collected in one pass over libyaml's events.

    Args:
        text: Valid YAML.
    """

    def __init__(self, text: str) -> None:
        self._anchors: dict[str, _Node] = {}
        self._root = _Node(False)
        self._read(text)

    def find(self, keys: tuple[str, ...]) -> int:
        """Return the offset of the deepest of these nested keys that exists."""
        node: _Node | None = self._root
        place = 0
        for key in ("0", *keys):
            node, mark = _member(node, key)
            if mark is None:
                break
            place = mark
        return place

    def _read(self, text: str) -> None:
        parser: Any = yaml.CSafeLoader(text)
        stack = [self._root]
        try:
            while True:
                event = parser.get_event()
                kind = event.__class__
                if kind is yaml.ScalarEvent or kind is yaml.AliasEvent:
                    self._leaf(stack[-1], event, kind is yaml.AliasEvent)
                elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                    stack.append(self._opened(stack[-1], event, kind is yaml.MappingStartEvent))
                elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                    stack.pop()
                elif kind is yaml.DocumentEndEvent or kind is yaml.StreamEndEvent:
                    return
        finally:
            parser.dispose()

    def _leaf(self, node: _Node, event: Any, alias: bool) -> None:
        at: int = event.start_mark.index
        if node.keyed and node.key is None:
            node.key, node.at = ("" if alias else event.value), at
            return
        key = self._put(node, at)
        if alias and event.anchor in self._anchors:
            self._hang(node, key, self._anchors[event.anchor])

    def _opened(self, node: _Node, event: Any, keyed: bool) -> _Node:
        at: int = event.start_mark.index
        child = _Node(keyed)
        if event.anchor:
            self._anchors[event.anchor] = child
        if node.keyed and node.key is None:
            node.key, node.at = "", at
            return child
        self._hang(node, self._put(node, at), child)
        return child

    def _put(self, node: _Node, at: int) -> str:
        """Record the offset of the next member and return its key."""
        if not node.keyed:
            key = str(len(node.marks))
            node.marks[key] = at
            return key
        key, node.key = node.key or "", None
        node.marks[key] = node.at
        return key

    def _hang(self, node: _Node, key: str, child: _Node) -> None:
        if key == "<<" and node.keyed:
            node.merged.append(child)
        node.below[key] = child


def _member(node: _Node | None, key: str) -> tuple[_Node | None, int | None]:
    """Return the container under a key and the key's offset."""
    if node is None:
        return None, None
    if key in node.marks:
        return node.below.get(key), node.marks[key]
    for merged in node.merged:
        for each in (merged, *merged.below.values()) if not merged.keyed else (merged,):
            if key in each.marks and each.keyed:
                return each.below.get(key), each.marks[key]
    return None, None
