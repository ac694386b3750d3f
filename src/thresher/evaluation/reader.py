"""Reads the pool and the queries of an evaluation.

Invariant: a wrong file is refused with the line that is wrong, before anything is indexed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from thresher.core import InvalidInput, Tool
from thresher.evaluation.lines import read_objects, read_text, wrong

_POOL_HINT = 'The pool is a JSON list of {"server", "name", "description", "inputSchema"}.'
_QUERY_HINT = 'Queries are JSON lines {"query": text, "queries"?: [text, ...], "relevant": ["server/name", ...]}.'


@dataclass(frozen=True, slots=True)
class Question:
    """One message of an evaluation.

    Attributes:
        text: The message.
        phrases: The caller's own split of it; empty when there is none.
        relevant: Keys `server/name` of the tools that fit; empty when none does.
        line: Where it stands in its file.
    """

    text: str
    phrases: tuple[str, ...]
    relevant: frozenset[str]
    line: int


def read_pool(path: Path) -> list[Tool]:
    """Read tool definitions.

    Raises:
        InvalidInput: The file cannot be read or an entry is wrong; the message names its line.
    """
    text = read_text(path)
    tools: list[Tool] = []
    lines: dict[str, int] = {}
    for line, entry in _elements(path, text):
        tool = _tool(path, line, entry)
        if tool.key in lines:
            raise wrong(path, line, f"{tool.key} stands already in line {lines[tool.key]}", _POOL_HINT)
        lines[tool.key] = line
        tools.append(tool)
    if not tools:
        raise InvalidInput(f"{path} holds no tools.", hint=_POOL_HINT)
    return tools


def read_questions(path: Path) -> list[Question]:
    """Read messages and what fits them; blank lines are skipped.

    Raises:
        InvalidInput: The file cannot be read or a line is wrong; the message names it.
    """
    questions = [_question(path, line, fields) for line, fields in read_objects(path, _QUERY_HINT)]
    if not questions:
        raise InvalidInput(f"{path} holds no queries.", hint=_QUERY_HINT)
    return questions


def _elements(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Each element of a JSON list with the line where it begins."""
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    if text[place : place + 1] != "[":
        raise wrong(path, _line(text, place), "a list was expected", _POOL_HINT)
    place = _skip(text, place + 1)
    while text[place : place + 1] != "]":
        try:
            element, end = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            at = error.pos if isinstance(error, json.JSONDecodeError) else place
            raise wrong(path, _line(text, at), "this is not JSON", _POOL_HINT) from None
        yield _line(text, place), element
        place = _skip(text, end)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
        elif text[place : place + 1] != "]":
            raise wrong(path, _line(text, place), "a comma or the end of the list was expected", _POOL_HINT)
    if text[_skip(text, place + 1) :]:
        raise wrong(path, _line(text, place + 1), "something follows the list", _POOL_HINT)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _tool(path: Path, line: int, entry: Any) -> Tool:
    if not isinstance(entry, Mapping):
        raise wrong(path, line, "an object was expected", _POOL_HINT)
    fields = cast("Mapping[str, Any]", entry)
    for name in ("server", "name"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise wrong(path, line, f'"{name}" must be text', _POOL_HINT)
    description = fields.get("description") or ""
    schema: Any = fields.get("inputSchema") or {}
    if not isinstance(description, str):
        raise wrong(path, line, '"description" must be text', _POOL_HINT)
    if not isinstance(schema, Mapping):
        raise wrong(path, line, '"inputSchema" must be an object', _POOL_HINT)
    return Tool(
        server=fields["server"], name=fields["name"], description=description,
        input_schema=cast("Mapping[str, Any]", schema),
    )  # fmt: skip


def _question(path: Path, line: int, fields: Mapping[str, Any]) -> Question:
    message = fields.get("query")
    if not isinstance(message, str) or not message.strip():
        raise wrong(path, line, '"query" must be text', _QUERY_HINT)
    if "relevant" not in fields:
        raise wrong(path, line, '"relevant" is missing (an empty list says that no tool fits)', _QUERY_HINT)
    phrases = tuple(_texts(path, line, "queries", fields.get("queries")))
    return Question(message, phrases, frozenset(_texts(path, line, "relevant", fields["relevant"])), line)


def _texts(path: Path, line: int, name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(
        isinstance(item, str) and item.strip() for item in cast("list[Any]", value)
    ):
        raise wrong(path, line, f'"{name}" must be a list of texts', _QUERY_HINT)
    return cast("list[str]", value)
