"""Data kept beside a thread that is not a message: long results, passages, and the draft of an answer.

A step of the graph writes its message at its end. The draft of an answer is written several times a second, and once
more when the answer is interrupted, so that a client that leaves or a process that is killed loses no words. The next
turn puts it into the conversation, marked as cut off.

Invariant: an artifact belongs to its thread, and so to the thread's owner. A draft belongs to the message that it
answers; it is read only while that message is unanswered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from thresher.agent.state import MARK, Messages, PlacedPassage
from thresher.agent.threads import Turn
from thresher.agent.transcript import now
from thresher.core import Caller, CursorCodec, NotFound, StoreError, ThresherError, dumps
from thresher.embedding import count_tokens
from thresher.store import Database, clean

_WRITE: Final = b"""
    insert into artifact (tenant_id, thread_id, id, turn, kind, tool, content)
    select %(tenant)s, t.id, %(id)s, %(turn)s, %(kind)s, %(tool)s, %(content)s from thread t
    where t.tenant_id = %(tenant)s and t.id = %(thread)s and t.owner is not distinct from %(owner)s::text
      and t.turn = %(turn)s
    on conflict do nothing returning id"""
_READ: Final = b"""
    select a.id, a.kind, a.content from artifact a
    join thread t on t.tenant_id = a.tenant_id and t.id = a.thread_id
    where a.tenant_id = %(tenant)s and a.thread_id = %(thread)s and t.owner is not distinct from %(owner)s::text
      and a.id = any(%(ids)s)"""
RESULT_CURSOR: Final[CursorCodec[UUID, int]] = CursorCodec("read_result", UUID, int)
"""Id of a long result, and the next character."""
LARGEST: Final = 4_000_000
"""Characters of a result that are kept: more than anyone reads page by page."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of a long result. `cursor`: of the next page; empty on the last. `left`: approximate tokens after it."""

    text: str
    cursor: str = ""
    left: int = 0


class Artifacts:
    """The artifacts of one turn, and the earlier ones of its thread.

    Args:
        database: The database of artifacts.
        caller: The owner of the thread.
        turn: The turn; None for a call without a thread.
    """

    def __init__(self, database: Database, caller: Caller, turn: Turn | None) -> None:
        self._database = database
        self._caller = caller
        self._turn = turn
        self._here: dict[UUID, tuple[str, str]] = {}

    async def add(self, kind: str, tool: str, content: str) -> UUID:
        """Keep an artifact; returns its id.

        Raises:
            StoreUnavailable: The database does not answer.
        """
        made, text = uuid4(), clean(content)
        if kind == "result" and len(text) > LARGEST:
            text = f"{text[:LARGEST]}\n[Cut here: {len(text) - LARGEST:,} characters more were not kept.]"
        self._here[made] = (kind, text)
        if self._turn is not None:
            values = _values(self._caller, self._turn.thread) | {
                "id": made,
                "turn": self._turn.id,
                "kind": kind,
                "tool": tool,
                "content": text,
            }
            await self._database.once(self._caller.tenant, lambda driver: driver.execute(_WRITE, values, prepare=True))
        return made

    async def passages(self, ids: Sequence[str]) -> list[PlacedPassage]:
        """Return the used passages of some artifacts, by number; removed ones are left out."""
        found = await self._found([UUID(one) for one in ids])
        whole = [read_passage(one) for kind, text in found.values() if kind == "documents" for one in json.loads(text)]
        return sorted((one for one in whole if one.used), key=lambda one: one.number)

    async def leaf(self, cursor: str, tokens: int) -> ResultPage:
        """Return a page of a long result.

        Args:
            cursor: Identifies the result and the position in it.
            tokens: Most tokens of the page.

        Raises:
            InvalidCursor: The cursor is not of a result.
            NotFound: The result is not kept any more.
        """
        named, start = RESULT_CURSOR.decode(cursor)
        return page(named, await self.result(cursor), start, tokens)

    async def result(self, cursor: str) -> str:
        """Return the whole of a long result; raises as `leaf`."""
        named, _ = RESULT_CURSOR.decode(cursor)
        kind, text = (await self._found([named])).get(named, ("", ""))
        if kind != "result":
            raise NotFound("There is no such result in this conversation.", hint="Call the tool again.")
        return text

    async def _found(self, ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        found = {one: self._here[one] for one in ids if one in self._here}
        missing = [one for one in ids if one not in found]
        if missing and self._turn is not None:
            values = _values(self._caller, self._turn.thread) | {"ids": missing}
            rows = await self._database.once(
                self._caller.tenant, lambda driver: driver.execute(_READ, values, prepare=True)
            )
            found |= {row[0]: (row[1], row[2]) for row in rows}
        return found


async def kept_passages(
    database: Database, caller: Caller, thread: UUID, ids: Sequence[str]
) -> dict[str, list[PlacedPassage]]:
    """Return the passages of some artifacts of a caller's thread, by artifact."""
    values = {"tenant": caller.tenant.id, "owner": caller.user, "thread": thread, "ids": [UUID(one) for one in ids]}
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_READ, values, prepare=True))
    return {str(row[0]): [read_passage(one) for one in json.loads(row[2])] for row in rows if row[1] == "documents"}


