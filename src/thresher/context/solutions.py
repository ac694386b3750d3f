"""Names the project, the solution and the database servers that a caller works with, for rules that ask for them.

Invariant: where a caller works in no workspace, the project is named by its folder, and all databases are.
"""

from __future__ import annotations

import asyncio
from pathlib import PurePath

from thresher.context.datasources import servers_line
from thresher.context.variables import Situation, Variables
from thresher.core import Caller, ThresherError
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.solutions import SolutionService

_SECONDS = 0.15
"""How long the tables of a workspace are waited for: below what a value may take in all."""


def name_solution(variables: Variables, solutions: SolutionService, databases: DatabaseService) -> None:
    """Give `PROJECT_NAME`, `ACTIVE_SOLUTION` and `DATABASE_SERVERS` values, for the rules of all packs.

    Args:
        variables: Where they are registered.
        solutions: Knows where a caller works.
        databases: Knows the connections that stand for the servers of a workspace.
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
    """The database servers whose tables a workspace knows; none where they cannot be read in time."""
    try:
        async with asyncio.timeout(_SECONDS):
            return frozenset(table.server for table in await solutions.tables(caller, workspace) if table.server)
    except (TimeoutError, ThresherError):
        return frozenset()
