"""Guards the SQL in calls of upstream tools: each statement is judged, the decision is noted, then the call is sent.

Invariant: a call reaches a server with an `sql` part only when every statement in it may run and its decision is in the
audit log; the outcome is noted however the call ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, cast

from thresher.audit import Attempt, AuditLog, Outcome, StatementOutcome
from thresher.calling.records import Result
from thresher.core import JSON, Caller, InvalidInput, ThresherError, UpstreamTimeout, event
from thresher.knowledge.databases import refusal
from thresher.sqlguard import Dialect, Verdict, judge
from thresher.upstream import GuardedSql, ServerConfig, statements_in

logger = logging.getLogger("thresher.calling")

MOST_STATEMENTS: Final = 100
"""Of one call: each is read by the guard and noted before the next."""
_ERROR_CHARACTERS: Final = 500
_ASKED: Final = "The server asked the client for input."


class Statements:
    """The statements of one call.

    Args:
        audit: Where decisions and outcomes are noted.
        caller: For whom the call is.
        client: Name and version of the client.
        config: The server.
        tool: As the server lists it.
    """

    def __init__(self, audit: AuditLog, caller: Caller, client: str, config: ServerConfig, tool: str) -> None:
        self._audit = audit
        self._caller = caller
        self._client = client
        self._config = config
        self._tool = tool

    async def run(self, guarded: GuardedSql, arguments: JSON, call: Callable[[], Awaitable[Result]]) -> Result:
        """Send a call if all its statements may run.

        Raises:
            StatementRefused: One may not.
            InvalidInput: A tool that takes SQL was given none that can be read, or too many statements.
            StoreError: A decision could not be noted.
        """
        decisions = await self._decide(guarded, arguments)
        started, ended = time.perf_counter(), StatementOutcome("cancelled", 0, 0.0)
        try:
            answer = await call()
            ended = _ended(answer)
            return answer
        except ThresherError as error:
            ended = StatementOutcome(
                "timeout" if isinstance(error, UpstreamTimeout) else "error", 0, 0.0, error.message
            )
            raise
        except asyncio.CancelledError:
            raise
        except Exception as error:
            ended = StatementOutcome("error", 0, 0.0, type(error).__name__)
            raise
        finally:
            milliseconds = (time.perf_counter() - started) * 1000
            await asyncio.shield(self._end(decisions, ended, milliseconds))

    async def _decide(self, guarded: GuardedSql, arguments: JSON) -> Sequence[int]:
        statements = statements_in(arguments, guarded.arguments)
        if not statements and self._tool in guarded.tools:
            raise InvalidInput(
                f"'{self._tool}' takes SQL, and none was given.", hint=f"Give it as '{guarded.arguments[0]}'."
            )
        if len(statements) > MOST_STATEMENTS:
            raise InvalidInput(
                f"One call has {len(statements):,} statements; the most are {MOST_STATEMENTS}.",
                hint="Make several calls.",
            )
        decisions: list[int] = []
        for sql in statements:
            verdict = await asyncio.to_thread(judge, sql, cast("Dialect", guarded.dialect))
            decisions.append(await self._audit.decide(self._caller, self._attempt(guarded, sql, verdict)))
            if not verdict.allowed:
                # What was allowed before it in this call does not run either.
                await self._end(
                    decisions[:-1], StatementOutcome("cancelled", 0, 0.0, "Another statement was refused."), 0.0
                )
                raise refusal(verdict, decisions[-1])
        return decisions

    def _attempt(self, guarded: GuardedSql, sql: str, verdict: Verdict) -> Attempt:
        return Attempt(
            actor=self._caller.user or self._caller.tenant.name,
            client=self._client,
            model="",
            thread=self._caller.client,
            connection=self._config.name,
            dialect=guarded.dialect,
            sql=sql,
            allowed=verdict.allowed,
            rule=verdict.rule or "",
            tool=self._tool,
        )

    async def _end(self, decisions: Sequence[int], ended: StatementOutcome, milliseconds: float) -> None:
        """Note the outcome of the call; if that fails, the answer goes out all the same."""
        outcome = StatementOutcome(ended.outcome, ended.rows, milliseconds, ended.error)
        try:
            await asyncio.gather(*(self._audit.end(self._caller, decision, outcome) for decision in decisions))
        except ThresherError as error:
            event(logger, "outcome not noted", level=logging.WARNING, decisions=[*decisions], reason=error.message)


def _ended(result: Result) -> StatementOutcome:
    """How a call ended, by its result; rows are the server's business."""
    outcome: Outcome = "ok"
    if result.asks:
        return StatementOutcome(outcome, 0, 0.0, _ASKED)
    if not result.is_error:
        return StatementOutcome(outcome, 0, 0.0)
    text = " ".join(str(block.get("text", "")) for block in result.content if block.get("type") == "text")
    return StatementOutcome("error", 0, 0.0, text[:_ERROR_CHARACTERS])
