"""Checks what a caller asks of `find_tools` and turns it into the texts to search.

Invariant: every bound is checked before anything is embedded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from thresher.core import InvalidInput, check_limit
from thresher.knowledge.tools.models import LIMIT_CAP
from thresher.search import MAX_QUERIES

MAX_QUERY_CHARACTERS = 2_000
MAX_MESSAGE_CHARACTERS = 200_000
MAX_HISTORY_TURNS = 20

WANTED = 'Give queries, one short action phrase per step, such as ["list open issues"]; or message, the user\'s words.'
"""What `find_tools` needs."""

_SHORT_MESSAGE_WORDS = 4
_CONTEXT_CHARACTERS = 400
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Question:
    """What to search for.

    Attributes:
        texts: The caller's own queries, or the message alone.
        split: Whether a text may hold several tasks (a message may, a query does not).
        limit: 1 to 10 tools.
        threshold: A calibrated probability, or None for the fitted one.
        message: What the caller's own queries were written for: it lends them context. Empty if it is not known.
    """

    texts: tuple[str, ...]
    split: bool
    limit: int
    threshold: float | None
    message: str = ""


def ask(
    queries: Sequence[str] | str | None,
    message: str | None,
    history: Sequence[str],
    limit: int,
    threshold: float | None,
) -> Question:
    """Build a question from the arguments of `find_tools`.

    Empty queries and a blank message count as not given. With both, the queries are searched, and the message is their
    context. History matters only to a message of fewer than four words ("and in
    Berlin?"): the last turn then stands before it.

    Raises:
        InvalidInput: Neither queries nor message, or one over its bound.
    """
    phrases, words = _queries(queries or ()), _message(message or "", history)
    if not phrases and not words:
        raise InvalidInput("Nothing is asked for.", hint=WANTED)
    check_limit(limit, LIMIT_CAP)
    if threshold is not None and not (math.isfinite(threshold) and 0 <= threshold <= 1):
        raise InvalidInput(f"threshold is {threshold}; it must be a probability, 0 to 1.")
    if phrases:
        return Question(phrases, False, limit, threshold, words)
    return Question((words,), split=True, limit=limit, threshold=threshold)


def _queries(queries: Sequence[str] | str) -> tuple[str, ...]:
    given = [queries] if isinstance(queries, str) else list(queries)
    texts = tuple(dict.fromkeys(text.strip() for text in given if text.strip()))
    if len(texts) > MAX_QUERIES:
        raise InvalidInput(f"{len(texts)} queries are more than {MAX_QUERIES}.", hint="Ask in several calls.")
    if (longest := max(map(len, texts), default=0)) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"A query has {longest} characters; the limit is {MAX_QUERY_CHARACTERS}.",
            hint="Queries are short action phrases; pass long text as message.",
        )
    return texts


def _message(message: str, history: Sequence[str]) -> str:
    text = message.strip()
    if not text:
        return ""
    if len(text) > MAX_MESSAGE_CHARACTERS:
        raise InvalidInput(
            f"The message has {len(text)} characters; the limit is {MAX_MESSAGE_CHARACTERS}.",
            hint="Leave out pasted files and logs.",
        )
    turns = [turn.strip() for turn in list(history)[-MAX_HISTORY_TURNS:] if turn.strip()]
    if turns and len(_WORD.findall(text)) < _SHORT_MESSAGE_WORDS:
        return f"{turns[-1][-_CONTEXT_CHARACTERS:]} {text}"
    return text
