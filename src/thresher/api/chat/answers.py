"""The bodies of answers to clients of OpenAI's, and of what is kept of conversations.

`Completion` describes what `writing` writes.
"""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from thresher.agent import Approval, Entry


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


class HistoryResponse(BaseModel):
    """What was said in a thread, oldest first."""

    thread: UUID
    instruction: str = Field(description="The thread's, from the last system messages; empty without.")
    messages: tuple[Entry, ...]


class ApprovalsResponse(BaseModel):
    """The calls of a thread that wait for a person."""

    thread: UUID
    approvals: tuple[Approval, ...]
