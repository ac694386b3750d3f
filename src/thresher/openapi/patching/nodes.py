"""Offsets of mappings in the text of a source.

Invariant: offsets count characters from 0; the end of a span is exclusive.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

import yaml

from thresher.openapi.pointers import split


@dataclass(frozen=True, slots=True)
class MappingEntry:
    """An entry of a mapping.

    Attributes:
        key: As text.
        start: Offset of the key.
        value: Offset of the value, including its anchor and tag.
        end: End of the value, without comments and blank lines after it.
        style: Of a YAML scalar, its quote, block indicator or `plain`; empty for JSON and for containers.
        anchor: Anchor of the value; may be empty.
        kept: Whether the value's trailing blank lines are part of it.
    """

    key: str
    start: int
    value: int
    end: int
    style: str = ""
    anchor: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping in the text.

    Attributes:
        start: Offset of its first character after anchor and tag; in block style of its first key.
        end: Its end.
        flow: Whether it is in braces.
        column: In block style the column of its keys, from 0.
        entries: In the order of the text.
        anchors: Anchors of the mapping and of everything that contains it.
    """

    start: int
    end: int
    flow: bool
    column: int = 0
    entries: tuple[MappingEntry, ...] = ()
    anchors: frozenset[str] = frozenset()

    def entry(self, key: str) -> MappingEntry | None:
        """Return the effective entry of a key: of several, the last."""
        return next((each for each in reversed(self.entries) if each.key == key), None)


@dataclass(slots=True)
class PointerTree:
    """A tree of pointers to find."""

    below: dict[str, PointerTree] = field(default_factory=dict[str, "PointerTree"])
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class MappingNodes:
    """The mappings that were found.

    Attributes:
        found: Mappings by pointer.
        aliased: Anchors that aliases refer to.
    """

    found: dict[str, MappingNode]
    aliased: frozenset[str] = frozenset()


def pointer_tree(pointers: Iterable[str]) -> PointerTree:
    """Return the tree of these pointers."""
    root = PointerTree()
    for pointer in pointers:
        at = root
        for key in split(pointer):
            at = at.below.setdefault(key, PointerTree())
        at.pointer = pointer
    return root


_SPACE: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\]+|\\.)*"', re.DOTALL)
_SIGN: Final = re.compile(r'"(?:[^"\\]+|\\.)*"|[{}\[\]]', re.DOTALL)
_ATOM: Final = re.compile(r"[^,}\]\s]+")


def json_nodes(text: str, wanted: PointerTree) -> MappingNodes:
    """Find mappings in JSON text.

    Args:
        text: Valid JSON.
        wanted: Pointers of the mappings.
    """
    walk = _JsonWalk(text)
    walk.value(_after_space(text, 0), wanted)
    return MappingNodes(walk.found)


class _JsonWalk:
    """Walks the text along the wanted pointers and skips everything else."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.found: dict[str, MappingNode] = {}

    def value(self, at: int, wanted: PointerTree | None) -> int:
        """Read the value at an offset and return its end."""
        sign = self._text[at]
        if wanted is not None and sign == "{":
            return self._mapping(at, wanted)
        if wanted is not None and wanted.below and sign == "[":
            return self._list(at, wanted)
        return self._over(at)

    def _mapping(self, start: int, wanted: PointerTree) -> int:
        text, entries = self._text, list[MappingEntry]()
        at = _after_space(text, start + 1)
        while text[at] != "}":
            begin, at = at, _end(_STRING, text, at)
            key: str = json.loads(text[begin:at])
            value = _after_space(text, _after_space(text, at) + 1)
            at = self.value(value, wanted.below.get(key))
            entries.append(MappingEntry(key, begin, value, at))
            at = self._next(at)
        if wanted.pointer is not None:
            self.found[wanted.pointer] = MappingNode(start, at + 1, flow=True, entries=tuple(entries))
        return at + 1

    def _list(self, start: int, wanted: PointerTree) -> int:
        at, index = _after_space(self._text, start + 1), 0
        while self._text[at] != "]":
            at = self._next(self.value(at, wanted.below.get(str(index))))
            index += 1
        return at + 1

    def _next(self, at: int) -> int:
        """Return the offset after a comma, or of the closing bracket."""
        at = _after_space(self._text, at)
        return _after_space(self._text, at + 1) if self._text[at] == "," else at

    def _over(self, at: int) -> int:
        """Return the end of a value that is skipped."""
        sign = self._text[at]
        if sign == '"':
            return _end(_STRING, self._text, at)
        if sign not in "{[":
            return _end(_ATOM, self._text, at)
        depth = 0
        for found in _SIGN.finditer(self._text, at):
            match found[0]:
                case "{" | "[":
                    depth += 1
                case "}" | "]":
                    depth -= 1
                    if depth == 0:
                        return found.end()
                case _:
                    pass
        return len(self._text)


def _after_space(text: str, at: int) -> int:
    return _end(_SPACE, text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at + 1


Event: TypeAlias = Any
"""A PyYAML event; the C parser's module has no types."""

