"""Rows about calls: warm sessions, crashes, large answers, arguments as clients send them."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastmcp import Client

from tests.fakes.folder_server import HUGE
from tests.gateway_rows.gateway import Child, reading, running, text
from tests.support import eventually
from tests.support.product import listed
from tests.upstream.conftest import alive
from thresher.core import Settings

ECHO = reading("echo", "Say a text back.", {"text": {"type": "string"}})
NUMBERS = {
    "count": {"type": "integer"},
    "really": {"type": "boolean"},
    "names": {"type": "array", "items": {"type": "string"}},
    "text": {"type": "string"},
}


async def test_many_clients_and_calls_cost_one_handshake(settings: Settings, tmp_path: Path) -> None:
    """Three clients of both eras, one after another and at once: the server meets one."""
    child = Child.at(tmp_path, "box", ECHO)
    async with running(settings, child) as gateway:
        await asyncio.gather(*(gateway.run("box_echo", text=str(number)) for number in range(3)))
        for mode in ("auto", "legacy"):
            async with Client(gateway.url, mode=mode) as client:
                for _ in range(2):
                    await client.call_tool("call_tool", {"name": "box_echo", "arguments": {"text": "x"}})
        starts, handshakes, listings = len(child.pids()), child.heard("initialize"), child.heard("tools/list")

    assert (starts, handshakes, listings) == (1, 1, 1)


async def test_a_crash_in_mid_call_fails_that_call_and_the_next_one_works(settings: Settings, tmp_path: Path) -> None:
    """The error says that the call may have been carried out, and no call is sent twice."""
    child = Child.at(tmp_path, "box", ECHO, reading("crash"), reading("wait"))
    async with running(settings, child) as gateway:
        beside = asyncio.create_task(gateway.run("box_wait"))
        await eventually(lambda: child.heard("tools/call") == 1)
        crashed = await gateway.run("box_crash")
        lost = await beside
        after = await gateway.run("box_echo", text="back")
        sent = child.heard("tools/call")

    assert crashed.is_error
    assert lost.is_error
    assert "may or may not have been carried out" in text(crashed)
    assert "back" in text(after)
    assert sent == 3


async def test_a_killed_server_is_started_again_at_the_next_call(settings: Settings, tmp_path: Path) -> None:
    """One process at a time, and none is left at the end."""
    child = Child.at(tmp_path, "box", ECHO, reading("pid"))
    async with running(settings, child) as gateway:
        for _ in range(3):
            os.kill(int(text(await gateway.run("box_pid"))), signal.SIGKILL)
            await eventually(lambda: not alive(child.pids()[-1]))
        last = int(text(await gateway.run("box_pid")))
        lives = [pid for pid in child.pids() if alive(pid)]

    assert len(child.pids()) == 4
    assert lives == [last]
    assert not any(alive(pid) for pid in child.pids())


async def test_an_answer_of_ten_megabytes_arrives_whole(settings: Settings, tmp_path: Path) -> None:
    """Where all of it is asked for, and a small call beside it is answered meanwhile."""
    child = Child.at(tmp_path, "box", ECHO, reading("huge"))
    async with running(settings, child) as gateway:
        whole = gateway.call("call_tool", name="box_huge", arguments={}, budget=0)
        huge, small = await asyncio.gather(whole, gateway.run("box_echo", text="small"))

    assert len(text(huge)) == HUGE
    assert "small" in text(small)


async def test_a_slow_call_delays_no_other(settings: Settings, tmp_path: Path) -> None:
    """Neither on its own server nor on another."""
    child, other = Child.at(tmp_path, "box", ECHO, reading("wait")), Child.at(tmp_path, "other", ECHO)
    async with running(settings, child, other) as gateway:
        slow = asyncio.create_task(gateway.run("box_wait"))
        await eventually(lambda: child.heard("tools/call") == 1)
        beside = [await gateway.run("box_echo", text="same"), await gateway.run("other_echo", text="else")]
        waiting = not slow.done()
        (child.folder / "go").touch()
        done = await slow

    assert waiting
    assert ["same" in text(beside[0]), "else" in text(beside[1])] == [True, True]
    assert not done.is_error


@pytest.mark.parametrize("direct", [True, False])
async def test_arguments_that_are_sent_as_strings_become_what_the_schema_says(
    settings: Settings, tmp_path: Path, direct: bool
) -> None:
    """Numbers, switches, lists as JSON text; a text stays a text. By call_tool, and by the tool's own name."""
    child = Child.at(tmp_path, "box", reading("count", "Count.", NUMBERS))
    sent = {"count": "5", "really": "true", "names": '["a", "b"]', "text": "7"}
    async with running(settings, child) as gateway:
        answer = await (gateway.call("box_count", **sent) if direct else gateway.run("box_count", **sent))

    assert text(answer) == '{"count": 5, "really": true, "names": ["a", "b"], "text": "7"}'


async def test_arguments_that_fit_in_no_way_are_a_clear_tool_error(settings: Settings, tmp_path: Path) -> None:
    """It names the argument and the right form, and nothing reaches the server."""
    child = Child.at(tmp_path, "box", reading("count", "Count.", NUMBERS))
    async with running(settings, child) as gateway:
        answer = await gateway.run("box_count", count="many")
        sent = child.heard("tools/call")

    assert answer.is_error
    assert "count" in text(answer)
    assert "int" in text(answer)
    assert sent == 0


async def test_what_may_write_needs_the_other_tool(settings: Settings, tmp_path: Path) -> None:
    """A tool that does not say that it only reads is refused by call_tool, the hint names call_tool_write, and back."""
    child = Child.at(tmp_path, "box", ECHO, listed("delete", "Delete it."))
    async with running(settings, child) as gateway:
        refused = await gateway.run("box_delete")
        written = await gateway.call("call_tool_write", name="box_delete", arguments={"what": "it"})
        other_way = await gateway.call("call_tool_write", name="box_echo", arguments={"text": "x"})

    assert refused.is_error
    assert "call_tool_write" in text(refused)
    assert not written.is_error
    assert other_way.is_error
    assert "call_tool" in text(other_way)


async def test_a_forgotten_session_is_opened_again(settings: Settings, http_server: Any) -> None:
    """The server answers 404 to a session that it does not know any more; the client sees an answer all the same."""
    web = http_server()
    async with running(settings, web.config) as gateway:
        before = await gateway.call("call_tool_write", name="web_echo", arguments={"text": "one"})
        async with httpx.AsyncClient() as person:
            await person.post(f"http://127.0.0.1:{web.port}/forget")
        after = await gateway.call("call_tool_write", name="web_echo", arguments={"text": "two"})

    assert "one" in text(before)
    assert "two" in text(after)
