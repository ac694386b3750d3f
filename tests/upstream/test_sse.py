"""HTTP+SSE, the forerunner of streamable HTTP."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import eventually
from tests.upstream.conftest import SECRET, HttpServer
from tests.upstream.peers import ELICITATION, Client
from tests.upstream.test_http import post
from thresher.core import UpstreamError, UpstreamRefused
from thresher.upstream import Upstreams, parse_servers, public_config, restore_config, sealed_part

Start = Callable[..., HttpServer]


async def test_lists_and_calls(upstreams: Upstreams, http_server: Start) -> None:
    """10 MB pass; the newest revision is not even tried."""
    config = http_server("mode=older", transport="sse").config

    listing = await upstreams.list_tools(config)
    outcome = await upstreams.call_tool(config, "huge", {"bytes": 10_000_000})

    assert (listing.protocol, [tool.key for tool in listing.tools]) == ("2024-11-05", ["web/echo"])
    assert len(outcome.content[0].model_dump()["text"]) == 10_000_000


async def test_a_monstrous_answer_ends_the_session_and_the_next_call_works(
    upstreams: Upstreams, http_server: Start
) -> None:
    """Bounded like the other transports."""
    config = http_server("mode=older", transport="sse").config

    with pytest.raises(UpstreamError, match="an event of more than 32 MiB"):
        await upstreams.call_tool(config, "huge", {"bytes": 34_000_000})

    assert not (await upstreams.call_tool(config, "echo", {})).is_error


async def test_a_stream_that_the_server_closes_is_opened_again(upstreams: Upstreams, http_server: Start) -> None:
    """At the next use."""
    server = http_server("mode=older", transport="sse")
    await upstreams.list_tools(server.config)
    await post(server, "/forget")
    await eventually(lambda: upstreams.states()[0].state == "lost")

    assert not (await upstreams.call_tool(server.config, "echo", {})).is_error


async def test_a_client_that_can_be_asked_has_a_stream_of_its_own(
    upstreams: Upstreams, http_server: Start, tmp_path: Path
) -> None:
    """It is a session of the older kind."""
    heard = tmp_path / "heard"
    config = http_server("mode=older", f"heard={heard}", transport="sse").config

    await upstreams.call_tool(config, "echo", {}, peer=Client("ann", ELICITATION))

    assert heard.read_text().count('"method": "initialize"') == 2
    assert upstreams.states()[0].leased == 1


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        (("mode=older", "endpoint=http://elsewhere.example/messages"), UpstreamError, "elsewhere"),
        (("mode=good",), UpstreamError, "HTTP status 405"),
        (("mode=older", "endpoint=http://[broken"), UpstreamError, "is none|elsewhere"),
    ],
)
async def test_what_is_no_such_server_is_told_apart(
    upstreams: Upstreams, http_server: Start, options: tuple[str, ...], kind: type[UpstreamError], said: str
) -> None:
    """Messages, with their secrets, go nowhere but to the origin of the stream."""
    with pytest.raises(kind, match=said):
        await upstreams.list_tools(http_server(*options, transport="sse").config)


async def test_a_wrong_transport_is_hinted_at(upstreams: Upstreams, http_server: Start) -> None:
    """Streamable HTTP at the address of an older server answers 405."""
    with pytest.raises(UpstreamError, match='"type": "sse"'):
        await upstreams.list_tools(http_server("mode=older").config)


def test_the_transport_is_named_by_its_type_and_kept() -> None:
    """In a server file, in the two stored parts, and back."""
    entry = {"type": "sse", "url": f"https://a.example/sse?key={SECRET}", "prefix": False}

    (config,) = parse_servers({"mcpServers": {"old": entry}}, {})

    assert (config.transport, config.prefix) == ("sse", False)
    public, sealed = public_config(config), sealed_part(config)
    assert public == {"transport": "sse", "url": "https://a.example/sse?key=***", "prefix": False}
    assert restore_config("old", public, sealed) == config


async def test_a_server_that_is_away_is_named(upstreams: Upstreams, http_server: Start) -> None:
    """As with the other transports."""
    server = http_server("mode=older", transport="sse")
    server.stop()

    with pytest.raises((UpstreamError, UpstreamRefused), match="'web' cannot be reached at"):
        await upstreams.list_tools(server.config)
