"""The messages of the demo.

Invariant: no search for them needs the network, and only tools of local servers are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """A message, and what it demonstrates.

    Attributes:
        text: The message, as a user writes it.
        shows: What it demonstrates.
        wants: What a person would choose, all of it: tools by the names that clients see, packs, or words of the
            passage that answers. The search does not see it.
    """

    text: str
    shows: str
    wants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalCall:
    """A call that needs this machine only.

    Attributes:
        server: The server whose tool is called.
        tool: The tool's name on that server.
        arguments: Its arguments.
    """

    server: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


MESSAGES = (
    DemoMessage("What time is it in Tokyo when it is 09:30 in Berlin?", "a live server", ("time_convert_time",)),
    DemoMessage(
        "Show me the last three commits in this repository",
        "a live server, beside a vendor with similar tools",
        ("git_git_log",),
    ),
    DemoMessage("Fetch the page https://example.com and summarise it", "a live server", ("fetch_fetch",)),
    DemoMessage(
        "Refund 12.50 euros of the customer's last card payment", "one vendor of many", ("square_RefundPayment",)
    ),
    DemoMessage(
        "The login test fails since yesterday. Open an issue for it on GitHub.",
        "a fact, then a request",
        ("github_issues_create",),
    ),
    DemoMessage(
        "Send a text message to +4915550100 and create a task for the design team",
        "two tasks in one message",
        ("twilio_CreateMessage", "asana_createTask"),
    ),
    DemoMessage(
        "Rerun the nightly build that failed",
        "few of the tool's own words",
        ("github_actions_actions_re-run-workflow-failed-jobs",),
    ),
    DemoMessage("How do I boil an egg?", "nothing fits, so nothing should be sent"),
)


PROMPTS = (
    DemoMessage("commit everythign as: mend the login test", "a spelling mistake, and a team's rules", ("git",)),
    DemoMessage("is anything connected that can send an SMS?", "about the tools themselves", ("tools",)),
    DemoMessage("How do I boil an egg?", "no rules fit, so the message passes as it is"),
)
"""Messages for `process_prompt`; `wants` names the packs whose rules a person would choose."""


QUESTIONS = (
    DemoMessage(
        "May files with credentials be committed?",
        "worded differently from the text",
        ("Never stage what looks like a secret",),
    ),
    DemoMessage(
        "How is a branch made without going to it?",
        "rows of a table, with the header that makes them readable",
        ("| tool | required | optional |", "create without switching"),
    ),
    DemoMessage("At what temperature does tungsten melt?", "nothing in these documents fits, and the answer says so"),
)
"""Questions for `retrieve_document` over the rules of the built-in packs; `wants` is what the passage must contain."""


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
