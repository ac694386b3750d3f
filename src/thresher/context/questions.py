"""Checks what is asked of enrichment, whichever face it comes by.

Invariant: every bound is checked before anything is embedded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from thresher.context.records import Asked
from thresher.core import InvalidInput
from thresher.embedding import printable
from thresher.search import MAX_QUERIES

MESSAGE_CHARACTERS = 200_000
HISTORY_TURNS = 20
QUERY_CHARACTERS = 2_000
FILES, FILE_CHARACTERS = 1_000, 4_096
LARGEST_BUDGET = 1_000_000
DEFAULT_BUDGET = 4_000
"""Tokens of a context: the rules of one or two packs with their tools."""


def ask(
    message: object, history: object = (), queries: object = (), files: object = (), *, named: str = "message"
) -> Asked:
    """A checked question; lone surrogates, which no answer can hold, become question marks.

    Args:
        message: The person's words.
        history: The last turns, oldest first; of more than `HISTORY_TURNS` the last ones count.
        queries: Short action phrases.
        files: Files that matter.
        named: What the caller calls the message.

    Raises:
        InvalidInput: Something is missing, of another type, or too long.
    """
    if not isinstance(message, str):
        raise InvalidInput(f"{named} must be a text.", hint="Give the person's words.")
    if not message.strip():
        raise InvalidInput(f"{named} is empty.", hint="Give the person's words.")
    if len(message) > MESSAGE_CHARACTERS:
        raise InvalidInput(
            f"{named} has {len(message)} characters; the limit is {MESSAGE_CHARACTERS}.",
            hint="Leave out pasted files and logs.",
        )
    turns = _texts("history", history, None, MESSAGE_CHARACTERS)[-HISTORY_TURNS:]
    phrases = _texts("queries", queries, MAX_QUERIES, QUERY_CHARACTERS)
    return Asked(printable(message.strip()), turns, phrases, _texts("files", files, FILES, FILE_CHARACTERS))


def checked_budget(budget: object) -> int:
    """A budget in tokens.

    Raises:
        InvalidInput: It is no whole number from 1 to `LARGEST_BUDGET`.
    """
    if not isinstance(budget, int) or isinstance(budget, bool) or not 0 < budget <= LARGEST_BUDGET:
        raise InvalidInput(
            f"budget must be a whole number of tokens, 1 to {LARGEST_BUDGET:,}.",
            hint=f"{DEFAULT_BUDGET:,} holds the rules of one or two packs with their tools.",
        )
    return budget


def checked_cursor(cursor: object) -> str:
    """A cursor as it was written; empty for none.

    Raises:
        InvalidInput: It is no text.
    """
    if not isinstance(cursor, str | None):
        raise InvalidInput("cursor must be a text.", hint="Give a cursor as the last answer wrote it.")
    return (cursor or "").strip()


def _texts(name: str, value: object, most: int | None, characters: int) -> tuple[str, ...]:
    """The texts that are not blank, in order."""
    if isinstance(value, str):
        value = (value,)
    entries = cast("Sequence[object]", value) if isinstance(value, list | tuple) else None
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        raise InvalidInput(f"{name} must be a list of texts.")
    texts = tuple(text for entry in cast("Sequence[str]", entries) if (text := printable(entry.strip())))
    if most is not None and len(texts) > most:
        raise InvalidInput(f"{len(texts)} {name} are more than {most}.", hint="Give the ones that matter.")
    if texts and (longest := max(map(len, texts))) > characters:
        raise InvalidInput(f"An entry of {name} has {longest} characters; the limit is {characters}.")
    return texts
