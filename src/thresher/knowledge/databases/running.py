"""Has a statement run: read by the guard, noted in the audit log, then sent to its database, and its end noted.

Invariant: the decision is on disk before the database sees the statement; whatever happens after it, an outcome is
noted, unless this process dies.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from thresher.audit import Attempt, AuditLog, Outcome, StatementOutcome
from thresher.connectors import COLUMN_INFO, Caps, Connector, Rows, Tag, no_server
from thresher.core import (
    Caller,
    DatabaseUnavailable,
    InvalidInput,
    QueryFailed,
    QueryTimeout,
    Settings,
    StatementRefused,
    StoreError,
    ThresherError,
    event,
)
from thresher.knowledge.databases.models import Asker, Connection, QueryAnswer
from thresher.knowledge.databases.paging import cursor_of, place_of
from thresher.knowledge.databases.queries import Held
from thresher.knowledge.databases.sessions import Sessions, Turns
from thresher.knowledge.databases.shelf import Shelf
from thresher.knowledge.databases.suggestions import suggest
from thresher.sqlguard import Knowledge, Verdict, judge

_logger = logging.getLogger("thresher.knowledge")

MOST_ROWS: Final = 10_000
_NO_ORDER: Final = "the statement has no ORDER BY: pages of it may overlap or miss rows"

_NO_SERVER: Final = "no_server"
"""What the audit log names for statements to column information, which nobody could run."""

Send = Callable[[Connector, Tag], Awaitable[Rows]]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and who has it run.

    Attributes:
        caller: Who asks.
        held: On which connection.
        sql: The statement.
        who: For the audit log.
    """

    caller: Caller
    held: Held
    sql: str
    who: Asker


@dataclass(frozen=True, slots=True)
class _Ran:
    """What came of a statement."""

    audit_id: int
    rows: Rows
    verdict: Verdict
    notes: tuple[str, ...]


