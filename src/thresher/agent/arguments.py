"""Reads the arguments of a model's calls, and writes them back as the model said them.

Invariant: pure; arguments that are no JSON object are kept as they are, and never reach a tool.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, cast

from thresher.core import dumps
from thresher.embedding import printable

_UNREADABLE: Final = "unreadable"
_LONGEST: Final = 200_000
_DEEPEST: Final = 64


def read_arguments(text: str) -> dict[str, Any]:
    """Arguments as a mapping; what is no JSON object stands in one of its own."""
    try:
        read = json.loads(text or "{}") if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict) and keepable(cast("dict[str, Any]", read)):
        return cast("dict[str, Any]", read)
    return {_UNREADABLE: printable(text[:2_000])}


def keepable(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether a value of JSON can be kept and sent on: finite, of numbers and nesting that others take, and text."""
    match value:
        case dict() | list():
            given = cast("dict[str, Any] | list[Any]", value)
            inner = [*given, *given.values()] if isinstance(given, dict) else given
            return depth > 0 and all(keepable(one, depth - 1) for one in inner)
        case str():
            return printable(value) is value
        case bool() | int():
            return -(2**63) <= value < 2**63
        case float():
            return math.isfinite(value)
        case _:
            return True


def unreadable(arguments: Mapping[str, Any]) -> bool:
    """Whether arguments could not be read."""
    return list(arguments) == [_UNREADABLE]


def written_arguments(arguments: Mapping[str, Any]) -> str:
    """Arguments as the model said them, or near it."""
    return str(arguments[_UNREADABLE]) if unreadable(arguments) else dumps(arguments)
