"""Finds mappings in JSON text without building its values."""

from __future__ import annotations

import json
import re
from typing import Final

from thresher.openapi.patching.nodes import Entry, Node, Nodes, Wanted

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\]+|\\.)*"', re.DOTALL)
_SIGN: Final = re.compile(r'"(?:[^"\\]+|\\.)*"|[{}\[\]]', re.DOTALL)
_ATOM: Final = re.compile(r"[^,}\]\s]+")


def json_nodes(text: str, wanted: Wanted) -> Nodes:
    """The wanted mappings of a JSON text.

    Args:
        text: That `json.loads` takes.
        wanted: Which.
    """
    walk = _Walk(text)
    walk.value(_after_space(text, 0), wanted)
    return Nodes(walk.found)


class _Walk:
    """Goes down the text along the wanted pointers, and over everything else."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.found: dict[str, Node] = {}

    def value(self, at: int, wanted: Wanted | None) -> int:
        """Read the value that begins here; where it ends."""
        sign = self._text[at]
        if wanted is not None and sign == "{":
            return self._mapping(at, wanted)
        if wanted is not None and wanted.below and sign == "[":
            return self._list(at, wanted)
        return self._over(at)

    def _mapping(self, start: int, wanted: Wanted) -> int:
        text, entries = self._text, list[Entry]()
        at = _after_space(text, start + 1)
        while text[at] != "}":
            begin, at = at, _end(_STRING, text, at)
            key: str = json.loads(text[begin:at])
            value = _after_space(text, _after_space(text, at) + 1)
            at = self.value(value, wanted.below.get(key))
            entries.append(Entry(key, begin, value, at))
            at = self._next(at)
        if wanted.pointer is not None:
            self.found[wanted.pointer] = Node(start, at + 1, flow=True, entries=tuple(entries))
        return at + 1

    def _list(self, start: int, wanted: Wanted) -> int:
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
