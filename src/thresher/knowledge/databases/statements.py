"""Runs statements: read by the guard, recorded in the audit log, run by the database, and the outcome recorded.

If the database does not know a column or a table, the error suggests similar names of the schema, in the form in which
a statement must write them.

Invariant: the decision is on disk before the database sees the statement; afterwards an outcome is always recorded,
unless this process dies.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from thresher.audit import Attempt, AuditLog, Outcome, StatementOutcome
from thresher.connectors import COLUMN_INFO, Caps, Connector, Rows, SessionTag, Table, no_server
from thresher.core import (
    Caller,
    CursorCodec,
    DatabaseUnavailable,
    InvalidInput,
    NotFound,
    QueryFailed,
    QueryTimeout,
    Settings,
    StatementRefused,
    StoreError,
    ThresherError,
    event,
)
from thresher.knowledge.databases.cache import SchemaCache
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.models import Connection, QueryAnswer, Requester
from thresher.knowledge.databases.notation import inline, must_quote, quoted
from thresher.knowledge.databases.queries import StoredConnection
from thresher.knowledge.databases.sessions import ConnectorPool, StatementLimiter
from thresher.sqlguard import Knowledge, Verdict, judge

_logger = logging.getLogger("thresher.knowledge")

MOST_ROWS: Final = 10_000
_CURSOR: Final[CursorCodec[int]] = CursorCodec("sql_query", int)
_NO_ORDER: Final = "the statement has no ORDER BY: pages of it may overlap or miss rows"

_NO_SERVER: Final = "no_server"
"""The audit log's rule for statements on column information, which cannot run."""

