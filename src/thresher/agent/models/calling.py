"""Puts the calls of functions together from the pieces in which a stream brings them.

Services differ: some give every piece the index of its call, some none, some the same index to several calls; some name
no id, or one twice.

Invariant: every call that comes out has a name and an id of its own, and an answer has at most `MOST_CALLS`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from thresher.core import ModelError, dumps
from thresher.llm import FunctionCall

MOST_CALLS: Final = 128
"""Of one answer: a model that calls more repeats itself, and each call would stay in the conversation."""


def paired(text: str) -> str:
    """The text with halves of surrogate pairs joined where they meet, and replaced where they do not."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(slots=True)
class _Begun:
    index: object
    id: str
    name: str
    arguments: str


class Calls:
    """The calls of one answer."""

    def __init__(self) -> None:
        self._begun: list[_Begun] = []

    def feed(self, pieces: Sequence[Mapping[str, Any]]) -> None:
        """Take the pieces of a delta.

        Raises:
            ModelError: The answer has more than `MOST_CALLS` calls.
            TypeError, AttributeError: The pieces are malformed.
        """
        for piece in pieces:
            function: Mapping[str, Any] = piece.get("function") or {}
            call = self._of(piece.get("index"), piece.get("id") or "", function.get("name") or "")
            arguments = function.get("arguments") or ""
            call.arguments += arguments if isinstance(arguments, str) else dumps(arguments)

    def _of(self, index: object, number: str, name: str) -> _Begun:
        """The call that a piece belongs to; one that names an id or a function that differ begins another."""
        if not isinstance(number, str) or not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a service's
            raise TypeError("a call is named by no text")
        found = next((one for one in reversed(self._begun) if index is None or one.index == index), None)
        if found is None or _differ(number, found.id) or (index is None and _both(name, found.name)):
            if len(self._begun) == MOST_CALLS:
                raise ModelError(
                    f"The chat model called more than {MOST_CALLS} tools in one answer.",
                    hint="Ask for one thing at a time.",
                )
            found = _Begun(index, number, name, "")
            self._begun.append(found)
        found.id, found.name = found.id or number, found.name or name
        return found

    def whole(self) -> tuple[FunctionCall, ...]:
        """The calls, in the order in which they began.

        Raises:
            TypeError: One names no function.
        """
        if any(not one.name for one in self._begun):
            raise TypeError("a call names no function")
        taken: set[str] = set()
        return tuple(
            FunctionCall(_own_id(one.id, taken), one.name, paired(one.arguments.strip()) or "{}") for one in self._begun
        )


def _both(one: str, other: str) -> bool:
    return bool(one and other)


def _differ(one: str, other: str) -> bool:
    return _both(one, other) and one != other


def _own_id(number: str, taken: set[str]) -> str:
    while not number or number in taken:
        number = f"call_{secrets.token_hex(12)}"
    taken.add(number)
    return number
