"""A developer's day over MCP; after each step `git diff` is compared with a golden file.

`THRESHER_WRITE_GOLDENS=1` rewrites the golden files; read every line that `git diff` then shows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

from tests.solutions_session.day import Clients, Repository, clients_of, number_uuids, taken_back, transcript
from tests.solutions_session.steps import DAY, Step
from tests.support.servoy_workspace import bookshop
from thresher.knowledge.solutions import check_round_trip
from thresher.services import Services
from thresher.servoy import Dialect

GOLDENS = Path(__file__).parent / "goldens"
WRITES = os.environ.get("THRESHER_WRITE_GOLDENS") == "1"


@pytest.mark.parametrize(("dialect", "mode"), [("classic", "legacy"), ("json", "auto")])
async def test_each_step_of_a_day_changes_what_its_golden_file_shows_and_is_undone(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: Dialect, mode: Any
) -> None:
    """Both dialects, clients of both eras; every file remains one that Servoy could have written."""
    number_uuids(monkeypatch)
    repository = Repository(bookshop(tmp_path / "books", dialect).root)
    await services.solutions.add_workspace(services.caller, str(repository.root))
    async with clients_of(services, mode) as clients:
        day = await lived(clients, repository)
        trip = check_round_trip(repository.root)
        undone = await taken_back(clients)

    assert expected(GOLDENS / dialect, day) == day
    assert (trip.differ, trip.broken) == ((), ())
    assert undone > 30
    assert repository.diff(repository.first()) == ""


async def lived(clients: Clients, repository: Repository) -> dict[str, str]:
    """Take all steps; return the transcript of each by the name of its golden file."""
    changes: dict[str, str] = {}
    day: dict[str, str] = {}
    wrong: list[str] = []
    for number, step in enumerate(DAY, 1):
        result, diff = await taken(clients, repository, step, changes)
        said = transcript(step, result, clients.asked, diff).replace(str(repository.root), "ROOT")
        day[f"{number:02d}-{step.title.replace(',', '').replace(' ', '-')}.diff"] = said
        if bool(result.is_error) != bool(step.refused) or step.refused not in said or (step.refused and diff):
            wrong.append(said)
        if diff:
            repository.keep(step.title)
    assert not wrong, "\n\n".join(wrong[:3])
    return day


async def taken(
    clients: Clients, repository: Repository, step: Step, changes: dict[str, str]
) -> tuple[CallToolResult, str]:
    """Take one step; return its answer and diff, and note its change."""
    back = {"change_id": changes[step.takes_back]} if step.takes_back else {}
    clients.asked.clear()
    result = await clients.call(step.tool, {**step.arguments, **back}, step.person)
    made: Any = (result.structured_content or {}).get("change") or {}
    changes[step.title] = made.get("id", "")
    return result, repository.diff()


def expected(folder: Path, day: Mapping[str, str]) -> dict[str, str]:
    """The golden files of a folder, rewritten first on request."""
    if WRITES:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, said in day.items():
            (folder / name).write_text(said, encoding="utf-8", newline="")
    return {file.name: file.read_bytes().decode() for file in sorted(folder.iterdir())}
