"""Requests to a conversation, the events of a turn, and the messages of a thread as people read them.

Invariant: frozen; a message's text was written by others.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import UUID

from thresher.llm import Function, FunctionCall, Message, Usage

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "approval", "limit", "error"]
"""`tool_calls`: the client has to run tools of its own; `approval`: calls wait for a person; `limit`: the steps of a
turn are used up; `error`: no model answered. The wire format knows the last three as `stop`."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """Something the turn does, reported while it is done.

    Attributes:
        name: `rephrase`, `search`, `found`, `grade`, `graded`, `tool`, `called`, `tables`, `retry`, `usage`.
        detail: A few words.
        data: The same for programs: questions, repositories, tables, counts, tokens.
    """

    name: str
    detail: str = ""
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call of one of the client's own tools, which the client has to make. `arguments`: as the model wrote them."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that the answer cites by its number.

    Attributes:
        number: As in `[2]`.
        repository: The repository.
        path: The document.
        lines: First and last line.
        heading: Outermost first.
        artifact: The artifact of the thread that keeps the passage; empty in a call without a thread.
    """

    number: int
    repository: str
    path: str
    lines: tuple[int, int]
    heading: tuple[str, ...] = ()
    artifact: str = ""


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool that was called. `state`: how the call ended."""

    name: str
    state: Literal["done", "failed", "declined", "moved out"]
    ms: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits for a person.

    Attributes:
        id: Identifies it in the decision.
        tool: The tool to be called.
        arguments: Its arguments; a person may change them.
        why: Such as "it may change something".
        definition: The digest of the tool's definition if an approval can be remembered for exactly it; else empty.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    why: str
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a call that waits.

    Attributes:
        id: Of the call.
        approved: Whether it is made.
        arguments: Instead of the model's; None leaves them unchanged.
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
class PromptTokens:
    """What the last prompt of a turn consisted of, in tokens.

    Attributes:
        instructions: Of system messages: the prompt of the agent, and the client's own.
        tools: Of the definitions that were offered.
        rules: Of packs.
        passages: Of documents, with the instruction how to cite them.
        history: Of former turns.
        turn: Of the message, and of what was called for it so far.
        all_tools: Of the definitions of all enabled tools, which a client without a choice sends instead of `tools`; 0
            if no tool was looked for.
    """

    instructions: int = 0
    tools: int = 0
    rules: int = 0
    passages: int = 0
    history: int = 0
    turn: int = 0
    all_tools: int = 0


@dataclass(frozen=True, slots=True)
class TurnReport:
    """How a turn ended and what it cost; the object `thresher` of an answer.

    Attributes:
        finish: Why it ended.
        text: The whole answer.
        model: The model that answered, as its service names it; empty without one.
        thread: The conversation; None for a call without one.
        trace_id: Identifies the turn in the logs.
        intents: The intents of the message, best first.
        repositories: Those that were searched.
        rephrased: The question that was searched for, if it differs from the message.
        documents: Passages that were placed in the prompt.
        document_tokens: Their tokens.
        usage: Over all calls of the model in this turn.
        calls: Number of these calls.
        prompt: What the last prompt consisted of; None if no model was asked.
        tokens_saved: Additional prompt tokens that the turn would have cost if every passage stayed in the history.
        tools_offered: Names, in the model's order.
        tools_called: In order.
        citations: Of passages that the answer cites.
        approvals: The calls that wait for a person.
        client_calls: The calls that the client has to make.
        retried: Why intent was detected again; else empty.
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
    prompt: PromptTokens | None = None
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
    """A request for one turn.

    Attributes:
        messages: The conversation. With a thread only the last user message is used, together with answers to the
            client's tools behind it, or these alone. System messages become the thread's instruction. Earlier messages
            begin an empty thread; otherwise those that the thread does not have are left out, which is noted.
        thread: The conversation to continue; None if these messages are the whole conversation, and nothing is kept.
        functions: Tools of the client. A call of one ends the turn, and the client makes it.
        choice: Which tool the model has to call: `auto`, `none`, `required` or the name of a client's tool.
        settings: Settings for this turn only, such as `model` or `temperature`.
        decisions: About calls that wait, in a thread; then the message may be missing.
        passed: Fields of the wire format passed unchanged to the model, such as `stop`, `seed`, `top_p` and
            `response_format`.
    """

    messages: tuple[Message, ...] = ()
    thread: UUID | None = None
    functions: tuple[Function, ...] = ()
    choice: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    decisions: tuple[Decision, ...] = ()
    passed: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """How far the last turn of a thread is, from what is stored.

    Attributes:
        is_running: Whether it is being answered, by whichever process.
        checkpoint: The state that was reached; None before the first. The messages are the same while it is.
        answers: The message that `text` answers, or whose answer failed; empty without either.
        text: The words so far of the answer that is being written, or was interrupted.
        failure: Why no model answered; empty unless that is how the turn ended.
    """

    is_running: bool
    checkpoint: UUID | None = None
    answers: str = ""
    text: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """One message of a thread, as a person reads it.

    Attributes:
        id: Of the message.
        kind: Its author.
        text: Its text; for a search, a sentence about the result.
        at: When; None if unknown.
        tool: For a tool's answer, its name.
        call: For a tool's answer, the id of the call.
        state: For a tool's answer, how the call ended: `done`, `failed` or `declined`.
        calls: For the assistant, the requested calls.
        internal: Whether models are never shown it, such as a search of documents.
        passages: The passages that a search gave the model, as they were then: `number`, `repository`, `path`, `lines`,
            `heading`, `text`, `used` (false if the grader found it irrelevant: no model saw it).
        report: For an answer: its final object `thresher`.
        cut: For an answer: whether it was interrupted, or is still being written.
    """

    id: str
    kind: Kind
    text: str
    at: dt.datetime | None = None
    tool: str = ""
    call: str = ""
    state: str = ""
    calls: tuple[FunctionCall, ...] = ()
    internal: bool = False
    passages: tuple[Mapping[str, Any], ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cut: bool = False
