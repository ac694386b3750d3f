"""Whether what was delivered of a result stands in it.

Invariant: pure; a member that says how many others there are, and the marks of a cut text, are not compared.
"""

from __future__ import annotations

import re
from typing import Any, Final, cast

from thresher.results.fitting import Fitted, lines_of_json
from thresher.results.hypertext import text_of
from thresher.results.json_answer import REST
from thresher.results.json_parts import pointer_of, read_json, resolve

_CUT: Final = re.compile(r"…? \[[\d,]+ characters\]\Z")


def verbatim(fitted: Fitted, text: str) -> list[bool]:
    """For each passage, whether it stands in the result.

    Args:
        fitted: What was delivered.
        text: The whole result.
    """
    if fitted.kind != "json":
        source = text_of(text) if fitted.kind == "html" else text
        return [passage in source for passage in fitted.passages]
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        value = lines_of_json(text)
    return [_same(delivered, _at(value, name)) for name, delivered in fitted.passages]


def _at(value: Any, name: str) -> Any:
    try:
        return resolve(value, pointer_of(name))
    except (KeyError, IndexError, TypeError, ValueError):
        return REST  # equal to nothing that is delivered


def _same(delivered: Any, source: Any) -> bool:
    if isinstance(delivered, dict) and REST in delivered and isinstance(source, dict):
        members = cast("dict[str, Any]", delivered)
        there = cast("dict[str, Any]", source)
        return all(key in there and there[key] == one for key, one in members.items() if key != REST)
    if isinstance(delivered, str) and isinstance(source, str) and delivered != source:
        return all(piece in source for piece in _CUT.sub("", delivered).split("…"))
    return bool(delivered == source)
