"""Verbs of databases: connections, their schemas, statements that only read; and the guard on known statements.

Invariant: the same names and arguments as on every other face; an address comes in and never goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thresher.app import App, rehearsed
from thresher.core import Caller, DatabaseUnavailable, InvalidInput, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.evaluation import dialect_of, judge_statements, read_statements, sql_figures
from thresher.knowledge.databases import Asker, Connection
from thresher.sqlguard import Verdict, judge

_ADD = frozenset({"name", "url", "samples", "description", "allow_functions", "replace", "test"})
_SCHEMA = frozenset({"connection", "table", "question", "budget", "cursor"})
_TABLES = frozenset({"connection", "search", "schema", "limit", "cursor"})
_COLUMNS = frozenset({"connection", "table"})
_QUERY = frozenset({"connection", "sql", "max_rows", "cursor"})
_EXPLAIN = frozenset({"connection", "sql"})
_SEARCH = frozenset({"query", "connection", "limit"})
_JUDGED_AT_ONCE = 100
"""Statements between two events: the guard is quick, and its thread should not be changed for each."""


def database_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work.
    """
    verbs = _Databases(app, caller)
    kept = (verbs.add_connection, verbs.remove_connection, verbs.refresh_schema)
    shown = (verbs.list_connections, verbs.show_connection, verbs.session_info)
    schema = (verbs.query_database_schema, verbs.list_tables, verbs.get_table_columns, verbs.search_schema)
    asked = (verbs.find_relations, verbs.sql_query, verbs.sql_explain)
    named: dict[str, Verb] = {verb.__name__: verb for verb in (*kept, *shown, *schema, *asked)}
    return {**named, "test_connection": verbs.try_connection, "evaluate_sql": _evaluate}


class _Databases:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._app = app
        self._databases = app.services.databases
        self._solutions = app.services.solutions
        self._readiness = app.services.context.readiness
        self._caller = caller

    async def add_connection(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a connection that works, and say how it was tested; `test: false` keeps it untried."""
        given = _known(arguments, _ADD)
        name, test = str(given["name"]), given.pop("test", True)
        if not test:
            return plain({"connection": await self._add(given), "test": None})
        async with rehearsed(self._app) as trial:
            databases = trial.services.databases
            await databases.add_connection(self._caller, **given)
            health = await databases.test_connection(self._caller, name)
        if not health.ok:
            raise DatabaseUnavailable(
                f"The connection '{name}' was not added. {health.problem}",
                hint="Correct the address, or see that the database runs; --no-test keeps it as it is.",
            )
        tell({"checked": f"the database of '{name}' answers"})
        kept = await self._add(given)
        return plain({"connection": kept, "test": await self._databases.test_connection(self._caller, name)})

    async def _add(self, given: Mapping[str, Any]) -> Connection:
        kept = await self._databases.add_connection(self._caller, **given)
        self._readiness.look_again()
        return kept

    async def remove_connection(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        await self._databases.remove_connection(self._caller, str(arguments["name"]))
        await self._solutions.provide_schemas(self._caller)  # what a workspace knows of it stands in for it again
        self._readiness.look_again()
        return {"removed": str(arguments["name"])}

    async def list_connections(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.list_connections(self._caller))

    async def show_connection(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.connection(self._caller, str(arguments["name"])))

    async def try_connection(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.test_connection(self._caller, str(arguments["name"])))

    async def session_info(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.session_info(self._caller, str(arguments["name"])))

    async def refresh_schema(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.refresh_schema(self._caller, str(arguments["name"])))

    async def query_database_schema(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.query_database_schema(self._caller, **_known(arguments, _SCHEMA)))

    async def list_tables(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.list_tables(self._caller, **_known(arguments, _TABLES)))

    async def get_table_columns(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.get_table_columns(self._caller, **_known(arguments, _COLUMNS)))

    async def search_schema(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.search_schema(self._caller, **_known(arguments, _SEARCH)))

    async def find_relations(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._databases.find_relations(self._caller, str(arguments["connection"])))

    async def sql_query(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        given = _known(arguments, _QUERY)
        return plain(await self._databases.query(self._caller, **given, who=_asker("sql_query")))

    async def sql_explain(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        given = _known(arguments, _EXPLAIN)
        return plain(await self._databases.explain(self._caller, **given, who=_asker("sql_explain")))


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


def _asker(verb: str) -> Asker:
    return Asker(client="thresher command", tool=verb)


def _known(arguments: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    if unknown := sorted(set(arguments) - known):
        raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {', '.join(sorted(known))}.")
    return dict(arguments)
