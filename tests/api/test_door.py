"""Who comes in: Host, Origin and key are checked before anything else, on every path."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from tests.api.serving import INITIALIZE, MCP_HEADERS, Served, assert_problem, on_port, served
from tests.support.product import CATALOGUE
from thresher.api import Door, Origins
from thresher.app import open_app
from thresher.core import Caller, Settings

PATHS = ["/mcp", "/mcp/", "/v1/tools/find", "/v1/openapi.json", "/healthz", "/readyz", "/", "/nowhere"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.0.2.7",
        "a b",
        "::1",
        "",
    ],
)
async def test_a_foreign_host_is_misdirected(keyless: Served, host: str) -> None:
    """A page whose name was rebound to this machine reaches nothing, health included."""
    for path in PATHS:
        answer = await keyless.web.post(path, headers={"host": host})

        assert_problem(answer, 421, "foreign_host")


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "", "http://127.0.0.1.evil.example", "file://", "http://localhost@evil.example"],
)
async def test_a_foreign_origin_is_forbidden(keyless: Served, origin: str) -> None:
    """Whatever the page asks for."""
    for path in PATHS:
        answer = await keyless.web.post(path, headers={"origin": origin})

        assert_problem(answer, 403, "foreign_origin")


async def test_pages_of_this_machine_are_let_in(keyless: Served) -> None:
    """An inspector on another port, say."""
    for origin in ("http://localhost:6274", "http://127.0.0.1", "https://[::1]:1"):
        assert (await keyless.find(origin=origin)).status_code == 200


async def test_two_hosts_are_none(keyless: Served) -> None:
    """A second header is no way around the first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", keyless.web.base_url.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n")
    answer = await reader.readline()
    writer.close()

    assert b" 400 " in answer or b" 421 " in answer


async def test_names_and_origins_can_be_allowed(own_settings: Settings) -> None:
    """Behind a proxy with a name of its own; a page's preflight is answered and its answers are readable."""
    allowed = {"allowed_hosts": ("thresher.example.com",), "allowed_origins": ("https://chat.example.com",)}
    async with served(own_settings.model_copy(update=allowed)) as product:
        _, key = await product.key("local")
        named = {"host": "thresher.example.com:443", "origin": "https://chat.example.com"}
        answer = await product.find(**named, **key)
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        preflight = await product.web.options("/mcp", headers=named | asked)
        other = await product.find(host="thresher.example.com", origin="https://other.example.com", **key)
        page_here = await product.find(host="thresher.example.com", origin="http://localhost:3000", **key)

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://chat.example.com"
    assert preflight.status_code == 200
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert_problem(other, 403, "foreign_origin")
    assert_problem(page_here, 403, "foreign_origin")


async def test_the_owner_needs_no_key_however_many_there_are(product: Served) -> None:
    """Keys are for others: the owner's clients go on without one, after the first key and after its end."""
    session = await product.session()
    tenant, key = await product.key("local")
    after = await product.find()
    within = await product.mcp("tools/list", session)
    with_key = await product.find(**key)
    await product.app.services.keys.revoke(tenant, "key")
    at_last = await product.find()
    revoked = await product.find(**key)

    assert [answer.status_code for answer in (after, within, with_key, at_last)] == [200, 200, 200, 200]
    body = assert_problem(revoked, 401, "access_denied")
    assert revoked.headers["www-authenticate"].startswith("Bearer")
    assert "thresher keys add" in body["hint"]


PLACEHOLDERS = ["", "x", "none", "EMPTY", "dummy", "ollama", "sk-none", "sk-no-key-required"]
FACES = ["/v1/tools/find", "/mcp", "/v1/chat/completions"]


