"""A client's prompt-submit event: what of it counts, and what is wrong with one that is none.

Invariant: the standard library only; whatever a client sends, reading it ends in an event or in one clear sentence.
"""

from __future__ import annotations

import json

EVENT = "UserPromptSubmit"


class WrongEvent(Exception):
    """The event is not what it should be: the person should hear of it."""


class Event:
    """What counts of an event.

    Args:
        prompt: The person's words.
        folder: Where the client works; empty where it does not say.
    """

    __slots__ = ("folder", "prompt")

    def __init__(self, prompt: str, folder: str) -> None:
        self.prompt = prompt
        self.folder = folder


def read_event(data: bytes) -> Event:
    """Read an event as the client sent it.

    Raises:
        WrongEvent: It is none.
    """
    try:
        event: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WrongEvent(f"The event is not JSON: {error}") from None
    if not isinstance(event, dict):
        raise WrongEvent("The event is not a JSON object.")
    name, prompt, folder = (event.get(key) for key in ("hook_event_name", "prompt", "cwd"))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - any JSON
    if name not in (EVENT, None):
        raise WrongEvent(f"The event is {name!r}; thresher hook belongs to {EVENT}.")
    if not isinstance(prompt, str):
        raise WrongEvent("The event has no text in `prompt`.")
    return Event(prompt, folder if isinstance(folder, str) else "")
