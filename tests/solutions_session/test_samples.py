"""A shorter day on two real workspaces: their content is not stored here, so properties of every change are tested."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.solutions_session.day import Clients, Repository, clients_of, taken_back, words
from tests.support.servoy_workspace import sample_workspaces
from thresher.knowledge.solutions import check_round_trip
from thresher.services import Services

pytestmark = pytest.mark.bench_data
UUID = re.compile(r"^\+.*\b[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}\b", re.MULTILINE)


class Day:
    """Calls that must succeed, each committed.

    Attributes:
        lines: Lines changed by the last call.
        diff: Its diff.
    """

    def __init__(self, clients: Clients, repository: Repository) -> None:
        self._clients = clients
        self._repository = repository
        self.lines = 0
        self.diff = ""

    async def __call__(self, tool: str, /, **arguments: Any) -> Mapping[str, Any]:
        """The record of an answer."""
        answer = await self._clients.call(tool, arguments)
        assert not answer.is_error, (tool, arguments, words(answer))
        self.diff, self.lines = self._repository.diff(), self._repository.lines_changed()
        self._repository.keep(tool)
        return answer.structured_content or {}


@pytest.fixture(
    params=[("example-solutions", "exampleDataModel"), ("ai-plugin", "Example_AI_Plugin")], ids=["classic", "json"]
)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Repository, str]:
    """A copy of a real workspace under version control, and one of its solutions."""
    folder, solution = request.param
    shutil.copytree(sample_workspaces() / folder, tmp_path / "copy")
    for path in [tmp_path / "copy", *(tmp_path / "copy").rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)  # the data may be stored read-only
    return Repository(tmp_path / "copy"), solution


async def test_a_day_in_a_real_workspace(services: Services, sample: tuple[Repository, str]) -> None:
    """Showing changes nothing, a change is a few lines, new files are in the dialect, and everything can be undone."""
    repository, solution = sample
    await services.solutions.add_workspace(services.caller, str(repository.root), "real")
    async with clients_of(services, "auto") as clients:
        day = Day(clients, repository)
        await day("set_solution_context", active=solution)
        found = (await day("list_relations", scope="current"))["objects"]
        for one in found:
            await day("open_relation", name=one["name"])
            assert day.diff == ""
        await relations(day, found[0]["name"])
        await value_lists(day, found[0]["name"])
        trip = check_round_trip(repository.root)
        await taken_back(clients)

    assert (trip.differ, trip.broken) == ((), ())
    assert repository.diff(repository.first()) == ""


async def relations(day: Day, name: str) -> None:
    """Change, rename, delete and create relations like an existing one."""
    known = (await day("open_relation", name=name))["relation"]
    await day("update_relation", name=name, comment="Seen")
    assert day.lines == 1
    await day("update_relation", name=name, comment="")
    assert day.lines == 1
    renamed = await day("rename_relation", name=name, new_name=f"{name}_seen", force=True, confirm=True)
    assert day.lines == 2 + 2 * len(renamed["change"]["rewritten"])
    await day("rename_relation", name=f"{name}_seen", new_name=name, force=True, confirm=True)
    sources = {side: known[side] for side in ("primary_datasource", "foreign_datasource")}
    pairs = [{"primary": item["primary"], "foreign": item["foreign"]} for item in known["items"]]
    made = await day("open_relation", name="made_like_it", **sources, items=pairs, allow_creation=True)
    assert len(UUID.findall(day.diff)) == 1 + len(pairs)
    assert day.diff.endswith("\\ No newline at end of file\n")
    assert made["relation"]["items"][0]["primary"] == pairs[0]["primary"]
    await day("delete_relations", names=["made_like_it"])


async def value_lists(day: Day, relation: str) -> None:
    """Value lists of fixed values, a table and a relation; each is returned again as created."""
    known = (await day("open_relation", name=relation))["relation"]
    table, column = known["foreign_datasource"], known["items"][0]["foreign"]
    wishes: Mapping[str, Mapping[str, Any]] = {
        "made_custom": {"custom_values": ["One|1", "Two|2"]},
        "made_table": {"datasource": table, "display_column": column, "sort": f"{column} asc"},
        "made_related": {"relation": relation, "display_column": column, "add_empty": "always"},
    }
    for name, wish in wishes.items():
        made = await day("open_value_list", name=name, **wish)
        assert made["change"]["action"] == "created"
        assert (await day("open_value_list", name=name, **wish))["value_list"] == made["value_list"]
        assert day.diff == ""
    listed = (await day("list_value_lists", scope="current"))["objects"]
    assert set(wishes) <= {one["name"] for one in listed}
    await day("rename_value_list", name="made_custom", new_name="made_fixed")
    assert day.lines == 2, day.diff
    await day("delete_value_lists", names=["made_fixed", "made_table", "made_related"])
