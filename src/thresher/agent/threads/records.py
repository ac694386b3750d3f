"""Records of threads, and checks of their ids, titles and settings."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from thresher.core import InvalidInput, NotFound
from thresher.store import clean, clean_json

TITLE: Final = 200
SETTINGS_BYTES: Final = 16_000


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation.

    Attributes:
        id: Its id for clients.
        title: In the words of its owner; may be empty.
        settings: Its differences from the owner's settings.
        created_at: When it began.
        updated_at: When it was last continued.
        forked_from: The thread that it was forked from, which may be gone; None if it was not forked.
        forked_at: The checkpoint of that thread that it began with.
        last_checkpoint: The state that it continues from; None before its first turn.
    """

    id: UUID
    title: str
    settings: Mapping[str, Any]
    created_at: dt.datetime
    updated_at: dt.datetime
    forked_from: UUID | None = None
    forked_at: UUID | None = None
    last_checkpoint: UUID | None = None


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """Some threads, last continued first.

    Attributes:
        threads: Of this page.
        cursor: For the next page; empty on the last.
    """

    threads: tuple[Thread, ...]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """A state of a thread, from which it can be forked.

    Attributes:
        id: Of the checkpoint.
        parent: The state before it; None for the first.
        at: When it was reached.
        source: What led to it: `input`, `loop`, `update` or `fork`.
        step: Its number among the steps of the graph; -1 for the first input.
    """

    id: UUID
    parent: UUID | None
    at: dt.datetime
    source: str
    step: int


@dataclass(frozen=True, slots=True)
class Points:
    """Some states of a thread, newest first.

    Attributes:
        states: Of this page.
        cursor: For older ones; empty on the last page.
    """

    states: tuple[Point, ...]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to write to a thread while one message is answered.

    Attributes:
        thread: The thread.
        id: Of this turn only; writes of an earlier one are refused.
        began: Whether this turn created the thread.
        title: Of the thread, as when the turn began.
        drafts: Whether a draft of an earlier answer may be kept beside the thread.
    """

    thread: UUID
    id: UUID = field(repr=False)
    began: bool = False
    title: str = ""
    drafts: bool = True


def thread_id(given: str | UUID) -> UUID:
    """Return a thread's id from a text.

    Raises:
        InvalidInput: It is not a valid id.
    """
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(
            f"'{str(given)[:40]}' is not the id of a thread.",
            hint="Give the UUID that an answer or the list of threads names.",
        ) from None


def checkpoint_id(given: str | UUID) -> UUID:
    """Return a checkpoint's id from a text.

    Raises:
        InvalidInput: It is not a valid id.
    """
    try:
        return given if isinstance(given, UUID) else UUID(given)
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(
            f"'{str(given)[:40]}' is not the id of a checkpoint.", hint="Give one that the history of the thread names."
        ) from None


def checked_title(title: str) -> str:
    """Return a title in its stored form: one line.

    Raises:
        InvalidInput: It is too long.
    """
    plain = " ".join(clean(title).split())
    if len(plain) > TITLE:
        raise InvalidInput(f"The title has {len(plain)} characters.", hint=f"Give at most {TITLE}.")
    return plain


def checked_settings(settings: Mapping[str, Any]) -> str:
    """Return settings in their stored form, JSON.

    Raises:
        InvalidInput: They are not valid JSON, or too large.
    """
    try:
        text = json.dumps(clean_json(settings), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The settings of a thread are JSON: {error}.", hint="Correct them.") from None
    if len(text) > SETTINGS_BYTES:
        raise InvalidInput("The settings of a thread are too large.", hint=f"Keep them below {SETTINGS_BYTES:,} bytes.")
    return text


def unknown(thread: UUID) -> NotFound:
    """Return the error for a thread that does not exist or is another caller's; it does not say which."""
    return NotFound(f"There is no thread {thread}.", hint="The list of threads names yours; old ones are removed.")
