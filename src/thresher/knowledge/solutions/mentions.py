"""Where a document names a relation or a value list, and what it says under another name.

Invariant: pure. A place is certain where the format says that a name or UUID stands there; only such a place is
rewritten, and only the name in it.
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
    """A text of a document that names an object.

    Attributes:
        path: Of the text.
        text: As it is.
        spans: Where in it the name stands; none where it holds the UUID.
        certain: Whether it surely means the object.
    """

    path: Path
    text: str
    spans: tuple[tuple[int, int], ...]
    certain: bool

    def renamed(self, name: str) -> str:
        """The text when the object has another name."""
        text = self.text
        for start, end in reversed(self.spans):
            text = text[:start] + name + text[end:]
        return text


def relation_mentions(document: Document, name: str, uuid: str, relations: Collection[str]) -> Iterator[Mention]:
    """Where a document names a relation.

    Args:
        document: Any file of a workspace.
        name: Of the relation.
        uuid: Of the relation.
        relations: Names of all that there are: those that may stand before it in a chain.
    """
    for path, key, text in _texts(document):
        if uuid and text.upper() == uuid.upper() and key != "uuid":
            yield Mention(path, text, (), certain=True)
        elif name in text and key not in _NAMES:
            spans, certain = _relation_spans(key, text, name, relations)
            if spans:
                yield Mention(path, text, tuple(spans), certain)


def value_list_mentions(document: Document, name: str, uuid: str) -> Iterator[Mention]:
    """Where a document holds a value list's UUID, or its name."""
    for path, key, text in _texts(document):
        if uuid and text.upper() == uuid.upper() and key != "uuid":
            yield Mention(path, text, (), certain=True)
        elif text == name and key not in _NAMES and not _PROVIDER_KEY.fullmatch(key) and not _SHOWN_KEY.fullmatch(key):
            yield Mention(path, text, ((0, len(text)),), certain=_VALUE_LIST_KEY.fullmatch(key) is not None)


def _texts(document: Document) -> Iterator[tuple[Path, str, str]]:
    """Every text with its path and the key that it stands under; a list passes its own key on."""
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
    """Where a name stands in a chain of relations that ends with a column."""
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
    """Where a name stands alone, or behind something that is no relation here: one of a missing module, say."""
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
