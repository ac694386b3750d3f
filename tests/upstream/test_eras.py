"""Which era carries the calls of a FastMCP server with many tools, and what happens as the server changes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import eventually
from tests.upstream.conftest import FAKES, HttpServer
from tests.upstream.peers import ELICITATION, Client
from thresher.core import Settings, UpstreamRefused
from thresher.upstream import CallOutcome, ServerConfig, UpstreamLimits, Upstreams

Start = Callable[..., HttpServer]
TOOLS = "300"
NEWEST, SESSION = "2026-07-28", "2025-11-25"
LISTS = {"tools/list", "resources/list", "resources/templates/list", "prompts/list"}


@dataclass
class Many:
    """A server of many tools, and the requests that it received."""

    start: Start
    heard: Path
    server: HttpServer

    def requests(self, method: str) -> list[str]:
        """The revisions of the requests of a method, in their order."""
        lines = [line.partition(" ") for line in self.heard.read_text(encoding="utf-8").splitlines()]
        return [revision for revision, _, name in lines if name == method]

    def restart(self, *options: str, tools: str = TOOLS) -> None:
        """Let another server take its address."""
        port = self.server.port
        self.server.stop()
        self.server = self.start(tools, f"port={port}", f"heard={self.heard}", *options, script="many_server.py")


Begin = Callable[..., Many]


@pytest.fixture
def many(http_server: Start, tmp_path: Path) -> Begin:
    """Starts a server of many tools."""

    def start(*options: str, tools: str = TOOLS) -> Many:
        heard = tmp_path / "heard"
        return Many(http_server, heard, http_server(tools, f"heard={heard}", *options, script="many_server.py"))

    return start


async def echo(upstreams: Upstreams, config: ServerConfig, text: str, **more: Any) -> str:
    """Call the tool that answers with its text."""
    return said(await upstreams.call_tool(config, "echo", {"text": text}, **more))


def said(outcome: CallOutcome) -> str:
    """The text of an answer."""
    return outcome.content[0].model_dump()["text"]


async def choose(upstreams: Upstreams, server: Many) -> int:
    """Call until the calls go over a session; returns the number of calls."""
    config = server.server.config
    made = 0
    await upstreams.list_tools(config)

    async def over_a_session() -> bool:
        nonlocal made
        made += 1
        await echo(upstreams, config, "again")
        return server.requests("tools/call")[-1] == SESSION

    await eventually(over_a_session)
    return made


async def test_calls_go_over_a_session_where_the_newest_revision_is_slow(upstreams: Upstreams, many: Begin) -> None:
    """One session, and none of the requests that lead to it is a call."""
    server = many()
    await choose(upstreams, server)
    before, opened = server.requests("tools/call"), server.requests("initialize")

    answers = [await echo(upstreams, server.server.config, str(number)) for number in range(5)]

    assert answers == ["0", "1", "2", "3", "4"]
    assert server.requests("tools/call") == [*before, *[SESSION] * 5]
    assert server.requests("initialize") == opened
    assert before[:3] == [NEWEST] * 3


async def test_measuring_calls_no_tool(upstreams: Upstreams, many: Begin) -> None:
    """Each call that the server receives is one that somebody made."""
    server = many()
    await upstreams.list_tools(server.server.config)

    for number in range(3):
        await echo(upstreams, server.server.config, str(number))
    await eventually(lambda: server.requests("ping"))
    made = await choose(upstreams, server)

    heard = {line.partition(" ")[2] for line in server.heard.read_text(encoding="utf-8").splitlines()}
    assert len(server.requests("tools/call")) == 3 + made
    assert (
        heard
        <= {"server/discover", "initialize", "logging/setLevel", "ping", "subscriptions/listen", "tools/call"} | LISTS
    )


async def test_the_choice_outlives_a_lost_session(upstreams: Upstreams, many: Begin) -> None:
    """A server that was restarted unchanged is not measured again."""
    server = many()
    await choose(upstreams, server)
    pings = len(server.requests("ping"))
    server.restart()

    assert await echo(upstreams, server.server.config, "after") == "after"

    assert server.requests("tools/call")[-1] == SESSION
    assert len(server.requests("ping")) == pings


async def test_a_client_that_can_be_asked_in_rounds_is_served_in_the_newest_revision(
    upstreams: Upstreams, many: Begin
) -> None:
    """Also after the others' calls have moved to the session: any tool may ask."""
    server = many()
    await choose(upstreams, server)
    ann = Client("ann", ELICITATION)
    ann.rounds = {}

    assert await echo(upstreams, server.server.config, "x", peer=ann) == "x"

    assert server.requests("tools/call")[-1] == NEWEST


async def test_a_client_with_a_session_is_still_asked_in_its_own(upstreams: Upstreams, many: Begin) -> None:
    """The session that the others share belongs to no client, so nobody could be asked there."""
    server = many()
    await choose(upstreams, server)

    ann, bob = Client("ann", ELICITATION), Client("bob")
    asked = await upstreams.call_tool(server.server.config, "ask", {"user": "ann"}, peer=ann)
    refused = await upstreams.call_tool(server.server.config, "ask", {"user": "bob"}, peer=bob)

    assert len(ann.questions) == 1
    assert not asked.is_error
    assert (refused.is_error, bob.questions) == (True, [])


