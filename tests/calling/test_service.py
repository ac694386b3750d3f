"""Running tools without any face: what the agent does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.conftest import _a_busy_machine_is_waited_for, caller, encoder, services, tools
from tests.gateway.test_gateway import box
from tests.support.product import ListedServer
from thresher.agent.assistant import run_tool
from thresher.calling import Call, Result
from thresher.core import InvalidInput, NotFound
from thresher.services import Services

__all__ = ["_a_busy_machine_is_waited_for", "box", "caller", "encoder", "services", "tools"]
SOURCE = Path(__file__).parents[2] / "src" / "thresher" / "calling"


@pytest.mark.usefixtures("box")
async def test_a_tool_is_run_for_a_caller_that_has_no_client(services: Services) -> None:
    """Under its exposed name or by `call_tool`; the answer is plain JSON."""
    direct = await services.calling.call(services.caller, Call("box_open_box", {"count": "1"}))
    through = await services.calling.call(services.caller, Call("call_tool", {"name": "box_open_box"}))

    assert not direct.is_error
    assert not through.is_error
    assert all(isinstance(block, dict) for block in direct.content)
    assert direct.text


@pytest.mark.usefixtures("box")
async def test_our_own_tools_are_run_by_the_same_door(services: Services) -> None:
    """Each gives a text for a model, and the same as data."""
    found = await services.calling.call(services.caller, Call("find_tools", {"message": "Open a box with a key."}))
    described = await services.calling.call(services.caller, Call("describe_tools", {"names": "box_open_box"}))

    assert "box_open_box" in [tool["name"] for tool in found.structured["tools"]]
    assert "box_open_box" in found.text
    assert [tool["name"] for tool in described.structured["tools"]] == ["box_open_box"]


async def test_what_cannot_be_run_is_an_error_of_ours(services: Services, box: ListedServer) -> None:
    """Each face turns it into its own form; the agent reads a text."""
    calling, caller = services.calling, services.caller
    with pytest.raises(NotFound):
        await calling.call(caller, Call("no_such_tool"))
    with pytest.raises(InvalidInput, match="call_tool_write"):
        await calling.call(caller, Call("call_tool", {"name": "box_close_box"}))
    told = await run_tool(calling, caller, "no_such_tool", {}, 10.0)
    late = await run_tool(calling, caller, "box_open_box", {}, 0.0)

    assert isinstance(told, Result)
    assert told.is_error
    assert "There is no tool 'no_such_tool'" in told.text
    assert late == "box_open_box did not answer within 0 s."


@pytest.mark.usefixtures("box")
async def test_a_call_is_logged_however_it_ends(services: Services) -> None:
    """By its state, without its arguments."""
    for name in ("box_open_box", "no_such_tool"):
        await run_tool(services.calling, services.caller, name, {}, 10.0)
    await services.tools.settle()

    statistics = await services.tools.stats(services.caller)
    assert statistics.calls == 2
