"""`/v1/threads`: conversations, how they are called, what holds in them, and forks of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from thresher.agent import AgentSettings, Thread, Threads
from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.api.thread_models import (
    ForkRequest,
    NewThreadRequest,
    StatesResponse,
    ThreadRequest,
    ThreadResponse,
    ThreadsResponse,
)
from thresher.core import Caller, ThresherError

_Thread = Annotated[str, Path(description="The thread's id.")]
_Cursor = Annotated[str, Query(description="Of an earlier page: what comes after it.")]
_AS_IT_IS = ForkRequest(at="", title=None)
"""A fork without a body: at the last state, with the title as it is."""
_Limit = Annotated[int, Query(ge=1, le=200, description="At most so many.")]


def threads_router(threads: Threads, settings: AgentSettings) -> APIRouter:
    """The routes.

    Args:
        threads: Answers them.
        settings: Takes what shall hold in a thread.
    """
    router = APIRouter(prefix="/v1/threads", tags=["threads"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_threads(caller: Asking, cursor: _Cursor = "", limit: _Limit = 50) -> ThreadsResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Your threads, those that went on last first."""
        return ThreadsResponse.model_validate(await threads.list(caller, cursor=cursor, limit=limit))

    @router.post("", status_code=HTTPStatus.CREATED)
    async def create_thread(body: NewThreadRequest, caller: Asking) -> ThreadResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Begin a thread."""
        return ThreadResponse.model_validate(await _begun(threads, settings, caller, body))

    @router.get("/{thread}")
    async def show_thread(thread: _Thread, caller: Asking) -> ThreadResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """One of them; `/v1/chat/history` has what was said."""
        return ThreadResponse.model_validate(await threads.get(caller, thread))

    @router.patch("/{thread}")
    async def change_thread(thread: _Thread, body: ThreadRequest, caller: Asking) -> ThreadResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Give it another title, or other settings."""
        if body.settings is not None:
            await settings.put(caller, body.settings, thread)
        if body.title is not None:
            await threads.rename(caller, thread, body.title)
        return ThreadResponse.model_validate(await threads.get(caller, thread))

    @router.delete("/{thread}", status_code=HTTPStatus.NO_CONTENT)
    async def delete_thread(thread: _Thread, caller: Asking) -> Response:  # pyright: ignore[reportUnusedFunction] - a route
        """Remove it and all that is kept of it; forks of it stay."""
        await threads.delete(caller, thread)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @router.post("/{thread}/fork", status_code=HTTPStatus.CREATED)
    async def fork_thread(thread: _Thread, caller: Asking, body: ForkRequest = _AS_IT_IS) -> ThreadResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """Make a thread that begins with what this one has come to."""
        return ThreadResponse.model_validate(await threads.fork(caller, thread, at=body.at, title=body.title))

    @router.get("/{thread}/states")
    async def list_states(thread: _Thread, caller: Asking, cursor: _Cursor = "", limit: _Limit = 50) -> StatesResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """The states that it went through, newest first; it can be forked at each."""
        return StatesResponse.model_validate(await threads.history(caller, thread, cursor=cursor, limit=limit))

    return router


async def _begun(threads: Threads, settings: AgentSettings, caller: Caller, body: NewThreadRequest) -> Thread:
    """A new thread; none where its settings are wrong."""
    thread = await threads.create(caller, body.title)
    try:
        await settings.put(caller, body.settings, thread.id)
    except ThresherError:
        await threads.delete(caller, thread.id)
        raise
    return await threads.get(caller, thread.id)
