"""Reads the arguments of a model's calls, and writes them back as the model said them.

Invariant: pure; arguments that are no JSON object are kept as they are, and never reach a tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from thresher.core import dumps

_UNREADABLE: Final = "unreadable"
_LONGEST: Final = 200_000


def read_arguments(text: str) -> dict[str, Any]:
    """Arguments as a mapping; what is no JSON object stands in one of its own."""
    try:
        read = json.loads(text or "{}") if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        read = None
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {_UNREADABLE: text[:2_000]}


def unreadable(arguments: Mapping[str, Any]) -> bool:
    """Whether arguments could not be read."""
    return list(arguments) == [_UNREADABLE]


def written_arguments(arguments: Mapping[str, Any]) -> str:
    """Arguments as the model said them, or near it."""
    return str(arguments[_UNREADABLE]) if unreadable(arguments) else dumps(arguments)
