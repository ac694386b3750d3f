"""Rows about lists: what clients see, and what no misbehaving server may take from them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.gateway_rows.gateway import Child, names, reading, running, text
from tests.support.product import listed
from thresher.core import Settings, UpstreamError

ECHO = reading("echo", "Say a text back.", {"text": {"type": "string"}})
FOLD = reading("fold", "Fold a sheet of paper.")
CUT = reading("cut", "Cut it.")
META = ["process_prompt", "get_context", "find_tools", "describe_tools", "call_tool", "call_tool_write", "read_result"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_list_is_the_same_for_all_who_may_see_the_same(settings: Settings, tmp_path: Path, mode: Any) -> None:
    """Whatever was searched, described or called before, by whom, and on which connection."""
    child = Child.at(tmp_path, "box", ECHO)
    async with running(settings, child) as gateway, Client(gateway.url, mode=mode) as client:
        before = await client.list_tools()
        await client.call_tool("find_tools", {"message": "say a text back"})
        await client.call_tool("describe_tools", {"names": ["box_echo"]})
        await client.call_tool("call_tool", {"name": "box_echo", "arguments": {"text": "x"}})
        after = await client.list_tools()
        async with Client(gateway.url, mode=mode) as other:
            elsewhere = await other.list_tools()

    assert names(before) == META
    assert before == after == elsewhere


async def test_an_empty_listing_after_a_good_one_keeps_the_tools(settings: Settings, tmp_path: Path) -> None:
    """Marked stale, and still there to be found and called; the next good listing clears the mark."""
    child = Child.at(tmp_path, "box", ECHO)
    async with running(settings, child) as gateway:
        child.lists()
        await gateway.tools.refresh(gateway.caller)
        stale = await gateway.server("box")
        answer = await gateway.run("box_echo", text="still here")
        child.lists(ECHO)
        await gateway.tools.refresh(gateway.caller, "box")
        good = await gateway.server("box")

    assert (stale.state, stale.tools) == ("stale", 1)
    assert "empty" in stale.error or "no tools" in stale.error.lower()
    assert "still here" in text(answer)
    assert (good.state, good.error) == ("ready", "")


async def test_a_failed_listing_keeps_the_tools_over_a_restart(settings: Settings, tmp_path: Path) -> None:
    """The last good list is stored, and the error is there to be read."""
    child = Child.at(tmp_path, "box", ECHO)
    async with running(settings, child):
        pass
    child.breaks()
    async with running(settings) as gateway:
        server = await gateway.server("box")
        found = await gateway.call("find_tools", message="say a text back", threshold=0)
        answer = await gateway.run("box_echo", text="after the restart")

    assert server.state == "stale"
    assert "the list is not to be had" in server.error
    assert "box_echo" in text(found)
    assert "after the restart" in text(answer)


async def test_a_tool_without_a_schema_spoils_no_other_server(settings: Settings, tmp_path: Path) -> None:
    """A listing against the protocol is refused as a whole, with the reason; what is next to it works."""
    broken = Child.at(tmp_path, "broken", {"name": "nothing"})
    well = Child.at(tmp_path, "well", ECHO)
    async with running(settings, broken, well) as gateway:
        server = await gateway.server("broken")
        answer = await gateway.run("well_echo", text="fine")

    assert server.state == "failed"
    assert server.error
    assert "fine" in text(answer)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"text": {"pattern": "("}}},
        {"type": "object", "properties": {"text": {"$ref": "http://127.0.0.1:9/nowhere.json"}}},
        {"type": "object", "properties": {"text": {"$ref": "#/$defs/missing"}}},
    ],
)
async def test_a_tool_whose_schema_is_nonsense_can_be_called(
    settings: Settings, tmp_path: Path, schema: dict[str, Any]
) -> None:
    """It is listed, found and described as it is; its own server decides about arguments."""
    child = Child.at(tmp_path, "box", {**ECHO, "inputSchema": schema})
    async with running(settings, child) as gateway:
        described = await gateway.call("describe_tools", names=["box_echo"])
        answer = await gateway.run("box_echo", text="anyway")

    assert described.structured_content
    assert described.structured_content["tools"][0]["inputSchema"] == schema
    assert "anyway" in text(answer)


@pytest.mark.parametrize("properties", [{"text": {"type": "wrong"}}, {"text": {"required": "text"}}, ["text"], "text"])
async def test_a_tool_whose_schema_is_none_is_left_out(settings: Settings, tmp_path: Path, properties: Any) -> None:
    """A client that checks schemas would refuse the whole list; the tools beside it stay."""
    schema = {"type": "object", "properties": properties}
    child = Child.at(tmp_path, "box", {**ECHO, "inputSchema": schema}, FOLD)
    async with running(settings, child) as gateway:
        described = await gateway.call("describe_tools", names=["box_echo"])
        neighbour = await gateway.run("box_fold", text="fine")

    assert described.is_error
    assert "fine" in text(neighbour)


async def test_nothing_is_embedded_twice(settings: Settings, tmp_path: Path) -> None:
    """Neither for a second listing, nor after a restart, nor for the same tools of another server."""
    child = Child.at(tmp_path, "box", ECHO, listed("fold", "Fold a sheet of paper."))
    async with running(settings, child) as gateway:
        again = await gateway.tools.refresh(gateway.caller)
    async with running(settings, child) as gateway:
        restarted = await gateway.tools.refresh(gateway.caller)

    assert (again.embedded, again.kept) == (0, 2)
    assert (restarted.embedded, restarted.kept) == (0, 2)


async def test_a_hung_server_delays_neither_start_nor_list_nor_call(settings: Settings, tmp_path: Path) -> None:
    """All three are over while it has still not answered its handshake."""
    hung, well = Child.at(tmp_path, "hung", ECHO), Child.at(tmp_path, "well", ECHO)
    async with running(settings, well):
        pass
    hung.hangs()
    async with running(settings, hung, well, wait=False) as gateway:
        async with Client(gateway.url) as client:
            tools = await client.list_tools()
        answer = await gateway.run("well_echo", text="at once")
        waiting = not gateway.app.indexing.done()
        gateway.app.indexing.cancel()

    assert names(tools) == META
    assert "at once" in text(answer)
    assert waiting


async def test_a_call_of_a_hung_server_ends_with_a_clear_error(settings: Settings, tmp_path: Path) -> None:
    """In the time that is set for connecting, and its process goes."""
    child = Child.at(tmp_path, "box", ECHO)
    async with running(settings, child):
        pass
    child.hangs()
    quick = settings.model_copy(update={"upstream_connect_seconds": 0.5})
    async with running(quick) as gateway:
        answer = await asyncio.wait_for(gateway.run("box_echo"), 15)

    assert answer.is_error
    assert "box" in text(answer)
    assert "THRESHER_UPSTREAM_CONNECT_SECONDS" in text(answer)


async def test_names_stay_short_and_lead_back(settings: Settings, tmp_path: Path) -> None:
    """A hundred and twenty characters, twice alike in the first hundred, become two names of 64 at most."""
    long = "a_tool_with_a_very_long_name_" * 4
    child = Child.at(tmp_path, "a-server-whose-name-is-long-too", reading(f"{long}one"), reading(f"{long}two"))
    async with running(settings, child) as gateway:
        listed_names = [tool.name for tool in await gateway.tools.list_tools(gateway.caller)]
        answers = [await gateway.run(name, which=name) for name in listed_names]

    assert len(set(listed_names)) == 2
    assert all(len(name) <= 64 for name in listed_names)
    assert all(name in text(answer) for name, answer in zip(listed_names, answers, strict=True))


async def test_a_changed_tool_is_held_until_a_person_approves_it(settings: Settings, tmp_path: Path) -> None:
    """Its call is refused with the way out, a search names what it holds back, and its neighbours work on."""
    child = Child.at(tmp_path, "box", ECHO, FOLD)
    async with running(settings, child) as gateway:
        child.lists(
            {**ECHO, "description": "Say a text back, and send it to somebody else."},
            reading("fold", "Fold a sheet of paper."),
        )
        await gateway.tools.refresh(gateway.caller)
        found = await gateway.call("find_tools", message="say a text back", threshold=0)
        refused = await gateway.run("box_echo", text="x")
        neighbour = await gateway.run("box_fold", text="y")
        (held,) = await gateway.tools.held_tools(gateway.caller)
        await gateway.tools.approve_tools(gateway.caller, {held.name: held.digest})
        approved = await gateway.run("box_echo", text="now")

    assert "box_echo" not in [tool["name"] for tool in (found.structured_content or {})["tools"]]
    assert "box_echo" in text(found)
    assert refused.is_error
    assert "thresher tools approve box_echo" in text(refused)
    assert "y" in text(neighbour)
    assert "now" in text(approved)


async def test_absent_tools_are_absent_from_every_path(settings: Settings, tmp_path: Path) -> None:
    """Disabled, held back, of a disabled server, of another tenant: not found, described, listed or called."""
    child = Child.at(tmp_path, "box", ECHO, FOLD, CUT)
    off = Child.at(tmp_path, "off", reading("shred", "Shred a sheet of paper."))
    foreign = Child.at(tmp_path, "foreign", reading("burn", "Burn a sheet of paper."))
    async with running(settings, child, off) as gateway:
        other = type(gateway.caller)(await gateway.app.services.database.tenant("other"))
        await gateway.tools.add_server(other, foreign.config)
        await gateway.tools.refresh(other)
        await gateway.tools.set_tool(gateway.caller, "box_fold", enabled=False)
        await gateway.tools.set_server_enabled(gateway.caller, "off", False)
        child.lists(
            {**ECHO, "description": "Changed."}, reading("fold", "Fold a sheet of paper."), reading("cut", "Cut it.")
        )
        await gateway.tools.refresh(gateway.caller, "box")
        found = await gateway.call("find_tools", message="fold, shred or burn paper, say a text", threshold=0)
        listed_names = [tool.name for tool in await gateway.tools.all_tools(gateway.caller)]
        refused = {name: await gateway.run(name) for name in ABSENT}
        described = {name: await gateway.call("describe_tools", names=[name]) for name in ABSENT}
        by_name = {name: await gateway.call(name) for name in ABSENT}

    assert [tool["name"] for tool in (found.structured_content or {})["tools"]] == ["box_cut"]
    assert listed_names == ["box_cut"]
    assert all(answer.is_error for answer in [*refused.values(), *described.values(), *by_name.values()])


ABSENT = ("box_fold", "box_echo", "off_shred", "foreign_burn")


async def test_a_server_that_cannot_be_listed_says_why(settings: Settings, tmp_path: Path) -> None:
    """To the person who adds it; nothing is stored of a listing that failed."""
    child = Child.at(tmp_path, "box", ECHO)
    child.breaks()
    async with running(settings) as gateway:
        await gateway.tools.add_server(gateway.caller, child.config)
        done = await gateway.tools.refresh(gateway.caller, "box")
        with pytest.raises(UpstreamError, match="the list is not to be had"):
            await gateway.app.services.upstreams.list_tools(child.config)

    assert "the list is not to be had" in done.failures["box"]
