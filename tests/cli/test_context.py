"""`thresher prompt`, `thresher context` and `thresher ask`: what they print, and their exit codes."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command
from tests.daemon.home import Home

ASK = "is one of the connected tools good for charts?"
COMMIT = "show me the uncommitted changes of this git repository"


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: it needs a tenant without APIs."""
    return own_home


def fitted(command: Command) -> None:
    """Wait until the router is fitted: an explanation waits 20 seconds for it, a busy machine needs longer."""
    for _ in range(5):
        command("intents", "explain", ASK)
        if "being fitted" not in command("prompt", ASK).err:
            return
    raise AssertionError("The router is never fitted.")


def test_a_prompt_gets_rules_or_passes_through(command: Command) -> None:
    """For people the text that a model would read, for programs the data."""
    fitted(command)
    people = command("prompt", ASK)
    programs = command("prompt", ASK, "--history", "hello", "--file", "a.py", "--json")
    nothing = command("prompt", "good morning, how are you?")
    useless = command("prompt", COMMIT)

    assert people.code == programs.code == nothing.code == useless.code == 0
    assert "rules of tools (built-in)" in people.out
    assert [rules["pack"] for rules in programs.json["rules"]] == ["tools"]
    assert (nothing.out, nothing.err) == ("PASS_THROUGH\n", "")
    assert useless.out == "PASS_THROUGH\n"
    assert useless.err == "(git fits, and is not given: none of its servers is connected: git)\n"


def test_a_context_keeps_its_budget(command: Command) -> None:
    """Rules that do not fit are named with the cursor that brings them; `--why` says what became of them."""
    fitted(command)
    small = command("context", ASK, "--budget", "400", "--json")
    enough = command("context", ASK, "--budget", "2000", "--cursor", small.json["next"], "--json")
    shares = command("context", ASK, "--budget", "400", "--why")

    assert (small.code, enough.code, shares.code) == (0, 0, 0)
    assert small.json["spent"] <= 400
    assert "tools" in [left["name"] for left in small.json["left_out"] if left["kind"] == "rules"]
    assert [rules["pack"] for rules in enough.json["rules"]] == ["tools"]
    assert "1 over the budget" in shares.out
    assert "rules of tools (built-in)" in command("context", ASK).out


def test_a_message_is_explained_as_a_tree(command: Command) -> None:
    """With what was tried, what should have come, and the text that a model gets."""
    fitted(command)
    shown = command("explain", ASK, "--expect", "nobody_knows", "--budget", "2000")
    data = command("explain", ASK, "--intent-threshold", "*=1", "--intent-threshold", "tools=0.2", "--json")
    text = command("explain", ASK, "--text", "process_prompt")
    wrong = command("explain", ASK, "--intent-threshold", "tools")

    assert (shown.code, data.code, text.code, wrong.code) == (0, 0, 0, 2)
    for part in ("rules by", "tools p=", "there is no such tool", "context ", "of 2,000 tokens", "times"):
        assert part in shown.out
    scores = {score["intent"]: score["threshold"] for score in data.json["decision"]["scores"]}
    assert scores.pop("tools") == 0.2
    assert set(scores.values()) <= {1.0}
    assert text.out == command("prompt", ASK).out
    assert "NAME=VALUE" in wrong.err


def test_bad_questions_are_told_in_one_line(command: Command) -> None:
    """Empty, no budget, a budget too small, a cursor of something else."""
    for arguments in [
        ("prompt", " "),
        ("prompt",),
        ("context", ASK, "--budget", "0"),
        ("context", ASK, "--budget", "many"),
        ("context", ASK, "--budget", "3"),
        ("context", ASK, "--cursor", "x"),
    ]:
        ended = command(*arguments)

        assert ended.code == 2
        assert ended.out == ""
        assert "Traceback" not in ended.err


def test_an_answer_is_printed_and_a_conversation_goes_on(command: Command) -> None:
    """For people the text, and how to continue; for programs the record."""
    people = command("ask", "how do I add a watcher?")
    programs = command("ask", "how do I add a watcher?", "--context", "we use Jira", "--json")
    session = programs.json["session_id"]
    on = command("ask", "-s", session, "and the one to delete it?", "--json")

    assert people.code == programs.code == on.code == 0
    assert "thresher apis add NAME SOURCE" in people.out
    assert people.err.startswith("(continue with: --session ")
    assert set(programs.json) == {"query", "intent", "response", "session_id"}
    assert on.json["session_id"] == session


def test_a_question_that_is_not_valid_ends_with_its_code(command: Command) -> None:
    """A blank question, or an unknown conversation."""
    blank = command("ask", " ")
    unknown = command("ask", "more", "--session", "nobody-has-this")

    assert (blank.code, unknown.code) == (2, 3)
    assert "new one" in unknown.err
