"""`thresher models` and `thresher settings`: what they print, and their exit codes."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Command
from tests.fakes.chat_server import ChatServer

KEY = "sk-very-secret"


@pytest.fixture
def fake() -> Iterator[ChatServer]:
    """A chat service."""
    server = ChatServer(lambda _: "ok [bold]")
    yield server
    server.stop()


@pytest.fixture
def model(command: Command, fake: ChatServer) -> Iterator[str]:
    """A registered model, gone after the test."""
    command("models", "add", "mine", "--url", fake.url, "--model", "fake", "--replace")
    yield "mine"
    command("models", "remove", "mine")


def test_a_model_is_added_with_a_key_that_shows_nowhere(
    command: Command, fake: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a variable or from standard input; it is asked at once."""
    monkeypatch.setenv("SERVICE_KEY", KEY)
    added = command("models", "add", "big", "--url", fake.url, "--model", "fake", "--key", "${SERVICE_KEY}")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}-2\n"))
    again = command("models", "add", "big", "--url", fake.url, "--model", "fake", "--key", "-", "--replace", "--json")
    removed = command("models", "remove", "big")

    assert added.code == 0
    assert "answered in" in added.out
    assert "ok [bold]" in added.out
    assert again.json["model"]["keyed"] is True
    assert fake.authorizations == [f"Bearer {KEY}", f"Bearer {KEY}-2"]
    assert all(KEY not in ended.out + ended.err for ended in (added, again))
    assert removed.out == "Removed big.\n"


def test_a_key_on_the_command_line_is_warned_of(command: Command, fake: ChatServer) -> None:
    """Others can read it there."""
    added = command("models", "add", "big", "--url", fake.url, "--model", "fake", "--key", KEY)
    command("models", "remove", "big")

    assert "is visible" in added.err


def test_models_are_listed_checked_and_switched(command: Command, model: str, fake: ChatServer) -> None:
    """A check that fails has an exit code of its own."""
    listed = command("models", "list").out.splitlines()
    checked = command("models", "check", model)
    disabled = command("models", "disable", model)
    enabled = command("models", "enable", model, "--json").json
    fake.mode = "401"
    failed = command("models", "check", model)

    assert listed[1].split()[:2] == ["mine", "fake"]
    assert "the default" in listed[1]
    assert checked.code == 0
    assert "disabled" in disabled.out
    assert enabled[0]["enabled"] is True
    assert (failed.code, "HTTP 401" in failed.out) == (11, True)
    assert command("models", "check", "other").code == 3


def test_a_chosen_model_answers_and_a_disabled_one_cannot_be_chosen(
    command: Command, model: str, fake: ChatServer
) -> None:
    """The list says which one answers."""
    command("models", "add", "second", "--url", fake.url, "--model", "fake")
    command("settings", "set", "model=second")
    listed = {line.split()[0]: line for line in command("models", "list").out.splitlines()[1:]}
    command("settings", "reset", "model")
    command("models", "disable", "second")
    refused = command("settings", "set", "model=second")
    command("models", "remove", "second")

    assert "the default" in listed["second"]
    assert "the default" not in listed[model]
    assert refused.code == 2
    assert "thresher models enable second" in refused.err


def test_settings_are_shown_set_and_reset(command: Command, model: str) -> None:
    """A choice is marked as one; values are written as they are."""
    chosen = command("settings", "set", "top_k=3", "sql=false", f"model={model}", "--json").json
    shown = {line.split()[0]: line.split()[1:] for line in command("settings", "show").out.splitlines()[1:]}
    back = command("settings", "reset", "top_k", "sql", "model", "--json").json

    assert (chosen["settings"]["top_k"], chosen["settings"]["sql"]) == (3, False)
    assert shown["top_k"] == ["3", "your", "choice"]
    assert shown["sql"] == ["false", "your", "choice"]
    assert shown["recursion"] == ["50", "default"]
    assert set(back["sources"].values()) == {"default"}


def test_what_is_not_allowed_ends_with_what_is(command: Command) -> None:
    """As a wrong argument does."""
    wrong = command("settings", "set", "top_k=99")
    unknown = command("settings", "set", "topk=3")
    none = command("settings", "set", "top_k")

    assert (wrong.code, unknown.code, none.code) == (2, 2, 2)
    assert "from 1 to 50" in wrong.err
    assert "top_k" in unknown.err
