"""What only commands do with databases: a tested connection, and the guard on statements whose verdict is known."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thresher.app import App, rehearsed
from thresher.core import Caller, DatabaseUnavailable, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.evaluation import dialect_of, judge_statements, read_statements, sql_figures
from thresher.sqlguard import Verdict, judge
from thresher.verbs import DATABASES, Request, checked

_ADD = DATABASES["add_connection"]
_JUDGED_AT_ONCE = 100
"""Statements between two events: the guard is quick, and its thread should not be changed for each."""


def database_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """What only commands do with databases: try a connection before it is kept, and judge known statements."""

    async def add_connection(arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a connection that works, and return how it was tested; `test: false` keeps it without a test."""
        given = dict(arguments)
        test = given.pop("test", True)
        given = checked(_ADD, given)
        if not test:
            return plain({"connection": await _ADD.run(Request(app.services, caller), given), "test": None})
        name = given["name"]
        async with rehearsed(app) as trial:
            await _ADD.run(Request(trial.services, caller), given)
            health = await trial.services.databases.test_connection(caller, name)
        if not health.ok:
            raise DatabaseUnavailable(
                f"The connection '{name}' was not added. {health.problem}",
                hint="Correct the address, or see that the database runs; --no-test keeps it as it is.",
            )
        tell({"checked": f"the database of '{name}' answers"})
        added = await _ADD.run(Request(app.services, caller), given)
        return plain({"connection": added, "test": await app.services.databases.test_connection(caller, name)})

    return {"add_connection": add_connection, "evaluate_sql": _evaluate}


async def _evaluate(arguments: Mapping[str, Any], tell: Progress) -> Any:
    """Ask the guard about statements whose verdict is known."""
    dialect = dialect_of(str(arguments["dialect"]))
    statements = await asyncio.to_thread(read_statements, Path(arguments["statements"]))

    def asked(sql: str) -> Verdict:
        return judge(sql, dialect)

    await asyncio.to_thread(asked, "SELECT 1")  # what is read once in a process belongs to no statement
    judged: list[Any] = []
    for start in range(0, len(statements), _JUDGED_AT_ONCE):
        some = statements[start : start + _JUDGED_AT_ONCE]
        judged += await asyncio.to_thread(judge_statements, asked, some)
        tell({"stage": "Judging", "done": len(judged), "total": len(statements)})
    return plain(sql_figures(dialect, judged))
