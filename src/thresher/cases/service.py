"""Keeps test cases, asks them as a client would, and compares the outcome with earlier ones.

Invariant: what is judged is the answer as it is delivered, after the cut. A run asks one case after the other and holds
no transaction meanwhile.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.cases import queries
from thresher.cases.matching import PARTS, folded, meets, names_of, server_names, tool_names
from thresher.cases.records import (
    Case,
    CaseChange,
    CaseChanges,
    CaseOutcome,
    CaseRun,
    CasesImported,
    CaseVerb,
    checked_message,
    checked_names,
)
from thresher.context import DEFAULT_BUDGET, ContextService
from thresher.core import ASSISTANT, Caller, InvalidInput, NotAllowed, NotFound, Settings, check_limit
from thresher.knowledge.tools import ToolService
from thresher.store import Database, age_limit, purge_rows, run_retrying

MOST_CASES: Final = 1_000
"""Cases of a run: a run of so many takes half a minute."""
MOST_RUNS: Final = 100
CLIENT: Final = f"{ASSISTANT}cases"
"""The client of a run in the logs: like the assistant's, its messages are no choices of a client."""


class Cases:
    """The test cases of a tenant. One per process.

    Args:
        database: The database of cases and runs.
        context: Answers `get_context`.
        tools: Answers `find_tools`.
        settings: How long runs are kept.
    """

    def __init__(self, database: Database, context: ContextService, tools: ToolService, settings: Settings) -> None:
        self._database = database
        self._context = context
        self._tools = tools
        self._days = settings.log_days

    async def add(
        self,
        caller: Caller,
        message: str,
        needs: Mapping[str, Any],
        excluded: Mapping[str, Any],
        verb: CaseVerb = "get_context",
    ) -> Case:
        """Save a message with what should come for it; one that is there gets these names.

        Args:
            caller: Whose case it is: a user's, or the tenant's.
            message: The message.
            needs: Names by kind that must come. If this and `excluded` are empty, nothing may come.
            excluded: Names by kind that must not come.
            verb: What is asked.

        Raises:
            InvalidInput: An argument is out of bounds, or there are as many cases as a run can ask.
        """
        (case, _), *_ = await self._put(caller, [_checked(message, needs, excluded, verb)])
        return case

    async def import_cases(self, caller: Caller, lines: Sequence[Mapping[str, Any]]) -> CasesImported:
        """Save cases in the format of `thresher eval context`; all of them, or none.

        Args:
            caller: Whose cases they are.
            lines: Objects with `message` and `needs`; also `excluded` and `verb`. Other members are not read.

        Raises:
            InvalidInput: A line is not valid, or there would be too many cases.
        """
        checked: list[_Checked] = []
        for number, line in enumerate(lines, 1):
            try:
                if "needs" not in line:
                    raise InvalidInput("'needs' is missing.", hint="{} says that nothing may come.")
                checked.append(
                    _checked(line.get("message"), line["needs"], line.get("excluded", {}), line.get("verb", VERBS[0]))
                )
            except InvalidInput as error:
                raise InvalidInput(f"Case {number}: {error.message}", hint=error.hint) from None
        stored = await self._put(caller, checked) if checked else []
        added = sum(new for _, new in stored)
        return CasesImported(added, len(stored) - added)

    async def _put(self, caller: Caller, checked: Sequence[_Checked]) -> list[tuple[Case, bool]]:
        async def put(connection: AsyncConnection) -> list[tuple[Case, bool]]:
            stored = [await queries.put_case(connection, caller, *one) for one in checked]
            if len(await queries.cases(connection, caller, MOST_CASES + 1)) > MOST_CASES:
                raise InvalidInput(
                    f"There would be more than {MOST_CASES:,} cases.", hint="Remove some: thresher cases remove."
                )
            return stored

        return await run_retrying(self._database, caller.tenant, put)

    async def list_cases(self, caller: Caller) -> tuple[Case, ...]:
        """Return the cases that the caller sees, the tenant's and the user's own, the oldest first."""
        async with self._database.transaction(caller.tenant) as connection:
            return tuple(await queries.cases(connection, caller, MOST_CASES))

    async def remove(self, caller: Caller, number: int) -> int:
        """Remove a case with its outcomes; returns its number.

        Raises:
            NotFound: The caller sees no case of this number.
            NotAllowed: It belongs to the tenant, and the caller is one of its users.
        """
        known = {case.id for case in await self.list_cases(caller)}
        if number not in known:
            raise NotFound(f"There is no case {number}.", hint="`thresher cases list` shows them all.")
        if not await run_retrying(
            self._database, caller.tenant, lambda connection: queries.delete_case(connection, caller, number)
        ):
            raise NotAllowed(f"Case {number} belongs to the tenant.", hint="Its owner may remove it.")
        return number

    async def run(
        self, caller: Caller, budget: int | None = None, progress: Callable[[int, int], None] | None = None
    ) -> CaseRun:
        """Ask all cases, store what each got, and compare it with earlier runs.

        Args:
            caller: Whose cases are asked, and whose tools, rules and documents answer.
            budget: Tokens of each context; by default that of `get_context`.
            progress: Called with the number of cases done, and of all.

        Raises:
            InvalidInput: The budget is out of bounds.
        """
        cases, began, started = await self.list_cases(caller), dt.datetime.now(dt.UTC), time.perf_counter()
        asking = replace(caller, client=CLIENT)
        servers = await server_names(self._tools, caller) if cases else {}
        outcomes: list[CaseOutcome] = []
        for done, case in enumerate(cases):
            if progress is not None:
                progress(done, len(cases))
            outcomes.append(await self._ask(asking, case, servers, budget))
        took = (time.perf_counter() - started) * 1000

        async def store(connection: AsyncConnection) -> int:
            return await queries.put_run(connection, caller, began, budget, took, outcomes) if outcomes else 0

        number = await run_retrying(self._database, caller.tenant, store)
        passed = sum(one.passed for one in outcomes)
        run = CaseRun(number, began, len(outcomes), passed, budget, took, (), None, None)
        return await self._compared(caller, run, {one.case: one for one in outcomes})

    async def last(self, caller: Caller) -> CaseRun | None:
        """Return the last run, compared with the ones before; None if there is none."""
        async with self._database.transaction(caller.tenant) as connection:
            newest = await queries.runs(connection, caller)
            found = await queries.outcomes(connection, caller, newest[0].id) if newest else {}
        return await self._compared(caller, newest[0], found) if newest else None

    async def runs(self, caller: Caller, limit: int = 20) -> tuple[CaseRun, ...]:
        """Return the last runs, the newest first, without outcomes and comparisons.

        Raises:
            InvalidInput: The limit is out of bounds.
        """
        check_limit(limit, MOST_RUNS)
        async with self._database.transaction(caller.tenant) as connection:
            return tuple(await queries.runs(connection, caller, limit))

    async def purge(self, caller: Caller, older_than: float | None = None) -> int:
        """Remove the caller's runs that are at least so many days old; returns their number.

        Raises:
            InvalidInput: The age is out of bounds.
        """
        days = self._days if older_than is None else older_than
        return await purge_rows(self._database, caller, ("case_run",), age_limit(days))

    async def _ask(self, caller: Caller, case: Case, servers: Mapping[str, str], budget: int | None) -> CaseOutcome:
        started = time.perf_counter()
        if case.verb == "find_tools":
            found = await self._tools.find_tools(caller, message=case.message)
            tokens = found.tokens_sent
            got = [
                (
                    "tools",
                    tool.name,
                    frozenset(folded(name) for one in (tool.name, *tool.also) for name in tool_names(one, servers)),
                )
                for tool in found.tools
            ]
        else:
            pack = await self._context.get_context(
                caller, case.message, budget=DEFAULT_BUDGET if budget is None else budget, delivers=False
            )
            tokens = pack.spent
            got = [(_KINDS.get(piece.kind, piece.kind), piece.name, names_of(piece, servers)) for piece in pack.pieces]
        return judged(case, got, tokens, (time.perf_counter() - started) * 1000)

    async def _compared(self, caller: Caller, run: CaseRun, outcomes: Mapping[int, CaseOutcome]) -> CaseRun:
        """A run with its outcomes, compared with the one before and with the last of an earlier day."""
        today = run.at.astimezone(dt.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        changes: list[CaseChanges | None] = []
        async with self._database.transaction(caller.tenant) as connection:
            for day in (None, today):
                former = await queries.runs(connection, caller, before=run.id, day=day)
                before = await queries.outcomes(connection, caller, former[0].id) if former else {}
                changes.append(_changes(former[0], before, outcomes) if former else None)
        ordered = tuple(sorted(outcomes.values(), key=lambda one: (one.passed, one.case)))
        return replace(run, outcomes=ordered, previous=changes[0], yesterday=changes[1])


_KINDS: Final = {piece: kind for kind, piece in PARTS.items()}
VERBS: Final[tuple[CaseVerb, ...]] = ("get_context", "find_tools")
_Checked = tuple[CaseVerb, str, Mapping[str, tuple[str, ...]], Mapping[str, tuple[str, ...]]]


def _checked(message: object, needs: object, excluded: object, verb: object) -> _Checked:
    asked: CaseVerb | None = next((one for one in VERBS if one == verb), None)
    if asked is None:
        raise InvalidInput(f"A case cannot ask '{verb}'.", hint=f"Give {' or '.join(VERBS)}.")
    names = checked_names("needs", needs, asked), checked_names("excluded", excluded, asked)
    return (asked, checked_message(message), *names)


def judged(case: Case, got: Sequence[tuple[str, str, Collection[str]]], tokens: int, duration_ms: float) -> CaseOutcome:
    """Compare what was delivered with what a case says.

    Args:
        case: The case.
        got: The kind of each delivered thing, as cases name it, its name, and all names by which a case may call it.
        tokens: Tokens of the answer.
        duration_ms: How long it took.
    """

    def came(kind: str, name: str) -> bool:
        return any(kind == one and meets(name, own) for one, _, own in got)

    missing = [f"{kind}: {name}" for kind, names in case.needs.items() for name in names if not came(kind, name)]
    unwanted = [f"{kind}: {name}" for kind, names in case.excluded.items() for name in names if came(kind, name)]
    delivered = tuple(f"{kind}: {name}" for kind, name, _ in got)
    if not case.needs and not case.excluded:
        unwanted = list(delivered)
    passed = not missing and not unwanted
    return CaseOutcome(
        case.id, case.message, case.verb, passed, tuple(missing), tuple(unwanted), delivered, tokens, duration_ms
    )


_ORDER: Final = ("broken", "fixed", "changed", "new")


def _changes(former: CaseRun, before: Mapping[int, CaseOutcome], after: Mapping[int, CaseOutcome]) -> CaseChanges:
    changes = [change for case, one in after.items() if (change := _change(before.get(case), one)) is not None]
    changes.sort(key=lambda one: (_ORDER.index(one.change), one.case))
    return CaseChanges(former.at, former.id, former.cases, former.passed, tuple(changes))


def _change(before: CaseOutcome | None, after: CaseOutcome) -> CaseChange | None:
    if before is None:
        return CaseChange(after.case, after.message, "new", (), after.delivered)
    gone = tuple(name for name in before.delivered if name not in after.delivered)
    came = tuple(name for name in after.delivered if name not in before.delivered)
    if before.passed != after.passed:
        return CaseChange(after.case, after.message, "fixed" if after.passed else "broken", gone, came)
    return CaseChange(after.case, after.message, "changed", gone, came) if gone or came else None
