"""Changes of a file by spans: everything that a change does not concern keeps its bytes.

Invariant: the returned bytes were read again and give exactly the changed values.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from enum import Enum
from typing import Final, TypeAlias

from thresher.core import InvalidInput
from thresher.servoy.documents import Document, Path, read_document
from thresher.servoy.layout import JSON, Value
from thresher.servoy.parser import ParsedNode
from thresher.servoy.writer import key_text, one_line, scalar, sort_key, text_of, written


class RemovedMark(Enum):
    """Marks a property to be removed."""

    REMOVED = "removed"


REMOVED: Final = RemovedMark.REMOVED
Changes: TypeAlias = "Mapping[Path, Value | RemovedMark]"
_BLANK: Final = re.compile(r"[ \t]*")


def with_changes(document: Document, changes: Changes) -> bytes:
    """Return a document's bytes after changes.

    Args:
        document: The original; it is not modified.
        changes: New value by path, or `REMOVED`. Missing objects on the way are created; the index after a list's last
            member appends.

    Raises:
        InvalidInput: A path does not exist, or the result would not have the intended value.
    """
    value = copy.deepcopy(document.value)
    for path, one in changes.items():
        _apply(value, path, one)
    return with_value(document, value)


def with_value(document: Document, value: Value) -> bytes:
    """Return a document's bytes with another value; equal members keep their bytes.

    Raises:
        InvalidInput: The value cannot be written so that it reads back the same.
    """
    text = _Splicer(document).text(value)
    data = text.encode("utf-8")
    try:
        said = read_document(data).value
    except InvalidInput as error:
        raise InvalidInput(f"The change cannot be written: {error.message}", hint="Give another value.") from error
    if not same(said, value):
        raise InvalidInput("The change cannot be written so that it reads back correctly.", hint="Change it by hand.")
    return data


def _apply(value: Value, path: Path, one: Value | RemovedMark) -> None:
    if not path:
        raise InvalidInput("A change needs a path.", hint="Name a property.")
    for part in path[:-1]:
        value = _container(value, part, path, missing=one is not REMOVED)
        if value is None and one is REMOVED:
            return
    last = path[-1]
    if isinstance(value, dict) and isinstance(last, str):
        if isinstance(one, RemovedMark):
            value.pop(last, None)
        else:
            value[last] = one
    elif isinstance(value, list) and isinstance(last, int) and 0 <= last < len(value) + (one is not REMOVED):
        value[last : last + 1] = [] if isinstance(one, RemovedMark) else [one]
    else:
        raise InvalidInput(f"There is no {_path_text(path)} in this file.", hint="Read the file again.")


def _container(value: Value, part: str | int, path: Path, *, missing: bool) -> Value:
    """Return the container that a path leads through; a missing object is created on request."""
    if isinstance(value, dict) and isinstance(part, str):
        return value.setdefault(part, {}) if missing else value.get(part)
    if isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value):
        return value[part]
    raise InvalidInput(f"There is no {_path_text(path)} in this file.", hint="Read the file again.")


def _path_text(path: Path) -> str:
    return ".".join(str(part) for part in path)


def same(one: Value, other: Value) -> bool:
    """Return whether two values are written alike: true is not 1, and 1.0 is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict | list) or isinstance(other, dict | list):
        return False
    return scalar(one) == scalar(other)


def canonical(value: Value) -> str:
    """Return a text that only equal values share."""
    return text_of(value, JSON, "", inline=True)


