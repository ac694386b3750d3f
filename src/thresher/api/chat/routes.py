"""`/v1/chat/completions`, `/v1/models`, `/v1/chat/history` and `/v1/chat/approvals`."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Request, Response

from thresher.agent import Conversations, Models
from thresher.api.chat.bodies import (
    ApprovalsResponse,
    ChatBody,
    Completion,
    HistoryResponse,
    WireErrorResponse,
    WireModel,
    WireModels,
)
from thresher.api.chat.requests import OWN_MODEL, THREAD_HEADER, read_call
from thresher.api.chat.turns import TurnResponse
from thresher.api.door import BEARER, RequestCaller
from thresher.api.errors import problem
from thresher.core import Caller, did_you_mean, nearest

_REFUSALS: dict[int | str, dict[str, Any]] = {
    "default": {"model": WireErrorResponse, "description": "An error, in OpenAI's form and with its statuses."}
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Completion,
        "description": "The answer; with `stream` as server-sent events, `data: [DONE]` at the end.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
_Thread = Annotated[UUID, Path(description="The thread's id.")]


def chat_router(conversations: Conversations, models: Models) -> APIRouter:
    """Return the routes of conversations.

    Args:
        conversations: Answers turns.
        models: The models that a request may name.
    """
    router = APIRouter(prefix="/v1/chat", tags=["chat"], responses=_REFUSALS, dependencies=[Depends(BEARER)])

    @router.post("/completions", responses=_ANSWERS)
    async def create_completion(body: ChatBody, request: Request, caller: RequestCaller) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """A turn of a conversation, with the documents, databases and tools that it needs.

        `X-Thresher-Thread` or `metadata.thread_id` names a thread, which is stored; without one nothing is.
        """
        completion = read_call(body, request.headers.getlist(THREAD_HEADER))
        if (model := completion.call.settings.get("model")) and model not in (known := await _names(models, caller)):
            return _no_model(str(model), known, request)
        return TurnResponse(conversations.talk(caller, completion.call), completion)

    @router.get("/history/{thread}")
    async def show_history(thread: _Thread, caller: RequestCaller) -> HistoryResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The messages of a thread, with what was searched, called and read for them."""
        entries = await conversations.history(caller, thread)
        instruction = await conversations.instruction(caller, thread)
        return HistoryResponse(thread=thread, instruction=instruction, messages=entries)

    @router.delete("/history/{thread}", status_code=HTTPStatus.NO_CONTENT)
    async def clear_history(thread: _Thread, caller: RequestCaller) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """Remove a thread and all that is stored of it; its forks stay."""
        await conversations.clear(caller, thread)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.get("/approvals/{thread}")
    async def list_approvals(thread: _Thread, caller: RequestCaller) -> ApprovalsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The calls of a thread that wait for your decision."""
        waiting = await conversations.pending(caller, thread)
        return ApprovalsResponse(thread=thread, approvals=waiting)

    return router


def models_router(models: Models) -> APIRouter:
    """Return the routes of models, as OpenAI has them.

    Args:
        models: The models.
    """
    router = APIRouter(prefix="/v1/models", tags=["chat"], responses=_REFUSALS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_chat_models(caller: RequestCaller) -> WireModels:  # pyright: ignore[reportUnusedFunction] - a route
        """The models that a request may name: `thresher`, which is the one in your settings, and each enabled one."""
        return WireModels(data=await _offered(models, caller))

    @router.get("/{model}", response_model=WireModel)
    async def show_chat_model(model: str, request: Request, caller: RequestCaller) -> WireModel | Response:  # pyright: ignore[reportUnusedFunction] - a route
        """One of these models."""
        offered = {one.id: one for one in await _offered(models, caller)}
        return offered[model] if model in offered else _no_model(model, list(offered), request)

    return router


async def _names(models: Models, caller: Caller) -> list[str]:
    return [one.name for one in await models.list(caller) if one.enabled]


async def _offered(models: Models, caller: Caller) -> list[WireModel]:
    own = WireModel(id=OWN_MODEL, created=0, owned_by="thresher")
    others = [
        WireModel(
            id=one.name,
            created=int(one.created_at.timestamp()) if one.created_at else 0,
            owned_by=one.owner or "tenant",
        )
        for one in await models.list(caller)
        if one.enabled and one.name != OWN_MODEL
    ]
    return [own, *others]


def _no_model(name: str, known: list[str], request: Request) -> Response:
    near = did_you_mean(nearest(name, known)) or f"Known: {', '.join(list(dict.fromkeys([OWN_MODEL, *known]))[:10])}."
    detail, path = f"There is no model '{name[:80]}' that is enabled.", request.url.path
    return problem(HTTPStatus.NOT_FOUND, "model_not_found", detail, near, path=path, param="model")
