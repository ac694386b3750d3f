"""The records of a conversation with a chat model, whoever serves it.

Invariant: frozen; what a model writes is somebody else's text: data, never instruction, and checked before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from thresher.core import JSON

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "other"]


@dataclass(frozen=True, slots=True)
class Function:
    """A tool that the model may call.

    Attributes:
        name: Its name.
        description: What it does.
        parameters: JSON Schema of its arguments.
    """

    name: str
    description: str = ""
    parameters: JSON = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call that the model asks for.

    Attributes:
        id: Names the call in the message that answers it.
        name: The function.
        arguments: As the model wrote them: JSON, if it did well.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: Who speaks.
        text: What is said.
        calls: Of the assistant: what it asks for.
        answers: Of a tool: the id of the call that this answers.
    """

    role: Role
    text: str
    calls: tuple[FunctionCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked.

    Attributes:
        messages: The conversation, oldest first.
        temperature: 0 to 2; None: the service's own.
        most_tokens: Tokens of the answer at most, as the model counts them; None: the service's own limit.
        functions: Tools that it may call.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    most_tokens: int | None = None
    functions: tuple[Function, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the service counted them; 0 where it does not say.

    Attributes:
        prompt: Of what was sent.
        completion: Of the answer.
        cached: Of `prompt`, what the service had already.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer, whole: of a stream it is the sum.

    Attributes:
        text: What it says; empty where it only calls functions.
        finish: Why it ended; `length`: at the limit, in the middle of whatever it was saying.
        calls: What it asks for.
        usage: What that cost.
        model: The model that answered, as the service names it.
    """

    text: str
    finish: Finish = "stop"
    calls: tuple[FunctionCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""


class Chat(Protocol):
    """A chat model: a service's, or the one that a client has."""

    @property
    def name(self) -> str:
        """What people call it, such as `gpt-5@api.openai.com`."""
        ...

    async def complete(self, request: ChatRequest, *, seconds: float | None = None) -> Completion:
        """Ask.

        Args:
            request: The conversation.
            seconds: How long it may take in all, tries and pauses included; None: as the settings say.

        Returns:
            The answer, with a text or with calls.

        Raises:
            ModelTimeout: It took too long.
            ModelError: The model cannot be reached, refuses, or answers what cannot be read.
        """
        ...