async def statuses(product: Served, headers: dict[str, str]) -> list[int]:
    """What each face answers to a request with these headers."""
    bodies = [{"queries": ["x"]}, INITIALIZE, {"model": "none-such", "messages": [{"role": "user", "content": "hi"}]}]
    asked = zip(FACES, bodies, strict=True)
    given = MCP_HEADERS | headers
    return [(await product.web.post(path, json=body, headers=given)).status_code for path, body in asked]


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "api-key"])
async def test_what_stands_for_no_key_is_no_key(keyless: Served, header: str) -> None:
    """Clients that insist on a key get one of these words; the owner is the owner with it, others need a key."""
    for word in PLACEHOLDERS:
        shown = f"Bearer {word}".strip() if header == "authorization" else word
        owner = await statuses(keyless, {header: shown})
        other = await statuses(keyless, {header: shown, "x-forwarded-for": "203.0.113.9"})

        assert 401 not in owner, word
        assert other == [401, 401, 401], word


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "api-key"])
async def test_any_other_unknown_key_is_refused(keyless: Served, header: str) -> None:
    """To the owner, too: a caller who shows a key means to be someone else."""
    for word in ("sk-proj-1", "None", "thr_" + "a" * 43, "no key"):
        shown = f"Bearer {word}" if header == "authorization" else word

        assert await statuses(keyless, {header: shown}) == [401, 401, 401], word


async def test_a_key_comes_in_any_of_the_headers_that_clients_have(product: Served) -> None:
    """The same key twice is one key; two keys are refused, whichever is valid; a placeholder beside one is nothing."""
    _, key = await product.key("acme")
    text = key["authorization"].removeprefix("Bearer ")
    alone = [await product.find(**{name: text}) for name in ("x-api-key", "api-key")]
    twice = await product.find(**key, **{"api-key": text, "x-api-key": "none"})
    two = await product.find(**key, **{"api-key": "sk-other"})

    assert [answer.status_code for answer in (*alone, twice)] == [200, 200, 200]
    assert_problem(two, 401, "access_denied")


@pytest.mark.parametrize(
    "authorization", ["Basic dXNlcjpwYXNz", "Bearer nonsense", "thr_" + "a" * 43, "none", "Bearer é"]
)
async def test_other_kinds_of_authorization_are_refused(keyless: Served, authorization: str) -> None:
    """Even where none is needed."""
    headers = {"authorization": authorization.encode()}
    find = await keyless.web.post("/v1/tools/find", json={"queries": ["x"]}, headers=headers)
    mcp = await keyless.web.post("/mcp", json={}, headers=headers)

    assert_problem(find, 401, "access_denied")
    assert_problem(mcp, 401, "access_denied")


async def test_keyless_access_can_be_off(own_settings: Settings) -> None:
    """`auto` is off with an external database; then the owner needs a key like everybody else."""
    async with open_app(own_settings) as app, on_port(app.asgi) as web:
        product = Served(app, web)
        without = await product.find(authorization="Bearer none")
        _, key = await product.key("local")
        with_key = await product.find(**key)

    assert_problem(without, 401, "access_denied")
    assert with_key.status_code == 200


ASK_AS = """
import encodings.idna, http.client, os, sys
port, user = int(sys.argv[1]), int(sys.argv[2])
if user != os.geteuid():
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
connection = http.client.HTTPConnection("127.0.0.1", port)
for _ in range(2):
    connection.request("POST", "/v1/tools/find", '{"queries": ["x"]}', {"content-type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    print(answer.status)
"""
"""Asks twice over one connection, as a user of this machine."""
as_root = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root")


async def ask_as(user: int, product: Served) -> list[str]:
    """The statuses that a process of another user gets."""
    port = str(product.web.base_url.port)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", ASK_AS, port, str(user), stdout=pipe)
    return (await process.communicate())[0].decode().split()


@as_root
async def test_another_user_of_this_machine_needs_a_key(keyless: Served) -> None:
    """Loopback reaches everybody who has an account here; the owner alone is served without a key."""
    stranger = await ask_as(65534, keyless)
    owner = await ask_as(os.geteuid(), keyless)

    assert stranger == ["401", "401"]
    assert owner == ["200", "200"]


@pytest.mark.parametrize(
    "header",
    [
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Server",
        "X-Forwarded-Prefix",
        "X-Forwarded-Client-Cert",
        "Forwarded",
        "Via",
        "CF-Connecting-IP",
        "True-Client-IP",
        "X-Real-IP",
        "X-Client-IP",
    ],
)
async def test_what_a_proxy_passes_on_needs_a_key(keyless: Served, header: str) -> None:
    """It comes by a loopback connection, but not from this machine; a header without a value tells as much."""
    for value in ("203.0.113.9", ""):
        find = await keyless.find(**{header: value})
        mcp = await keyless.web.post("/mcp", json={}, headers=MCP_HEADERS | {header: value})

        assert_problem(find, 401, "access_denied")
        assert_problem(mcp, 401, "access_denied")


