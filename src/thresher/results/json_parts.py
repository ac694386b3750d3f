"""JSON as parts: elements of lists and members of objects, each under its pointer and what identifies it.

Invariant: pure; a part is a value as it stands in the result, or some members of an object that is too large.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np
import orjson

from thresher.results.parts import LEVEL, Parts

Pointer: TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root; `pointer_text` writes it as RFC 6901 does."""

_LEAST: Final = 300
_MOST: Final = 3_000
_SHARE: Final = 0.7
"""Characters up to which a value is one part, and what of it for each token of the budget."""
_PARTS: Final = 6_000
"""About the most parts: the larger a result, the larger its smallest part."""
_MAP: Final = 16
"""Members from which an object is a map, such as that of packages by name, whose members are elements."""
_IDENTITY: Final = 60
_IDENTIFYING: Final = 3
"""Most characters of a value that identifies an element, and most such values: its first short ones."""
_DEEPEST: Final = 60


@dataclass(frozen=True, slots=True)
class Some:
    """Some members of an object.

    Attributes:
        members: The members.
        others: How many others the object has.
    """

    members: Mapping[str, Any]
    others: int


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of a long text.

    Attributes:
        text: The whole text.
        first: First character of the piece.
        last: Character after its last.
    """

    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Element:
    """What identifies the element that a part belongs to: its pointer, and its first short members."""

    pointer: Pointer
    identity: Mapping[str, Any]


def read_json(text: str, *, exact: bool = False) -> Any:
    """Read JSON.

    Args:
        text: The text.
        exact: Whether integers of more than 64 bits are kept as they are, which takes twice as long.

    Raises:
        ValueError: It is not valid JSON.
        RecursionError: It is nested too deeply.
    """
    if exact:
        return json.loads(text, parse_constant=_refuse)
    return orjson.loads(text)


def _refuse(name: str) -> Any:
    raise ValueError(name)


def octets_of(value: Any) -> bytes:
    """A value as JSON without blanks, in UTF-8."""
    try:
        return orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):  # an integer of more than 64 bits, or too deep
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def write_json(value: Any) -> str:
    """A value as JSON without blanks."""
    return octets_of(value).decode()


def pointer_text(pointer: Pointer) -> str:
    """A pointer as RFC 6901 writes it."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in pointer)


def split_json(value: Any, budget: int, size: int) -> tuple[Parts, Sequence[Element | None]]:
    """Cut a value into parts.

    Args:
        value: The value.
        budget: Tokens of the answer: an element that is small beside it stays whole.
        size: Characters of the whole.

    Returns:
        The parts, and for each the element that it belongs to if it is a piece of one.
    """
    most = max(min(int(_SHARE * budget), _MOST), _LEAST, size // _PARTS)
    splitter = _Splitter(most)
    splitter.split(value, (), None, 0)
    lengths = np.fromiter(map(len, splitter.texts), np.int64, len(splitter.texts))
    ends = np.cumsum(lengths + 1) - 1
    labels = np.array(splitter.labels, np.int64)
    blob = b"\n".join(splitter.texts)
    parts = Parts("json", "", ends - lengths, ends, labels, splitter.names, splitter.values, blob=blob)
    return parts, splitter.elements


class _Splitter:
    def __init__(self, most: int) -> None:
        self.texts: list[bytes] = []
        self.labels: list[int] = []
        self.values: list[tuple[Pointer, Any]] = []
        self.elements: list[Element | None] = []
        self.names: list[str] = [""]
        self._most = most

    def split(
        self, value: Any, pointer: Pointer, element: Element | None, label: int, octets: bytes | None = None
    ) -> None:
        """Add a value as one part, or as several if it is large."""
        octets = octets_of(value) if octets is None else octets
        if len(octets) <= self._most or len(pointer) > _DEEPEST:
            self._add(octets, pointer, value, element, label)
        elif isinstance(value, dict):
            self._object(cast("dict[str, Any]", value), pointer, element)
        elif isinstance(value, list):
            name = self._label(pointer, element)
            for place, item in enumerate(cast("list[Any]", value)):
                octets = octets_of(item)
                if len(octets) <= self._most:
                    self._add(octets, (*pointer, place), item, element, name)
                else:
                    self.split(item, (*pointer, place), element, name, octets)
        elif isinstance(value, str):
            for first in range(0, len(value), self._most):
                window = Window(value, first, min(first + self._most, len(value)))
                piece = value[first : window.last].encode("utf-8", "replace")
                self._add(piece, pointer, window, element, label)
        else:
            self._add(octets, pointer, value, element, label)

    def _object(self, value: dict[str, Any], pointer: Pointer, element: Element | None) -> None:
        identity = _identity(value)
        is_map = len(value) >= _MAP and not any(isinstance(one, str | int | float) for one in value.values())
        if identity and not is_map:
            element = Element(pointer, identity)
        name = self._label(pointer, element)
        small: dict[str, Any] = {}
        room = self._most
        for key, member in value.items():
            octets = octets_of(member)
            length = len(octets) + len(key) + 4
            if length > self._most:
                self.split(member, (*pointer, key), element, name, octets)
            elif is_map:
                self._add(octets_of(key) + b":" + octets, (*pointer, key), member, element, name)
            else:
                if length > room:
                    self._some(small, value, pointer, element, name)
                    small, room = {}, self._most
                small[key] = member
                room -= length
        if small:
            self._some(small, value, pointer, element, name)

    def _some(
        self, members: dict[str, Any], value: dict[str, Any], pointer: Pointer, element: Element | None, name: int
    ) -> None:
        self._add(octets_of(members), pointer, Some(members, len(value) - len(members)), element, name)

    def _add(self, octets: bytes, pointer: Pointer, value: Any, element: Element | None, label: int) -> None:
        self.texts.append(octets)
        self.values.append((pointer, value))
        self.elements.append(element)
        self.labels.append(label)

    def _label(self, pointer: Pointer, element: Element | None) -> int:
        names = [str(key) for key in pointer if not isinstance(key, int)]
        names = [str(key) for key in pointer if not isinstance(key, int)]
        own = [*names[-1:], *(map(str, element.identity.values()) if element is not None else ())]
        quoted = " ".join(f'"{one}"' for one in own)
        self.names.append(f"{' '.join(names[:-1])}{LEVEL}{quoted}")
        return len(self.names) - 1


def _identity(value: Mapping[str, Any]) -> dict[str, Any]:
    short = (
        (key, one)
        for key, one in value.items()
        if isinstance(one, str | int) and not isinstance(one, bool) and 0 < len(str(one)) <= _IDENTITY
    )
    return dict(first for first, _ in zip(short, range(_IDENTIFYING), strict=False))


def pointer_of(text: str) -> Pointer:
    """The keys of a pointer as RFC 6901 writes it.

    Raises:
        ValueError: It is not one.
    """
    if text and not text.startswith("/"):
        raise ValueError(text)
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in text.split("/")[1:])


def resolve(value: Any, pointer: Pointer) -> Any:
    """The value at a pointer.

    Raises:
        KeyError, IndexError, TypeError: There is none.
    """
    for key in pointer:
        value = value[int(key) if isinstance(value, list) else key]
    return value
