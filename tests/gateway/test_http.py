"""The HTTP endpoint, in front of a small server of its own: sessions, eras, and requests that are not right."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from tests.support import eventually
from thresher.core import Caller, Tenant
from thresher.gateway.http import Endpoint
from thresher.gateway.http.endpoint import BODY_LIMIT

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
STATELESS = {**HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "say"}


def call(name: str, request: int = 2, **more: Any) -> dict[str, Any]:
    """A call of one of the server's tools."""
    return {"jsonrpc": "2.0", "id": request, "method": "tools/call", "params": {"name": name, "arguments": {}, **more}}


class Tools:
    """A server with three tools: `say` answers, `ask` asks first, `hang` waits until it is cancelled."""

    def __init__(self) -> None:
        self.hanging = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
        """Run one of them."""
        said = "said"
        if params.name == "ask":
            answer = await ctx.session.elicit_form("Sure?", {"type": "object", "properties": {}}, ctx.request_id)
            said = answer.action
        if params.name == "hang":
            self.hanging.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        return CallToolResult(content=[TextContent(type="text", text=said)])


@pytest.fixture
def tools() -> Tools:
    """The server's tools."""
    return Tools()


@pytest.fixture
async def http(tools: Tools) -> AsyncIterator[httpx.AsyncClient]:
    """A plain HTTP client of the endpoint; the header `x-user` says for whom it asks."""
    endpoint = Endpoint(Server("small", on_call_tool=tools), "/mcp")

    async def door(scope: Any, receive: Any, send: Any) -> None:
        user = dict(scope["headers"]).get(b"x-user", b"").decode()
        await endpoint({**scope, "thresher.caller": Caller(Tenant(1, "local"), user or None)}, receive, send)

    async with endpoint.lifespan():
        server = uvicorn.Server(uvicorn.Config(door, port=0, log_level="error", lifespan="off"))
        serving = asyncio.create_task(server.serve())
        await eventually(lambda: server.started)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        async with httpx.AsyncClient(base_url=url, headers=HEADERS, timeout=20) as client:
            yield client
        server.should_exit = True
        await serving


async def session(http: httpx.AsyncClient, **headers: str) -> dict[str, str]:
    """Open a session; the headers that name it."""
    hello = await http.post("/mcp", json=HELLO, headers=headers)
    named = {"mcp-session-id": hello.headers["mcp-session-id"], **headers}
    await http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=named)
    return named


async def test_an_answer_with_nothing_before_it_is_plain_json(http: httpx.AsyncClient) -> None:
    """In both eras."""
    named = await session(http)

    old = await http.post("/mcp", json=call("say"), headers=named)
    new = await http.post("/mcp", json=call("say", _meta=META), headers=STATELESS)

    for answer in (old, new):
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()["result"]["content"][0]["text"] == "said"
    assert "mcp-session-id" not in new.headers


async def test_a_question_makes_the_answer_an_event_stream(http: httpx.AsyncClient) -> None:
    """The client's response comes by a request of its own."""
    named = await session(http)
    events: list[str] = []

    async with http.stream("POST", "/mcp", json=call("ask"), headers=named) as answer:
        async for line in answer.aiter_lines():
            if not line.startswith("data: "):
                continue
            events.append(line)
            if "elicitation/create" in line:
                response = {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}}
                taken = await http.post("/mcp", json=response, headers=named)

    assert answer.headers["content-type"] == "text/event-stream"
    assert taken.status_code == 202
    assert len(events) == 2
    assert '"text":"decline"' in events[1]


async def test_a_session_is_its_opener_s_alone(http: httpx.AsyncClient) -> None:
    """To another caller it does not exist; nor to anybody once it is closed."""
    named = await session(http, **{"x-user": "ann"})

    foreign = await http.post("/mcp", json=call("say"), headers={**named, "x-user": "bob"})
    closing = await http.delete("/mcp", headers={**named, "x-user": "bob"})
    own = await http.post("/mcp", json=call("say"), headers=named)
    closed = await http.delete("/mcp", headers=named)
    late = await http.post("/mcp", json=call("say"), headers=named)

    assert [foreign.status_code, closing.status_code, own.status_code] == [404, 404, 200]
    assert [closed.status_code, late.status_code] == [200, 404]