async def test_the_rest_of_an_interrupted_call_is_sent_in_its_revision(upstreams: Upstreams, many: Begin) -> None:
    """The state of the first half means nothing to a session; the server knows that this one is forged."""
    server = many()
    await choose(upstreams, server)
    ann = Client("ann")
    ann.rounds = {"requestState": "forged"}

    with pytest.raises(UpstreamRefused, match="requestState"):
        await echo(upstreams, server.server.config, "x", peer=ann)

    assert server.requests("tools/call")[-1] == NEWEST


async def test_what_a_call_logs_reaches_its_client_over_the_session_too(upstreams: Upstreams, many: Begin) -> None:
    """Each client's own call, also with a log level that only the newest revision has."""
    server = many()
    await choose(upstreams, server)
    ann, bob = Client("ann"), Client("bob")
    ann.rounds, ann.level = {}, "debug"

    for client in (ann, bob):
        await upstreams.call_tool(server.server.config, "log", {"text": f"for {client.id}"}, peer=client)

    assert [message["msg"] for message in ann.logged] == ["for ann"]
    assert [message["msg"] for message in bob.logged] == ["for bob"]
    assert server.requests("tools/call")[-2:] == [SESSION] * 2


async def test_progress_of_a_call_reaches_its_client_over_the_session_too(upstreams: Upstreams, many: Begin) -> None:
    """As in the newest revision."""
    server = many()
    await choose(upstreams, server)
    ann = Client("ann")
    ann.rounds = {}

    await upstreams.call_tool(server.server.config, "log", {"text": "x"}, peer=ann)

    assert [progress for progress, _, _ in ann.seen] == [1]
    assert server.requests("tools/call")[-1] == SESSION


async def test_arguments_that_are_repeated_as_headers_still_are(upstreams: Upstreams, many: Begin) -> None:
    """A session knows no such headers, and a proxy may route by them."""
    server = many()
    await choose(upstreams, server)

    outcome = await upstreams.call_tool(server.server.config, "place", {"region": "north"})

    assert said(outcome) == "north"
    assert server.requests("tools/call")[-1] == NEWEST


async def test_a_server_of_sessions_alone_is_not_measured(upstreams: Upstreams, many: Begin) -> None:
    """There is nothing to choose."""
    server = many("era=session")
    await upstreams.list_tools(server.server.config)

    for number in range(5):
        await echo(upstreams, server.server.config, str(number))

    assert server.requests("tools/call") == [SESSION] * 5
    assert (len(server.requests("initialize")), server.requests("ping")) == (1, [])


async def test_a_server_of_the_newest_revision_alone_is_asked_for_a_session_once(
    upstreams: Upstreams, many: Begin
) -> None:
    """It refuses, and its calls stay where they are."""
    server = many("era=stateless")
    await upstreams.list_tools(server.server.config)
    for number in range(3):
        await echo(upstreams, server.server.config, str(number))
    await eventually(lambda: server.requests("initialize"))

    for number in range(5):
        await echo(upstreams, server.server.config, str(number))

    assert server.requests("tools/call") == [NEWEST] * 8
    assert len(server.requests("initialize")) == 1
    assert [state.state for state in upstreams.states()] == ["ready"]


async def test_calls_survive_a_restart_into_the_newest_revision_alone(upstreams: Upstreams, many: Begin) -> None:
    """The session is gone and cannot be replaced."""
    server = many()
    await choose(upstreams, server)
    server.restart("era=stateless")

    answers = [await echo(upstreams, server.server.config, str(number)) for number in range(3)]

    assert answers == ["0", "1", "2"]
    assert server.requests("tools/call")[-1] == NEWEST


async def test_calls_survive_a_restart_into_sessions_alone(upstreams: Upstreams, many: Begin) -> None:
    """Whether or not they went over a session before; the listing finds the server's era again."""
    server = many(tools="4")
    await upstreams.list_tools(server.server.config)
    await echo(upstreams, server.server.config, "before")
    server.restart("era=session")

    answer = await echo(upstreams, server.server.config, "after")
    listing = await upstreams.list_tools(server.server.config)

    assert (answer, listing.protocol, len(listing.tools)) == ("after", SESSION, int(TOOLS))


async def test_a_new_version_is_measured_again(upstreams: Upstreams, many: Begin) -> None:
    """What was slow may have become fast."""
    server = many()
    await choose(upstreams, server)
    server.restart("version=2", tools="4")
    await upstreams.list_tools(server.server.config)

    await echo(upstreams, server.server.config, "after")

    assert server.requests("tools/call")[-1] == NEWEST


async def test_the_session_ends_when_nobody_calls(settings: Settings, many: Begin) -> None:
    """The next call opens another."""
    pool, server = Upstreams(settings, limits=UpstreamLimits(tending=0.02, lease_idle=0.3)), many()
    await choose(pool, server)
    opened = len(server.requests("initialize"))

    async def opens_again() -> bool:
        await asyncio.sleep(0.4)
        await echo(pool, server.server.config, "x")
        return len(server.requests("initialize")) > opened

    await eventually(opens_again)
    assert server.requests("tools/call")[-1] == SESSION
    await pool.close()


async def test_a_child_has_one_process_and_the_newest_revision(upstreams: Upstreams) -> None:
    """Over stdio a call costs the same in both eras, and another session would be another process."""
    args = (str(FAKES / "many_server.py"), TOOLS, "stdio=yes")
    config = ServerConfig(name="child", transport="stdio", command=sys.executable, args=args)

    listing = await upstreams.list_tools(config)
    answers = [await echo(upstreams, config, str(number)) for number in range(5)]

    assert (listing.protocol, answers) == (NEWEST, ["0", "1", "2", "3", "4"])
    assert await upstreams.stateless(config)
