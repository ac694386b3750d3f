"""Variables about the workspace that a caller works in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.servoy_workspace import bookshop
from thresher.context import ContextService, Situation
from thresher.core import Caller
from thresher.services import Services

NAMES = ("PROJECT_NAME", "ACTIVE_SOLUTION", "DATABASE_SERVERS")


async def test_rules_name_the_active_project_and_the_servers_of_the_workspace(
    context: ContextService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """The solution is the project; a live connection represents the server of its name, and others are not named."""
    await services.databases.add_connection(caller, "other", f"sqlite:///{_database(tmp_path / 'other.db')}")
    await services.databases.add_connection(caller, "shop", f"sqlite:///{_database(tmp_path / 'shop.db')}")
    workspace = bookshop(tmp_path / "books").root
    here = replace(caller, project=str(workspace))
    before = await context.variables.values(Situation(here), NAMES)
    await services.solutions.add_workspace(here, str(workspace))
    await services.solutions.set_solution_context(here, "shop_data")

    named = await context.variables.values(Situation(here), NAMES)

    assert before == {
        "PROJECT_NAME": "books",
        "ACTIVE_SOLUTION": None,
        "DATABASE_SERVERS": "other (sqlite), shop (sqlite)",
    }
    assert named == {
        "PROJECT_NAME": "shop_data",
        "ACTIVE_SOLUTION": "shop_data",
        "DATABASE_SERVERS": "notes_db (servoy), shop (sqlite)",
    }


def _database(file: Path) -> Path:
    """An empty database."""
    file.touch()
    return file
