"""The bodies of answers to clients of OpenAI's, and of what is kept of conversations.

`Completion` describes what `writing` writes.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class WireError(BaseModel):
    """What went wrong."""

    message: str = Field(description="What happened, and what to do about it.")
    type: str = Field(description="`invalid_request_error`, `permission_error`, `rate_limit_error` or `server_error`.")
    param: str | None = Field(description="The field that is wrong, such as `messages[0].content`.")
    code: str | None = Field(description="Stable name of the error, such as `model_not_found`.")


class WireErrorResponse(BaseModel):
    """An error in OpenAI's form; the header `x-request-id` names it in the log."""

    error: WireError


class Completion(BaseModel):
    """A whole answer, `chat.completion` of OpenAI's."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str = Field(description="As the request named it.")
    choices: list[dict[str, Any]] = Field(description="One: `index`, `message`, `finish_reason`.")
    usage: dict[str, Any] = Field(description="Tokens over all calls of the model in this turn.")
    thresher: dict[str, Any] = Field(description="How the turn ended, what it read and called, what it cited.")


class WireModel(BaseModel):
    """A model that a request may name."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="When it was registered, in seconds of Unix time; 0 where that is not known.")
    owned_by: str


class WireModels(BaseModel):
    """The models that a request may name."""

    object: Literal["list"] = "list"
    data: list[WireModel]


class CallResponse(_Record):
    """A tool that was asked for."""

    id: str
    name: str
    arguments: str = Field(description="JSON, as the model wrote it.")


class EntryResponse(_Record):
    """One message of a thread."""

    id: str
    kind: Literal["user", "assistant", "tool"]
    text: str
    at: dt.datetime | None
    tool: str = Field(description="Of a tool's answer: the tool.")
    calls: list[CallResponse] = Field(description="Of the assistant: what it asked for.")
    internal: bool = Field(description="Whether models are never shown it, such as a search of documents.")
    passages: list[dict[str, Any]] = Field(
        description="What a search found, as it stood then: number, repository, path, lines, text; `used`: whether it "
        "was placed before the model, or left out as not relevant."
    )
    report: dict[str, Any] = Field(description="Of an answer: the object `thresher` that it ended with.")
    cut: bool = Field(description="Of an answer: whether it was broken off, or is still being said.")


class HistoryResponse(BaseModel):
    """What was said in a thread, oldest first."""

    thread: UUID
    instruction: str = Field(description="The thread's, from the last system messages; empty without.")
    messages: list[EntryResponse]


class ApprovalResponse(_Record):
    """A call that waits for a person."""

    id: str = Field(description="Names it in `thresher.approvals` of a request.")
    tool: str
    arguments: dict[str, Any] = Field(description="With what it would be called; a person may change them.")
    why: str
    definition: str = Field(
        "",
        description="Digest of the tool's definition, where a decision may say `remember`: its server says that it "
        "only reads, and is not trusted. Else empty.",
    )


class ApprovalsResponse(BaseModel):
    """The calls of a thread that wait for a person."""

    thread: UUID
    approvals: list[ApprovalResponse]
