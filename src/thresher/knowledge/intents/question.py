"""Checks what a caller asks the router.

Invariant: every bound is checked before anything is embedded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thresher.core import InvalidInput
from thresher.embedding import printable
from thresher.knowledge.intents.router.pieces import MAX_QUERIES

MAX_MESSAGE_CHARACTERS: Final = 200_000
MAX_QUERY_CHARACTERS: Final = 2_000
MAX_HISTORY_TURNS: Final = 20
MAX_FILES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be routed; equal questions have equal decisions.

    Attributes:
        message: The person's words.
        history: The turns before, oldest first.
        queries: What the calling model wants to do, one task each.
        files: Paths that the message is about.
    """

    message: str
    history: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def ask(message: str, history: Sequence[str], queries: Sequence[str] | str, files: Sequence[str]) -> Question:
    """Build a question.

    Of a long history the last turns count. A message may be empty where there are queries. Lone surrogates, which no
    answer can hold, become question marks.

    Raises:
        InvalidInput: Neither message nor queries, or one over its bound.
    """
    given = map(printable, [queries] if isinstance(queries, str) else queries)
    texts = tuple(dict.fromkeys(text.strip() for text in given if text.strip()))
    if not message.strip() and not texts:
        raise InvalidInput("The message is empty.", hint="Give the user's words.")
    if len(message) > MAX_MESSAGE_CHARACTERS:
        raise InvalidInput(
            f"The message has {len(message)} characters; the limit is {MAX_MESSAGE_CHARACTERS}.",
            hint="Leave out pasted files and logs.",
        )
    if len(texts) > MAX_QUERIES:
        raise InvalidInput(f"{len(texts)} queries are more than {MAX_QUERIES}.", hint="Ask in several calls.")
    if (longest := max(map(len, texts), default=0)) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(
            f"A query has {longest} characters; the limit is {MAX_QUERY_CHARACTERS}.",
            hint="Queries are short action phrases; pass long text as the message.",
        )
    if len(files) > MAX_FILES:
        raise InvalidInput(f"{len(files)} files are more than {MAX_FILES}.", hint="Name the files that matter.")
    turns = tuple(map(printable, history[-MAX_HISTORY_TURNS:]))
    return Question(printable(message), turns, texts, tuple(map(printable, files)))
