"""The bodies of requests and answers about threads."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

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
