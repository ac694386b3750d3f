"""The door: what a large text says within a budget of tokens.

Invariant: pure. The answer never exceeds the budget. What is delivered of the text stands in it as delivered; every cut
is said. A part of JSON is valid JSON.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from thresher.embedding import count_tokens, printable
from thresher.results.formats import kind_of
from thresher.results.hypertext import text_of
from thresher.results.json_answer import json_answer
from thresher.results.json_parts import read_json
from thresher.results.matching import match
from thresher.results.parts import estimated_tokens
from thresher.results.text_answer import text_answer
from thresher.results.text_parts import split_text

LEAST_BUDGET: Final = 100
"""Tokens below which not even the shape of a result can be told."""
_ROUNDED: Final = re.compile(r"\d\.?\d*e\+?(?:19|[2-9]\d)")
_LONGEST_FOCUS: Final = 2_000
_LONGEST_TOKEN: Final = 128
ROOMY: Final = 16
"""Characters of the longest token, and more than those of most."""
_BEGINNINGS: Final = ((6, 1.2), (ROOMY, 2.0))
"""Characters for each token of the budget, and times the budget that a beginning of so many has if a count is saved."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text within a budget.

    Attributes:
        text: What is delivered.
        tokens: Its tokens.
        kind: What the whole is: `json`, `csv`, `log`, `html`, `markdown`, `code` or `text`.
        whole: Whether it is the text itself, byte for byte.
        whole_tokens: About how many tokens the whole has; exact if it is delivered.
        parts: How many parts of the whole are delivered.
        of: How many parts the whole has.
        passages: What is delivered of the whole: of JSON pointers and values, else ranges of the text.
        structured: Of JSON, what `text` says, as an object; else None.
    """

    text: str
    tokens: int
    kind: str
    whole: bool
    whole_tokens: int
    parts: int = 0
    of: int = 0
    passages: Sequence[Any] = ()
    structured: dict[str, Any] | None = None


def fits(text: str, budget: int) -> bool:
    """Whether a text has at most so many tokens; exact, and at once for a short one, since a token has a byte."""
    if len(text) * 4 <= budget or (len(text) <= budget and text.isascii()):
        return True
    if len(text) > _LONGEST_TOKEN * budget:
        return False
    for most, room in _BEGINNINGS:
        if len(text) > most * budget and count_tokens(text[: most * budget]) > room * budget:
            return False
    return count_tokens(text) <= budget


def fit(
    text: str, budget: int, focus: str = "", mime: str = "", more: str = "", *, pointer: str = "", line: int = 1
) -> Fitted:
    """Deliver a text within a budget: itself if it fits, else what answers a question.

    Args:
        text: The whole.
        budget: Most tokens of the answer.
        focus: What the caller wants to know; without it, what the whole consists of, and its beginning.
        mime: Its media type; empty if it is not known: its first lines tell.
        more: How to get the rest, as the answer says it.
        pointer: Where a piece of JSON stands in the whole.
        line: The number of a text's first line.
    """
    if fits(text, budget):
        return Fitted(text, count_tokens(text), "text", whole=True, whole_tokens=count_tokens(text))
    text = printable(text)
    kind, delimiter = kind_of(text, mime)
    focus = focus[:_LONGEST_FOCUS]
    whole = estimated_tokens(text)
    if kind == "json":
        try:
            return _read_as_json(text, budget, focus, more, whole, pointer)
        except (ValueError, RecursionError):
            kind, delimiter = kind_of(text, "text/plain") if text.lstrip()[:1] not in "{[" else ("text", "")
    source = text_of(text) if kind == "html" else text
    parts = split_text(source, kind, delimiter, focus)
    answer = text_answer(parts, match(parts, focus), focus, budget, whole, more, line)
    return Fitted(
        answer.text, answer.tokens, kind, whole=False, whole_tokens=whole, parts=answer.parts, of=len(parts),
        passages=answer.passages,
    )  # fmt: skip


def _read_as_json(text: str, budget: int, focus: str, more: str, whole: int, pointer: str) -> Fitted:
    """Deliver a JSON text, or one with a JSON value in each line.

    Raises:
        ValueError: It is neither.
        RecursionError: It is nested too deeply.
    """
    try:
        value = read_json(text)
    except ValueError:
        if (lines := lines_of_json(text)) is None:
            raise
        return _json(text, lines, budget, focus, more, whole, pointer)
    fitted = _json(text, value, budget, focus, more, whole, pointer)
    if _ROUNDED.search(fitted.text) is not None:  # an integer of more than 64 bits became a float
        fitted = _json(text, read_json(text, exact=True), budget, focus, more, whole, pointer)
    return fitted


def _json(text: str, value: Any, budget: int, focus: str, more: str, whole: int, pointer: str) -> Fitted:
    answer = json_answer(value, len(text), budget, focus, whole, more, pointer)
    return Fitted(
        answer.text, answer.tokens, "json", whole=False, whole_tokens=whole, parts=answer.parts, of=answer.of,
        passages=answer.passages, structured=answer.structured,
    )  # fmt: skip


def lines_of_json(text: str) -> list[Any] | None:
    """The values of a text with one JSON value in each line; None if it has other lines."""
    try:
        return [read_json(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return None
