"""Finds where documents and scripts name a relation or value list, and what scripts declare.

Invariant: pure. A place is certain if the format says that it holds a name or UUID; only such places are rewritten, and
only the name in them. Scripts are other people's: they are never run and never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from thresher.servoy import Document, Path, Value

_CHAIN: Final = re.compile(r"[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*|\$[\w$]*(?:\.[\w$]+)*")
_TAG: Final = re.compile(r"%%([\w$.]+)%%")
_SORTED: Final = re.compile(r"(?:^|,)\s*([\w$.]+)")
_RELATION_KEY: Final = re.compile(r"relationname|relation|foundsetselector|namedfoundset", re.I)
_PROVIDER_KEY: Final = re.compile(r".*(?:dataprovider|dataproviderid[123]?|dataprovideridtoaggregate)", re.I)
_SORT_KEY: Final = re.compile(r"initialsort|sortoptions", re.I)
_VALUE_LIST_KEY: Final = re.compile(r".*valuelist(?:id)?", re.I)
_SHOWN_KEY: Final = re.compile(r".*text|styleclass", re.I)
_NAMES: Final = {"name", "uuid", "typeName", "dataSource", "primaryDataSource", "foreignDataSource"}
_SCOPES: Final = {"scopes", "globals"}


@dataclass(frozen=True, slots=True)
class Mention:
    """A text in a document that names an object.

    Attributes:
        path: Path of the text in the document.
        text: The text.
        spans: Positions of the name in it; empty if it holds the UUID.
        certain: Whether it certainly means the object.
    """

    path: Path
    text: str
    spans: tuple[tuple[int, int], ...]
    certain: bool

    def renamed(self, name: str) -> str:
        """Return the text with another name."""
        text = self.text
        for start, end in reversed(self.spans):
            text = text[:start] + name + text[end:]
        return text


def relation_mentions(document: Document, name: str, uuid: str, relations: Collection[str]) -> Iterator[Mention]:
    """Yield where a document names a relation.

    Args:
        document: Any file of a workspace.
        name: Name of the relation.
        uuid: UUID of the relation.
        relations: Names of all relations, which may precede it in a chain.
    """
    for path, key, text in _texts(document):
        if uuid and text.upper() == uuid.upper() and key != "uuid":
            yield Mention(path, text, (), certain=True)
        elif name in text and key not in _NAMES:
            spans, certain = _relation_spans(key, text, name, relations)
            if spans:
                yield Mention(path, text, tuple(spans), certain)


def value_list_mentions(document: Document, name: str, uuid: str) -> Iterator[Mention]:
    """Yield where a document contains a value list's UUID or name."""
    for path, key, text in _texts(document):
        if uuid and text.upper() == uuid.upper() and key != "uuid":
            yield Mention(path, text, (), certain=True)
        elif text == name and key not in _NAMES and not _PROVIDER_KEY.fullmatch(key) and not _SHOWN_KEY.fullmatch(key):
            yield Mention(path, text, ((0, len(text)),), certain=_VALUE_LIST_KEY.fullmatch(key) is not None)


