"""`/v1/ai/query`: a question in any words, answered without a model.

Invariant: the answer has exactly the fields that are written here, whatever was found.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from thresher.agent import Assistant, IntentType
from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.verbs import RequestBody


class AskRequest(RequestBody):
    """A question."""

    query: str = Field(description="The question, in any words; it may go on from the last ones of its conversation.")
    context: str | None = Field(None, description="What the conversation is about.")
    session_id: str | None = Field(None, description="Names the conversation, as its last answer did; none begins one.")


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class IntentResponse(_Record):
    """What the question wants."""

    type: IntentType
    confidence: float = Field(description="0 to 1; a search that nothing speaks for has a low one.")
    tools: list[str] = Field(description="The tools that were called, in order.")


class ReplyResponse(_Record):
    """What was found."""

    type: IntentType | Literal["error"] = Field(description="The intent's; `error` where no tool could answer.")
    results: list[dict[str, Any]] = Field(description="Each with its `kind` and the `tool` that gave it.")
    total: int = Field(description="How many there are, also those not shown.")
    query: str = Field(description="As it was understood, with what the conversation adds.")
    filters_applied: dict[str, Any] = Field(description="Providers, methods and the like, read out of the question.")
    text: str = Field(description="The formatted answer, Markdown.")
    notes: list[str] = Field(description="What is degraded, guessed or left out.")


class AskResponse(_Record):
    """The answer to a question."""

    query: str = Field(description="As asked.")
    intent: IntentResponse
    response: ReplyResponse
    session_id: str = Field(description="Names the conversation; it ends a day after its last question.")


def assistant_router(assistant: Assistant) -> APIRouter:
    """The route of questions.

    Args:
        assistant: Answers them.
    """
    router = APIRouter(prefix="/v1/ai", tags=["assistant"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.post("/query")
    async def query(body: AskRequest, caller: Asking) -> AskResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """What is known about a question, over every kind that is installed; and how to go on."""
        given = {"context": body.context or "", "session_id": body.session_id or ""}
        return AskResponse.model_validate(await assistant.ask(caller, body.query, **given))

    return router
