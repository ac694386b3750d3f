"""Tenants and users with servers of one name: none reaches another's tools, sessions or credentials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.product import ListedServer, listed
from thresher.core import Caller, NotAllowed, NotFound, Tenant, UpstreamError
from thresher.knowledge.tools import ToolService
from thresher.services import Services
from thresher.upstream import ServerConfig


def server(folder: Path, whose: str, *tools: str) -> ListedServer:
    """A server called `box`, with a secret and a tool of its owner's own."""
    place = folder / whose
    place.mkdir()
    own = (listed("open_box", f"Opens the box of {whose}."), *(listed(name) for name in tools))
    return ListedServer.at(place, "box", *own, env={"BOX_OWNER": whose})


async def add(tools: ToolService, caller: Caller, box: ListedServer) -> None:
    """Add a server and list it."""
    await tools.add_server(caller, box.config)
    await tools.refresh(caller, "box")


@pytest.fixture
def ann(caller: Caller) -> Caller:
    """A user of the tenant."""
    return replace(caller, user="ann")


@pytest.fixture
def bob(caller: Caller) -> Caller:
    """Another one."""
    return replace(caller, user="bob")


async def test_a_users_own_server_stands_before_the_tenants_for_that_user_alone(
    tools: ToolService, caller: Caller, ann: Caller, bob: Caller, tmp_path: Path
) -> None:
    """Names, definitions, connection and sessions are those of the user's own; others still see the shared one."""
    await add(tools, caller, server(tmp_path, "tenant", "only_shared"))
    await add(tools, ann, server(tmp_path, "ann", "only_ann"))

    seen = {
        who.user: (await tools.resolve(who, "box_open_box"), {tool.name for tool in await tools.list_tools(who)})
        for who in (caller, ann, bob)
    }

    assert {user: (at.config.env["BOX_OWNER"], at.config.identity) for user, (at, _) in seen.items()} == {
        None: ("tenant", ""),
        "ann": ("ann", "ann"),
        "bob": ("tenant", ""),
    }
    assert seen["ann"][1] == {"box_open_box", "box_only_ann"}
    assert seen[None][1] == seen["bob"][1] == {"box_open_box", "box_only_shared"}
    for who, hidden in ((ann, "box_only_shared"), (bob, "box_only_ann"), (caller, "box_only_ann")):
        with pytest.raises(NotFound):
            await tools.resolve(who, hidden)


async def test_search_finds_for_each_user_what_that_user_may_call(
    tools: ToolService, caller: Caller, ann: Caller, bob: Caller, tmp_path: Path
) -> None:
    """The hidden duplicate is not shown and takes no place."""
    await add(tools, caller, server(tmp_path, "tenant", "only_shared"))
    await add(tools, ann, server(tmp_path, "ann", "only_ann"))

    answers = {
        who.user: await tools.find_tools(who, queries=["open the box"], threshold=0, limit=10)
        for who in (caller, ann, bob)
    }

    assert {user: {tool.name for tool in answer.tools} for user, answer in answers.items()} == {
        None: {"box_open_box", "box_only_shared"},
        "ann": {"box_open_box", "box_only_ann"},
        "bob": {"box_open_box", "box_only_shared"},
    }
    assert {answer.total_searched for answer in answers.values()} == {2}


async def test_two_users_with_servers_of_one_name_use_sessions_of_their_own(
    services: Services, ann: Caller, bob: Caller, tmp_path: Path
) -> None:
    """Each has a child process of its own, with its own secret."""
    tools, upstreams = services.tools, services.upstreams
    await add(tools, ann, server(tmp_path, "ann"))
    await add(tools, bob, server(tmp_path, "bob"))

    states = {state.identity: state.pid for state in upstreams.states()}

    assert set(states) == {"ann", "bob"}
    assert len(set(states.values())) == 2
    assert [item.name for item in await tools.list_servers(ann)] == ["box"]
    assert not (await tools.list_servers(ann))[0].shared


async def test_a_user_ends_no_session_with_a_server_of_another_owner(
    services: Services, caller: Caller, ann: Caller, bob: Caller, tmp_path: Path
) -> None:
    """Neither by trying to add a server of the same name nor by disabling or removing their own."""
    tools, upstreams = services.tools, services.upstreams
    await add(tools, caller, server(tmp_path, "tenant"))
    await add(tools, bob, server(tmp_path, "bob"))
    before = {state.identity: state.pid for state in upstreams.states()}

    with pytest.raises(UpstreamError):
        await tools.check_server(ann, ServerConfig("box", "stdio", command="false"))
    await add(tools, ann, server(tmp_path, "ann"))
    await tools.set_server_enabled(ann, "box", False)
    await tools.remove_server(ann, "box")

    assert {state.identity: state.pid for state in upstreams.states()} == before
    assert None not in before.values()


async def test_two_tenants_with_servers_of_one_name_never_meet(
    services: Services, caller: Caller, other_tenant: Tenant, tmp_path: Path
) -> None:
    """Tools, configuration, sessions, and what waits for approval."""
    tools, other = services.tools, Caller(other_tenant)
    theirs = server(tmp_path, "theirs")
    await add(tools, caller, server(tmp_path, "ours", "only_ours"))
    await add(tools, other, theirs)
    theirs.lists(listed("open_box", "Opens another box."))
    await tools.refresh(other)

    ours = await tools.resolve(caller, "box_open_box")
    await tools.set_server_enabled(caller, "box", False)

    assert (ours.config.env["BOX_OWNER"], ours.config.tenant) == ("ours", caller.tenant.id)
    assert len({state.tenant for state in services.upstreams.states()} - {caller.tenant.id}) == 1
    assert await tools.held_tools(caller) == ()
    assert [held.name for held in await tools.held_tools(other)] == ["box_open_box"]
    with pytest.raises(NotFound):
        await tools.approve_tools(caller, {held.name: held.digest for held in await tools.held_tools(other)})
    with pytest.raises(NotFound):
        await tools.resolve(other, "box_only_ours")
    assert (await tools.list_servers(other))[0].enabled


async def test_a_user_changes_only_the_own_servers(
    tools: ToolService, caller: Caller, ann: Caller, tmp_path: Path
) -> None:
    """Shared servers are changed for the tenant as a whole."""
    shared = server(tmp_path, "tenant")
    await add(tools, caller, shared)
    shared.lists(listed("open_box", "Opens another box."), listed("close_box"))
    await tools.refresh(caller)
    held = {tool.name: tool.digest for tool in await tools.held_tools(ann)}

    for refused in (
        tools.remove_server(ann, "box"),
        tools.set_server_enabled(ann, "box", False),
        tools.set_server_auto_approve(ann, "box", True),
        tools.set_tool(ann, "box_close_box", enabled=False),
        tools.approve_tools(ann, held),
        tools.reject_tools(ann, held),
    ):
        with pytest.raises(NotAllowed, match="shared"):
            await refused
    assert [tool.name for tool in await tools.held_tools(caller)] == ["box_open_box"]


async def test_removing_an_own_server_brings_the_shared_one_back(
    tools: ToolService, caller: Caller, ann: Caller, tmp_path: Path
) -> None:
    """The shared one is unchanged."""
    await add(tools, caller, server(tmp_path, "tenant"))
    await add(tools, ann, server(tmp_path, "ann"))

    await tools.remove_server(ann, "box")

    assert (await tools.resolve(ann, "box_open_box")).config.env["BOX_OWNER"] == "tenant"
    assert len((await tools.find_tools(caller, queries=["open the box"], threshold=0)).tools) == 1
