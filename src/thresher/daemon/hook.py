"""`thresher hook`: a client's prompt-submit event in, the rules that the prompt needs out.

Invariant: the standard library only, and it never holds a prompt up: whatever goes wrong, nothing is on standard
output, one line on standard error says why, and the exit code lets the prompt through (never 2, at which clients block
it). It ends within its time limit, come what may.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress

from thresher.daemon.client import request
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.place import Place, as_object, here

TYPE_CHECKING = False  # `typing` itself costs more than all of this module
if TYPE_CHECKING:
    from typing import Any

SECONDS = 2.0
"""How long a prompt waits at most, unless told."""
EVENT_LIMIT = 4 * 1024 * 1024
"""Bytes of an event: a prompt with a pasted log fits."""
EVENT = "UserPromptSubmit"
PASSED, WRONG = 0, 1
"""Exit codes. Both let the prompt through; with 1 the client shows the person the line on standard error."""
USAGE = "usage: thresher hook [--timeout SECONDS] [--json] < EVENT; or thresher hook --settings claude"


class _Wrong(Exception):
    """The command line or the event is not what it should be: the person should hear of it."""


class Options:
    """What the command line says.

    Args:
        seconds: How long the prompt waits at most.
        as_json: Whether to print `hookSpecificOutput` instead of the text itself.
        settings: The client whose settings to print instead; empty: none.
    """

    __slots__ = ("as_json", "seconds", "settings")

    def __init__(self, seconds: float = SECONDS, as_json: bool = False, settings: str = "") -> None:
        self.seconds = seconds
        self.as_json = as_json
        self.settings = settings


def run_hook(arguments: list[str], place: Place | None = None) -> int:
    """Read an event from standard input and print the rules that its prompt needs.

    Args:
        arguments: The command line after `hook`.
        place: The data folder's files; those that the environment names unless given.

    Returns:
        0, or 1 where the person should read the line on standard error. The prompt goes through in either case.
    """
    try:
        options = _options(arguments)
        if options.settings:
            _print(json.dumps(_settings(options.settings), indent=2) + "\n")
            return PASSED
        end = _end_after(options.seconds)
        prompt, event = _event(_input())
        said = _ask(place or here(), prompt, event) if prompt.strip() else ""
        end.cancel()  # from here on, all or nothing
        if said:
            _print(_formatted(said, options.as_json))
        return PASSED
    except _Wrong as error:
        return _complain(str(error), WRONG)
    except DaemonFailure as error:
        return _complain(str(error), PASSED)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - a face: a prompt goes through whatever went wrong
        return _complain(f"something unexpected went wrong: {type(error).__name__}: {error}", PASSED)


def _options(arguments: list[str]) -> Options:
    options, rest = Options(), list(arguments)
    while rest:
        name, joined, value = rest.pop(0).partition("=")
        if name == "--json" and not joined:
            options.as_json = True
            continue
        if not joined and rest:
            value = rest.pop(0)
        if name == "--timeout" and (seconds := _number(value)):
            options.seconds = seconds
        elif name == "--settings" and value in SETTINGS:
            options.settings = value
        else:
            raise _Wrong(USAGE)
    return options


def _number(text: str) -> float:
    """A number of seconds above 0; 0 for anything else."""
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return min(seconds, 600.0) if seconds > 0 else 0.0  # no number is greater than NaN


def _end_after(seconds: float) -> threading.Timer:
    """End the process when the time is over, whatever it hangs in; standard output is then still empty."""

    def end() -> None:
        _complain(f"no answer within {seconds:g} s; the prompt goes on without rules.", PASSED)
        os._exit(PASSED)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    return timer


def _input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise _Wrong(f"An event is expected on standard input. {USAGE}")
    data = sys.stdin.buffer.read(EVENT_LIMIT + 1)
    if len(data) > EVENT_LIMIT:
        raise _Wrong(f"The event is longer than {EVENT_LIMIT} bytes; the prompt goes on without rules.")
    return data


def _event(data: bytes) -> tuple[str, dict[str, object]]:
    """The prompt and the event around it."""
    try:
        event = as_object(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise _Wrong(f"The event is not JSON: {error}") from None
    if event is None:
        raise _Wrong("The event is not a JSON object.")
    name, prompt = event.get("hook_event_name", EVENT), event.get("prompt")
    if name != EVENT:
        raise _Wrong(f"The event is {name!r}; thresher hook belongs to {EVENT}.")
    if not isinstance(prompt, str):
        raise _Wrong("The event has no text in `prompt`.")
    return prompt, event


def _ask(place: Place, prompt: str, event: dict[str, object]) -> str:
    """The rules; a daemon that does not run is started for the next prompt, since that takes seconds."""
    folder, session = event.get("cwd"), event.get("session_id")
    arguments: dict[str, Any] = {"prompt": prompt, "session": session if isinstance(session, str) else ""}
    try:
        answer = request(
            place, "answer_hook", arguments, start=False, project=folder if isinstance(folder, str) else None
        )
    except DaemonFailure as error:
        if error.code != "not_running":
            raise
        from thresher.daemon.start import start_in_background  # noqa: PLC0415 - subprocess is costly to import

        start_in_background(place)
        raise DaemonFailure(
            "No daemon ran; one is starting, and the next prompt gets its rules.", code="not_running"
        ) from None
    return str(answer.get("text") or "")


def _formatted(said: str, as_json: bool) -> str:
    if as_json:
        return json.dumps({"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": said}}) + "\n"
    return said if said.endswith("\n") else said + "\n"


def _print(text: str) -> None:
    data = memoryview(text.encode("utf-8", "replace"))
    while data:
        data = data[os.write(1, data) :]


def _complain(line: str, code: int) -> int:
    """Say one line; a standard error that nobody reads is no reason to fail."""
    with suppress(OSError):
        os.write(2, f"thresher hook: {' '.join(line.split())}\n".encode("utf-8", "replace"))
    return code


SETTINGS = {
    "claude": {"hooks": {EVENT: [{"hooks": [{"type": "command", "command": "thresher hook", "timeout": 5}]}]}},
}
"""What belongs into a client's settings file, by client."""


def _settings(client: str) -> dict[str, Any]:
    return SETTINGS[client]
