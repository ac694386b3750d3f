"""Clauses: a message is split into its tasks, and only there."""

from __future__ import annotations

import time

import pytest

from thresher.search import clauses
from thresher.search.lexical.clauses import MAX_CLAUSES, prose


@pytest.mark.parametrize(
    ("message", "tasks"),
    [
        (
            "Fetch the web page of the museum and then send an email to my sister",
            ["Fetch the web page of the museum", "send an email to my sister"],
        ),
        (
            "1. Find trending repositories\n2. Write a summary to notes.md",
            ["1. Find trending repositories", "2. Write a summary to notes.md"],
        ),
        (
            "What is the weather in Rome? Also book a table for two in the evening.",
            ["What is the weather in Rome?", "Also book a table for two in the evening."],
        ),
    ],
)
def test_several_tasks_are_told_apart(message: str, tasks: list[str]) -> None:
    """The whole comes first, then each task."""
    assert clauses(message) == [message, *tasks]


@pytest.mark.parametrize(
    "message",
    [
        "Convert 100 dollars and 20 euros to yen",
        "Find the cheapest flight from Rome to Oslo in May.",
        "I want to see a film. Find one about the sea.",
        "List all users, e.g. admins, and return it as JSON",
        "Search for cats and dogs",
        "Get the report. Return at most ten results.",
        "weather",
    ],
)
def test_a_single_task_stays_whole(message: str) -> None:
    """Lists of things, specified wishes and conditions are not tasks of their own."""
    assert clauses(message) == [message]


@pytest.mark.parametrize("message", ["", "  \n "])
def test_a_blank_message_has_no_clauses(message: str) -> None:
    """The result is empty."""
    assert clauses(message) == []


def test_code_and_logs_are_left_out() -> None:
    """Pasted text says less than the request."""
    message = "Why does this fail?\n```python\ndelete_all()\n```\n2026-01-01 10:00:00 ERROR boom\nTraceback (most"

    assert prose(message) == "Why does this fail?"


def test_a_message_of_code_alone_is_kept() -> None:
    """A search for code is better than none."""
    assert prose("```\nls -la\n```") == "```\nls -la\n```"


def test_tasks_are_bounded() -> None:
    """The first ones are kept."""
    message = ". ".join(f"Send letter number {number} to my aunt" for number in range(30)) + "."

    assert len(clauses(message)) == 1 + MAX_CLAUSES


@pytest.mark.parametrize(
    "unit", ["get x and ", "a ", "x. ", "\n", '"', "please ", ", then ", "1) ", "   y", "```", "😀", "查", "- "]
)
def test_no_text_takes_long(unit: str) -> None:
    """Time grows about linearly: four times the text takes at most about ten times as long."""

    def seconds(text: str) -> float:
        best = 1e9
        for _ in range(3):
            started = time.process_time()
            clauses(text)
            best = min(best, time.process_time() - started)
        return best

    short, long = seconds("x" + unit * (4_000 // len(unit))), seconds("x" + unit * (16_000 // len(unit)))

    assert long < 10 * short + 0.05


def test_of_too_many_tasks_those_at_both_ends_are_kept() -> None:
    """The request is first or last, pasted material between."""
    lines = [f"Create the chart number {number} of this page." for number in range(30)]

    kept = clauses("\n".join([*lines, "Send an email to Ann."]))

    assert len(kept) == 1 + MAX_CLAUSES
    assert kept[1] == lines[0]
    assert kept[-1] == "Send an email to Ann."
