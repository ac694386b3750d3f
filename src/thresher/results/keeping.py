"""Keeps results that were larger than their budget, so that more of them can be read.

Invariant: a result is read only by the tenant and user, or the key, for whom the tool was called. It is compressed and
sealed before it reaches a row; how long and how much is kept for each user is bounded. Keeping delays no answer: it is
written behind it, and until then read from memory.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import re
import secrets as random
import zlib
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from cachetools import LRUCache
from sqlalchemy import ColumnElement, Row, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, NotFound, Settings, StoreError, event
from thresher.embedding import printable
from thresher.store import Database, SecretBox, age_limit, purge_rows, run_retrying
from thresher.store.tables import kept_result

logger = logging.getLogger("thresher.results")

LARGEST: Final = 32_000_000
"""Characters of one result that are kept; of a larger one the first, and the answer says so."""
_MEMORY: Final = 48_000_000
"""Characters of results that are also held in memory, for questions that follow at once."""
_CURSOR_BYTES: Final = 6
_CURSOR: Final = re.compile(r"[0-9a-f]{12}")

_Place: TypeAlias = tuple[int, str | None, int | None, str]


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result that is kept.

    Attributes:
        tool: The name that the tool was called by.
        text: Its text.
        mime: Its media type; empty if it is not known.
    """

    tool: str
    text: str
    mime: str = ""


class Keeper:
    """Keeps results; one per process.

    Args:
        database: The database of results.
        secrets: Seals them.
        settings: How long and how much is kept.
    """

    def __init__(self, database: Database, secrets: SecretBox, settings: Settings) -> None:
        self._database = database
        self._secrets = secrets
        self._hours = settings.result_hours
        self._most = settings.result_mb << 20
        self._recent: LRUCache[_Place, KeptResult] = LRUCache(_MEMORY, getsizeof=lambda kept: len(kept.text) + 1)
        self._writing: set[asyncio.Task[None]] = set()
        self._unwritten: set[_Place] = set()

    def keep(self, caller: Caller, result: KeptResult) -> str:
        """Keep a result; returns its cursor. It is written to the database behind this."""
        cursor = random.token_hex(_CURSOR_BYTES)
        kept = KeptResult(result.tool, printable(result.text[:LARGEST]), result.mime)
        if len(kept.text) < _MEMORY:
            self._recent[_place(caller, cursor)] = kept
            self._unwritten.add(_place(caller, cursor))
        task = asyncio.create_task(self._write(caller, cursor, kept))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return cursor

    async def read(self, caller: Caller, cursor: str) -> KeptResult:
        """Return a result.

        Raises:
            NotFound: None of this caller is kept under this cursor, or none is kept any more.
            StoreUnavailable: The database does not answer.
        """
        cursor = cursor.strip()
        place = _place(caller, cursor)
        recent = self._recent.get(place)
        if recent is not None and place in self._unwritten:
            return recent
        row = await self._row(caller, cursor, known=recent is not None) if _CURSOR.fullmatch(cursor) else None
        if row is None:
            self._recent.pop(place, None)  # it is too old, or was purged by another process
            raise NotFound(
                "No result is kept under this cursor.",
                hint=f"A result is kept for {self._hours:g} hours, for who called the tool. Call the tool again.",
            )
        if recent is not None:
            return recent
        text = await asyncio.to_thread(lambda: zlib.decompress(self._secrets.open_bytes(row.content)).decode())
        return KeptResult(row.tool, text, row.mime)

    async def _row(self, caller: Caller, cursor: str, *, known: bool) -> Row[Any] | None:
        """The row of a result that may still be read; without its content if that is known."""
        await self.settle()
        table = kept_result.c
        young = table.at > dt.datetime.now(dt.UTC) - dt.timedelta(hours=self._hours)
        columns = (table.id,) if known else (table.tool, table.mime, table.content)
        async with self._database.transaction(caller.tenant) as connection:
            query = select(*columns).where(*_is_of(caller), table.cursor == cursor, young)
            return (await connection.execute(query)).first()

    async def take(self, caller: Caller, cursor: str) -> bool:
        """Delete a result; returns whether it was there."""
        cursor = cursor.strip()
        await self.settle()
        self._recent.pop(_place(caller, cursor), None)

        async def remove(connection: AsyncConnection) -> int:
            return (
                await connection.execute(delete(kept_result).where(*_is_of(caller), kept_result.c.cursor == cursor))
            ).rowcount

        return await run_retrying(self._database, caller.tenant, remove) > 0

    async def purge(self, caller: Caller, older_than: float) -> int:
        """Delete results of a caller, or of its whole tenant if it is no user's; returns how many.

        Args:
            caller: The owner of the results.
            older_than: Their age in days.

        Raises:
            InvalidInput: The age is out of bounds.
        """
        await self.settle()
        self._recent.clear()
        return await purge_rows(self._database, caller, ("kept_result",), age_limit(older_than))

    async def settle(self) -> None:
        """Wait until everything is written."""
        while self._writing:
            await asyncio.wait(set(self._writing))

    async def _write(self, caller: Caller, cursor: str, kept: KeptResult) -> None:
        content = await asyncio.to_thread(lambda: self._secrets.seal(zlib.compress(kept.text.encode(), 1)))
        row = {
            "tenant_id": caller.tenant.id, "owner": caller.user, "key": caller.key, "session": caller.client,
            "cursor": cursor, "tool": kept.tool, "mime": kept.mime, "size": len(content), "content": content,
        }  # fmt: skip

        async def write(connection: AsyncConnection) -> None:
            await connection.execute(delete(kept_result).where(*self._superfluous(caller)))
            await connection.execute(insert(kept_result).values(row))

        try:
            await run_retrying(self._database, caller.tenant, write)
            self._unwritten.discard(_place(caller, cursor))
        except StoreError as error:  # it stays in memory for a while
            self._unwritten.intersection_update(self._recent)
            event(logger, "result not kept", level=logging.WARNING, tenant=caller.tenant.id, problem=error.message)

    def _superfluous(self, caller: Caller) -> tuple[ColumnElement[bool], ...]:
        """Which rows go: those that are too old, and the caller's oldest beyond what is kept for each user."""
        table = kept_result.c
        total = func.sum(table.size).over(order_by=table.id.desc())
        sizes = select(table.id, total.label("total")).where(*_is_of(caller)).subquery()
        old = table.at < dt.datetime.now(dt.UTC) - dt.timedelta(hours=self._hours)
        return (
            table.tenant_id == caller.tenant.id,
            old | table.id.in_(select(sizes.c.id).where(sizes.c.total > self._most)),
        )


def _place(caller: Caller, cursor: str) -> _Place:
    return caller.tenant.id, caller.user, caller.key, cursor


def _is_of(caller: Caller) -> tuple[ColumnElement[bool], ...]:
    table = kept_result.c
    return (
        table.tenant_id == caller.tenant.id,
        table.owner.is_not_distinct_from(caller.user),
        table.key.is_not_distinct_from(caller.key),
    )