class Runner:
    """Runs statements.

    Args:
        sessions: With the databases.
        shelf: Knows their schemas, for suggestions.
        audit: Notes every statement.
        settings: How long a statement may take, and how many of a caller run at once.
    """

    def __init__(self, sessions: Sessions, shelf: Shelf, audit: AuditLog, settings: Settings) -> None:
        self._sessions = sessions
        self._shelf = shelf
        self._audit = audit
        self._seconds = settings.query_seconds
        self._turns = Turns(settings.queries_at_once)

    async def query(self, statement: Statement, max_rows: int, cursor: str | None) -> QueryAnswer:
        """See `DatabaseService.query`."""
        if not 1 <= max_rows <= MOST_ROWS:
            raise InvalidInput("The number of rows is out of bounds.", hint=f"Ask for 1 to {MOST_ROWS:,} rows.")
        words = (str(statement.held.id), str(statement.held.changes), statement.sql)
        skip = place_of(cursor, words) if cursor else 0
        caps = Caps(rows=max_rows, seconds=self._seconds, skip=skip)
        ran = await self._run(statement, lambda connector, tag: connector.run(statement.sql, tag, caps))
        rows, count = ran.rows, len(ran.rows.rows)
        following = cursor_of(skip + count, words) if rows.more and count else None
        unordered = following is not None and "order by" not in " ".join(statement.sql.lower().split())
        notes = (*ran.notes, _NO_ORDER) if unordered else ran.notes
        return self._answer(statement, ran, skip, following, notes)

    async def explain(self, statement: Statement) -> QueryAnswer:
        """See `DatabaseService.explain`."""
        seconds = self._seconds

        async def send(connector: Connector, tag: Tag) -> Rows:
            return await connector.explain(statement.sql, tag, seconds)

        ran = await self._run(statement, send, explaining=True)
        return self._answer(statement, ran, 0, None, ran.notes)

    def _answer(
        self, statement: Statement, ran: _Ran, first: int, cursor: str | None, notes: tuple[str, ...]
    ) -> QueryAnswer:
        rows = ran.rows
        reasons = [_REASONS.get(rows.truncated, rows.truncated)] if rows.truncated else []
        reasons += [f"{rows.clipped} long values were clipped"] if rows.clipped else []
        return QueryAnswer(
            connection=statement.held.connection.name,
            dialect=statement.held.connection.dialect,
            sql=statement.sql,
            columns=rows.columns,
            rows=rows.rows,
            row_count=len(rows.rows),
            first_row=first,
            truncated=bool(reasons) or rows.more,
            reason="; ".join(reasons) or ("more rows exist" if rows.more else ""),
            cursor=cursor,
            audit_id=ran.audit_id,
            ms=round(rows.ms, 2),
            notes=notes,
        )

    async def _run(self, statement: Statement, send: Send, *, explaining: bool = False) -> _Ran:
        dialect = statement.held.connection.dialect
        if dialect == COLUMN_INFO:
            await self._audit.decide(statement.caller, _attempt(statement, Verdict(allowed=False), rule=_NO_SERVER))
            raise without_server(statement.held.connection)
        async with AsyncExitStack() as stack:
            connector, knowledge, lost = await self._reach(statement, stack)
            verdict = await asyncio.to_thread(judge, statement.sql, dialect, knowledge)
            if explaining and verdict.kind == "explain":
                raise InvalidInput("The statement begins with EXPLAIN already.", hint="Give it without EXPLAIN.")
            audit_id = await self._decided(statement, verdict)
            if not verdict.allowed:
                raise refusal(verdict, audit_id)
            if connector is None:
                await self._end(statement, audit_id, StatementOutcome("error", 0, 0.0, str(lost)))
                raise lost or DatabaseUnavailable("The database cannot be reached.", hint="Test the connection.")
            tag = Tag(statement.who.client, statement.who.thread, audit_id)
            answer = self._in_turn(statement.caller, send, connector, tag)
            return await self._sent(statement, verdict, audit_id, answer)

    async def _in_turn(self, caller: Caller, send: Send, connector: Connector, tag: Tag) -> Rows:
        async with self._turns.taken(caller):
            return await send(connector, tag)

    async def _decided(self, statement: Statement, verdict: Verdict) -> int:
        """Note the decision; where the caller goes in this moment, that his statement did not run."""
        deciding = asyncio.create_task(self._audit.decide(statement.caller, _attempt(statement, verdict)))
        try:
            return await asyncio.shield(deciding)
        except asyncio.CancelledError:
            audit_id = await deciding
            if verdict.allowed:
                await asyncio.shield(self._end(statement, audit_id, StatementOutcome("cancelled", 0, 0.0)))
            raise

    async def _reach(
        self, statement: Statement, stack: AsyncExitStack
    ) -> tuple[Connector | None, Knowledge | None, ThresherError | None]:
        """The connector and what the guard must know; without them the statement is judged and noted all the same."""
        try:
            used = self._sessions.use(statement.caller.tenant, statement.held)
            connector = await stack.enter_async_context(used)
            return connector, await connector.knowledge(), None
        except ThresherError as error:
            return None, None, error

    async def _sent(self, statement: Statement, verdict: Verdict, audit_id: int, answer: Awaitable[Rows]) -> _Ran:
        started = time.perf_counter()

        def ended(outcome: Outcome, rows: int = 0, error: str = "") -> StatementOutcome:
            return StatementOutcome(outcome, rows, round((time.perf_counter() - started) * 1000, 2), error)

        try:
            rows = await answer
        except asyncio.CancelledError:
            await asyncio.shield(self._end(statement, audit_id, ended("cancelled")))
            raise
        except StatementRefused as error:
            await self._end(statement, audit_id, ended("error", error=error.message))
            error.audit_id = audit_id
            raise
        except QueryFailed as error:
            outcome: Outcome = "timeout" if isinstance(error, QueryTimeout) else "error"
            await self._end(statement, audit_id, ended(outcome, error=error.message))
            raise await self._helped(statement, verdict, error) from None
        except ThresherError as error:
            await self._end(statement, audit_id, ended("error", error=error.message))
            raise
        except BaseException as error:
            await asyncio.shield(self._end(statement, audit_id, ended("error", error=type(error).__name__)))
            raise
        outcome = "truncated" if rows.truncated or rows.more else "ok"
        noted = await self._end(statement, audit_id, ended(outcome, len(rows.rows)))
        return _Ran(audit_id, rows, verdict, () if noted else ("the outcome could not be noted in the audit log",))

    async def _end(self, statement: Statement, audit_id: int, ended: StatementOutcome) -> bool:
        """Note an outcome; whether that could be done: what has happened is not undone by a log that is away."""
        try:
            await self._audit.end(statement.caller, audit_id, ended)
        except StoreError as error:
            event(_logger, "outcome not noted", level=logging.ERROR, audit_id=audit_id, reason=str(error))
            return False
        return True

    async def _helped(self, statement: Statement, verdict: Verdict, error: QueryFailed) -> QueryFailed:
        """The error, with the column or table in its hint that was probably meant."""
        catalog = await self._shelf.catalog(statement.caller.tenant, statement.held)
        if catalog is None:
            return error
        meant = await asyncio.to_thread(suggest, error.message, catalog, verdict.tables)
        return type(error)(error.message, hint=f"{meant} {error.hint}".strip()) if meant else error


_REASONS: Final = {"rows": "more rows exist than were asked for", "bytes": "the rows are too large for one answer"}


def refusal(verdict: Verdict, audit_id: int) -> StatementRefused:
    """What to tell of a statement that was refused."""
    place = verdict.place
    where = "" if place is None else f" (line {place.line}, column {place.column}: {place.text!r})"
    return StatementRefused(
        f"The statement was not run [{verdict.rule}]: {verdict.reason.rstrip('.')}{where}.",
        hint=verdict.hint,
        rule=verdict.rule or "",
        line=0 if place is None else place.line,
        column=0 if place is None else place.column,
        text="" if place is None else place.text,
        audit_id=audit_id,
    )


def without_server(connection: Connection) -> DatabaseUnavailable:
    """What to say where there is nothing to ask but column information."""
    return DatabaseUnavailable(
        f"'{connection.name}' is column information only: there is no live server to ask.",
        hint=no_server(connection.name),
    )


def _attempt(statement: Statement, verdict: Verdict, rule: str = "") -> Attempt:
    one, who = statement.held.connection, statement.who
    return Attempt(
        actor=statement.caller.user or statement.caller.tenant.name,
        client=who.client,
        model=who.model,
        thread=who.thread,
        connection=one.name,
        dialect=one.dialect,
        sql=statement.sql,
        allowed=verdict.allowed,
        rule=verdict.rule or rule,
        tool=who.tool,
    )