_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t\r\n]*)+")
_OPENS: Final = frozenset({yaml.MappingStartEvent, yaml.SequenceStartEvent})
_CLOSES: Final = frozenset({yaml.MappingEndEvent, yaml.SequenceEndEvent})


def yaml_nodes(text: str, wanted: PointerTree) -> MappingNodes:
    """Find mappings in the first document of a YAML text.

    Args:
        text: Valid YAML.
        wanted: Pointers of the mappings.
    """
    parser: Event = yaml.CSafeLoader(text)
    try:
        walk = _YamlWalk(text, parser)
        walk.document(wanted)
    finally:
        parser.dispose()
    return MappingNodes(walk.found, frozenset(walk.aliased))


class _YamlWalk:
    """Walks the events along the wanted pointers and skips everything else."""

    def __init__(self, text: str, parser: Event) -> None:
        self._text = text
        self._following = parser.get_event
        self._last = 0
        self.found: dict[str, MappingNode] = {}
        self.aliased: set[str] = set()

    def document(self, wanted: PointerTree) -> None:
        """Read the first document."""
        self._following()
        if type(self._following()) is yaml.DocumentStartEvent:
            self.value(self._following(), wanted, frozenset())

    def value(self, event: Event, wanted: PointerTree | None, anchors: frozenset[str]) -> None:
        """Read the value that an event begins and set `_last` to its end."""
        kind = _kind(event)
        anchors = anchors | {event.anchor} if event.anchor and kind is not yaml.AliasEvent else anchors
        if kind is yaml.MappingStartEvent and wanted is not None:
            self._mapping(event, wanted, anchors)
        elif kind is yaml.SequenceStartEvent and wanted is not None and wanted.below:
            self._list(event, wanted, anchors)
        else:
            self._over(event)

    def _mapping(self, event: Event, wanted: PointerTree, anchors: frozenset[str]) -> None:
        entries: list[MappingEntry] = []
        while type(key := self._following()) is not yaml.MappingEndEvent:
            self._over(key)
            name = key.value if type(key) is yaml.ScalarEvent else ""
            value = self._following()
            self.value(value, wanted.below.get(name) if name else None, anchors)
            if type(key) is yaml.ScalarEvent:
                entries.append(self._entry(key, value))
        if event.flow_style:
            self._last = key.end_mark.index
        if wanted.pointer is not None:
            self.found[wanted.pointer] = self._node(event, entries, anchors)

    def _node(self, event: Event, entries: list[MappingEntry], anchors: frozenset[str]) -> MappingNode:
        start, flow = event.start_mark.index, bool(event.flow_style)
        properties = _PROPERTIES.match(self._text, start)
        start = properties.end() if properties else start
        column = 0
        if entries and not flow:
            start = entries[0].start
            column = start - (self._text.rfind("\n", 0, start) + 1)
        return MappingNode(start, self._last, flow, column, tuple(entries), anchors)

    def _entry(self, key: Event, value: Event) -> MappingEntry:
        scalar = type(value) is yaml.ScalarEvent
        style = (value.style or "plain") if scalar else ""
        head = self._text[value.start_mark.index : self._text.find("\n", value.start_mark.index)] if scalar else ""
        kept = style in {"|", ">"} and "+" in head.partition("#")[0]
        start: int = value.start_mark.index
        anchor = cast("str", value.anchor or "") if type(value) is not yaml.AliasEvent else ""
        return MappingEntry(key.value, key.start_mark.index, start, self._last, style, anchor, kept)

    def _list(self, event: Event, wanted: PointerTree, anchors: frozenset[str]) -> None:
        index = 0
        while type(value := self._following()) is not yaml.SequenceEndEvent:
            self.value(value, wanted.below.get(str(index)), anchors)
            index += 1
        if event.flow_style:
            self._last = value.end_mark.index

    def _over(self, event: Event) -> None:
        """Skip a value."""
        depth, following = 0, self._following
        flow: list[bool] = []
        while True:
            kind = _kind(event)
            if kind is yaml.ScalarEvent:
                self._last = event.end_mark.index if event.style not in {"|", ">"} else self._block_end(event)
            elif kind is yaml.AliasEvent:
                self.aliased.add(event.anchor)
                self._last = event.end_mark.index
            elif kind in _OPENS:
                depth += 1
                flow.append(event.flow_style)
            elif kind in _CLOSES:
                depth -= 1
                if flow.pop():
                    self._last = event.end_mark.index
            if not depth:
                return
            event = following()

    def _block_end(self, event: Event) -> int:
        """Return the end of a block scalar's text; trailing blank lines do not count."""
        start, end = event.start_mark.index, event.end_mark.index
        return start + len(self._text[start:end].rstrip(" \t\r\n"))


def _kind(event: Event) -> type:
    return event.__class__