class _Splicer:
    """Writes a document's text again, verbatim where nothing changes.

    Args:
        document: The original.
    """

    def __init__(self, document: Document) -> None:
        self._old = document.text
        self._root = document.root
        self._layout = document.layout

    def text(self, value: Value) -> str:
        """Return the whole text for a value."""
        root = self._root
        behind = self._old[root.end :]
        if isinstance(value, dict) and not value and not self._layout.braces:
            raise InvalidInput("A file cannot be left empty.", hint="Delete it instead.")
        return self._old[: root.start] + self._changed(root, value, outermost=True) + behind

    def _changed(self, node: ParsedNode, value: Value, *, inline: bool = False, outermost: bool = False) -> str:
        old = node.value
        if same(old, value):
            return self._old[node.start : node.end]
        if isinstance(old, dict) and isinstance(value, dict) and old and value:
            return self._object(node, value)
        if isinstance(old, list) and isinstance(value, list) and old and value:
            return self._list(node, value)
        return self._new(value, node.start, inline=inline, outermost=outermost)

    def _new(self, value: Value, at: int, *, inline: bool, outermost: bool = False) -> str:
        """Return the text of a new value, indented like the line that it begins on."""
        if outermost:
            return written(value, self._layout)
        base = self._base(at)
        inline = inline or one_line(value, self._layout)
        return self._lines(text_of(value, self._layout, base, inline=inline))

    def _base(self, at: int) -> str:
        found = _BLANK.match(self._old, self._old.rfind("\n", 0, at) + 1)
        return found.group() if found else ""

    def _lines(self, text: str) -> str:
        return text if self._layout.newline == "\n" else text.replace("\n", self._layout.newline)

    def _object(self, node: ParsedNode, value: Mapping[str, Value]) -> str:
        names = _placed([name for name in node.members if name in value], value)
        at = {name: place for place, name in enumerate(node.members)}
        spans = [(key, one.end) for key, one in node.members.values()]
        inline = self._one_line(node, spans)
        parts: list[tuple[int | None, str]] = []
        for name in names:
            if name in node.members:
                key, one = node.members[name]
                text = self._old[key : one.start] + self._changed(one, value[name], inline=inline)
                parts.append((at[name], text))
            else:
                text = self._new(value[name], spans[0][0], inline=inline)
                parts.append((None, key_text(name, self._layout) + self._layout.colon + text))
        return self._joined(node, spans, parts)

    def _list(self, node: ParsedNode, value: Sequence[Value]) -> str:
        spans = [(one.start, one.end) for one in node.elements]
        inline = self._one_line(node, spans)
        parts: list[tuple[int | None, str]] = []
        for place, one in zip(_matched(node, value), value, strict=True):
            if place is None:
                like = inline or self._like_neighbours(node, one)
                parts.append((None, self._new(one, spans[0][0], inline=like)))
            else:
                parts.append((place, self._changed(node.elements[place], one, inline=inline)))
        return self._joined(node, spans, parts)

    def _like_neighbours(self, node: ParsedNode, value: Value) -> bool:
        """Return whether a new object is on one line because its neighbours are."""
        others = [one for one in node.elements if one.members]
        if not isinstance(value, dict) or not others:
            return False
        return all("\n" not in self._old[one.start : next(iter(one.members.values()))[0]] for one in others)

    def _one_line(self, node: ParsedNode, spans: Sequence[tuple[int, int]]) -> bool:
        """Return whether a container has its members on the line that it begins on."""
        return node.start != spans[0][0] and "\n" not in self._old[node.start : spans[0][0]]

    def _joined(self, node: ParsedNode, spans: Sequence[tuple[int, int]], parts: list[tuple[int | None, str]]) -> str:
        """Join members by their separators: those that were neighbours keep theirs."""
        old, lead = self._old, self._old[node.start : spans[0][0]]
        texts: list[str] = []
        before: int | None = None
        for place, text in parts:
            if texts:
                if before is not None and place == before + 1:
                    texts.append(old[spans[before][1] : spans[before + 1][0]])
                else:
                    texts.append(self._separator(spans, lead))
            texts.append(text)
            before = place
        return lead + "".join(texts) + old[spans[-1][1] : node.end]

    def _separator(self, spans: Sequence[tuple[int, int]], lead: str) -> str:
        if len(spans) > 1:
            return self._old[spans[0][1] : spans[1][0]]
        if not lead:
            return "," + self._layout.newline
        return "," + lead[1:]


def _placed(kept: Sequence[str], value: Mapping[str, Value]) -> list[str]:
    """Return names in the file's order, new ones before the first that sorts after them."""
    names = list(kept)
    known = set(kept)
    for name in sorted((name for name in value if name not in known), key=sort_key):
        place = next((at for at, other in enumerate(names) if sort_key(other) > sort_key(name)), len(names))
        names.insert(place, name)
    return names


def _matched(node: ParsedNode, value: Sequence[Value]) -> list[int | None]:
    """Return, for each member of the new list, the index of its former self; None for new ones."""
    old = [_identity(one.value) for one in node.elements]
    new = [_identity(one) for one in value]
    places: list[int | None] = [None] * len(new)
    for kind, low, high, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in ("equal", "replace"):
            for place, at in zip(range(low, high), range(first, last), strict=False):
                places[at] = place
    return places


def _identity(value: Value) -> str:
    if isinstance(value, dict) and isinstance(value.get("uuid"), str):
        return f"uuid {value['uuid']}"
    return canonical(value)