Send = Callable[[Connector, SessionTag], Awaitable[Rows]]


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement and its requester.

    Attributes:
        caller: The tenant and user.
        held: The connection.
        sql: The statement.
        who: The requester, for the audit log.
    """

    caller: Caller
    held: StoredConnection
    sql: str
    who: Requester


@dataclass(frozen=True, slots=True)
class _StatementResult:
    """The result of a statement that ran."""

    audit_id: int
    rows: Rows
    verdict: Verdict
    notes: tuple[str, ...]


class StatementRunner:
    """Runs statements.

    Args:
        sessions: Opens the databases.
        cache: Caches schemas, for suggestions.
        audit: Records every statement.
        settings: How long a statement may take, and how many statements of a caller run at once.
    """

    def __init__(self, sessions: ConnectorPool, cache: SchemaCache, audit: AuditLog, settings: Settings) -> None:
        self._sessions = sessions
        self._cache = cache
        self._audit = audit
        self._seconds = settings.query_seconds
        self._turns = StatementLimiter(settings.queries_at_once)

    async def query(self, statement: StatementRequest, max_rows: int, cursor: str | None) -> QueryAnswer:
        """See `DatabaseService.query`."""
        if not 1 <= max_rows <= MOST_ROWS:
            raise InvalidInput("The number of rows is out of bounds.", hint=f"Ask for 1 to {MOST_ROWS:,} rows.")
        words = (str(statement.held.id), str(statement.held.changes), statement.sql)
        (skip,) = _CURSOR.decode(cursor, words) if cursor else (0,)
        caps = Caps(rows=max_rows, seconds=self._seconds, skip=skip)
        ran = await self._run(statement, lambda connector, tag: connector.run(statement.sql, tag, caps))
        rows, count = ran.rows, len(ran.rows.rows)
        following = _CURSOR.encode(skip + count, question=words) if rows.more and count else None
        unordered = following is not None and "order by" not in " ".join(statement.sql.lower().split())
        notes = (*ran.notes, _NO_ORDER) if unordered else ran.notes
        return self._answer(statement, ran, skip, following, notes)

    async def explain(self, statement: StatementRequest) -> QueryAnswer:
        """See `DatabaseService.explain`."""
        seconds = self._seconds

        async def send(connector: Connector, tag: SessionTag) -> Rows:
            return await connector.explain(statement.sql, tag, seconds)

        ran = await self._run(statement, send, explaining=True)
        return self._answer(statement, ran, 0, None, ran.notes)

    def _answer(
        self, statement: StatementRequest, ran: _StatementResult, first: int, cursor: str | None, notes: tuple[str, ...]
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

    async def _run(self, statement: StatementRequest, send: Send, *, explaining: bool = False) -> _StatementResult:
        dialect = statement.held.connection.dialect
        if dialect == COLUMN_INFO:
            await self._audit.decide(statement.caller, _attempt(statement, Verdict(allowed=False), rule=_NO_SERVER))
            raise no_server_error(statement.held.connection)
        async with AsyncExitStack() as stack:
            connector, knowledge, lost = await self._reach(statement, stack)
            verdict = await asyncio.to_thread(judge, statement.sql, dialect, knowledge)
            if explaining and verdict.kind == "explain":
                raise InvalidInput("The statement already begins with EXPLAIN.", hint="Give it without EXPLAIN.")
            audit_id = await self._decided(statement, verdict)
            if not verdict.allowed:
                raise refusal(verdict, audit_id)
            if connector is None:
                await self._end(statement, audit_id, StatementOutcome("error", 0, 0.0, str(lost)))
                raise lost or DatabaseUnavailable("The database cannot be reached.", hint="Test the connection.")
            tag = SessionTag(statement.who.client, statement.who.thread, audit_id)
            answer = self._in_turn(statement.caller, send, connector, tag)
            return await self._sent(statement, verdict, audit_id, answer)

    async def _in_turn(self, caller: Caller, send: Send, connector: Connector, tag: SessionTag) -> Rows:
        async with self._turns.taken(caller):
            return await send(connector, tag)

    async def _decided(self, statement: StatementRequest, verdict: Verdict) -> int:
        """Record the decision; if the caller is cancelled meanwhile, also record that the statement did not run."""
        deciding = asyncio.create_task(self._audit.decide(statement.caller, _attempt(statement, verdict)))
        try:
            return await asyncio.shield(deciding)
        except asyncio.CancelledError:
            audit_id = await deciding
            if verdict.allowed:
                await asyncio.shield(self._end(statement, audit_id, StatementOutcome("cancelled", 0, 0.0)))
            raise

    async def _reach(
        self, statement: StatementRequest, stack: AsyncExitStack
    ) -> tuple[Connector | None, Knowledge | None, ThresherError | None]:
        """The connector and the guard's knowledge; if it fails, the statement is judged and recorded all the same."""
        try:
            used = self._sessions.use(statement.caller.tenant, statement.held)
            connector = await stack.enter_async_context(used)
            return connector, await connector.knowledge(), None
        except ThresherError as error:
            return None, None, error

    async def _sent(
        self, statement: StatementRequest, verdict: Verdict, audit_id: int, answer: Awaitable[Rows]
    ) -> _StatementResult:
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
        return _StatementResult(
            audit_id, rows, verdict, () if noted else ("the outcome could not be recorded in the audit log",)
        )

    async def _end(self, statement: StatementRequest, audit_id: int, ended: StatementOutcome) -> bool:
        """Record an outcome; returns whether that was possible. A missing log does not undo what has happened."""
        try:
            await self._audit.end(statement.caller, audit_id, ended)
        except StoreError as error:
            event(_logger, "outcome not noted", level=logging.ERROR, audit_id=audit_id, reason=str(error))
            return False
        return True

    async def _helped(self, statement: StatementRequest, verdict: Verdict, error: QueryFailed) -> QueryFailed:
        """Add similar columns or tables to the hint of an error."""
        catalog = await self._cache.catalog(statement.caller.tenant, statement.held)
        if catalog is None:
            return error
        meant = await asyncio.to_thread(suggest, error.message, catalog, verdict.tables)
        return type(error)(error.message, hint=f"{meant} {error.hint}".strip()) if meant else error


_REASONS: Final = {"rows": "more rows exist than were asked for", "bytes": "the rows are too large for one answer"}


def refusal(verdict: Verdict, audit_id: int) -> StatementRefused:
    """The error for a statement that the guard refused."""
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


def no_server_error(connection: Connection) -> DatabaseUnavailable:
    """The error for a connection that is column information only."""
    return DatabaseUnavailable(
        f"'{connection.name}' is column information only: there is no live server to ask.",
        hint=no_server(connection.name),
    )


def _attempt(statement: StatementRequest, verdict: Verdict, rule: str = "") -> Attempt:
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