async def test_a_caller_with_too_many_sessions_loses_its_own_oldest_one(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of others are theirs."""
    monkeypatch.setattr("thresher.gateway.http.sessions.SESSIONS_EACH", 2)
    other = await session(http, **{"x-user": "ann"})
    first, *later = [await session(http, **{"x-user": "bob"}) for _ in range(3)]

    answers = [await http.post("/mcp", json=call("say"), headers=one) for one in (first, *later, other)]

    assert [answer.status_code for answer in answers] == [404, 200, 200, 200]


async def test_a_handshake_that_would_be_kept_whole_is_small(http: httpx.AsyncClient) -> None:
    """It lives as long as its session."""
    client = {"name": "x" * 100_000, "version": "1"}
    hello = {**HELLO, "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}}

    refused = await http.post("/mcp", json=hello)

    assert refused.status_code == 413


async def test_a_cancelled_call_ends_and_the_session_goes_on(http: httpx.AsyncClient, tools: Tools) -> None:
    """Its request is answered, for this wire owes each one an answer."""
    named = await session(http)
    hanging = asyncio.create_task(http.post("/mcp", json=call("hang", 7), headers=named))
    await asyncio.wait_for(tools.hanging.wait(), 20)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}

    await http.post("/mcp", json=cancel, headers=named)
    answer = await hanging
    after = await http.post("/mcp", json=call("say"), headers=named)

    assert answer.json()["error"]["code"] == -32800
    assert tools.cancelled.is_set()
    assert after.status_code == 200


async def test_closing_the_request_cancels_a_stateless_call(http: httpx.AsyncClient, tools: Tools) -> None:
    """That is how a client of 2026-07-28 cancels."""
    headers = {**STATELESS, "mcp-name": "hang"}
    hanging = asyncio.create_task(http.post("/mcp", json=call("hang", _meta=META), headers=headers))
    await asyncio.wait_for(tools.hanging.wait(), 20)

    hanging.cancel()

    await asyncio.wait_for(tools.cancelled.wait(), 20)


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"{nonsense", 400),
        ({}, b"[" * 100_000, 400),
        ({}, b"[]", 400),
        ({}, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', 400),
        ({"content-type": "text/plain"}, b"{}", 415),
        ({"accept": "application/json"}, b"{}", 406),
        ({"mcp-session-id": "unknown"}, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', 404),
        ({"mcp-protocol-version": "2099-01-01"}, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', 400),
        ({"mcp-protocol-version": "2026-07-28"}, b'{"jsonrpc": "2.0", "id": [], "method": "ping"}', 400),
        ({**STATELESS, "mcp-method": "tools/list"}, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', 400),
    ],
)
async def test_a_request_that_is_not_right_is_refused(
    http: httpx.AsyncClient, headers: dict[str, str], body: bytes, status: int
) -> None:
    """With a JSON-RPC error, and nothing breaks for others."""
    answer = await http.post("/mcp", content=body, headers=headers)

    assert answer.status_code == status
    assert "error" in answer.json()
    assert await session(http)


async def test_a_request_beyond_all_bounds_is_cut_off(http: httpx.AsyncClient) -> None:
    """Before it fills the memory."""

    async def flood() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 2**20 + 1):
            yield b" " * 2**20

    answer = await http.post("/mcp", content=flood())

    assert answer.status_code == 413


async def test_a_request_with_too_many_values_is_refused_before_it_is_decoded(http: httpx.AsyncClient) -> None:
    """Nobody else is served while it is; a long text with as many commas is one value."""
    many, long = "[]," * 250_001 + "[]", '"' + "a," * 300_000 + '"'
    body = '{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":[{}]}}}}'

    refused, read = [await http.post("/mcp", content=body.format(part)) for part in (many, long)]

    assert refused.status_code == 413
    assert "250,000 values" in refused.json()["error"]["message"]
    assert "Missing session ID" in read.json()["error"]["message"]


async def test_other_methods_and_paths_are_refused(http: httpx.AsyncClient) -> None:
    """With what is allowed."""
    put = await http.put("/mcp", content=b"")
    stateless = await http.get("/mcp", headers=STATELESS)
    elsewhere = await http.post("/mcpx", json={})

    assert (put.status_code, put.headers["allow"]) == (405, "GET, POST, DELETE")
    assert (stateless.status_code, stateless.headers["allow"]) == (405, "POST")
    assert elsewhere.status_code == 404
