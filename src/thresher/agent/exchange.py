"""What a face asks of a conversation, the events of a running turn, and what people read of a thread.

Invariant: frozen; a message's text is other people's words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import UUID

from thresher.llm import Function, FunctionCall, Message, Usage

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
class CalledTool:
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
class TurnReport:
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
    tools_called: tuple[CalledTool, ...] = ()
    citations: tuple[Citation, ...] = ()
    approvals: tuple[Approval, ...] = ()
    client_calls: tuple[ClientCall, ...] = ()
    retried: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple[str, ...])


Event: TypeAlias = Delta | Step | TurnReport


Kind: TypeAlias = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ChatCall:
    """One turn, as it is asked for.

    Attributes:
        messages: The conversation. With a thread the last message of the user is taken, and answers to tools of the
            client that come after it or alone. System messages are the thread's instruction from then on. Earlier
            messages begin a thread that is empty; else those that it has not are left out, which is noted.
        thread: The conversation to go on with; None: these messages are all of it, and nothing is kept.
        functions: Tools of the client. A call of one ends the turn, and the client makes it.
        choice: Which tool the model has to call: `auto`, `none`, `required` or the name of a client's tool.
        settings: What differs for this turn alone, such as `model` or `temperature`.
        decisions: About calls that wait, in a thread; then there may be no message.
        passed: Fields of the wire that the model is asked with as they stand when it answers, such as `stop`, `seed`,
            `top_p` and `response_format`.
    """

    messages: tuple[Message, ...] = ()
    thread: UUID | None = None
    functions: tuple[Function, ...] = ()
    choice: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    decisions: tuple[Decision, ...] = ()
    passed: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """One message of a thread, as a person reads it.

    Attributes:
        id: Of the message.
        kind: Who said it.
        text: What was said; of a search what it found, in a sentence.
        at: When; None where it is not known.
        tool: Of a tool's answer, its name.
        calls: Of the assistant: what it asked for.
        internal: Whether models are never shown it, such as a search of documents.
        passages: What a search placed before the model, as it stood then: `number`, `repository`, `path`, `lines`,
            `heading`, `text`, `used` (false where the grader took it for not relevant: no model saw it).
        report: Of an answer: the object `thresher` that it ended with.
        cut: Of an answer: whether it was broken off, or is still being said.
    """

    id: str
    kind: Kind
    text: str
    at: dt.datetime | None = None
    tool: str = ""
    calls: tuple[FunctionCall, ...] = ()
    internal: bool = False
    passages: tuple[Mapping[str, Any], ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cut: bool = False
