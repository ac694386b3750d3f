"""What only commands do, under the names of the verbs that it replaces for them.

They show the log and the figures of another tenant, try a model or a connection before it is kept, list packs that are
not in use, and judge statements whose verdict is known.

Invariant: what only the owner of the data folder may do is refused to a caller with a key. A user sees only their own
lines of the log. A model's key is never returned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from thresher import evaluation
from thresher.app import App, rehearsed
from thresher.core import DatabaseUnavailable, ModelError, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.sqlguard import Verdict, judge
from thresher.store import period_start
from thresher.verbs import AUDIT, CASES, DATABASES, INTENTS, SETTINGS, Request, checked

_JUDGED_AT_ONCE = 100
_CASE_LINES = 'Lines are {"message": text, "needs": {"tools": [], ...}, "excluded"?: {}, "verb"?: text}.'
"""Statements between two events: the guard is fast, and its thread should not be changed for each."""


def command_verbs(app: App, request: Request) -> Mapping[str, Verb]:
    """What only commands do, by name.

    Args:
        app: The running product.
        request: What the verbs work with.
    """
    commands = _Commands(app, request)
    verbs = (
        *(commands.sql_activity_log, commands.verify_audit, commands.add_model, commands.list_intents),
        *(commands.explain_intents, commands.intent_stats, commands.add_connection, commands.evaluate_sql),
        *(commands.evaluate_results, commands.import_cases),
    )
    return {verb.__name__: verb for verb in verbs}


class _Commands:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, request: Request) -> None:
        self._app = app
        self._request = request
        self._caller = request.caller
        self._services = app.services

    async def sql_activity_log(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Statements of the last `days`, or all, of the caller or of a tenant."""
        verb = AUDIT["sql_activity_log"]
        request, given = await self._of_tenant(arguments)
        if (days := given.pop("days", None)) is not None:
            given["since"] = period_start(days).isoformat()
        return plain(await verb.run(request, checked(verb, given)))

    async def verify_audit(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Whether a tenant's log is whole."""
        verb = AUDIT["verify_audit"]
        request, given = await self._of_tenant(arguments)
        found = await verb.run(request, checked(verb, given))
        return plain(found) | {"tenant": request.caller.tenant.name}

    async def _of_tenant(self, arguments: Mapping[str, Any]) -> tuple[Request, dict[str, Any]]:
        """The request for the tenant among some arguments, and the other arguments."""
        given = dict(arguments)
        caller = await self._request.caller_in(given.pop("tenant", None))
        return replace(self._request, caller=caller), given

    async def add_model(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a model that answers, and return how it was asked; `test: false` keeps it untested."""
        verb, given = SETTINGS["add_model"], dict(arguments)
        test = given.pop("test", True)
        given = checked(verb, given)
        if not test:
            return plain({"model": await verb.run(self._request, given), "check": None})
        name = given["name"]
        async with rehearsed(self._app) as trial:
            await verb.run(replace(self._request, services=trial.services), given)
            check = await trial.services.models.check(self._caller, name)
        if not check.ok:
            raise ModelError(
                f"The model '{name}' was not added. {check.problem}",
                hint="Correct what is wrong and add it again; --no-test keeps it as it is.",
            )
        tell({"checked": f"the model of '{name}' answers"})
        return plain({"model": await verb.run(self._request, given), "check": check})

    async def list_intents(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """The intents in use, with the packs that are found and not used."""
        intents = self._services.intents
        await intents.prepare(self._caller)
        packs = await intents.packs(self._caller)
        active = {pack.name: pack for pack in packs.active}
        rows = [
            plain(info) | {"applies": "always" if pack.always else "by file" if pack.globs else ""}
            for info in await intents.intents(self._caller)
            if (pack := active.get(info.name)) is not None
        ]
        inert = [
            {"name": held.pack.name, "path": str(held.pack.path), "reason": held.reason, "hint": held.hint}
            for held in packs.inert
        ]
        return plain({"intents": rows, "inert": inert, "problems": packs.problems})

    async def explain_intents(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """A decision, with the names of the intents that matched."""
        verb = INTENTS["explain_intents"]
        decision = await verb.run(self._request, checked(verb, arguments))
        return plain(decision) | {"matched": [score.intent for score in decision.matched]}

    async def intent_stats(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """The figures of the caller, or of a tenant."""
        verb = INTENTS["intent_stats"]
        request, given = await self._of_tenant(arguments)
        return plain(await verb.run(request, checked(verb, given)))

    async def add_connection(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a connection that works, and return how it was tested; `test: false` keeps it untested."""
        verb, given = DATABASES["add_connection"], dict(arguments)
        test = given.pop("test", True)
        given = checked(verb, given)
        if not test:
            return plain({"connection": await verb.run(self._request, given), "test": None})
        name = given["name"]
        async with rehearsed(self._app) as trial:
            await verb.run(replace(self._request, services=trial.services), given)
            health = await trial.services.databases.test_connection(self._caller, name)
        if not health.ok:
            raise DatabaseUnavailable(
                f"The connection '{name}' was not added. {health.problem}",
                hint="Correct the address, or see that the database runs; --no-test keeps it as it is.",
            )
        tell({"checked": f"the database of '{name}' answers"})
        added = await verb.run(self._request, given)
        return plain({"connection": added, "test": await self._services.databases.test_connection(self._caller, name)})

    async def evaluate_sql(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Ask the guard about statements whose verdict is known."""
        dialect = evaluation.dialect_of(str(arguments["dialect"]))
        statements = await asyncio.to_thread(evaluation.read_statements, Path(arguments["statements"]))

        def verdict(sql: str) -> Verdict:
            return judge(sql, dialect)

        await asyncio.to_thread(verdict, "SELECT 1")  # what is read once in a process belongs to no statement
        judged: list[Any] = []
        for start in range(0, len(statements), _JUDGED_AT_ONCE):
            some = statements[start : start + _JUDGED_AT_ONCE]
            judged += await asyncio.to_thread(evaluation.judge_statements, verdict, some)
            tell({"stage": "Judging", "done": len(judged), "total": len(statements)})
        return plain(evaluation.sql_figures(dialect, judged))

    async def import_cases(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Save the cases of a file of JSON lines."""
        verb, given = CASES["import_cases"], dict(arguments)
        if path := given.pop("file", None):
            read = await asyncio.to_thread(lambda: list(evaluation.read_objects(Path(path), _CASE_LINES)))
            given["cases"] = [line for _, line in read]
        return plain(await verb.run(self._request, checked(verb, given)))

    async def evaluate_results(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Fit large results into budgets, and look for answers that are known."""
        cases = await asyncio.to_thread(evaluation.read_result_cases, Path(arguments["cases"]))
        outcomes: list[Any] = []
        for case in cases:
            outcomes += await asyncio.to_thread(evaluation.evaluate_results, [case])
            tell({"stage": "Reading", "done": len(outcomes), "total": len(cases)})
        return plain(evaluation.result_figures(outcomes))
