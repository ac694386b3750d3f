"""`thresher insight` and `thresher cases` against a real daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.daemon.home import Home


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: it lists all cases."""
    return own_home


def test_cases_are_saved_run_exported_and_imported(command: Command, tmp_path: Path) -> None:
    """A run in which a case fails ends with 1; what is exported can be imported."""
    nothing = command("cases", "run")
    hidden = "Grüße \u202e zxqv"
    command("cases", "add", hidden)
    added = command("cases", "add", "zxqv wvut", "--tool", "git_log", "--not", "intent:mail")
    wrong = command("cases", "add", "x", "--not", "mail")
    run = command("cases", "run")
    exported = command("cases", "export")
    file = tmp_path / "cases.jsonl"
    file.write_text(exported.out, encoding="utf-8")

    imported = command("cases", "import", str(file))

    assert (nothing.code, run.code, wrong.code) == (0, 1, 2)
    assert "Nothing was run" in nothing.out
    assert "must not come: intents: mail" in added.out
    assert "1 of 2 cases pass" in run.out
    assert "missing   tools: git_log" in run.out
    assert "Grüße \\u202e" in exported.out
    assert [json.loads(line) for line in exported.out.splitlines()] == [
        {"message": hidden, "needs": {}, "verb": "get_context"},
        {
            "message": "zxqv wvut",
            "needs": {"tools": ["git_log"]},
            "excluded": {"intents": ["mail"]},
            "verb": "get_context",
        },
    ]
    assert "replaced 2" in imported.out
    assert len(command("cases", "runs", "--json").json) == 1
    assert command("cases", "last", "--json").json["passed"] == 1


def test_a_line_of_a_file_that_is_wrong_is_named(command: Command, tmp_path: Path) -> None:
    """And nothing is imported."""
    file = tmp_path / "cases.jsonl"
    file.write_text('{"message": "x", "needs": {}}\n{"message": 3, "needs": {}}\n', encoding="utf-8")

    wrong = command("cases", "import", str(file))
    file.write_text("nonsense\n", encoding="utf-8")
    broken = command("cases", "import", str(file))

    assert "Case 2: A case needs a message." in wrong.err
    assert "line 1: not valid JSON" in broken.err


def test_what_the_logs_tell_is_shown(command: Command) -> None:
    """Each command for people and for programs."""
    command("context", "zxqv wvut plomb")
    for name in ("usage", "unanswered", "intents", "calls", "attention"):
        shown, parsed = command("insight", name), command("insight", name, "--json")

        assert (shown.code, parsed.code) == (0, 0), name
        assert parsed.json
    assert "THRESHER_LOG_TEXT" in command("insight", "unanswered").out