def _texts(document: Document) -> Iterator[tuple[Path, str, str]]:
    """Yield every text with its path and key; texts in a list have the list's key."""
    waiting: list[tuple[Path, str, Value]] = [((), "", document.value)]
    while waiting:
        path, key, value = waiting.pop()
        if isinstance(value, str):
            yield path, key, value
        elif isinstance(value, Mapping):
            waiting.extend(((*path, name), name, one) for name, one in reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend(((*path, place), key, one) for place, one in reversed(list(enumerate(value))))


def _relation_spans(key: str, text: str, name: str, relations: Collection[str]) -> tuple[list[tuple[int, int]], bool]:
    tags = [span for tag in _TAG.finditer(text) for span in _in_chain(tag[1], tag.start(1), name, relations)]
    if tags:
        return tags, True
    if _RELATION_KEY.fullmatch(key) and _CHAIN.fullmatch(text):
        spans = _in_chain(f"{text}.", 0, name, relations)
        return spans or _segments(text, 0, name), bool(spans)
    if _SORT_KEY.fullmatch(key):
        spans = [span for part in _SORTED.finditer(text) for span in _in_chain(part[1], part.start(1), name, relations)]
        return spans, True
    if _CHAIN.fullmatch(text):
        spans = _in_chain(text, 0, name, relations)
        if spans and _PROVIDER_KEY.fullmatch(key):
            return spans, True
        return spans or _doubtful(text, name), False
    quoted = re.compile(rf"[\"']({re.escape(name)})[\"'.]")
    return [match.span(1) for match in quoted.finditer(text)], False


def _in_chain(chain: str, offset: int, name: str, relations: Collection[str]) -> list[tuple[int, int]]:
    """Return the positions of a name in a chain of relations that ends with a column."""
    found: list[tuple[int, int]] = []
    parts = chain.split(".")
    for part in parts[:-1] if parts[0] not in _SCOPES else []:
        if part == name:
            found.append((offset, offset + len(part)))
        elif part not in relations:
            break
        offset += len(part) + 1
    return found


def _doubtful(chain: str, name: str) -> list[tuple[int, int]]:
    """Return the positions of a name that stands alone, or after a name that is not a relation of the workspace."""
    before, _, last = chain.rpartition(".")
    if before.partition(".")[0] in _SCOPES:
        return []
    return _segments(before, 0, name) if before else _segments(last, 0, name)


def _segments(chain: str, offset: int, name: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for part in chain.split("."):
        if part == name:
            spans.append((offset, offset + len(part)))
        offset += len(part) + 1
    return spans


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
_DECLARED_UUID: Final = re.compile(r"\buuid\s*:\s*[\"']([0-9A-Fa-f-]{36})[\"']")
_RECORDS: Final = re.compile(
    r"(?:foundset|record|selectedRecord|getSelectedRecord\(\)|getRecord\([^()]*\))\s*\.\s*\Z", re.I
)
_VALUE_LIST_CALL: Final = re.compile(r"\bapplication\s*\.\s*(?:get|set)ValueList\w*\(\s*\Z")


@dataclass(frozen=True, slots=True)
class ScriptWord:
    """A place in a script.

    Attributes:
        line: From 1.
        text: The whole line.
        certain: Whether it certainly means the object.
    """

    line: int
    text: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Declaration:
    """A method, variable or calculation.

    Attributes:
        typeid: 24 for a method, 35 for a variable, 36 for a calculation.
        name: Its name.
        uuid: Its upper-case UUID.
    """

    typeid: int
    name: str
    uuid: str


def declared(script: str) -> list[Declaration]:
    """Return what a script declares with Servoy's properties, in order."""
    found: list[Declaration] = []
    for match in _DECLARED.finditer(script):
        typeid, uuid = _TYPE.search(match["properties"]), _DECLARED_UUID.search(match["properties"])
        if typeid and uuid:
            found.append(Declaration(int(typeid[1]), match["name"], uuid[1].upper()))
    return found


def relation_words(script: str, name: str) -> Iterator[ScriptWord]:
    """Yield where a script may mean a relation: words in code and in strings, but not in comments.

    Certain are words after a foundset or record, and words that are dereferenced (`name.`) and not a variable of the
    script.
    """
    word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
    own = re.search(rf"\b(?:var|let|const|function)\s+{re.escape(name)}(?![\w$])", script) is not None
    for start, end, is_text in _script_parts(script):
        for match in word.finditer(script, start, end):
            yield _word(script, match.start(), certain=not is_text and _is_relation(script, match, own=own))


def value_list_words(script: str, name: str, uuid: str) -> Iterator[ScriptWord]:
    """Yield where a script may mean a value list: strings that are its name or UUID.

    Certain are arguments of a function that reads or sets the values of a list.
    """
    for start, end, is_text in _script_parts(script):
        inner = script[start + 1 : end - 1]
        if is_text and (inner == name or (uuid and inner.upper() == uuid.upper())):
            yield _word(script, start, certain=_VALUE_LIST_CALL.search(script, max(0, start - 80), start) is not None)


def _script_parts(script: str) -> Iterator[tuple[int, int, bool]]:
    """Yield code and strings as offsets, with whether it is a string; comments and patterns are skipped."""
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


def _word(script: str, at: int, *, certain: bool) -> ScriptWord:
    start = script.rfind("\n", 0, at) + 1
    end = script.find("\n", at)
    return ScriptWord(script.count("\n", 0, at) + 1, script[start : len(script) if end < 0 else end], certain)
