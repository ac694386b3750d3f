"""What a turn tells while it goes on, and what is kept of it.

Invariant: frozen; the last event of a turn is its `Report`, whatever became of the turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import UUID

from thresher.llm import Usage

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "approval", "limit", "error"]
"""`tool_calls`: the client shall run tools of its own; `approval`: calls wait for a person; `limit`: the steps of a
turn were used up; `error`: no model answered. The wire knows the last three as `stop`."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer, as the model said it."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done, while it is done.

    Attributes:
        name: `rephrase`, `search`, `found`, `grade`, `graded`, `tool`, `called`, `tables`, `retry`, `usage`.
        detail: In a few words.
        data: The same for programs: questions, repositories, tables, counts, tokens.
    """

    name: str
    detail: str = ""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call of a tool that the client brought, which the client has to make. `arguments`: as the model wrote them."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that the answer names by its number.

    Attributes:
        number: As in `[2]`.
        repository: Where it stands.
        path: The document.
        lines: First and last line.
        heading: Outermost first.
        artifact: Names where the passage is kept for the thread; empty in a call without one.
    """

    number: int
    repository: str
    path: str
    lines: tuple[int, int]
    heading: tuple[str, ...] = ()
    artifact: str = ""


@dataclass(frozen=True, slots=True)
class Called:
    """A tool that was called. `state`: how it ended."""

    name: str
    state: Literal["done", "failed", "declined", "moved out"]
    ms: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for a person.

    Attributes:
        id: Names it in the decision.
        tool: What would be called.
        arguments: With what; a person may change them.
        why: Such as "it may change something".
        definition: The digest of the tool's definition, where a yes can be remembered for exactly it; else empty.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    why: str
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person says to a call that waits.

    Attributes:
        id: Of the call.
        approved: Whether it is made.
        arguments: In place of the model's; None: as they are.
        reason: Why not; the model reads it.
        remember: Whether the tool, as it is defined now, is called without asking from now on; see
            `Approval.definition`.
    """

    id: str
    approved: bool
    arguments: Mapping[str, Any] | None = None
    reason: str = ""
    remember: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """How a turn ended and what it took; the object `thresher` of an answer.

    Attributes:
        finish: Why it ended.
        text: The whole answer.
        model: The model that answered, as its service names it; empty without one.
        thread: The conversation; None for a call without one.
        trace_id: Names the turn in the logs.
        intents: What the message was taken for, best first.
        repositories: Those that were searched.
        rephrased: The question that was searched for, where it is not the message.
        documents: Passages that were placed in the prompt.
        document_tokens: Theirs.
        usage: Over all calls of the model in this turn.
        calls: How many these were.
        tokens_saved: Prompt tokens that the same turn would have cost besides, had every passage stayed in the history.
        tools_offered: Names, in the order in which the model had them.
        tools_called: In order.
        citations: Of passages that the answer names.
        approvals: What waits for a person.
        client_calls: What the client has to run.
        retried: Why intent was detected again; empty where it was not.
        notes: What was degraded, cut or guessed.
    """

    finish: Finish = "stop"
    text: str = ""
    model: str = ""
    thread: UUID | None = None
    trace_id: str = ""
    intents: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    rephrased: str = ""
    documents: int = 0
    document_tokens: int = 0
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    tokens_saved: int = 0
    tools_offered: tuple[str, ...] = ()
    tools_called: tuple[Called, ...] = ()
    citations: tuple[Citation, ...] = ()
    approvals: tuple[Approval, ...] = ()
    client_calls: tuple[ClientCall, ...] = ()
    retried: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple[str, ...])


Event: TypeAlias = Delta | Step | Report
