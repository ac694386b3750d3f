"""JSON as parts: elements of lists and members of objects, each under its pointer and what identifies it.

Invariant: pure; a part is a value as it stands in the result, or some members of an object that is too large.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence, Sized
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
    text = text.removeprefix("\ufeff")
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


@dataclass(frozen=True, slots=True)
class Run:
    """Parts that follow one another: the elements of a list, or one value.

    Attributes:
        first: The first part.
        pointer: Of the list, or of the value.
        values: The elements, or the one value.
        is_list: Whether they are elements, whose index belongs to their pointer.
        element: The element that they are a piece of, if any.
    """

    first: int
    pointer: Pointer
    values: Sequence[Any]
    is_list: bool
    element: Element | None


@dataclass(frozen=True, slots=True)
class JsonParts:
    """A JSON value in parts.

    Attributes:
        parts: The parts.
        runs: What they are, in order.
    """

    parts: Parts
    runs: Sequence[Run]

    def run_of(self, part: int) -> Run:
        """The run that a part belongs to."""
        return self.runs[bisect_right(self.runs, part, key=lambda run: run.first) - 1]

    def value_of(self, part: int) -> tuple[Pointer, Any]:
        """The pointer of a part, and its value."""
        run = self.run_of(part)
        place = part - run.first
        return (*run.pointer, place) if run.is_list else run.pointer, run.values[place]


def split_json(value: Any, budget: int, size: int) -> JsonParts:
    """Cut a value into parts.

    Args:
        value: The value.
        budget: Tokens of the answer: an element that is small beside it stays whole.
        size: Characters of the whole.
    """
    most = max(min(int(_SHARE * budget), _MOST), _LEAST, size // _PARTS)
    splitter = _Splitter(most)
    splitter.split(value, (), None, 0)
    lengths = np.fromiter(map(len, splitter.texts), np.int64, len(splitter.texts))
    ends = np.cumsum(lengths + 1) - 1
    counts = [len(run.values) for run in splitter.runs]
    labels = np.repeat(np.array(splitter.labels, np.int64), counts)
    parts = Parts("json", "", ends - lengths, ends, labels, splitter.names, blob=b"\n".join(splitter.texts))
    return JsonParts(parts, splitter.runs)


class _Splitter:
    def __init__(self, most: int) -> None:
        self.texts: list[bytes] = []
        self.labels: list[int] = []
        self.runs: list[Run] = []
        self.names: list[str] = [""]
        self._most = most

    def split(
        self, value: Any, pointer: Pointer, element: Element | None, label: int, octets: bytes | None = None
    ) -> None:
        """Add a value as one part, or as several if it is large."""
        octets = self._octets(value) if octets is None else octets
        if 0 < len(octets) <= self._most or len(pointer) > _DEEPEST:
            self._add(octets or octets_of(value), pointer, value, element, label)
        elif isinstance(value, dict):
            self._object(cast("dict[str, Any]", value), pointer, element)
        elif isinstance(value, list):
            self._list(cast("list[Any]", value), pointer, element)
        elif isinstance(value, str):
            for first in range(0, len(value), self._most):
                window = Window(value, first, min(first + self._most, len(value)))
                piece = value[first : window.last].encode("utf-8", "replace")
                self._add(piece, pointer, window, element, label)
        else:
            self._add(octets, pointer, value, element, label)

    def _octets(self, value: Any) -> bytes:
        """A value as JSON; empty if it is surely too large for one part, so that nothing large is written twice."""
        is_large = isinstance(value, dict | list) and 2 * len(cast("Sized", value)) > self._most
        return b"" if is_large else octets_of(value)

    def _list(self, items: list[Any], pointer: Pointer, element: Element | None) -> None:
        name = self._label(pointer, element)
        texts = [octets_of(item) for item in items]
        if max(map(len, texts)) <= self._most:
            self.runs.append(Run(len(self.texts), pointer, items, is_list=True, element=element))
            self.labels.append(name)
            self.texts += texts
            return
        for place, (item, octets) in enumerate(zip(items, texts, strict=True)):
            self.split(item, (*pointer, place), element, name, octets)

    def _object(self, value: dict[str, Any], pointer: Pointer, element: Element | None) -> None:
        identity = _identity(value)
        is_map = len(value) >= _MAP and not any(isinstance(one, str | int | float) for one in value.values())
        if identity and not is_map:
            element = Element(pointer, identity)
        name = self._label(pointer, element)
        small: dict[str, Any] = {}
        written: list[bytes] = []
        room = self._most
        for key, member in value.items():
            octets = self._octets(member)
            length = len(octets) + len(key) + 4
            if not octets or length > self._most:
                self.split(member, (*pointer, key), element, name, octets)
            elif is_map:
                self._add(octets_of(key) + b":" + octets, (*pointer, key), member, element, name)
            else:
                if length > room:
                    self._some(small, written, value, pointer, element, name)
                    small, written, room = {}, [], self._most
                small[key] = member
                written.append(octets_of(key) + b":" + octets)
                room -= length
        if small:
            self._some(small, written, value, pointer, element, name)

    def _some(
        self,
        members: dict[str, Any],
        written: Sequence[bytes],
        value: dict[str, Any],
        pointer: Pointer,
        element: Element | None,
        name: int,
    ) -> None:
        octets = b"{" + b",".join(written) + b"}"
        self._add(octets, pointer, Some(members, len(value) - len(members)), element, name)

    def _add(self, octets: bytes, pointer: Pointer, value: Any, element: Element | None, label: int) -> None:
        self.runs.append(Run(len(self.texts), pointer, (value,), is_list=False, element=element))
        self.labels.append(label)
        self.texts.append(octets)

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
