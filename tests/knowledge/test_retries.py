"""A failed listing is retried automatically; a listing that was judged before is not judged again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.product import ListedServer, listed
from tests.support.waiting import eventually
from thresher.core import Caller
from thresher.knowledge.tools import ToolService, refresh_schedule
from thresher.knowledge.tools.refresh_schedule import MAX_PAUSE_SECONDS, pause
from thresher.services import Services


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries begin after hundredths of a second."""
    monkeypatch.setattr(refresh_schedule, "FIRST_SECONDS", 0.05)


async def _states(tools: ToolService, caller: Caller) -> dict[str, str]:
    return {server.name: server.state for server in await tools.list_servers(caller)}


@pytest.mark.usefixtures("soon")
async def test_a_server_that_comes_up_late_is_listed_without_being_asked_for(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """Its first listings fail; then it has tools, and they can be found."""
    late = ListedServer.at(tmp_path, "late", listed("wake", "Wake the house up."))
    late.breaks()
    await tools.add_server(caller, late.config)
    assert (await tools.refresh(caller)).failures

    late.lists(listed("wake", "Wake the house up."))

    async def ready() -> bool:
        return (await _states(tools, caller))["late"] == "ready"

    await eventually(ready)
    assert [tool.name for tool in (await tools.find_tools(caller, queries="wake the house up")).tools] == ["late_wake"]


@pytest.mark.usefixtures("soon")
async def test_a_stale_server_is_ready_again_when_it_lists_the_same_again(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """Its tools stay in use meanwhile."""
    server = ListedServer.at(tmp_path, "box", listed("pack"))
    await tools.add_server(caller, server.config)
    await tools.refresh(caller)
    server.breaks()
    await tools.refresh(caller)
    assert await _states(tools, caller) == {"box": "stale"}

    server.lists(listed("pack"))

    async def ready() -> bool:
        return (await _states(tools, caller))["box"] == "ready"

    await eventually(ready)
    assert [tool.name for tool in await tools.list_tools(caller)] == ["box_pack"]


@pytest.mark.usefixtures("soon")
async def test_a_server_that_never_answers_is_tried_ever_more_seldom_and_delays_nothing(
    services: Services, caller: Caller, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Others are listed meanwhile, and the service closes at once."""
    caplog.set_level("INFO", logger="thresher.knowledge")
    never = ListedServer.at(tmp_path, "never")
    never.breaks()
    await services.tools.add_server(caller, never.config)
    await services.tools.refresh(caller)

    def tries() -> int:
        return sum("server_refreshed" in record.getMessage() for record in caplog.records)

    await eventually(lambda: tries() >= 3)
    await services.tools.add_server(caller, ListedServer.at(tmp_path, "well", listed("go")).config)
    assert not (await services.tools.refresh(caller, "well")).failures
    assert await _states(services.tools, caller) == {"never": "failed", "well": "ready"}
    async with asyncio.timeout(2):
        await services.tools.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "listings tried again"]


@pytest.mark.usefixtures("soon")
async def test_a_removed_server_is_not_tried_again(tools: ToolService, caller: Caller, tmp_path: Path) -> None:
    """Its retries end."""
    gone = ListedServer.at(tmp_path, "gone")
    gone.breaks()
    await tools.add_server(caller, gone.config)
    await tools.refresh(caller)

    await tools.remove_server(caller, "gone")

    await eventually(lambda: not tools._refresher._retries._servers)


def test_pauses_double_up_to_ten_minutes() -> None:
    """However often it failed."""
    assert [pause(failures) for failures in (1, 2, 3, 7, 8, 1000)] == [
        5,
        10,
        20,
        320,
        MAX_PAUSE_SECONDS,
        MAX_PAUSE_SECONDS,
    ]


async def test_a_listing_that_was_judged_before_counts_no_change(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """Snapshots in use stay; everything is reported as kept."""
    server = ListedServer.at(tmp_path, "box", listed("pack"), listed("ship"))
    await tools.add_server(caller, server.config)
    await tools.refresh(caller)
    version = await tools.version(caller)

    done = await tools.refresh(caller)

    assert (done.embedded, done.kept, done.failures) == (0, 2, {})
    assert await tools.version(caller) == version


async def test_a_single_tool_listed_anew_makes_the_next_listing_count_in_full(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """The digest of the whole list is no longer valid."""
    server = ListedServer.at(tmp_path, "box", listed("pack"), listed("ship"))
    await tools.add_server(caller, server.config, auto_approve=True)
    await tools.refresh(caller)
    server.lists(listed("pack", "Packs much better."), listed("ship"))
    await tools.refresh(caller, tool="box_pack")

    server.lists(listed("pack"), listed("ship"))
    await tools.refresh(caller)

    described = await tools.describe_tools(caller, "box_pack")
    assert described.tools[0].tool.description == "Does pack."


async def test_a_vector_that_is_gone_is_made_again_by_the_next_refresh(
    services: Services, caller: Caller, tmp_path: Path
) -> None:
    """The mark of an indexed server does not count if the index lacks something."""
    server = ListedServer.at(tmp_path, "box", listed("pack", "Pack a parcel."))
    await services.tools.add_server(caller, server.config)
    await services.tools.refresh(caller)
    ids = [tool.id for tool in (await services.tools._catalogues.current(caller)).by_id.values() for tool in [tool.row]]
    await services.index.remove(caller.tenant, "tool", ids)

    await services.tools.refresh(caller)

    assert (await services.tools.find_tools(caller, queries="pack a parcel")).tools
