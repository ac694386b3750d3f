"""A client's prompt-submit event: the parts that matter, and what is wrong with a bad one.

Invariant: the standard library only; reading anything that a client sends gives an event or one clear sentence.
"""

from __future__ import annotations

import json

EVENT = "UserPromptSubmit"


class WrongEvent(Exception):
    """The event is not valid; the message is for the person."""


class Event:
    """The parts of an event that matter.

    Args:
        prompt: The person's words.
        folder: The client's working folder; empty if unknown.
    """

    __slots__ = ("folder", "prompt")

    def __init__(self, prompt: str, folder: str) -> None:
        self.prompt = prompt
        self.folder = folder


def read_event(data: bytes) -> Event:
    """Read an event as the client sent it.

    Raises:
        WrongEvent: The data is not a valid event.
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