async def test_on_an_open_address_everybody_needs_a_key(own_settings: Settings) -> None:
    """Even this machine, and whatever the setting says."""
    async with served(own_settings.model_copy(update={"host": "0.0.0.0", "keyless": "on"})) as product:
        without = await product.find()
        _, key = await product.key("local")
        with_key = await product.find(**key)
        health = await product.web.get("/healthz")

    assert_problem(without, 401, "access_denied")
    assert with_key.status_code == health.status_code == 200


async def test_callers_see_the_tools_of_their_tenant_alone(product: Served) -> None:
    """Over the HTTP API and over MCP alike."""
    acme, of_acme = await product.key("acme")
    _, of_bolt = await product.key("bolt")
    await product.app.services.tools.import_tools(Caller(acme), CATALOGUE)
    question = {"queries": ["show the commit history"]}
    mine = (await product.find(question, **of_acme)).json()
    theirs = (await product.find(question, **of_bolt)).json()
    call = {"method": "tools/call", "params": {"name": "find_tools", "arguments": question}}
    over_mcp: list[Any] = []
    for key in (of_acme, of_bolt):
        session = await product.session(**key)
        answer = await product.web.post(
            "/mcp", json={"jsonrpc": "2.0", "id": 3} | call, headers=MCP_HEADERS | {"mcp-session-id": session} | key
        )
        over_mcp.append(answer.text)

    assert [tool["name"] for tool in mine["tools"]][:1] == ["git_git_log"]
    assert theirs["tools"] == []
    assert "git_git_log" in over_mcp[0]
    assert "git_git_log" not in over_mcp[1]


async def test_a_session_of_another_key_is_not_there(product: Served) -> None:
    """To a key of the same tenant too; a request without a key is refused before."""
    _, ann = await product.key("acme", "ann", "ann")
    _, bob = await product.key("acme", "bob", "bob")
    session = await product.session(**ann)

    own = await product.mcp("tools/list", session, **ann)
    foreign = await product.mcp("tools/list", session, **bob)
    ended = await product.web.delete("/mcp", headers=MCP_HEADERS | {"mcp-session-id": session} | bob)

    assert own.status_code == 200
    assert foreign.status_code == 404
    assert ended.status_code == 404
    assert (await product.mcp("tools/list", session, **ann)).status_code == 200


async def test_a_revoked_key_ends_its_sessions_and_streams(product: Served) -> None:
    """The next request is refused, and the stream that is open ends by itself."""
    acme, key = await product.key("acme")
    session = await product.session(**key)
    headers = MCP_HEADERS | {"mcp-session-id": session, "accept": "text/event-stream"} | key
    async with product.web.stream("GET", "/mcp", headers=headers) as stream:
        await product.app.services.keys.revoke(acme, "key")
        async with asyncio.timeout(5):
            async for _ in stream.aiter_raw():
                pass
    again = await product.mcp("tools/list", session, **key)
    find = await product.find(**key)

    assert stream.status_code == 200
    assert_problem(again, 401, "access_denied")
    assert "revoked" in assert_problem(find, 401, "access_denied")["detail"]


async def test_what_nobody_foresaw_tells_a_trace_id_alone(keyless: Served) -> None:
    """Before the answer has begun; an answer that breaks off in its midst ends."""

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/late":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        raise RuntimeError("secret detail")

    services = keyless.app.services
    door = Door(broken, lambda: broken, services.keys, Origins(), services.caller, lambda _: None)
    async with on_port(door) as web:
        early, late = await web.get("/early"), await web.get("/late")

    assert_problem(early, 500, "internal")
    assert "secret" not in early.text
    assert late.text == "begun"


async def test_a_database_that_is_away_is_a_problem_to_wait_for(product: Served) -> None:
    """With a key: it cannot be looked up."""
    await product.app.services.database.close()
    answers = await asyncio.gather(*(product.find(authorization="Bearer thr_" + "a" * 43) for _ in range(200)))

    assert {answer.status_code for answer in answers} <= {401, 503}
    assert all(answer.headers["content-type"] == "application/problem+json" for answer in answers)


async def test_an_upgrade_is_a_request_as_any_other(keyless: Served) -> None:
    """There are no web sockets, and nothing waits for one."""
    wanted = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": "a"}
    answer = await keyless.web.get("/mcp", headers=wanted)

    assert answer.status_code in (400, 404, 405, 406)
