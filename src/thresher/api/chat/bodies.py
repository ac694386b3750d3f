"""The body of `/v1/chat/completions`.

Invariant: a field that would change the answer, and that nobody here can keep, is refused by its name; a field that
changes nothing is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from thresher.core import UNSUPPORTED
from thresher.verbs import BoundedBody

MOST_FUNCTIONS = 128
MOST_MESSAGES = 10_000
MOST_TOKENS = 200_000
MOST_CHARACTERS = 400_000
"""Of one message."""


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError(UNSUPPORTED, "{message}", {"message": message})


def _said(content: object) -> object:
    """The text of a content: itself, its parts one after the other, or nothing."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return content
    return "".join(_part(part) for part in cast("list[object]", content))


def _part(part: object) -> str:
    given = cast("Mapping[str, object]", part if isinstance(part, dict) else {})
    kind = given.get("type")
    text = given.get("text" if kind == "text" else "refusal")
    if kind not in ("text", "refusal"):
        raise _wrong(f"A part is of type {str(kind)[:40]!r}, and only texts are taken")
    if not isinstance(text, str):
        raise _wrong("A part of a content has no text")
    return text


def _one(count: int | None) -> int | None:
    if count not in (None, 1):
        raise _wrong("One answer is made at a time: leave it out, or send 1")
    return count


def _refused(value: object) -> None:
    if value:
        raise _wrong("It is not supported: leave it out")


def _text_alone(modalities: list[str] | None) -> None:
    if modalities and modalities != ["text"]:
        raise _wrong("Answers are texts: leave it out, or send ['text']")


_CONTENT = {
    "description": "A text, or parts of which each is one: `{type: text, text}`.",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}, {"type": "null"}],
}
_Content = Annotated[str, BeforeValidator(_said), WithJsonSchema(_CONTENT)]
_Never = Annotated[Any, AfterValidator(_refused)]


class _Given(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class CalledFunction(_Given):
    """What an assistant asked a client for."""

    name: str
    arguments: str = Field(description="JSON, as the model wrote it.")


class CallBody(_Given):
    """A call in a message of the assistant."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class MessageBody(_Given):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: _Content = ""
    tool_calls: list[CallBody] | None = Field(None, description="Of the assistant: what it asked for.")
    tool_call_id: str | None = Field(None, description="Of a tool: the call that this answers.")


class FunctionBody(_Given):
    """A tool that the client runs."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = Field(None, description="JSON Schema of its arguments.")


class ToolBody(_Given):
    """A tool that the client brings."""

    type: Literal["function"]
    function: FunctionBody


class StreamOptions(_Given):
    """What a stream tells besides."""

    include_usage: bool | None = Field(None, description="Whether a chunk with the usage comes before the end.")


class ResponseFormat(_Given):
    """The form of the answer; the model has to know it."""

    model_config = ConfigDict(strict=True, extra="allow")

    type: Literal["text", "json_object", "json_schema"]


class ApprovalBody(BaseModel):
    """What a person says to a call that waits."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: str = Field(max_length=200, description="As the answer that waits names it.")
    approved: bool
    arguments: dict[str, Any] | None = Field(None, description="In place of the model's.")
    reason: str = Field("", max_length=2000, description="Told to the model, where it was declined.")
    remember: bool = Field(
        False, description="Call this tool without asking from now on, while its definition stays what it is."
    )


class OwnBody(BaseModel):
    """What only Thresher takes; the SDK sends it as `extra_body={"thresher": ...}`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    approvals: list[ApprovalBody] = Field([], description="Decisions on calls that wait, in a thread.")
    settings: dict[str, Any] = Field({}, description="Settings for this turn alone, as `/v1/settings` has them.")


class ChatBody(BoundedBody, _Given):
    """A turn of a conversation, in the OpenAI wire format.

    Fields that change nothing here are passed over: `user`, `store`, `service_tier`, `prediction`, what concerns
    caches, `name` of a message, `strict` of a tool, and whatever is not known.
    """

    messages: list[MessageBody] = Field(
        max_length=MOST_MESSAGES,
        description="The conversation. With a thread the last message of the user is taken; system messages are its "
        "instruction from then on, and earlier ones begin it where it is empty.",
    )
    model: str | None = Field(None, max_length=200, description="`thresher`, or a registered model.")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[ToolBody] | None = Field(
        None, max_length=MOST_FUNCTIONS, description="Tools that the client runs, beside Thresher's."
    )
    tool_choice: Any = Field(None, description="`auto`, `none`, `required`, or a tool of the client.")
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=MOST_TOKENS)
    max_completion_tokens: int | None = Field(None, ge=1, le=MOST_TOKENS, description="The same as `max_tokens`.")
    metadata: dict[str, Any] | None = Field(None, description="`thread_id` names a thread; the rest is left.")
    thresher: OwnBody | None = None

    stop: str | list[str] | None = Field(None, description="Passed on to the model, as all that follow.")
    seed: int | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    parallel_tool_calls: bool | None = None

    n: Annotated[int | None, AfterValidator(_one)] = Field(None, description="1.")
    modalities: Annotated[list[str] | None, AfterValidator(_text_alone)] = Field(None, description="Text alone.")
    audio: _Never = Field(None, description="Not supported, as all that follow.")
    functions: _Never = Field(None, description="Send `tools`.")
    function_call: _Never = Field(None, description="Send `tool_choice`.")
    logprobs: _Never = None
    top_logprobs: _Never = None
    moderation: _Never = None
    web_search_options: _Never = None


PASSED = (
    "stop",
    "seed",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "parallel_tool_calls",
)
"""Fields that the model is asked with as they stand."""
