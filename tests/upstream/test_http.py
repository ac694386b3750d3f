from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import eventually
from tests.upstream.conftest import SECRET, HttpServer
from tests.upstream.peers import Client
from thresher.core import UpstreamError, UpstreamRefused
from thresher.upstream import Upstreams

Start = Callable[..., HttpServer]


async def post(server: HttpServer, path: str) -> None:
    """Send a fake a message outside the protocol."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", method="POST")
    await asyncio.to_thread(lambda: urllib.request.urlopen(request).close())


@pytest.mark.parametrize("mode", ["good", "sse"])
async def test_lists_and_calls_over_streamable_http(upstreams: Upstreams, http_server: Start, mode: str) -> None:
    """Whether the server answers in JSON or in events; 10 MB pass."""
    config = http_server(f"mode={mode}").config

    listing = await upstreams.list_tools(config)
    outcome = await upstreams.call_tool(config, "huge", {"bytes": 10_000_000})

    assert (listing.protocol, [tool.key for tool in listing.tools]) == ("2025-11-25", ["web/echo"])
    assert len(outcome.content[0].model_dump()["text"]) == 10_000_000
    assert [(state.name, state.state) for state in upstreams.states()] == [("web", "ready")]


async def test_headers_go_with_every_request_and_no_capability_is_declared(
    upstreams: Upstreams, http_server: Start, tmp_path: Path
) -> None:
    """The handshake included."""
    heard = tmp_path / "heard"
    config = http_server(f"heard={heard}", headers={"Authorization": f"Bearer {SECRET}"}).config

    await upstreams.list_tools(config)

    lines = [json.loads(line) for line in heard.read_text().splitlines()]
    assert {line["headers"]["Authorization"] for line in lines} == {f"Bearer {SECRET}"}
    (initialize,) = (line["message"] for line in lines if line["message"]["method"] == "initialize")
    assert initialize["params"]["capabilities"] == {}


async def test_the_newest_era_is_spoken_over_http(upstreams: Upstreams, http_server: Start) -> None:
    """Stateless; progress arrives."""
    config = http_server("http", script="library_server.py").config
    client = Client("c")

    listing = await upstreams.list_tools(config)
    outcome = await upstreams.call_tool(config, "steps", {"count": 2}, peer=client)

    assert listing.protocol == "2026-07-28"
    assert outcome.structured == {"result": "done"}
    assert [done for done, _, _ in client.seen] == [1, 2]


async def test_a_call_that_needs_headers_of_an_unlisted_tool_lists_and_is_sent_again(
    upstreams: Upstreams, http_server: Start, tmp_path: Path
) -> None:
    """2026-07-28: the refusal shows that the call was not carried out; afterwards no listing is needed."""
    heard = tmp_path / "heard"
    config = http_server("mode=modern", f"heard={heard}").config

    first = await upstreams.call_tool(config, "where", {"region": "north"})
    second = await upstreams.call_tool(config, "where", {"region": "south"})

    assert [outcome.content[0].model_dump()["text"] for outcome in (first, second)] == ["north", "south"]
    assert heard.read_text().count('"method": "tools/list"') == 1


async def test_a_call_that_asks_for_input_is_refused(upstreams: Upstreams, http_server: Start) -> None:
    """2026-07-28: the answer would have to come from the caller, whom a shared session cannot ask."""
    with pytest.raises(UpstreamRefused, match=r"'web' asks the client for input.*which this client cannot give"):
        await upstreams.call_tool(http_server("mode=modern").config, "ask", {})


@pytest.mark.parametrize("mode", ["good", "typescript"])
async def test_an_expired_session_is_renewed_and_the_refused_call_sent_again(
    upstreams: Upstreams, http_server: Start, tmp_path: Path, mode: str
) -> None:
    """The server reports that it did not carry out the call, so it can be repeated; ten callers share one renewal."""
    heard = tmp_path / "heard"
    server = http_server(f"mode={mode}", f"heard={heard}")
    await upstreams.list_tools(server.config)
    await post(server, "/forget")

    outcomes = await asyncio.gather(*(upstreams.call_tool(server.config, "echo", {"n": n}) for n in range(10)))

    assert not any(outcome.is_error for outcome in outcomes)
    assert heard.read_text().count('"method": "initialize"') == 2


async def test_a_server_that_came_back_is_reached_again(upstreams: Upstreams, http_server: Start) -> None:
    """While it is unavailable the error shows its address; the key in the query is hidden."""
    server = http_server()
    config = server.config
    await upstreams.list_tools(config)
    server.stop()
    with pytest.raises(UpstreamError, match=rf"'web' cannot be reached at http://127\.0\.0\.1:{server.port}/mcp"):
        await upstreams.call_tool(config, "echo", {})
    assert [(state.name, state.state) for state in upstreams.states()] == [("web", "failed")]

    http_server(f"port={server.port}")

    assert not (await upstreams.call_tool(config, "echo", {})).is_error


@pytest.mark.parametrize(
    ("mode", "tool", "said"),
    [
        ("good", "error500", "HTTP status 500 Internal Server Error"),
        ("good", "drop", "may have been carried out"),
        ("good", "cut", "did not arrive whole"),
        ("sse", "cut", "did not arrive whole"),
        ("good", "huge", "more than 32 MiB"),
        ("sse", "huge", "an event of more than 32 MiB"),
    ],
)
async def test_a_broken_answer_fails_its_own_call_only(
    upstreams: Upstreams, http_server: Start, mode: str, tool: str, said: str
) -> None:
    """Another call that is under way on the same session gets its answer."""
    config = http_server(f"mode={mode}").config
    other = asyncio.create_task(upstreams.call_tool(config, "echo", {"seconds": 1}))
    await upstreams.list_tools(config)

    with pytest.raises(UpstreamError, match=said):
        await upstreams.call_tool(config, tool, {"bytes": 34_000_000})

    assert not (await other).is_error


async def test_a_server_that_ends_in_mid_call_fails_it_clearly(upstreams: Upstreams, http_server: Start) -> None:
    """It may have been carried out."""
    config = http_server().config

    with pytest.raises(UpstreamError, match="may have been carried out"):
        await upstreams.call_tool(config, "quit", {})


@pytest.mark.parametrize(
    ("mode", "kind", "said"),
    [
        ("unauthorized", UpstreamError, "HTTP status 401 Unauthorized.*'Authorization' header"),
        ("html", UpstreamRefused, "text/html.*curl -i"),
    ],
)
async def test_what_is_no_mcp_server_is_told_apart(
    upstreams: Upstreams, http_server: Start, mode: str, kind: type[UpstreamError], said: str
) -> None:
    """A wrong key and a web page, each with a way out."""
    with pytest.raises(kind, match=said):
        await upstreams.list_tools(http_server(f"mode={mode}").config)


async def test_closing_a_session_takes_leave_of_the_server(
    upstreams: Upstreams, http_server: Start, tmp_path: Path
) -> None:
    """And the next use opens a new one."""
    heard = tmp_path / "heard"
    config = http_server(f"heard={heard}").config
    await upstreams.list_tools(config)

    await upstreams.disconnect(0, "web")
    await upstreams.disconnect(0, "web")

    assert upstreams.states() == []
    await upstreams.list_tools(config)
    assert heard.read_text().count('"method": "initialize"') == 2


async def test_closing_does_not_wait_for_a_server_that_never_says_goodbye(
    upstreams: Upstreams, http_server: Start
) -> None:
    """Leaving is a courtesy."""
    await upstreams.list_tools(http_server("mode=clinging").config)

    async with asyncio.timeout(8):
        await upstreams.close()

    assert upstreams.states() == []


async def test_secrets_of_an_address_stay_out_of_errors(upstreams: Upstreams, http_server: Start, caplog: Any) -> None:
    """User, password and key are part of many hosted addresses."""
    server = http_server(f"port={0}")
    server.stop()
    url = f"http://me:{SECRET}@127.0.0.1:{server.port}/mcp?key={SECRET}"
    config = type(server.config)("web", "http", url=url)

    with pytest.raises(UpstreamError) as failed:
        await upstreams.list_tools(config)

    assert SECRET not in str(failed.value)
    await eventually(lambda: caplog.records)
    assert not any(SECRET in str(record.__dict__) for record in caplog.records if record.name.startswith("thresher"))


async def test_a_redirect_within_the_origin_is_followed(upstreams: Upstreams, http_server: Start) -> None:
    """As after a missing slash; later requests go there at once."""
    config = http_server("mode=moved").config

    await upstreams.list_tools(config)

    assert not (await upstreams.call_tool(config, "echo", {})).is_error


async def test_a_redirect_elsewhere_is_not_followed(upstreams: Upstreams, http_server: Start) -> None:
    """Secrets configured for one origin must not be sent to another."""
    config = http_server("mode=moved", "to=http://elsewhere.example/mcp").config

    with pytest.raises(UpstreamError, match=r"redirects to http://elsewhere\.example/mcp, which is elsewhere"):
        await upstreams.list_tools(config)


async def test_an_answer_that_the_server_lets_us_fetch_later_is_fetched(
    upstreams: Upstreams, http_server: Start
) -> None:
    """2025-11-25: it may end a stream before the answer, to be resumed after the pause that it asks for."""
    outcome = await upstreams.call_tool(http_server().config, "pause", {})

    assert outcome.content[0].model_dump()["text"] == "resumed"


async def test_structured_content_that_is_no_object_is_kept(upstreams: Upstreams, http_server: Start) -> None:
    """2026-07-28 allows any JSON value; who hands it on decides for whom."""
    outcome = await upstreams.call_tool(http_server("mode=modern").config, "list", {"region": "x"})

    assert (outcome.structured, outcome.content) == ([1, 2], [])
    assert outcome.raw is not None
    assert outcome.raw["structuredContent"] == [1, 2]


async def test_cancelling_a_call_cancels_it_at_the_server(
    upstreams: Upstreams, http_server: Start, tmp_path: Path
) -> None:
    """2025-11-25: by a message of its own; the session lives on."""
    heard = tmp_path / "heard"
    config = http_server(f"heard={heard}").config
    await upstreams.list_tools(config)
    call = asyncio.create_task(upstreams.call_tool(config, "echo", {"seconds": 60}))
    await eventually(lambda: "tools/call" in heard.read_text())

    call.cancel()

    await eventually(lambda: "notifications/cancelled" in heard.read_text())
    assert not (await upstreams.call_tool(config, "echo", {})).is_error
