"""Keeps what a model is saying beside the thread while it says it, so that words that were sent outlive whoever stops.

A step of the graph writes its message at its end; a client that leaves or a process that is killed before that would
take the words with it. The draft is written a few times a second, and once more where the answer is broken off; a kill
loses what was said since the last of these. The next turn puts it into the conversation, marked as cut off.

Invariant: a draft belongs to the message that it answers; it is read where that is still unanswered, and nowhere else.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from thresher.agent.state import MARK, Messages
from thresher.agent.threads import Turn
from thresher.agent.transcript import now
from thresher.core import Caller, StoreError, dumps
from thresher.store import Database, clean

PAUSE: Final = 0.2
"""Seconds between two writes of a draft."""
_WRITE: Final = b"""
    insert into artifact (tenant_id, thread_id, id, turn, kind, tool, content)
    select %(tenant)s, t.id, %(turn)s, %(turn)s, 'draft', '', %(content)s from thread t
    where t.tenant_id = %(tenant)s and t.id = %(thread)s and t.owner is not distinct from %(owner)s::text
      and t.turn = %(turn)s
    on conflict (tenant_id, thread_id, id) do update set content = excluded.content returning id"""
_READ: Final = b"""
    select a.content from artifact a
    join thread t on t.tenant_id = a.tenant_id and t.id = a.thread_id
    where a.tenant_id = %(tenant)s and a.thread_id = %(thread)s and t.owner is not distinct from %(owner)s::text
      and a.kind = 'draft'"""
_DROP: Final = b"""
    delete from artifact where tenant_id = %(tenant)s and thread_id = %(thread)s and kind = 'draft' returning id"""


class Draft:
    """What a model has said so far; a context in which it is kept. In a call without a thread it is not.

    Args:
        database: Where it is kept.
        caller: Whose thread.
        turn: The turn; None for a call without a thread.
        answers: The id of the message that is answered.
    """

    def __init__(self, database: Database, caller: Caller, turn: Turn | None, answers: str) -> None:
        self._database = database
        self._caller = caller
        self._turn = turn
        self._answers = answers
        self._text = self._written = ""
        self._stirred = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._turn is not None:
            self._writing = asyncio.create_task(self._write_on())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writing is None:
            return
        self._writing.cancel()
        await asyncio.wait([self._writing])
        if kind is not None:
            with suppress(StoreError):  # what was broken off is an error already
                await asyncio.shield(self._write())

    def add(self, text: str) -> None:
        """Take the next words."""
        self._text += text
        self._stirred.set()

    async def _write_on(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            with suppress(StoreError):  # the next write has it all
                await self._write()
            await asyncio.sleep(PAUSE)

    async def _write(self) -> None:
        if self._turn is None or self._text == self._written:
            return
        text = self._text
        content = dumps({"answers": self._answers, "text": clean(text)})
        values = _values(self._caller, self._turn.thread) | {"turn": self._turn.id, "content": content}
        await self._database.once(self._caller.tenant, lambda driver: driver.execute(_WRITE, values, prepare=True))
        self._written = text


async def cut_off(database: Database, caller: Caller, thread: UUID, messages: Messages) -> AIMessage | None:
    """The answer that was broken off behind the last message of a thread; None where there is none.

    Args:
        database: Where drafts are.
        caller: Whose thread.
        thread: Which.
        messages: As they are kept.
    """
    if not messages or not isinstance(messages[-1], HumanMessage | ToolMessage):
        return None
    values = _values(caller, thread)
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_READ, values, prepare=True))
    drafts: list[dict[str, Any]] = [json.loads(row[0]) for row in rows]
    text = next((one["text"] for one in drafts if one["answers"] == messages[-1].id), "")
    made: dict[str, Any] = {MARK: {"cut": True, "at": now()}}
    return AIMessage(text, id=f"draft-{messages[-1].id}", additional_kwargs=made) if text.strip() else None


async def drop_drafts(database: Database, caller: Caller, thread: UUID) -> None:
    """Forget the drafts of a thread, whose turn is the caller's."""
    values = _values(caller, thread)
    await database.once(caller.tenant, lambda driver: driver.execute(_DROP, values, prepare=True))


def answered_by(messages: list[AnyMessage]) -> str:
    """The id of the message that the next answer belongs to."""
    return str(messages[-1].id or "") if messages else ""


def _values(caller: Caller, thread: UUID) -> dict[str, Any]:
    return {"tenant": caller.tenant.id, "owner": caller.user, "thread": thread}
