"""Why a tool is in an answer of find_tools, or is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.product import CATALOGUE, ListedServer, listed, opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.tools import RankedTool, ToolInspection, ToolService
from thresher.store import Database

EVERY = 50
LOG = "show the commit history"


async def inspected(
    tools: ToolService, caller: Caller, *expected: str, limit: int = EVERY, message: str = LOG, **more: object
) -> dict[str, RankedTool]:
    """The tools that an answer names, in their order."""
    inspection = ToolInspection(limit, expected)
    found = await tools.find_tools(caller, message=message, inspection=inspection, **more)  # type: ignore[arg-type]
    assert {tool.name for tool in found.tools} == {tool.name for tool in found.ranked if tool.fate == "given"}
    return {tool.name: tool for tool in found.ranked}


async def test_without_an_inspection_only_the_chosen_tools_are_named(tools: ToolService, caller: Caller) -> None:
    """As for a model."""
    await tools.import_tools(caller, CATALOGUE)

    found = await tools.find_tools(caller, message=LOG)

    assert found.ranked == ()
    assert found.tools
    assert 0 < found.threshold < found.probability


async def test_what_is_given_comes_with_the_best_others(tools: ToolService, caller: Caller) -> None:
    """By rank, each with both arms and what became of it; expected ones whatever their rank."""
    await tools.import_tools(caller, CATALOGUE)

    every = await inspected(tools, caller)
    few = await inspected(tools, caller, "mail_send_email", "files/read_file", limit=1)
    first, *_ = every.values()

    assert (first.name, first.rank, first.fate, first.form) == ("git_git_log", 1, "given", "full")
    assert first.why.dense.rank == 1
    assert first.why.lexical.score is not None
    assert first.standing == 0
    assert [tool.rank for tool in every.values()] == [*range(1, len(CATALOGUE) + 1)]
    assert {tool.fate for tool in every.values()} - {"given"} <= {"floor", "need"}
    assert [name for name, tool in few.items() if tool.expected] == [
        name for name in every if name in ("mail_send_email", "files_read_file")
    ]
    assert few["mail_send_email"].rank == every["mail_send_email"].rank
    assert len([tool for tool in few.values() if tool.fate != "given" and not tool.expected]) <= 1
    assert all(tool.reason for tool in every.values())


async def test_a_limit_a_threshold_and_a_budget_are_named_as_the_reason(tools: ToolService, caller: Caller) -> None:
    """Each with the number that decided."""
    await tools.import_tools(caller, CATALOGUE)

    one = await inspected(tools, caller, limit=EVERY, threshold=0.0, message="work with files")
    limited = await tools.find_tools(
        caller, message="work with files", threshold=0.0, budget=50, inspection=ToolInspection(EVERY)
    )
    refused = await inspected(tools, caller, threshold=1.0)
    none = await inspected(tools, caller, message="hello")

    assert set(one) == {tool.name for tool in limited.ranked}
    crowded = [tool for tool in limited.ranked if tool.fate == "budget"]
    assert crowded
    assert crowded[0].reason == "no room was left in 50 tokens"
    assert {tool.fate for tool in (*refused.values(), *none.values())} == {"abstained"}
    assert "of at least 1.00" in refused["git_git_log"].reason
    few = await tools.find_tools(
        caller, message="work with files", limit=1, threshold=0.0, inspection=ToolInspection(9)
    )
    assert "beyond the limit of 1 tools" in [tool.reason for tool in few.ranked]


async def test_copies_are_named_with_the_tool_that_stands_for_them(tools: ToolService, caller: Caller) -> None:
    """The same definition on two servers is one tool."""
    twins = [replace(tool, server="git2") for tool in CATALOGUE if tool.server == "git"]
    await tools.import_tools(caller, [*CATALOGUE, *twins])

    found = await inspected(tools, caller, "git2_git_log", "git_git_log")

    fates = {found[name].fate: found[name] for name in ("git_git_log", "git2_git_log")}
    assert fates.keys() == {"given", "copy"}
    assert fates["copy"].copy_of == fates["given"].name
    assert fates["given"].name in fates["copy"].reason


async def test_an_expected_tool_that_was_not_searched_says_why(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """Disabled, on another server, outside the category, held back, or not there at all."""
    box = ListedServer.at(tmp_path, "box", listed("open_box", "Opens a wooden box."), listed("close_box"))
    await tools.import_tools(caller, CATALOGUE)
    await tools.add_server(caller, box.config)
    await tools.refresh(caller)
    box.lists(listed("open_box", "Opens a box with a crowbar."), listed("close_box"))
    await tools.refresh(caller)
    await tools.set_tool(caller, "mail_send_email", enabled=False)
    await tools.categories.choose(caller, "boxes", ["box_close_box"])
    wanted = ("mail_send_email", "time_convert_time", "box_open_box", "git_git_lag")

    found = await inspected(tools, caller, *wanted, servers=["git", "box"], message="open a wooden box")
    boxes = await inspected(tools, caller, "git_git_log", categories=["boxes"], message="open a wooden box")

    assert {name: found[name].fate for name in wanted} == {
        "mail_send_email": "disabled",
        "time_convert_time": "server",
        "box_open_box": "held",
        "git_git_lag": "unknown",
    }
    assert all(found[name].expected and found[name].rank is None for name in wanted)
    assert found["box_open_box"].reason == "fits, and is held back until a person approves: its definition has changed"
    assert "git_git_log" in found["git_git_lag"].reason
    assert boxes["git_git_log"].fate == "category"


async def test_a_tool_that_no_arm_has_among_its_best_has_its_ranks(tools: ToolService, caller: Caller) -> None:
    """Among more tools than are compared."""
    others = [
        replace(CATALOGUE[0], server="shop", name=f"read_part_{number}", description=f"Read the part number {number}.")
        for number in range(130)
    ]
    await tools.import_tools(caller, [*CATALOGUE, *others])

    found = await inspected(tools, caller, "weather_get_forecast", message="read a part number")

    forecast = found["weather_get_forecast"]
    assert (forecast.fate, forecast.rank) == ("candidates", None)
    assert forecast.why.dense.rank is not None
    assert forecast.why.dense.rank > 100
    assert "by meaning" in forecast.reason


async def test_selection_that_is_off_is_the_reason(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """Nothing is searched then."""
    async with opened(database, tenant, settings.model_copy(update={"selection": "off"}), encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)

        found = await services.tools.find_tools(
            services.caller, message=LOG, inspection=ToolInspection(5, ("git_git_log",))
        )

    assert [(tool.name, tool.fate) for tool in found.ranked] == [("git_git_log", "off")]