def written_passages(passages: Sequence[PlacedPassage]) -> str:
    """Return passages in their stored form."""
    return dumps([asdict(one) for one in passages])


def read_passage(raw: dict[str, Any]) -> PlacedPassage:
    """Return a passage from its stored form."""
    first, last = raw["lines"]
    where = raw["number"], raw["repository"], raw["path"], (first, last), tuple(raw["heading"])
    return PlacedPassage(*where, raw["text"], raw["tokens"], raw["artifact"], raw.get("used", True))


def page(named: UUID, text: str, start: int, tokens: int) -> ResultPage:
    """Return at most so many tokens of a text from a character on, cut at a line if possible."""
    rest = text[start:]
    part = within(rest, tokens)
    if len(part) == len(rest):
        return ResultPage(part)
    if (line := part.rfind("\n")) > len(part) // 2:
        part = part[: line + 1]
    left = count_tokens(rest[len(part) : len(part) + LARGEST])
    return ResultPage(part, RESULT_CURSOR.encode(named, start + len(part)), left)


def within(text: str, tokens: int) -> str:
    """Return the beginning of a text of at most so many tokens."""
    low, high = 0, min(len(text), tokens * 16)
    if count_tokens(text[:high]) <= tokens:
        return text[:high]
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


PAUSE: Final = 0.2
"""Seconds between two writes of a draft."""
_WRITE_DRAFT: Final = b"""
    insert into artifact (tenant_id, thread_id, id, turn, kind, tool, content)
    select %(tenant)s, t.id, %(turn)s, %(turn)s, 'draft', '', %(content)s from thread t
    where t.tenant_id = %(tenant)s and t.id = %(thread)s and t.owner is not distinct from %(owner)s::text
      and t.turn = %(turn)s
    on conflict (tenant_id, thread_id, id) do update set content = excluded.content returning id"""
_READ_DRAFT: Final = b"""
    select a.content from artifact a
    join thread t on t.tenant_id = a.tenant_id and t.id = a.thread_id
    where a.tenant_id = %(tenant)s and a.thread_id = %(thread)s and t.owner is not distinct from %(owner)s::text
      and a.kind = 'draft'"""
_DROP_DRAFTS: Final = b"""
    delete from artifact where tenant_id = %(tenant)s and thread_id = %(thread)s and kind = 'draft' returning id"""


class PartialAnswer:
    """A model's words so far; a context in which they are stored, and why it failed, unless the call has no thread.

    Args:
        database: The database of drafts.
        caller: The owner of the thread.
        turn: The turn; None for a call without a thread.
        answers: The id of the message that is answered.
    """

    def __init__(self, database: Database, caller: Caller, turn: Turn | None, answers: str) -> None:
        self._database = database
        self._caller = caller
        self._turn = turn
        self._answers = answers
        self._text = self._failure = ""
        self._written = ("", "")
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
            if isinstance(error, ThresherError):
                self._failure = f"{error.message} {error.hint}".strip()
            with suppress(StoreError):  # the interruption is an error already
                await asyncio.shield(self._write())

    def add(self, text: str) -> None:
        """Add the next words."""
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
        words = self._text, self._failure
        if self._turn is None or words == self._written:
            return
        text, failure = words
        content = dumps({"answers": self._answers, "text": clean(text), "failure": clean(failure)})
        values = _values(self._caller, self._turn.thread) | {"turn": self._turn.id, "content": content}
        await self._database.once(
            self._caller.tenant, lambda driver: driver.execute(_WRITE_DRAFT, values, prepare=True)
        )
        self._written = words


async def cut_off(database: Database, caller: Caller, thread: UUID, messages: Messages) -> AIMessage | None:
    """Return the interrupted answer behind the last message of a thread, or None.

    Args:
        database: The database of drafts.
        caller: The owner of the thread.
        thread: The thread.
        messages: As stored.
    """
    if not messages or not isinstance(messages[-1], HumanMessage | ToolMessage):
        return None
    values = _values(caller, thread)
    rows = await database.once(caller.tenant, lambda driver: driver.execute(_READ_DRAFT, values, prepare=True))
    drafts: list[dict[str, Any]] = [json.loads(row[0]) for row in rows]
    text = next((one["text"] for one in drafts if one["answers"] == messages[-1].id), "")
    made: dict[str, Any] = {MARK: {"cut": True, "at": now()}}
    return AIMessage(text, id=f"draft-{messages[-1].id}", additional_kwargs=made) if text.strip() else None


async def drop_drafts(database: Database, caller: Caller, thread: UUID) -> None:
    """Delete the drafts of a thread, whose turn the caller has."""
    values = _values(caller, thread)
    await database.once(caller.tenant, lambda driver: driver.execute(_DROP_DRAFTS, values, prepare=True))


def _values(caller: Caller, thread: UUID) -> dict[str, Any]:
    return {"tenant": caller.tenant.id, "owner": caller.user, "thread": thread}