_NAME: Final = r"[\"'`\[]?(?P<name>[^\s\"'`\]:]+(?:[\"'`\]]?\.[\"'`\[]?[^\s\"'`\]:]+)*)[\"'`\]]?"
_COLUMN: Final = (
    re.compile(rf"column {_NAME} does not exist", re.I),
    re.compile(rf"no such column: {_NAME}", re.I),
    re.compile(rf"unknown column {_NAME}", re.I),
    re.compile(rf"referenced column {_NAME} not found", re.I),
    re.compile(rf"does not have a column named {_NAME}", re.I),
    re.compile(rf"{_NAME}: invalid identifier", re.I),
    re.compile(rf"invalid column name {_NAME}", re.I),
)
_TABLE: Final = (
    re.compile(rf"relation {_NAME} does not exist", re.I),
    re.compile(rf"no such table: {_NAME}", re.I),
    re.compile(rf"table {_NAME} doesn't exist", re.I),
    re.compile(rf"table with name {_NAME} does not exist", re.I),
    re.compile(rf"table or view {_NAME} does not exist", re.I),
    re.compile(rf"invalid object name {_NAME}", re.I),
    re.compile(rf"missing FROM-clause entry for table {_NAME}", re.I),
)
_ALREADY: Final = re.compile(r"did you mean|perhaps you meant|candidate bindings", re.I)
_CUTOFF: Final = 0.55
_MOST_NAMES: Final = 20_000
_HOLDERS: Final = 3


def suggest(message: str, catalog: Catalog, read: Sequence[str]) -> str:
    """A sentence that suggests similar names; empty if nothing is similar, or the database's message suggests some.

    Args:
        message: The database's message.
        catalog: The database's schema.
        read: The tables that the statement reads, in its spelling.
    """
    if _ALREADY.search(message):
        return ""
    if (column := _named(_COLUMN, message)) is not None:
        return _column(column, catalog, _tables(catalog, read))
    if (table := _named(_TABLE, message)) is not None:
        return _table(table, catalog)
    return ""


def _named(patterns: Iterable[re.Pattern[str]], message: str) -> str | None:
    """The last part of the unknown name in a message."""
    for pattern in patterns:
        if (found := pattern.search(message)) is not None:
            return re.split(r"[\"'`\]]?\.[\"'`\[]?", found["name"])[-1].strip("\"'`[]!.,;")
    return None


def _tables(catalog: Catalog, read: Sequence[str]) -> list[Table]:
    found: list[Table] = []
    for name in read:
        try:
            found.append(catalog.table(name))
        except (NotFound, InvalidInput):
            continue
    return found


def _column(name: str, catalog: Catalog, tables: Sequence[Table]) -> str:
    here = {column.name for table in tables for column in table.columns}
    if near := _nearest(name, here):
        return _offered(catalog, near, f"column{'s' if len(near) > 1 else ''}")
    holders = [
        catalog.name_of(table)
        for table in catalog.schema.tables
        if any(column.name.casefold() == name.casefold() for column in table.columns)
    ]
    if 0 < len(holders) <= _HOLDERS:
        return f"A column of this name is in {' and '.join(inline(one) for one in holders)}."
    return ""


def _table(name: str, catalog: Catalog) -> str:
    names = {table.name for table in catalog.schema.tables[:_MOST_NAMES]}
    near = _nearest(name, names)
    if not near:
        return "query_database_schema and sql_list_tables show the tables."
    return _offered(catalog, near, "table" if len(near) == 1 else "tables")


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    """Similar names, ignoring case; a name that differs only in case is the only result."""
    by_fold: dict[str, str] = {}
    for one in sorted(known):
        by_fold.setdefault(one.casefold(), one)
    folded = name.casefold()
    if folded in by_fold:
        return [by_fold[folded]]
    return [by_fold[one] for one in difflib.get_close_matches(folded, by_fold, n=3, cutoff=_CUTOFF)]


def _offered(catalog: Catalog, names: Sequence[str], what: str) -> str:
    dialect = catalog.schema.dialect
    written = [quoted(dialect, inline(one)) if must_quote(dialect, one) else inline(one) for one in names]
    return f"Did you mean the {what} {' or '.join(written)}?"
