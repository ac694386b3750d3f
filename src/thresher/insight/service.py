"""Reads the logs: use over time, what got no answer, intents over time, calls.

Invariant: one transaction for each answer, bounded by period and limit.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sqlalchemy import RowMapping

from thresher.core import Caller, Settings, check_limit
from thresher.insight import queries
from thresher.insight.context_log import ContextLog
from thresher.insight.records import (
    CallEntry,
    CallPage,
    IntentDay,
    IntentHistory,
    ServerUsage,
    ToolUsage,
    Unanswered,
    UnansweredMessages,
    Usage,
    UsageDay,
    UsageSummary,
)
from thresher.store import Database, age_limit, period, period_start, purge_rows

MOST_ENTRIES: Final = 500
_HINT: Final = "THRESHER_LOG_TEXT=on keeps the texts of messages, without secrets, from then on."


class Insight:
    """What the logs of a tenant tell. One per process.

    Args:
        database: The database of the logs.
        settings: Whether texts are kept, and how long rows are.
        contexts: The log of delivered contexts.

    Attributes:
        contexts: The log of delivered contexts.
    """

    def __init__(self, database: Database, settings: Settings, contexts: ContextLog) -> None:
        self._database = database
        self._days = settings.log_days
        self._texts = settings.log_text == "on"
        self.contexts = contexts

    async def usage(self, caller: Caller, days: float = 7.0) -> UsageSummary:
        """Return figures for each day of a period, and for all of it.

        Args:
            caller: The tenant, or one of its users, whose rows are counted.
            days: The length of the period.

        Raises:
            InvalidInput: The length is out of bounds.
        """
        since = period_start(days)
        values = period(caller, since)
        async with self._database.transaction(caller.tenant) as connection:
            await connection.execute(queries.BY_HASH)
            found = [
                _by_day((await connection.execute(query, values)).mappings())
                for query in (queries.MESSAGES, queries.SEARCHES, queries.CALLS)
            ]
            tools = (await connection.execute(queries.TOOLS, values)).all()

        def usage(day: dt.date | None) -> Usage:
            return Usage(**{name: value for one in found for name, value in one.get(day, {}).items()})

        return UsageSummary(
            since=since,
            total=usage(None),
            days=tuple(UsageDay(day, usage(day)) for day in _days(since)),
            servers=tuple(
                ServerUsage(row.server, row.calls, row.failed, row.p50_ms, row.p95_ms)
                for row in tools
                if row.tool is None
            ),
            tools=tuple(ToolUsage(*row) for row in tools if row.tool is not None)[: queries.TOOLS_LISTED],
        )

    async def intents(self, caller: Caller, days: float = 30.0) -> IntentHistory:
        """Return how often each intent matched on each day of a period.

        Raises:
            InvalidInput: The length is out of bounds.
        """
        since = period_start(days)
        async with self._database.transaction(caller.tenant) as connection:
            rows = (await connection.execute(queries.INTENTS, period(caller, since))).all()
        totals = {row.day: (row.messages, row.passed) for row in rows if row.intent is None}
        matched: defaultdict[dt.date, dict[str, int]] = defaultdict(dict)
        for row in rows:
            if row.intent is not None:
                matched[row.day][row.intent] = row.messages
        return IntentHistory(
            since, tuple(IntentDay(day, *totals.get(day, (0, 0)), matched.get(day, {})) for day in _days(since))
        )

    async def unanswered(
        self, caller: Caller, days: float = 7.0, limit: int = 50, *, passed: bool = False
    ) -> UnansweredMessages:
        """Return messages and searches that got nothing, equal ones together, the newest first.

        Args:
            caller: The tenant, or one of its users, whose rows are read.
            days: The length of the period.
            limit: Most entries.
            passed: Whether to include prompts that no rules fit: a model may well answer them by itself.

        Raises:
            InvalidInput: The length or the limit is out of bounds.
        """
        check_limit(limit, MOST_ENTRIES)
        since = period_start(days)
        values = period(caller, since) | {"limit": limit, "passed": passed}
        async with self._database.transaction(caller.tenant) as connection:
            await connection.execute(queries.BY_HASH)
            rows = (await connection.execute(queries.UNANSWERED, values)).all()
        found = tuple(Unanswered(*row[:7]) for row in rows)
        more = rows[0].groups - len(rows) if rows else 0
        return UnansweredMessages(since, found, more, self._texts, "" if self._texts else _HINT)

    async def calls(
        self,
        caller: Caller,
        *,
        server: str | None = None,
        tool: str | None = None,
        failed: bool | None = None,
        days: float = 7.0,
        limit: int = 50,
        before: int | None = None,
    ) -> CallPage:
        """Return calls, the newest first.

        Args:
            caller: The tenant, or one of its users, whose calls are listed.
            server: Only of this server's tools.
            tool: Only of this tool, by the name that it is called by.
            failed: Only failed calls, or only others.
            days: The length of the period.
            limit: Most calls.
            before: `CallPage.next` of the page before.

        Raises:
            InvalidInput: The length or the limit is out of bounds.
        """
        check_limit(limit, MOST_ENTRIES)
        values = period(caller, period_start(days))
        server, tool = (None if name is None else name.replace("\0", "\ufffd") for name in (server, tool))
        values |= {"server": server, "tool": tool, "failed": failed, "before": before, "limit": limit + 1}
        async with self._database.transaction(caller.tenant) as connection:
            rows = (await connection.execute(queries.LOG, values)).all()
        calls = tuple(CallEntry(*row) for row in rows[:limit])
        return CallPage(calls, calls[-1].id if len(rows) > limit else None, self._texts)

    async def purge(self, caller: Caller, older_than: float | None = None) -> int:
        """Remove the caller's rows of delivered contexts that are at least so many days old; returns their number.

        Raises:
            InvalidInput: The age is out of bounds.
        """
        days = self._days if older_than is None else older_than
        return await purge_rows(self._database, caller, ("context_log",), age_limit(days))


def _by_day(rows: Iterable[RowMapping]) -> dict[dt.date | None, dict[str, Any]]:
    """Figures by their day; those of the whole period under None."""
    return {row["day"]: {str(name): value for name, value in row.items() if name != "day"} for row in rows}


def _days(since: dt.datetime) -> Iterator[dt.date]:
    """The days from a moment to today, in UTC."""
    day, today = since.date(), dt.datetime.now(dt.UTC).date()
    while day <= today:
        yield day
        day += dt.timedelta(days=1)
