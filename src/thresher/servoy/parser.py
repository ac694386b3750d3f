"""Parses text into values, each with its position.

Invariant: what cannot be read unambiguously raises BrokenFile with line and column; nothing is guessed, and recursion
is limited to `DEEPEST` levels.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn, TypeAlias

from thresher.core import BrokenFile, Lines
from thresher.servoy.layout import EmptyList, EmptyObject, Number, Value
from thresher.servoy.writer import BARE_KEY, UnknownEscape, unquoted

DEEPEST: Final = 200
"""Real forms nest 20 levels."""
_LONGEST_NUMBER: Final = 400
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_WORD: Final = re.compile(r"[^\s,:{}\[\]\"]+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_COLON: Final = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


class ParsedNode:
    """A value and its position.

    Attributes:
        start: Offset of its first character.
        end: Offset after its last character.
        value: The value.
        members: Members of an object in file order; else empty.
        elements: Elements of a list; else empty.
    """

    __slots__ = ("elements", "end", "members", "start", "value")

    def __init__(self, start: int, end: int, value: Value, members: Members, elements: list[ParsedNode]) -> None:
        self.start = start
        self.end = end
        self.value = value
        self.members = members
        self.elements = elements


Members: TypeAlias = "dict[str, tuple[int, ParsedNode]]"
"""Offset of the key, and value, by name."""
_NO_MEMBERS: Final[Members] = {}
_NO_ELEMENTS: Final[list[ParsedNode]] = []


class Parser:
    """Parses one text.

    Args:
        text: The decoded file with its carriage returns.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._size = len(text)
        self._deep = 0
        self._last_text = -1

    def outermost(self) -> tuple[ParsedNode, bool]:
        """Parse the whole text; also return whether its outermost value has braces or brackets.

        Raises:
            BrokenFile: It cannot be read.
        """
        start = self._skip(0)
        if start == self._size:
            self._fail(0, "The file is empty.", "Restore it from the project's history, or delete it.")
        if self._text[start] in "{[":
            node = self._value(start)
            self._nothing_after(node.end)
            return node, True
        node = self._members(start, start, "")
        return node, False

    def _nothing_after(self, end: int) -> None:
        behind = self._skip(end)
        if behind != self._size:
            self._fail(behind, f"The file continues after its end with {self._near(behind)}.")

    def _value(self, at: int) -> ParsedNode:
        first = self._text[at : at + 1]
        if first == '"':
            return self._string(at)
        if first == "{":
            return self._nested(at, "}")
        if first == "[":
            return self._nested(at, "]")
        return self._plain(at)

    def _nested(self, at: int, close: str) -> ParsedNode:
        self._deep += 1
        if self._deep > DEEPEST:
            self._fail(at, f"Values are nested deeper than {DEEPEST} levels.")
        start = self._skip(at + 1)
        node = self._members(at, start, close) if close == "}" else self._elements(at, start)
        self._deep -= 1
        return node

    def _members(self, begin: int, at: int, close: str) -> ParsedNode:
        """Parse pairs up to the closing brace, or to the end of the text if the outermost braces are omitted."""
        text, members, value = self._text, dict[str, tuple[int, ParsedNode]](), dict[str, Value]()
        if close and text[at : at + 1] == close:
            blanks = self._blanks(begin, at)
            return ParsedNode(begin, at + 1, EmptyObject(blanks) if blanks else value, members, _NO_ELEMENTS)
        while True:
            name, behind = self._key(at)
            if name in members:
                self._fail(at, f"The key '{name[:60]}' appears twice.", "Remove the one that is wrong.")
            node = self._value(behind)
            members[name] = (at, node)
            value[name] = node.value
            at = self._skip(node.end)
            found = text[at : at + 1]
            if found == close:
                return ParsedNode(begin, at + 1 if close else node.end, value, members, _NO_ELEMENTS)
            if found != ",":
                self._fail_between(at, "}" if close else "")
            at = self._skip(at + 1)

    def _elements(self, begin: int, at: int) -> ParsedNode:
        text, elements = self._text, list[ParsedNode]()
        if text[at : at + 1] == "]":
            blanks = self._blanks(begin, at)
            return ParsedNode(begin, at + 1, EmptyList(blanks) if blanks else [], _NO_MEMBERS, elements)
        while True:
            node = self._value(at)
            elements.append(node)
            at = self._skip(node.end)
            found = text[at : at + 1]
            if found == "]":
                return ParsedNode(begin, at + 1, [one.value for one in elements], _NO_MEMBERS, elements)
            if found != ",":
                self._fail_between(at, "]")
            at = self._skip(at + 1)

    def _key(self, at: int) -> tuple[str, int]:
        """Parse a key and return it with the offset of its value."""
        if self._text[at : at + 1] == '"':
            node = self._string(at)
            name, end = str(node.value), node.end
        else:
            found = BARE_KEY.match(self._text, at)
            if found is None:
                self._fail(at, f"A key is missing before {self._near(at)}.", "Look for an extra comma.")
            name, end = found.group(), found.end()
        colon = _COLON.match(self._text, end)
        if colon is None:
            self._fail(at, f"A colon is missing after {self._near(at)}.")
        return name, colon.end()

    def _string(self, at: int) -> ParsedNode:
        found = _STRING.match(self._text, at)
        if found is None:
            self._fail(at, "The text that begins here is not terminated.", "Close it with a quotation mark.")
        raw = found.group(1)
        self._last_text = at
        if "\x00" in raw:
            self._fail(at + 1 + raw.index("\x00"), "A text contains a NUL character.")
        try:
            return ParsedNode(at, found.end(), unquoted(raw), _NO_MEMBERS, _NO_ELEMENTS)
        except UnknownEscape as problem:
            self._fail(at + 1 + problem.offset, f"{problem.text!r} is no escape.", "Write two backslashes for one.")

    def _plain(self, at: int) -> ParsedNode:
        found = _WORD.match(self._text, at)
        if found is None:
            self._fail(at, f"A value is missing before {self._near(at)}.")
        word = found.group()
        if word in _CONSTANTS:
            return ParsedNode(at, found.end(), _CONSTANTS[word], _NO_MEMBERS, _NO_ELEMENTS)
        number = _NUMBER.fullmatch(word)
        if number is None or len(word) > _LONGEST_NUMBER:
            self._fail(at, f"{self._near(at)} is no value.", "Texts must be quoted.")
        plain = number.group(1) is None and number.group(2) is None and word != "-0"
        return ParsedNode(at, found.end(), int(word) if plain else Number(word), _NO_MEMBERS, _NO_ELEMENTS)

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _blanks(self, begin: int, end: int) -> str:
        """Return the white space in an empty container if it is more than line feeds."""
        between = self._text[begin + 1 : end].replace("\r\n", "\n")
        return between if between.strip("\n") else ""

    def _near(self, at: int) -> str:
        if at >= self._size:
            return "the end of the file"
        return repr(self._text[at : at + 20].split("\n")[0].rstrip("\r") or self._text[at])

    def _fail_between(self, at: int, close: str) -> NoReturn:
        wanted = f"a comma or '{close}'" if close else "a comma or the end"
        hint = ""
        if self._last_text >= 0 and "\n" in self._text[self._last_text : at].rstrip():
            line = Lines(self._text).at(self._last_text)[0]
            hint = f"The text that begins on line {line} may lack its quotation mark."
        self._fail(at, f"Expected {wanted}, found {self._near(at)}.", hint)

    def _fail(self, at: int, message: str, hint: str = "") -> NoReturn:
        line, column = Lines(self._text).at(at)
        hint = hint or "Correct the file by hand, or restore it from the project's history."
        raise BrokenFile(message, hint=hint, line=line, column=column)
