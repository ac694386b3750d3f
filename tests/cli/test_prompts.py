"""`thresher prompts`: what it prints, and its exit codes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from thresher.agent.prompts import SHIPPED
from thresher.cli.conversation_settings import prompt_card
from thresher.cli.output import show

OWN = "Answer like a pirate.\nBe brief."


@pytest.fixture(autouse=True)
def _shipped_words_again(command: Command) -> Iterator[None]:
    """Each test leaves the shipped words in force."""
    yield
    for name in ("basic", "grade"):
        command("prompts", "reset", name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One's own words."""
    file = tmp_path / "own.md"
    file.write_text(OWN + "\n", encoding="utf-8")
    return file


def test_prompts_are_listed_and_shown(command: Command) -> None:
    """In a pipe only the text of a prompt is printed."""
    listed = command("prompts", "list")
    rows = command("prompts", "list", "--json").json
    shown = command("prompts", "show", "grade")

    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()[1:]] == list(SHIPPED)
    assert "QUESTION PASSAGES" in listed.out
    assert [row["name"] for row in rows] == list(SHIPPED)
    assert shown.out == SHIPPED["grade"].text + "\n"


def test_own_words_are_set_compared_listed_and_reset(command: Command, file: Path) -> None:
    """From a file; each change is a version."""
    before = command("prompts", "show", "basic", "--json").json["version"]
    kept = command("prompts", "set", "basic", str(file))
    shown = command("prompts", "show", "basic")
    difference = command("prompts", "diff", "basic")
    listed = command("prompts", "list")
    reset = command("prompts", "reset", "basic")
    versions = command("prompts", "versions", "basic").out.splitlines()
    former = command("prompts", "show", "basic", "--version", str(before + 1))
    nothing = command("prompts", "diff", "basic")

    assert kept.out == f"basic: version {before + 1} (your own text) is in force.\n"
    assert shown.out == former.out == OWN + "\n"
    assert "+Answer like a pirate." in difference.out.splitlines()
    assert f"your own, version {before + 1}" in listed.out
    assert reset.out == f"basic: version {before + 2} (the shipped text again) is in force.\n"
    assert versions[1].startswith(f"{before + 2}")
    assert "your own" in versions[2]
    assert versions[-1].startswith("0")
    assert nothing.out == "Nothing differs.\n"


def test_own_words_come_from_standard_input(command: Command, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """So that a prompt can be piped through a program."""
    monkeypatch.setattr("sys.stdin", io.StringIO("Piped."))
    kept = command("prompts", "set", "basic", "-", "--json").json
    command("prompts", "set", "basic", str(file))
    between = command("prompts", "diff", "basic", str(kept["version"]), str(kept["version"] + 1)).out

    assert kept["text"] == "Piped."
    assert between.splitlines()[3:] == ["-Piped.", "+Answer like a pirate.", "+Be brief."]


def test_what_cannot_be_ends_with_a_code_and_a_hint(command: Command, file: Path) -> None:
    """An unknown prompt, an unknown version, a text without its variables, a file that is not there, a late change."""
    unknown = command("prompts", "show", "nothing")
    version = command("prompts", "show", "basic", "--version", "999")
    wrong = command("prompts", "set", "grade", str(file))
    missing = command("prompts", "set", "basic", str(file.with_name("none.md")))
    late = command("prompts", "set", "basic", str(file), "--expected", "999")

    assert (unknown.code, version.code, wrong.code, missing.code, late.code) == (3, 3, 2, 2, 4)
    assert "There are basic, tools, context" in unknown.err
    assert "does not say where {{QUESTION}} goes" in wrong.err
    assert "none.md cannot be read" in missing.err


def test_a_terminal_shows_whose_words_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """And writes out what it would obey."""
    prompt = {"name": "basic", "version": 3, "shipped": False, "description": "First words.", "text": "Be \x1b[31mred."}

    show(prompt, as_json=False, render=prompt_card)

    assert capsys.readouterr().out == "basic  version 3 (your own text)\nFirst words.\nBe <U+001B>[31mred.\n"
