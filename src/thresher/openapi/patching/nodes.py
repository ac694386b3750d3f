"""Where mappings stand in a source's text, as far as an edit needs to know.

Invariant: offsets count characters of the text from 0; a span's end is the first character after it.
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
    """A key of a mapping, and its value.

    Attributes:
        key: As text.
        start: Of the key.
        value: Where the value begins, its anchor and tag included.
        end: After the last character that belongs to the value; comments and blank lines behind it do not.
        style: Of a YAML scalar: its quote or its block's sign, `plain`; empty for JSON and for what is no scalar.
        anchor: That others may refer to; empty without.
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
        start: Of its first character, past its anchor and tag; of a block, its first key.
        end: After its last character.
        flow: Whether it stands in braces.
        column: Of a block: the column of its keys, from 0.
        entries: In the order of the text.
        anchors: Names that it, or what holds it, can be referred to by.
    """

    start: int
    end: int
    flow: bool
    column: int = 0
    entries: tuple[MappingEntry, ...] = ()
    anchors: frozenset[str] = frozenset()

    def entry(self, key: str) -> MappingEntry | None:
        """The entry that counts for a key: of several, the last."""
        return next((each for each in reversed(self.entries) if each.key == key), None)


@dataclass(slots=True)
class PointerTree:
    """A tree of the pointers that are looked for."""

    below: dict[str, PointerTree] = field(default_factory=dict[str, "PointerTree"])
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class MappingNodes:
    """What was found.

    Attributes:
        found: Pointer to its mapping.
        aliased: Anchors that something refers to.
    """

    found: dict[str, MappingNode]
    aliased: frozenset[str] = frozenset()


def pointer_tree(pointers: Iterable[str]) -> PointerTree:
    """The tree of these pointers."""
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
    """The wanted mappings of a JSON text.

    Args:
        text: That `json.loads` takes.
        wanted: Which.
    """
    walk = _JsonWalk(text)
    walk.value(_after_space(text, 0), wanted)
    return MappingNodes(walk.found)


class _JsonWalk:
    """Goes down the text along the wanted pointers, and over everything else."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.found: dict[str, MappingNode] = {}

    def value(self, at: int, wanted: PointerTree | None) -> int:
        """Read the value that begins here; where it ends."""
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
        """Past a comma to what comes next, or at the bracket that closes."""
        at = _after_space(self._text, at)
        return _after_space(self._text, at + 1) if self._text[at] == "," else at

    def _over(self, at: int) -> int:
        """Past a value that nobody looks into."""
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
"""One of PyYAML's events; the C parser's module has no types."""

_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t\r\n]*)+")
_OPENS: Final = frozenset({yaml.MappingStartEvent, yaml.SequenceStartEvent})
_CLOSES: Final = frozenset({yaml.MappingEndEvent, yaml.SequenceEndEvent})


def yaml_nodes(text: str, wanted: PointerTree) -> MappingNodes:
    """The wanted mappings of the first document of a YAML text.

    Args:
        text: That libyaml takes.
        wanted: Which.
    """
    parser: Event = yaml.CSafeLoader(text)
    try:
        walk = _YamlWalk(text, parser)
        walk.document(wanted)
    finally:
        parser.dispose()
    return MappingNodes(walk.found, frozenset(walk.aliased))


class _YamlWalk:
    """Goes down the events along the wanted pointers, and over everything else."""

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
        """Read the value that an event begins; `_last` says then where it ended."""
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
        """Past a value that nobody looks into."""
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
        """Where a block scalar's last line of text ends; its trailing blank lines count where they are kept."""
        start, end = event.start_mark.index, event.end_mark.index
        return start + len(self._text[start:end].rstrip(" \t\r\n"))


def _kind(event: Event) -> type:
    return event.__class__
