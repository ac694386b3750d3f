"""The log of delivered contexts: what kinds a message got, and for how many tokens.

Invariant: no answer waits for its row, and no row holds a text.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.embedding import count_tokens
from thresher.store import Database, LogQueue, clean, run_retrying
from thresher.store.tables import context_log

_FAST: Final = text("set local synchronous_commit = off")
"""Log rows are not worth a wait for the disk."""


@dataclass(frozen=True, slots=True)
class _Delivery:
    """An answer to a message; `text` is counted when its row is written."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    verb: str
    kinds: tuple[str, ...]
    text: str
    duration_ms: float


class ContextLog:
    """The log of one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: LogQueue[_Delivery] = LogQueue(self._write)

    def add(
        self, caller: Caller, verb: str, *, trace_id: str, kinds: Iterable[str], text: str, duration_ms: float
    ) -> None:
        """Log an answer to a message; never waits.

        Args:
            caller: Who asked.
            verb: `process_prompt` or `get_context`.
            trace_id: Names the answer in the logs.
            kinds: The kinds of what was delivered, after the cut.
            text: What the model reads; empty if nothing was delivered.
            duration_ms: How long the answer took.
        """
        now, client = dt.datetime.now(dt.UTC), clean(caller.client)
        held = tuple(dict.fromkeys(kinds))
        self._queue.add(
            caller.tenant, _Delivery(now, caller.user, client, trace_id, verb, held, text if held else "", duration_ms)
        )

    async def settle(self) -> None:
        """Wait until every row is written, or dropped with a warning."""
        await self._queue.settle()

    async def _write(self, tenant: Tenant, rows: Sequence[_Delivery]) -> None:
        tokens = await asyncio.to_thread(lambda: [count_tokens(row.text) for row in rows])
        values = [
            {"tenant_id": tenant.id, "tokens": count}
            | {name: getattr(row, name) for name in _Delivery.__slots__ if name != "text"}
            | {"kinds": list(row.kinds)}
            for row, count in zip(rows, tokens, strict=True)
        ]

        async def insert(connection: AsyncConnection) -> None:
            await connection.execute(_FAST)
            await connection.execute(context_log.insert(), values)

        try:
            await run_retrying(self._database, tenant, insert)
        except IntegrityError:  # the tenant is gone
            return
