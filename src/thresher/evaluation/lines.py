"""Text files of an evaluation, line by line.

Invariant: what is wrong is named with its file and line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from thresher.core import InvalidInput


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InvalidInput: It cannot be read, or is not UTF-8.
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
        hint: What a line should look like.

    Raises:
        InvalidInput: The file cannot be read, or a line is no JSON object.
    """
    # Not splitlines: a JSON string may hold U+2028 and its kind as they are.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield number, _object(path, number, line, hint)


def _object(path: Path, number: int, line: str, hint: str) -> Mapping[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise wrong(path, number, "this is not JSON", hint) from None
    if not isinstance(entry, Mapping):
        raise wrong(path, number, "an object was expected", hint)
    return cast("Mapping[str, Any]", entry)


def wrong(path: Path, line: int, problem: str, hint: str) -> InvalidInput:
    """The error of a line."""
    return InvalidInput(f"{path}, line {line}: {problem}.", hint=hint)
