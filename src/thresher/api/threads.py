"""`/v1/threads`: conversations, how they are called, what holds in them, and forks of them."""

from __future__ import annotations

import datetime as dt
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from thresher.agent import AgentSettings, Thread, Threads
from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.core import Caller, ThresherError
from thresher.verbs import RequestBody

_TITLE = "One line, at most 200 characters."
_SETTINGS = "What differs in it from your settings, as `/v1/settings` has them; a null takes a choice back."


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class NewThreadRequest(RequestBody):
    """A thread to begin; an answer in a thread that is not there begins it too."""

    title: str = Field("", description=_TITLE)
    settings: dict[str, Any] = Field({}, description=_SETTINGS)


class ThreadRequest(RequestBody):
    """What shall be otherwise in a thread; what is not given stays."""

    title: str | None = Field(None, description=_TITLE)
    settings: dict[str, Any] | None = Field(None, description=_SETTINGS)


class ForkRequest(RequestBody):
    """Where a thread shall be made from another one."""

    at: str = Field("", description="One of its states; the last one unless given.")
    title: str | None = Field(None, description=f"{_TITLE} The former's unless given.")


class ThreadResponse(_Record):
    """A conversation."""

    id: UUID = Field(description="Names it in the header X-Thresher-Thread.")
    title: str
    settings: dict[str, Any] = Field(description="What differs in it from your settings.")
    created_at: dt.datetime
    updated_at: dt.datetime = Field(description="When it went on last.")
    forked_from: UUID | None = Field(description="The thread that it was made from, which may be gone.")
    forked_at: UUID | None = Field(description="The state of that thread that it began with.")
    last_checkpoint: UUID | None = Field(description="The state that it goes on from; null before its first turn.")


class ThreadsResponse(_Record):
    """Threads, those that went on last first."""

    threads: list[ThreadResponse]
    cursor: str = Field(description="For the next page; empty on the last.")


class StateResponse(_Record):
    """A state of a thread, from which it can be forked."""

    id: UUID
    parent: UUID | None = Field(description="The state before it; null for the first.")
    at: dt.datetime
    source: str = Field(description="What led to it: `input`, `loop`, `update` or `fork`.")
    step: int


class StatesResponse(_Record):
    """The states of a thread, newest first."""

    points: list[StateResponse] = Field(serialization_alias="states")
    cursor: str = Field(description="For older ones; empty where there are none.")


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
