"""The prompt hook against a real listener: what it prints, how it ends, how long it takes at most."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.home import Home
from tests.daemon.listening import RULES, Listening, listening_thread
from thresher.daemon.hook import EVENT_LIMIT

EVENT = {
    "session_id": "abc123",
    "transcript_path": "/home/ada/.claude/projects/shop/abc123.jsonl",
    "cwd": "/nowhere",
    "permission_mode": "default",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "greet the customer",
}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Listening]:
    """A daemon that knows one rule, and sleeps over some prompts."""
    with listening_thread(tmp_path / "data") as listener:
        yield listener


def hook(
    folder: str, event: object = EVENT, *options: str, settings: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """`thresher hook` as a client starts it."""
    given = event if isinstance(event, bytes) else json.dumps(event).encode()
    environment = {**os.environ, "THRESHER_DATA_DIR": folder, **(settings or {})}
    command = [sys.executable, "-m", "thresher", "hook", *options]
    return subprocess.run(command, input=given, capture_output=True, env=environment, timeout=30, check=False)


def test_the_rules_are_printed_for_the_model(state: Listening) -> None:
    """Plain text on standard output, which clients put before the model as it is."""
    done = hook(state.place.folder)

    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"{RULES}\n", b"")


def test_the_rules_can_be_printed_as_json(state: Listening) -> None:
    """The documented form with `hookSpecificOutput`."""
    done = hook(state.place.folder, EVENT, "--json")

    said = json.loads(done.stdout)["hookSpecificOutput"]
    assert said == {"hookEventName": "UserPromptSubmit", "additionalContext": RULES}


def test_a_prompt_that_needs_no_rules_gets_none(state: Listening) -> None:
    """Not even a line break."""
    done = hook(state.place.folder, EVENT | {"prompt": "what a day"})

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_empty_prompt_is_not_asked_about(state: Listening) -> None:
    """It ends at once."""
    done = hook(state.place.folder, EVENT | {"prompt": "  \n"})

    assert (done.returncode, done.stdout, state.folders) == (0, b"", [])


def test_the_project_is_the_event_s_folder(state: Listening) -> None:
    """Wherever the client starts the hook."""
    hook(state.place.folder, EVENT | {"cwd": "/somewhere/shop"})

    assert state.folders == ["/somewhere/shop"]


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        ([1], "not a JSON object"),
        ({"hook_event_name": "Stop"}, "belongs to UserPromptSubmit"),
        ({"hook_event_name": "UserPromptSubmit"}, "no text in `prompt`"),
        (EVENT | {"prompt": ["a"]}, "no text in `prompt`"),
        (b" " * (EVENT_LIMIT + 1), "longer than"),
    ],
)
def test_a_malformed_event_is_named_and_lets_the_prompt_through(state: Listening, event: object, named: str) -> None:
    """Exit code 1, at which a client shows the person the line; 2 would block the prompt."""
    done = hook(state.place.folder, event)

    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert named in done.stderr.decode()


@pytest.mark.parametrize("options", [["--bogus"], ["--timeout"], ["--timeout", "soon"], ["--timeout=nan"], ["extra"]])
def test_a_wrong_command_line_lets_the_prompt_through(state: Listening, options: list[str]) -> None:
    """The usual exit code of a wrong command line would block it."""
    done = hook(state.place.folder, EVENT, *options)

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"usage" in done.stderr


def test_a_daemon_that_thinks_too_long_is_not_waited_for(state: Listening) -> None:
    """The prompt goes on, and the daemon, which would think until it is told to stop, drops the work."""
    done = hook(state.place.folder, EVENT | {"prompt": "hang"}, "--timeout", "0.3")

    assert (done.returncode, done.stdout) == (0, b"")
    assert b"no answer in time" in done.stderr
    assert state.cancelled.wait(10)


def test_a_client_that_never_ends_its_event_is_not_waited_for(state: Listening) -> None:
    """Reading is within the time limit too."""
    command = [sys.executable, "-m", "thresher", "hook", "--timeout", "0.3"]
    environment = {**os.environ, "THRESHER_DATA_DIR": state.place.folder}

    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        code = process.wait(20)

        assert code == 0
        assert process.stderr is not None
        assert b"no answer in time" in process.stderr.read()


@pytest.mark.parametrize("prompt", ["crash", "clash"])
def test_a_daemon_that_fails_lets_the_prompt_through(state: Listening, prompt: str) -> None:
    """One line says what went wrong."""
    done = hook(state.place.folder, EVENT | {"prompt": prompt})

    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (0, b"", 1)


def test_a_missing_standard_output_lets_the_prompt_through(state: Listening) -> None:
    """However the client closed its end."""
    command = f"{sys.executable} -m thresher hook >&-"
    environment = {**os.environ, "THRESHER_DATA_DIR": state.place.folder}

    done = subprocess.run(
        ["sh", "-c", command], input=json.dumps(EVENT).encode(), env=environment, capture_output=True, check=False
    )

    assert done.returncode == 0


def test_a_wild_prompt_goes_in_and_comes_out(state: Listening) -> None:
    """Half a surrogate pair, control characters, a megabyte."""
    done = hook(state.place.folder, EVENT | {"prompt": "echo \ud800 \x00 é " + "x" * 1_000_000})

    assert done.returncode == 0
    assert done.stdout.decode().endswith("x\n")


def test_settings_for_a_client_are_printed() -> None:
    """What belongs into the file, as it stands there."""
    done = hook("/nowhere", b"", "--settings", "claude")

    inner: Any = json.loads(done.stdout)["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    command = f"{shlex.quote(sys.executable)} -P -m thresher hook"
    assert inner == {"type": "command", "command": command, "timeout": 5}


def test_the_printed_command_works_without_a_path_and_from_a_folder_with_blanks(
    state: Listening, tmp_path: Path
) -> None:
    """A client's shell has another PATH, and the interpreter may lie anywhere."""
    home = tmp_path / "an environment"
    home.symlink_to(sys.prefix)
    python = home / Path(sys.executable).relative_to(sys.prefix)
    environment = {"THRESHER_DATA_DIR": state.place.folder, "PATH": ""}
    asked = [str(python), "-m", "thresher", "hook", "--settings", "claude"]
    printed: Any = json.loads(subprocess.run(asked, capture_output=True, check=True, env=environment).stdout)
    command = printed["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]

    done = subprocess.run(
        ["/bin/sh", "-c", command], input=json.dumps(EVENT).encode(), capture_output=True, check=False, env=environment
    )

    assert done.returncode == 0, done.stderr
    assert RULES in done.stdout.decode()


def test_help_is_that_of_every_command() -> None:
    """And reads no event."""
    done = hook("/nowhere", b"", "--help")

    assert done.returncode == 0
    assert b"--timeout" in done.stdout


def test_without_a_daemon_one_is_started_for_the_next_prompt(light: Home, tmp_path: Path) -> None:
    """The prompt at hand does not wait for it."""
    settings = {name: light.environment[name] for name in light.environment if name.startswith("THRESHER_")}
    begun = time.monotonic()

    first = hook(str(light.folder), settings=settings)

    waited = time.monotonic() - begun
    assert (first.returncode, first.stdout) == (0, b"")
    assert b"one is starting" in first.stderr
    assert waited < 3
    assert light.json("status")["running"] or light.json("tools", "list") == []
