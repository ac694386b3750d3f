"""Records of a conversation with a chat model, independent of the service.

Invariant: frozen; text that a model writes is data, never instructions, and is checked before use.
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
        id: Identifies the call in the message that answers it.
        name: The function.
        arguments: The model's text, which should be JSON.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: The author.
        text: The text.
        calls: Calls that the assistant requests.
        answers: For a tool's message, the id of the call that it answers.
    """

    role: Role
    text: str
    calls: tuple[FunctionCall, ...] = ()
    answers: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a chat model.

    Attributes:
        messages: The conversation, oldest first.
        temperature: 0 to 2; None for the service's default.
        most_tokens: Maximum tokens of the answer, in the model's count; None for the service's limit.
        functions: Tools that it may call.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    most_tokens: int | None = None
    functions: tuple[Function, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts from the service; 0 if it does not report them.

    Attributes:
        prompt: Tokens of the request.
        completion: Tokens of the answer.
        cached: Tokens of the request that the service had cached.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A complete answer of a model; for a stream, all parts together.

    Attributes:
        text: The text; empty if it only calls functions.
        finish: Why it ended; `length` means that it was cut off at the limit.
        calls: Calls that the model requests.
        usage: Token counts.
        model: The service's name of the model that answered.
    """

    text: str
    finish: Finish = "stop"
    calls: tuple[FunctionCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""


class Chat(Protocol):
    """A chat model of a service or of a client."""

    @property
    def name(self) -> str:
        """The displayed name, such as `gpt-5@api.openai.com`."""
        ...

    async def complete(self, request: ChatRequest, *, seconds: float | None = None) -> Completion:
        """Ask the model.

        Args:
            request: The conversation.
            seconds: Time limit including retries and pauses; None for the setting.

        Returns:
            The answer, with a text or with calls.

        Raises:
            ModelTimeout: It took too long.
            ModelError: The model cannot be reached, refuses, or its answer cannot be read.
        """
        ...
