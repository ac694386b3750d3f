"""What a face asks of a conversation, and what people read of one.

Invariant: frozen; a message's text is other people's words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import UUID

from thresher.agent.events import Decision
from thresher.llm import Function, FunctionCall, Message

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
class Entry:
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
