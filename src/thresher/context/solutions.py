"""Names the workspace and the solution that a caller works in, for rules that ask for them.

Invariant: where a caller works in no workspace, a project is named as without this kind: by its folder.
"""

from __future__ import annotations

from pathlib import PurePath

from thresher.context.variables import Situation, Variables
from thresher.knowledge.solutions import SolutionService


def name_solution(variables: Variables, solutions: SolutionService) -> None:
    """Give `PROJECT_NAME` and `ACTIVE_SOLUTION` values, for the rules of all packs.

    Args:
        variables: Where they are registered.
        solutions: Knows where a caller works.
    """

    async def project(situation: Situation) -> str | None:
        workspace, _ = await solutions.working_in(situation.caller)
        return workspace or PurePath(situation.caller.project).name or None

    async def active(situation: Situation) -> str | None:
        _, solution = await solutions.working_in(situation.caller)
        return solution

    variables.register("PROJECT_NAME", project)
    variables.register("ACTIVE_SOLUTION", active)
