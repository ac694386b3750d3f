"""Variables of the knowledge kinds: databases, API providers, the project and the solution that a caller works with.

Invariant: nothing is requested of a database itself; what is not known yet is missing, and names are bounded. If a
caller works in no workspace, the project is named by its folder, and all databases are named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import PurePath
from typing import TypeAlias

from thresher.context.variables import VALUE_CHARACTERS, Situation, Variables
from thresher.core import Caller, ThresherError, named
from thresher.knowledge.apis import ApiService
from thresher.knowledge.databases import Connection, DatabaseService, TableBrief
from thresher.knowledge.solutions import SolutionService

_ROOM = VALUE_CHARACTERS - 20
"""Characters of all names, leaving room for the count of what is cut."""
_MOST = 40
"""Tables of one connection that are looked at."""
_SHARE = 8
"""Connections that are named with tables: more would leave room for one table each."""
_SECONDS = 0.15
"""How long tables are waited for: below what a value may take in all."""

_Tables: TypeAlias = tuple[str, Sequence[TableBrief], int]
"""A connection's name, some of its tables, and their total number."""


def name_datasources(variables: Variables, databases: DatabaseService) -> None:
    """Provide `DATABASE_CONNECTIONS` and `AVAILABLE_DATASOURCES` for the rules of all packs.

    Args:
        variables: Where they are registered.
        databases: The connections and their tables.
    """
    asked: set[asyncio.Task[_Tables | None]] = set()

    async def all_connections(situation: Situation) -> str | None:
        return servers_line(await databases.list_connections(situation.caller))

    async def sources(situation: Situation) -> str | None:
        known = [one for one in await databases.list_connections(situation.caller) if one.tables][:_SHARE]
        tasks = [asyncio.create_task(_some_tables(databases, situation.caller, one.name)) for one in known]
        asked.update(tasks)
        for task in tasks:
            task.add_done_callback(asked.discard)
        if tasks:
            # A large schema continues to load, and is ready the next time.
            await asyncio.wait(tasks, timeout=_SECONDS)
        pairs = zip(known, tasks, strict=True)
        found = [task.result() if task.done() else (one.name, (), one.tables) for one, task in pairs]
        return sources_line([one for one in found if one is not None])

    variables.register("DATABASE_CONNECTIONS", all_connections)
    variables.register("AVAILABLE_DATASOURCES", sources)


async def _some_tables(databases: DatabaseService, caller: Caller, name: str) -> _Tables | None:
    """Some tables of a connection; None if it is gone or fails: others can be named anyway."""
    try:
        found = await databases.list_tables(caller, name, limit=_MOST)
    except ThresherError:
        return None
    return name, found.tables, found.total


def servers_line(connections: Sequence[Connection]) -> str | None:
    """Return all connections in one line, each with its engine."""
    return ", ".join(f"{named(one.name)} ({one.dialect})" for one in connections) or None


def sources_line(connections: Sequence[_Tables]) -> str | None:
    """Return tables as `db:/connection/table`, as many of each connection as fit its share of one line.

    Args:
        connections: Name, some tables, and their total number.
    """
    share = _ROOM // max(1, len(connections))
    parts = [_tables(name, tables, total, share) for name, tables, total in connections]
    return "; ".join(parts) or None


def _tables(connection: str, tables: Sequence[TableBrief], total: int, room: int) -> str:
    """The tables of one connection within a number of characters, and how many more there are."""
    several = len({table.schema for table in tables}) > 1
    taken: list[str] = []
    for table in tables:
        name = f"{table.schema}.{table.name}" if several and table.schema else table.name
        path = named(f"db:/{connection}/{name}", VALUE_CHARACTERS)
        if sum(len(one) + 2 for one in taken) + len(path) + 18 > room:
            break
        taken.append(path)
    more = total - len(taken)
    listed = ", ".join(taken) or named(f"db:/{connection}")
    return f"{listed} and {more:,} more" if more else listed


def name_solution(variables: Variables, solutions: SolutionService, databases: DatabaseService) -> None:
    """Provide `PROJECT_NAME`, `ACTIVE_SOLUTION` and `DATABASE_SERVERS` for the rules of all packs.

    Args:
        variables: Where they are registered.
        solutions: The workspaces of callers.
        databases: The connections that belong to the servers of a workspace.
    """

    async def project(situation: Situation) -> str | None:
        workspace, solution = await solutions.working_in(situation.caller)
        return solution or workspace or PurePath(situation.caller.project).name or None

    async def active(situation: Situation) -> str | None:
        _, solution = await solutions.working_in(situation.caller)
        return solution

    async def servers(situation: Situation) -> str | None:
        caller = situation.caller
        workspace, _ = await solutions.working_in(caller)
        connections = await databases.list_connections(caller)
        if workspace is not None:
            names = await _server_names(solutions, caller, workspace)
            connections = tuple(one for one in connections if one.workspace == workspace or one.name in names)
        return servers_line(connections)

    variables.register("DATABASE_SERVERS", servers)
    variables.register("PROJECT_NAME", project)
    variables.register("ACTIVE_SOLUTION", active)


async def _server_names(solutions: SolutionService, caller: Caller, workspace: str) -> frozenset[str]:
    """The database servers whose tables a workspace knows; none if they cannot be read in time."""
    try:
        async with asyncio.timeout(_SECONDS):
            return frozenset(table.server for table in await solutions.tables(caller, workspace) if table.server)
    except (TimeoutError, ThresherError):
        return frozenset()


def name_providers(variables: Variables, apis: ApiService) -> None:
    """Provide `API_PROVIDERS` for the rules of all packs.

    Args:
        variables: Where it is registered.
        apis: The providers.
    """

    async def providers(situation: Situation) -> str | None:
        return await apis.overview(situation.caller) or None

    variables.register("API_PROVIDERS", providers)
