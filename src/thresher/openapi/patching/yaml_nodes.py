"""Finds mappings in YAML text by libyaml's events, without building its values."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias, cast

import yaml

from thresher.openapi.patching.nodes import Entry, Node, Nodes, Wanted

Event: TypeAlias = Any
"""One of PyYAML's events; the C parser's module has no types."""

_PROPERTIES: Final = re.compile(r"(?:[&!]\S*[ \t\r\n]*)+")
_OPENS: Final = frozenset({yaml.MappingStartEvent, yaml.SequenceStartEvent})
_CLOSES: Final = frozenset({yaml.MappingEndEvent, yaml.SequenceEndEvent})


def yaml_nodes(text: str, wanted: Wanted) -> Nodes:
    """The wanted mappings of the first document of a YAML text.

    Args:
        text: That libyaml takes.
        wanted: Which.
    """
    parser: Event = yaml.CSafeLoader(text)
    try:
        walk = _Walk(text, parser)
        walk.document(wanted)
    finally:
        parser.dispose()
    return Nodes(walk.found, frozenset(walk.aliased))


class _Walk:
    """Goes down the events along the wanted pointers, and over everything else."""

    def __init__(self, text: str, parser: Event) -> None:
        self._text = text
        self._following = parser.get_event
        self._last = 0
        self.found: dict[str, Node] = {}
        self.aliased: set[str] = set()

    def document(self, wanted: Wanted) -> None:
        """Read the first document."""
        self._following()
        if type(self._following()) is yaml.DocumentStartEvent:
            self.value(self._following(), wanted, frozenset())

    def value(self, event: Event, wanted: Wanted | None, anchors: frozenset[str]) -> None:
        """Read the value that an event begins; `_last` says then where it ended."""
        kind = _kind(event)
        anchors = anchors | {event.anchor} if event.anchor and kind is not yaml.AliasEvent else anchors
        if kind is yaml.MappingStartEvent and wanted is not None:
            self._mapping(event, wanted, anchors)
        elif kind is yaml.SequenceStartEvent and wanted is not None and wanted.below:
            self._list(event, wanted, anchors)
        else:
            self._over(event)

    def _mapping(self, event: Event, wanted: Wanted, anchors: frozenset[str]) -> None:
        entries: list[Entry] = []
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

    def _node(self, event: Event, entries: list[Entry], anchors: frozenset[str]) -> Node:
        start, flow = event.start_mark.index, bool(event.flow_style)
        properties = _PROPERTIES.match(self._text, start)
        start = properties.end() if properties else start
        column = 0
        if entries and not flow:
            start = entries[0].start
            column = start - (self._text.rfind("\n", 0, start) + 1)
        return Node(start, self._last, flow, column, tuple(entries), anchors)

    def _entry(self, key: Event, value: Event) -> Entry:
        scalar = type(value) is yaml.ScalarEvent
        style = (value.style or "plain") if scalar else ""
        head = self._text[value.start_mark.index : self._text.find("\n", value.start_mark.index)] if scalar else ""
        kept = style in {"|", ">"} and "+" in head.partition("#")[0]
        start: int = value.start_mark.index
        anchor = cast("str", value.anchor or "") if type(value) is not yaml.AliasEvent else ""
        return Entry(key.value, key.start_mark.index, start, self._last, style, anchor, kept)

    def _list(self, event: Event, wanted: Wanted, anchors: frozenset[str]) -> None:
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
