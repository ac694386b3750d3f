"""The messages of the demo.

Invariant: finding tools for them needs no network; only tools of local servers are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """One message, and what it is here to show.

    Attributes:
        text: What a person writes.
        shows: Why it is part of the demo.
        wants: The tools that a person would take, by the names that clients see, the packs, or words of the text that
            answers; all of them are needed. Told after the search, never before.
    """

    text: str
    shows: str
    wants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalCall:
    """A call that needs nothing but this machine.

    Attributes:
        server: The server whose tool is called.
        tool: The tool's name on that server.
        arguments: Its arguments.
    """

    server: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


MESSAGES = (
    Message("What time is it in Tokyo when it is 09:30 in Berlin?", "a live server", ("time_convert_time",)),
    Message(
        "Show me the last three commits in this repository",
        "a live server, beside a vendor with much the same",
        ("git_git_log",),
    ),
    Message("Fetch the page https://example.com and summarise it", "a live server", ("fetch_fetch",)),
    Message("Refund 12.50 euros of the customer's last card payment", "one vendor of many", ("square_RefundPayment",)),
    Message(
        "The login test fails since yesterday. Open an issue for it on GitHub.",
        "a fact, then a request",
        ("github_issues_create",),
    ),
    Message(
        "Send a text message to +4915550100 and create a task for the design team",
        "two tasks in one message",
        ("twilio_CreateMessage", "asana_createTask"),
    ),
    Message(
        "Rerun the nightly build that failed",
        "few of the tool's own words",
        ("github_actions_actions_re-run-workflow-failed-jobs",),
    ),
    Message("How do I boil an egg?", "nothing fits, so nothing should be sent"),
)


PROMPTS = (
    Message("commit everythign as: mend the login test", "a spelling mistake, and what a team agreed on", ("git",)),
    Message("is anything connected that can send an SMS?", "about the tools themselves", ("tools",)),
    Message("How do I boil an egg?", "no rules fit, so the message passes as it is"),
)
"""Messages for `process_prompt`; `wants` names the packs whose rules a person would give."""


QUESTIONS = (
    Message(
        "May a file with passwords be staged?",
        "asked in other words than the text's",
        ("Never stage what looks like a secret",),
    ),
    Message(
        "How is a branch made without going to it?",
        "rows of a table, with the header that makes them readable",
        ("| tool | required | optional |", "create without switching"),
    ),
    Message("At what temperature does tungsten melt?", "nothing in these documents fits, and the answer says so"),
)
"""Questions for `retrieve_document` over the rules of the built-in packs; `wants` is what the passage has to hold."""


def local_calls(repository: Path) -> tuple[LocalCall, ...]:
    """The calls of the demo, in the order in which they are shown."""
    return (
        LocalCall(
            "time",
            "convert_time",
            {"source_timezone": "Europe/Berlin", "time": "09:30", "target_timezone": "Asia/Tokyo"},
        ),
        LocalCall("git", "git_log", {"repo_path": str(repository), "max_count": 3}),
    )
