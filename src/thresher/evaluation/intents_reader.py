"""Reads the lines of an evaluation of intents.

Invariant: a wrong file is refused with the line that is wrong, before anything is embedded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from thresher.core import InvalidInput
from thresher.evaluation.lines import read_objects, wrong

TEXT_LIMIT = 100_000
"""Characters of one text; a pasted log fits."""
_HINT = (
    'Lines are {"text": text, "intent": name}; in tests "intent" may also be a list of names, or null: out of scope.'
)


@dataclass(frozen=True, slots=True)
class IntentLine:
    """One line of a training or test file.

    Attributes:
        text: The message.
        intents: What it asks for, distinct, in the file's order; empty: nothing that the router knows.
        line: Where it stands in its file, from 1.
    """

    text: str
    intents: tuple[str, ...]
    line: int


def read_training(path: Path) -> list[IntentLine]:
    """Read training lines: one intent each, or null for a message that asks for none of them.

    Raises:
        InvalidInput: The file cannot be read, a line is wrong, or none names an intent.
    """
    lines = _lines(path)
    for line in lines:
        if len(line.intents) > 1:
            raise wrong(path, line.line, "a training line has one intent", _HINT)
    if not any(line.intents for line in lines):
        raise InvalidInput(f"{path} names no intent.", hint=_HINT)
    return lines


def read_tests(path: Path) -> list[IntentLine]:
    """Read test lines: one intent, several, or null for a message that asks for none of them.

    Raises:
        InvalidInput: The file cannot be read, or a line is wrong.
    """
    return _lines(path)


def _lines(path: Path) -> list[IntentLine]:
    lines = [_line(path, number, fields) for number, fields in read_objects(path, _HINT)]
    if not lines:
        raise InvalidInput(f"{path} holds no lines.", hint=_HINT)
    return lines


def _line(path: Path, number: int, fields: Mapping[str, Any]) -> IntentLine:
    text = fields.get("text")
    if not isinstance(text, str) or not text.strip():
        raise wrong(path, number, '"text" must be text', _HINT)
    if len(text) > TEXT_LIMIT:
        raise wrong(path, number, f'"text" is longer than {TEXT_LIMIT} characters', "Shorten it.")
    if "intent" not in fields:
        raise wrong(path, number, '"intent" is missing (null says that it is out of scope)', _HINT)
    return IntentLine(text, _intents(path, number, fields["intent"]), number)


def _intents(path: Path, number: int, value: Any) -> tuple[str, ...]:
    named = [] if value is None else cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name.strip() for name in named):
        raise wrong(path, number, '"intent" must be a name, a list of names, or null', _HINT)
    return tuple(dict.fromkeys(cast("list[str]", named)))
