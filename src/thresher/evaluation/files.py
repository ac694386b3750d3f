"""Text files of an evaluation, line by line.

Invariant: an error names its file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from thresher.core import InvalidInput

T = TypeVar("T")


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InvalidInput: The file cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.", hint="Correct the path.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text (byte {error.start}).", hint="Save it as UTF-8.") from None


def read_objects(path: Path, hint: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a file of JSON lines, each with the number of its line; blank lines are skipped.

    Args:
        path: The file.
        hint: The format of a line, for errors.

    Raises:
        InvalidInput: The file cannot be read, or a line is not a JSON object.
    """
    # Not splitlines: a JSON string may contain U+2028 unescaped.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield number, _object(path, number, line, hint)


def _object(path: Path, number: int, line: str, hint: str) -> Mapping[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise wrong(path, number, "not valid JSON", hint) from None
    if not isinstance(entry, Mapping):
        raise wrong(path, number, "not a JSON object", hint)
    return cast("Mapping[str, Any]", entry)


def wrong(path: Path, line: int, problem: str, hint: str) -> InvalidInput:
    """An error that names its line."""
    return InvalidInput(f"{path}, line {line}: {problem}.", hint=hint)


def not_empty(entries: list[T], path: Path, name: str, hint: str) -> list[T]:
    """The entries of a file.

    Args:
        entries: What was read.
        path: The file.
        name: What the entries are called, in the plural.
        hint: The format of the file.

    Raises:
        InvalidInput: There are none.
    """
    if not entries:
        raise InvalidInput(f"{path} holds no {name}.", hint=hint)
    return entries
