"""The bodies of `/v1/chat/completions`, and of the answers of all paths under `/v1/chat` and `/v1/models`.

`Completion` describes what `answers` writes.

Invariant: a field that would change the answer and is not supported is refused by its name; a field that changes
nothing is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from thresher.agent import Approval, ThreadEntry
from thresher.core import UNSUPPORTED
from thresher.verbs import BoundedBody

MOST_FUNCTIONS = 128
MOST_MESSAGES = 10_000
MOST_TOKENS = 200_000
MOST_CHARACTERS = 400_000
"""The most characters in one message."""


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError(UNSUPPORTED, "{message}", {"message": message})


def _content_text(content: object) -> object:
    """Return the text of a content: itself, or the texts of its parts in order; empty for null."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return content
    return "".join(_part(part) for part in cast("list[object]", content))


def _part(part: object) -> str:
    fields = cast("Mapping[str, object]", part if isinstance(part, dict) else {})
    kind = fields.get("type")
    text = fields.get("text" if kind == "text" else "refusal")
    if kind not in ("text", "refusal"):
        raise _wrong(f"A part is of type {str(kind)[:40]!r}, and only texts are accepted")
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
_Content = Annotated[str, BeforeValidator(_content_text), WithJsonSchema(_CONTENT)]
_Never = Annotated[Any, AfterValidator(_refused)]


class _WireModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class CalledFunction(_WireModel):
    """A function that the assistant called."""

    name: str
    arguments: str = Field(description="JSON, as the model wrote it.")


class CallBody(_WireModel):
    """A call in a message of the assistant."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class MessageBody(_WireModel):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: _Content = ""
    tool_calls: list[CallBody] | None = Field(None, description="The assistant's calls of tools.")
    tool_call_id: str | None = Field(None, description="Of a tool's message: the call that it answers.")


class FunctionBody(_WireModel):
    """A tool that the client runs."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = Field(None, description="JSON Schema of its arguments.")


class ToolBody(_WireModel):
    """A tool that the client brings."""

    type: Literal["function"]
    function: FunctionBody


class StreamOptions(_WireModel):
    """What a stream contains in addition."""

    include_usage: bool | None = Field(None, description="Whether a chunk with the usage precedes the end.")


class ResponseFormat(_WireModel):
    """The form of the answer; the model has to support it."""

    model_config = ConfigDict(strict=True, extra="allow")

    type: Literal["text", "json_object", "json_schema"]


class ApprovalBody(BaseModel):
    """A person's decision about a call that waits."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: str = Field(max_length=200, description="As the answer that waits has it.")
    approved: bool
    arguments: dict[str, Any] | None = Field(None, description="Replace the model's.")
    reason: str = Field("", max_length=2000, description="Shown to the model if the call is declined.")
    remember: bool = Field(
        False, description="Call this tool without asking from now on, while its definition is unchanged."
    )


class OwnBody(BaseModel):
    """Thresher's own fields; the SDK sends them as `extra_body={"thresher": ...}`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    approvals: list[ApprovalBody] = Field([], description="Decisions on calls that wait, in a thread.")
    settings: dict[str, Any] = Field({}, description="Settings for this turn only, as `/v1/settings` has them.")


class ChatBody(BoundedBody, _WireModel):
    """A turn of a conversation, in the OpenAI wire format.

    Fields that change nothing here are ignored: `user`, `store`, `service_tier`, `prediction`, those about caches,
    `name` of a message, `strict` of a tool, and unknown ones.
    """

    messages: list[MessageBody] = Field(
        max_length=MOST_MESSAGES,
        description="The conversation. With a thread, the last message of the user is used; system messages become its "
        "instruction, and earlier messages begin it if it is empty.",
    )
    model: str | None = Field(None, max_length=200, description="`thresher`, or a registered model.")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[ToolBody] | None = Field(
        None, max_length=MOST_FUNCTIONS, description="Tools that the client runs, in addition to Thresher's."
    )
    tool_choice: Any = Field(None, description="`auto`, `none`, `required`, or a tool of the client.")
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=MOST_TOKENS)
    max_completion_tokens: int | None = Field(None, ge=1, le=MOST_TOKENS, description="The same as `max_tokens`.")
    metadata: dict[str, Any] | None = Field(None, description="`thread_id` names a thread; the rest is ignored.")
    thresher: OwnBody | None = None

    stop: str | list[str] | None = Field(None, description="Passed on to the model, as are all that follow.")
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
    modalities: Annotated[list[str] | None, AfterValidator(_text_alone)] = Field(None, description="Only text.")
    audio: _Never = Field(None, description="Not supported, as are all that follow.")
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
"""Fields that are passed on to the model unchanged."""


class WireError(BaseModel):
    """An error."""

    message: str = Field(description="What happened, and what to do about it.")
    type: str = Field(description="`invalid_request_error`, `permission_error`, `rate_limit_error` or `server_error`.")
    param: str | None = Field(description="The wrong field, such as `messages[0].content`.")
    code: str | None = Field(description="Stable name of the error, such as `model_not_found`.")


class WireErrorResponse(BaseModel):
    """An error in OpenAI's form; the header `x-request-id` names it in the log."""

    error: WireError


class Completion(BaseModel):
    """A whole answer: OpenAI's `chat.completion`."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str = Field(description="As in the request.")
    choices: list[dict[str, Any]] = Field(description="One: `index`, `message`, `finish_reason`.")
    usage: dict[str, Any] = Field(description="Tokens over all calls of the model in this turn.")
    thresher: dict[str, Any] = Field(description="How the turn ended, what it read, called and cited.")


class WireModel(BaseModel):
    """A model that a request may name."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="When it was registered, in seconds of Unix time; 0 if unknown.")
    owned_by: str


class WireModels(BaseModel):
    """The models that a request may name."""

    object: Literal["list"] = "list"
    data: list[WireModel]


class HistoryResponse(BaseModel):
    """The messages of a thread, oldest first."""

    thread: UUID
    instruction: str = Field(description="The thread's, from the last system messages; empty without one.")
    messages: tuple[ThreadEntry, ...]


class ApprovalsResponse(BaseModel):
    """The calls of a thread that wait for a person."""

    thread: UUID
    approvals: tuple[Approval, ...]
