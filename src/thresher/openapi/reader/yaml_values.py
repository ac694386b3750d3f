"""From YAML text to plain data by YAML 1.2's core schema: no dates, no `yes`, and keys are text.

Invariant: aliases share their value, their expanded size is bounded, and application tags are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

import yaml

from thresher.core import InvalidInput
from thresher.openapi.pointers import join
from thresher.openapi.reader.problems import (
    Code,
    DescriptionLimits,
    Notes,
    check_depth,
    duplicate_key_message,
    too_deep,
)
from thresher.openapi.records import Json

Event: TypeAlias = Any
"""A PyYAML event; the C parser's module has no types."""

_CONSTANTS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER: Final = re.compile(
    r"(?P<int>[-+]?[0-9]+)|(?P<oct>0o[0-7]+)|(?P<hex>0x[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_NUMERIC: Final = frozenset("0123456789+-.")
_DIGITS: Final = 400
_PREFIX: Final = "tag:yaml.org,2002:"
_KNOWN: Final = frozenset(_PREFIX + name for name in ("str", "int", "float", "bool", "null", "map", "seq")) | {"!"}
_TEXT: Final = frozenset({_PREFIX + "str", "!"})
_ENTRY: Final = 8
"""Characters that each value counts in addition to its own."""
_CLIP: Final = 80
_DROPPED: Final = "\0dropped"
"""Stands for an invalid key or a merge key, whose value is not stored under it."""


def plain_value(text: str) -> Json:
    """Return the meaning of an unquoted scalar; infinite and absurdly long numbers stay text, since JSON has none."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMERIC or len(text) > _DIGITS:
        return text
    found = _NUMBER.fullmatch(text)
    match found.lastgroup if found else "":
        case "int":
            return int(text)
        case "oct":
            return int(text[2:], 8)
        case "hex":
            return int(text[2:], 16)
        case "float":
            value = float(text)
            return text if value in (float("inf"), float("-inf")) else value
        case _:
            return text


@dataclass(slots=True)
class _Frame:
    """A list or mapping under construction.

    Attributes:
        value: The list or mapping.
        anchor: Its anchor; may be empty.
        before: Characters counted before it began.
        key: In a mapping, the key whose value comes next; None if a key comes next.
        lines: In a mapping, line by key.
        merging: Whether the next value is merged instead of stored.
        merged: Values to merge when it ends.
    """

    value: dict[str, Json] | list[Json]
    anchor: str
    before: int
    key: str | None = None
    lines: dict[str, int] = field(default_factory=dict[str, int])
    merging: bool = False
    merged: list[Json] = field(default_factory=list[Json])


class YamlValues:
    """Builds the value of one document from libyaml's events.

    Args:
        limits: Bounds on depth and on the size with aliases expanded.
        notes: Receives the problems.
    """

    def __init__(self, limits: DescriptionLimits, notes: Notes) -> None:
        self._limits = limits
        self._notes = notes
        self._frames: list[_Frame] = [_Frame([], "", 0)]
        self._size = 0
        self._added = 0
        self._anchors: dict[str, tuple[Json, int]] = {}
        self._documents = 0
        self._handlers: Mapping[type, Callable[[Event], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._open,
            yaml.SequenceStartEvent: self._open,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.AliasEvent: self._alias,
        }

    def read(self, text: str) -> Json:
        """Return the value of the first document; None for an empty text.

        Raises:
            InvalidInput: The text is not YAML, is nested too deeply, or its aliases expand too far.
        """
        parser: Event = yaml.CSafeLoader(text)
        try:
            self._consume(parser.get_event)
        except yaml.MarkedYAMLError as error:
            mark: Event = error.problem_mark or error.context_mark
            where = f"line {mark.line + 1}, column {mark.column + 1}"
            raise InvalidInput(
                f"The YAML cannot be read: {error.problem or error.context}, at {where}.",
                hint="Correct that line; any YAML checker shows it.",
            ) from error
        finally:
            parser.dispose()
        values = self._frames[0].value
        if self._added:
            check_depth(values, self._limits)
        return values[0] if isinstance(values, list) and values else None

    def _consume(self, following: Callable[[], Event]) -> None:
        handlers = self._handlers
        while True:
            event = following()
            kind = event.__class__
            handler = handlers.get(kind)
            if handler is not None:
                handler(event)
            elif kind is yaml.StreamEndEvent:
                return
            elif kind is yaml.DocumentStartEvent:
                self._documents += 1
                if self._documents > 1:
                    line = event.start_mark.line + 1
                    said = f"Another document begins at line {line}; only the first is read."
                    self._notes.add("more-documents", said, line=line)
                    return

    def _scalar(self, event: Event) -> None:
        text: str = event.value
        frame = self._frames[-1]
        if frame.key is None and type(frame.value) is dict:
            self._key(frame, text, event)
            return
        tag = event.tag
        if tag is None:
            value = plain_value(text) if event.implicit[0] else text
        else:
            self._check_tag(event)
            value = plain_value(text) if tag in _KNOWN and tag not in _TEXT else text
        self._size += len(text) + _ENTRY
        if event.anchor:
            self._anchors[event.anchor] = (value, len(text) + _ENTRY)
        self._put(frame, value)

    def _key(self, frame: _Frame, text: str, event: Event) -> None:
        """Handle the next key of a mapping."""
        self._size += len(text) + _ENTRY
        if event.anchor:
            self._anchors[event.anchor] = (text, len(text) + _ENTRY)
        if text == "<<" and event.implicit[0]:
            frame.key, frame.merging = _DROPPED, True
            return
        line = event.start_mark.line + 1
        first = frame.lines.get(text)
        if first is not None:
            self._notes.add("duplicate-key", duplicate_key_message(text, first, line), join(self._pointer(), text))
        frame.lines[text] = line
        frame.key = text

    def _open(self, event: Event) -> None:
        frame = self._frames[-1]
        if frame.key is None and type(frame.value) is dict:
            self._note("complex-key", "A key is a list or a mapping; it is left out.", event)
        if event.tag is not None:
            self._check_tag(event)
        if len(self._frames) > self._limits.depth:
            raise too_deep(self._limits)
        value: dict[str, Json] | list[Json] = {} if type(event) is yaml.MappingStartEvent else []
        self._frames.append(_Frame(value, event.anchor or "", self._size))
        self._size += _ENTRY
        self._anchors.pop(event.anchor, None)

    def _close(self, _event: Event) -> None:
        frame = self._frames.pop()
        for merged in frame.merged:
            self._merge(frame, merged)
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, self._size - frame.before)
        below = self._frames[-1]
        if below.key is None and type(below.value) is dict:
            below.key = _DROPPED
        else:
            self._put(below, frame.value)

    def _alias(self, event: Event) -> None:
        frame = self._frames[-1]
        value, size = self._anchors.get(event.anchor, (None, 0))
        if event.anchor not in self._anchors:
            circular = any(one.anchor == event.anchor for one in self._frames)
            what = "holds itself" if circular else "is not defined before it"
            said = f"The alias *{event.anchor[:_CLIP]} {what}; it is read as null."
            self._note("circular-alias" if circular else "unknown-alias", said, event)
        self._size += size
        self._added += size
        if self._added > self._limits.aliased:
            raise InvalidInput(
                f"The description's aliases expand to more than {self._limits.aliased:,} characters.",
                hint="Write out fewer repetitions, or use $ref instead of YAML anchors.",
            )
        if frame.key is None and type(frame.value) is dict:
            frame.key = value if isinstance(value, str) else _DROPPED
        else:
            self._put(frame, value)

    def _put(self, frame: _Frame, value: Json) -> None:
        """Store a finished value in its container."""
        holder = frame.value
        if isinstance(holder, list):
            holder.append(value)
            return
        key, frame.key = frame.key, None
        if frame.merging:
            frame.merging = False
            frame.merged.extend(cast("list[Json]", value) if isinstance(value, list) else [value])
        elif key is not None and key is not _DROPPED:
            holder[key] = value

    def _merge(self, frame: _Frame, merged: Json) -> None:
        """Add the entries of a merged mapping that the mapping lacks."""
        if not isinstance(merged, dict) or not isinstance(frame.value, dict):
            self._notes.add("bad-merge", "The value merged with << is not a mapping; it is left out.", self._pointer())
            return
        for key, value in cast("dict[str, Json]", merged).items():
            frame.value.setdefault(key, value)

    def _check_tag(self, event: Event) -> None:
        if event.tag not in _KNOWN:
            said = f"The tag {event.tag[:_CLIP]!r} is ignored; its value is read as if it had none."
            self._note("tag", said, event)

    def _note(self, code: Code, message: str, event: Event) -> None:
        self._notes.add(code, message, self._pointer(), event.start_mark.line + 1)

    def _pointer(self) -> str:
        """The pointer of the value being read."""
        pointer = ""
        for frame in self._frames[1:]:
            if isinstance(frame.value, list):
                pointer = join(pointer, len(frame.value))
            elif frame.key is not None and frame.key is not _DROPPED:
                pointer = join(pointer, frame.key)
        return pointer
