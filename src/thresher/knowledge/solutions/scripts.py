"""Servoy's scripts, read as far as needed: where a word stands in them, and what they declare.

Invariant: pure. Scripts are other people's and are never run, and never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

METHOD_TYPE: Final = 24
VARIABLE_TYPE: Final = 35
CALCULATION_TYPE: Final = 36
_TOKEN: Final = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<text>\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?)"
    r"|(?<=[(,=:\[!&|?{};+])\s*(?P<pattern>/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/)",
    re.DOTALL,
)
_DECLARED: Final = re.compile(
    r"@properties\s*=\s*\{(?P<properties>[^}]*)\}(?:[^*]|\*(?!/))*\*/\s*"
    r"(?:async\s+)?(?:function|var|let|const)\s+(?P<name>[\w$]+)"
)
_TYPE: Final = re.compile(r"\btypeid\s*:\s*(\d+)")
_UUID: Final = re.compile(r"\buuid\s*:\s*[\"']([0-9A-Fa-f-]{36})[\"']")
_RECORDS: Final = re.compile(
    r"(?:foundset|record|selectedRecord|getSelectedRecord\(\)|getRecord\([^()]*\))\s*\.\s*\Z", re.I
)
_VALUE_LIST_CALL: Final = re.compile(r"\bapplication\s*\.\s*(?:get|set)ValueList\w*\(\s*\Z")


@dataclass(frozen=True, slots=True)
class Word:
    """A place in a script.

    Attributes:
        line: From 1.
        text: The whole line.
        certain: Whether it surely means what is looked for.
    """

    line: int
    text: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Declared:
    """A method, variable or calculation.

    Attributes:
        typeid: 24 a method, 35 a variable, 36 a calculation.
        name: Its name.
        uuid: Its UUID, in upper case.
    """

    typeid: int
    name: str
    uuid: str


def declared(script: str) -> list[Declared]:
    """What a script declares with properties of Servoy's, in its order."""
    found: list[Declared] = []
    for match in _DECLARED.finditer(script):
        typeid, uuid = _TYPE.search(match["properties"]), _UUID.search(match["properties"])
        if typeid and uuid:
            found.append(Declared(int(typeid[1]), match["name"], uuid[1].upper()))
    return found


def relation_words(script: str, name: str) -> Iterator[Word]:
    """Where a script may mean a relation: words of its code, and words in its texts, but not in comments.

    Certain are those that a foundset or record stands before, and those that are looked into (`name.`) and are no
    variable of the script.
    """
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    own = re.search(rf"\b(?:var|let|const|function)\s+{re.escape(name)}(?![\w$])", script) is not None
    for start, end, is_text in _parts(script):
        for match in word.finditer(script, start, end):
            yield _word(script, match.start(), certain=not is_text and _is_relation(script, match, own=own))


def value_list_words(script: str, name: str, uuid: str) -> Iterator[Word]:
    """Where a script may mean a value list: texts that are its name, or its UUID.

    Certain are those that a function takes that reads or sets the values of a list.
    """
    for start, end, is_text in _parts(script):
        inner = script[start + 1 : end - 1]
        if is_text and (inner == name or (uuid and inner.upper() == uuid.upper())):
            yield _word(script, start, certain=_VALUE_LIST_CALL.search(script, max(0, start - 80), start) is not None)


def _parts(script: str) -> Iterator[tuple[int, int, bool]]:
    """Code and texts, as offsets, and which of both; comments and patterns are left out."""
    last = 0
    for match in _TOKEN.finditer(script):
        yield last, match.start(), False
        if match["text"]:
            yield match.start(), match.end(), True
        last = match.end()
    yield last, len(script), False


def _is_relation(script: str, match: re.Match[str], *, own: bool) -> bool:
    before = script[max(0, match.start() - 120) : match.start()]
    if before.rstrip().endswith("."):
        return _RECORDS.search(before) is not None
    return not own and re.match(r"\s*\.\s*[\w$]", script[match.end() : match.end() + 40]) is not None


def _word(script: str, at: int, *, certain: bool) -> Word:
    start = script.rfind("\n", 0, at) + 1
    end = script.find("\n", at)
    return Word(script.count("\n", 0, at) + 1, script[start : len(script) if end < 0 else end], certain)
