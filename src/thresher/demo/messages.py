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
    """

    text: str
    shows: str


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
    Message("What time is it in Tokyo when it is 09:30 in Berlin?", "a tool of a live server"),
    Message("Show me the last three commits in this repository", "a live server beside vendors with alike tools"),
    Message("Read https://example.com and summarise what it says", "a live server; the page itself is not read here"),
    Message("Refund 12.50 euros of the customer's last card payment", "one vendor among many"),
    Message("The login test fails since yesterday. Open an issue for it.", "a fact and a request"),
    Message("Text +4915550100 that we are late and put a task on the team's board", "two tasks in one message"),
    Message("Rerun the nightly data pipeline that failed", "words that no tool's name holds"),
    Message("Write a haiku about autumn rain", "nothing fits, so nothing is sent"),
)


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
