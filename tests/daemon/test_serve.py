"""`thresher serve`: the daemon in the foreground, with its HTTP door."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastmcp import Client

from tests.daemon.home import Home, fake_server
from tests.support import eventually
from thresher.core import ConfigurationError, Conflict
from thresher.daemon.server.http import address_of, bind, serving

pytestmark = pytest.mark.timeout(300)  # several processes import everything, beside other tests


@asynccontextmanager
async def served(home: Home, *arguments: str) -> AsyncIterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """A daemon in the foreground and the line with which it announced itself."""
    process = home.start("serve", "--port", "0", "--json", *arguments)
    assert process.stdout is not None
    line = await asyncio.to_thread(process.stdout.readline)
    assert line, process.communicate()[1]
    try:
        yield process, json.loads(line)
    finally:
        process.terminate()
        process.communicate(timeout=60)


async def _names(client: Client[Any], *, with_: str) -> set[str]:
    """What the client sees listed, once a certain tool is among it: on a busy machine packs take a while to load."""
    names = {tool.name for tool in await client.list_tools()}
    return names if with_ in names else set()


async def test_a_real_client_finds_and_calls_over_http(light: Home, tmp_path: Path) -> None:
    """Servers of a config file are listed in the background; a broken entry is named and the rest is used.

    Documents can be managed where that was asked for; a tool that only reads is called on the word of a trusted server.
    """
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(tmp_path) | {"broken": {"command": 7}}}))
    options = ("--config", str(config), "--admin-tools", "--expose", "own")
    async with served(light, *options) as (process, ready), Client(ready["url"]) as client:
        await eventually(lambda: any(s["tools"] for s in light.json("servers", "list")), seconds=40)
        light.json("servers", "set", "fake", "--trusted")
        names = await eventually(lambda: _names(client, with_="index_documents"), seconds=40)
        answer = await client.call_tool("call_tool", {"name": "fake_echo", "arguments": {}})
        status = light.json("status")
        async with httpx.AsyncClient() as web:
            base = ready["url"].removesuffix("/mcp")
            health, nowhere = await web.get(f"{base}/healthz"), await web.get(f"{base}/admin")
            foreign = await web.post(ready["url"], headers={"host": "evil.example"}, json={})
            stranger = await web.post(ready["url"], headers={"origin": "https://evil.example"}, json={})
        taken = light.run(
            "serve", "--port", str(httpx.URL(ready["url"]).port), settings={"THRESHER_DATA_DIR": str(tmp_path / "x")}
        )
        second = light.run("serve", "--port", "0", "--json")
        process.send_signal(signal.SIGINT)
        _, errors = await asyncio.to_thread(process.communicate)

    assert names >= {"find_tools", "describe_tools", "call_tool"}
    assert not answer.is_error
    assert (health.status_code, health.text, nowhere.status_code) == (200, "ok\n", 404)
    assert (foreign.status_code, stranger.status_code) == (421, 403)
    assert (status["started_by"], status["url"]) == ("person", ready["url"])
    assert b"Server 'broken'" in errors
    assert b"Traceback" not in errors
    assert process.returncode == 130
    assert taken.returncode == 4
    assert "is taken" in taken.stderr
    assert "--port 0" in taken.stderr
    assert second.returncode == 4
    assert "thresher stop" in json.loads(second.stdout)["error"]["hint"]
    assert light.pid == 0


async def test_the_start_says_whom_it_serves_without_a_key(light: Home) -> None:
    """In its first lines, in `status` and when a key is made; where the daemon is root, that root is the owner."""
    process = light.start("serve", "--port", "0")
    assert process.stdout is not None
    lines = [(await asyncio.to_thread(process.stdout.readline)).decode().strip() for _ in range(3)]
    status, key = light.json("status"), light.run("keys", "add", "ann", "--tenant", "acme", "--user", "ann")
    process.terminate()
    await asyncio.to_thread(process.communicate, None, 60)

    assert "serves MCP at" in lines[0]
    assert "Its console is at http://127.0.0.1:" in lines[1]
    assert lines[2] == status["access"]
    assert repr(pwd.getpwuid(os.geteuid()).pw_name) in lines[2]
    assert ("root is the owner" in lines[2]) == (os.geteuid() == 0)
    said = " ".join(key.stdout.split())
    assert "of the tenant 'acme', and what the user 'ann' adds" in said
    assert "Without a key: you, as before" in said
    assert lines[2] in said


async def test_serve_takes_the_place_of_an_idle_daemon_and_stop_ends_it(light: Home) -> None:
    """A daemon that a command started makes way; `thresher stop` ends the new one with exit code 0."""
    light.json("tools", "list")
    former = light.pid
    async with served(light) as (process, ready):
        assert ready["pid"] == light.pid != former
        waiting = asyncio.to_thread(process.wait, 60)
        assert light.json("stop")["stopped"]
        assert await waiting == 0


async def test_ctrl_c_during_the_start_leaves_nothing_behind(light: Home) -> None:
    """The daemon is interrupted as soon as it holds the folder."""
    process = light.start("serve", "--port", "0")
    await eventually(lambda: (light.folder / "daemon.lock").exists() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, errors = await asyncio.to_thread(process.communicate, None, 60)

    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    assert light.place.read() is None
    await eventually(lambda: not light.processes())


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org", ""])
def test_only_addresses_of_this_machine_can_be_taken(host: str) -> None:
    """No names: what they mean may change; no address of another machine."""
    with pytest.raises(ConfigurationError) as caught:
        bind(host, 0)
    assert caught.value.hint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0"])
def test_addresses_are_taken(host: str) -> None:
    """Port 0 gets a free one; the address told is one that this machine can use."""
    with bind(host, 0) as door:
        assert address_of(door).startswith("http://127.0.0.")
        assert address_of(door).endswith("/mcp")
        assert ":0/" not in address_of(door)


async def test_an_address_that_others_reach_needs_a_key_first(light: Home) -> None:
    """Without one the start is refused with the way out; with one, nobody comes in without showing it.

    No setting lets others in without a key.
    """
    keyless = light.run("serve", "--host", "0.0.0.0", "--port", "0")
    light.environment["THRESHER_KEYLESS"] = "auto"
    refused = light.run("serve", "--host", "0.0.0.0", "--port", "0")
    key = light.json("keys", "add", "ann", "--tenant", "acme", "--user", "ann")["key"]
    async with served(light, "--host", "0.0.0.0") as (_, ready), httpx.AsyncClient() as web:
        base = ready["url"].removesuffix("/mcp")
        find = {"url": f"{base}/v1/tools/find", "json": {"queries": ["x"]}}
        without = await web.post(**find)
        with_key = await web.post(**find, headers={"authorization": f"Bearer {key}"})
        async with Client(ready["url"], auth=key) as client:
            names = {tool.name for tool in await client.list_tools()}

    assert keyless.returncode == refused.returncode == 5
    assert "THRESHER_KEYLESS" in keyless.stderr
    assert "thresher keys add" in refused.stderr
    assert ready["access"] == "Every HTTP request needs a key: other machines can reach 0.0.0.0."
    assert "Traceback" not in refused.stderr
    assert (without.status_code, with_key.status_code) == (401, 200)
    assert "find_tools" in names


def test_a_port_that_is_taken_says_so() -> None:
    """With what to do about it."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(Conflict, match=f"Port {port}") as caught:
            bind("127.0.0.1", port)
    assert "thresher stop" in caught.value.hint


async def test_the_door_closes_with_open_connections() -> None:
    """A client that holds its connection open does not hold the daemon up."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.Event().wait()

    door = bind("127.0.0.1", 0)
    async with serving(application, door):
        reader, writer = await asyncio.open_connection(*door.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200" in await reader.readline()

    writer.close()
