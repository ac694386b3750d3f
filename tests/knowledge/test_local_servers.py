"""Servers inside this process: who sees them, and what is kept while they are not offered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.product import CATALOGUE, known
from thresher.core import Caller, Conflict, InvalidInput, NotFound, Tool
from thresher.knowledge.tools import LocalServer, ToolService
from thresher.knowledge.tools.components import Offered
from thresher.knowledge.tools.models import LOCAL
from thresher.knowledge.tools.queries import ServerRow
from thresher.upstream import ServerConfig

SHIP = known("deploy:pack", "ship_release", "Ship a release of the product to the customers.")
DEPLOY = LocalServer("deploy:pack", (SHIP,), "Deployments.")


async def names(tools: ToolService, caller: Caller, **more: object) -> list[str]:
    """The tools that a search finds."""
    found = await tools.find_tools(caller, queries=["ship a release"], **more)  # type: ignore[arg-type]
    return [tool.name for tool in found.tools]


async def test_a_local_tool_is_found_described_and_resolved(tools: ToolService, caller: Caller) -> None:
    """Under the plain name of its server, and without a configuration."""
    await tools.import_tools(caller, CATALOGUE)
    await tools.offer(caller, [DEPLOY])
    await tools.index_offered(caller)

    resolved = await tools.resolve(caller, "deploy_ship_release")

    assert (await names(tools, caller))[0] == "deploy_ship_release"
    assert await names(tools, caller, servers=["deploy"]) == ["deploy_ship_release"]
    assert (await tools.describe_tools(caller, ["deploy_ship_release"])).tools[0].tool.description == SHIP.description
    assert resolved.config is None
    assert (resolved.tool.server, resolved.tool.name) == ("deploy:pack", "ship_release")


async def test_only_those_see_it_to_whom_it_is_offered(tools: ToolService, caller: Caller) -> None:
    """Another project, user or process has the row but no tool."""
    await tools.import_tools(caller, CATALOGUE)
    here = replace(caller, project="/projects/here")
    await tools.offer(here, [DEPLOY])
    await tools.index_offered(here)

    assert "deploy_ship_release" in await names(tools, here)
    for other in (caller, replace(caller, project="/projects/there"), replace(here, user="ann")):
        assert "deploy_ship_release" not in await names(tools, other)
        assert [server.name for server in await tools.list_servers(other) if server.transport == "local"] == []
        with pytest.raises(NotFound):
            await tools.resolve(other, "deploy_ship_release")


async def test_a_local_server_cannot_be_removed(tools: ToolService, caller: Caller) -> None:
    """It would return; it can be disabled."""
    await tools.offer(caller, [DEPLOY])

    with pytest.raises(Conflict, match=r"part of Thresher.*thresher servers disable deploy:pack"):
        await tools.remove_server(caller, DEPLOY.name)
    assert not (await tools.set_server_enabled(caller, DEPLOY.name, enabled=False)).enabled


async def test_a_switch_outlives_the_server(tools: ToolService, caller: Caller) -> None:
    """A disabled tool is still disabled when the server returns, even with other code."""
    await tools.offer(caller, [DEPLOY])
    await tools.set_tool(caller, "deploy_ship_release", enabled=False)
    await tools.offer(caller, [])
    gone = await tools.list_tools(caller)
    changed = LocalServer(DEPLOY.name, (replace(SHIP, description="Ship it."), known(DEPLOY.name, "roll_back")))
    await tools.offer(caller, [changed])

    assert gone == ()
    assert {tool.name: tool.enabled for tool in await tools.list_tools(caller)} == {
        "deploy_ship_release": False,
        "deploy_roll_back": True,
    }


async def test_the_same_offer_again_writes_nothing(tools: ToolService, caller: Caller) -> None:
    """The order of the tools does not matter."""
    other = known(DEPLOY.name, "roll_back")
    await tools.offer(caller, [replace(DEPLOY, tools=(SHIP, other))])
    counts = await tools.index_offered(caller)
    before = await tools.version(caller)
    await tools.offer(caller, [replace(DEPLOY, tools=(other, SHIP))])

    assert counts.embedded + counts.kept == 2
    assert await tools.version(caller) == before
    assert (await tools.index_offered(caller)).embedded == 0


async def test_an_upstream_server_of_that_name_is_another_server(tools: ToolService, caller: Caller) -> None:
    """Both can be named in a filter, and neither renames the tools of the other."""
    await tools.import_tools(caller, [Tool("deploy", "ship_release", description="Ship a release upstream.")])
    await tools.offer(caller, [DEPLOY])
    await tools.index_offered(caller)

    found = await names(tools, caller, servers=["deploy"], threshold=0)

    assert "deploy_ship_release" in found
    assert len(found) == 2
    with pytest.raises(InvalidInput, match="cannot be a server's name"):
        await tools.add_server(caller, ServerConfig("deploy:pack", "stdio", command="true"))


async def test_a_refresh_leaves_local_servers_alone(tools: ToolService, caller: Caller) -> None:
    """There is nothing to list; what the index lacks is added."""
    await tools.offer(caller, [DEPLOY])

    done = await tools.refresh(caller)

    assert done.failures == {}
    assert await names(tools, caller) == ["deploy_ship_release"]


def test_a_server_inside_this_process_is_none_that_an_unknown_address_may_lead_to() -> None:
    """Its tools are exposed unchanged, and it has no unlisted resources."""
    row = ServerRow(1, None, "notes", {"prefix": False}, None, "", True, "ready", "", None, False, False, 0, 0)
    inside = replace(row, id=2, name="ours", config={"prefix": False, "transport": LOCAL})
    offered = Offered(1, {"notes": row, "ours": inside}, {}, {}, {})

    assert offered.bare() == [row]
