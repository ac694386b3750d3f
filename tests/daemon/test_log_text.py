"""No text of callers is in any log unless the setting allows it: a whole session, then every file and every table."""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.daemon.home import THRESHER, Home, fake_server, opened
from tests.support import Databases
from thresher.store.tables import metadata

pytestmark = pytest.mark.timeout(300)  # several processes import everything, beside other tests

MARKER = "xyzzy4711"
KEY = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


@contextmanager
def _served(home: Home, folder: Path) -> Iterator[str]:
    """A daemon in the foreground, which logs to its standard error; gives its address."""
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(folder)}))
    command = (*THRESHER, "serve", "--port", "0", "--json", "--config", str(config))
    with (folder / "stderr.log").open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=home.environment)
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _speak(home: Home, url: str) -> None:
    """Say the marker wherever a caller can say something: over MCP, HTTP and the command line, well and badly."""
    home.json("servers", "refresh")
    home.json("servers", "set", "fake", "--trusted")
    client = home.client()
    client.greet()
    assert not client.call("find_tools", message=f"{MARKER} echo with {KEY}").get("isError")
    assert not client.call("call_tool", name="fake_echo", arguments={"text": f"{MARKER} {KEY}"}).get("isError")
    for tool, arguments in (
        ("find_tools", {"message": MARKER, "threshold": MARKER}),
        ("find_tools", {"queries": [MARKER * 400]}),
        ("find_tools", {"message": "x", "servers": [MARKER]}),
        ("describe_tools", {"names": [MARKER]}),
        ("call_tool", {"name": MARKER, "arguments": {"text": MARKER}}),
        ("call_tool_write", {"name": "fake_fail", "arguments": {"text": MARKER}}),
        ("call_tool", {"name": "fake_echo", "arguments": MARKER}),
        (MARKER, {"text": MARKER}),
    ):
        client.ask("tools/call", {"name": tool, "arguments": arguments})
    client.ask("tools/call", {"name": [MARKER], "arguments": {"text": MARKER}})
    client.ask(f"tools/{MARKER}", {"text": MARKER})
    _speak_http(url)
    home.run("tools", "find", MARKER)
    home.run("tools", "find", MARKER, "--threshold", "7", "-s", MARKER)
    assert client.process.stdin is not None
    client.process.stdin.write(f"{MARKER} is no JSON\n".encode())
    client.leave()


def _speak_http(url: str) -> None:
    base = url.removesuffix("/mcp")
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    with httpx.Client(timeout=30) as web:
        for body in (f"{{{MARKER}", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": MARKER})):
            web.post(url, headers=headers, content=body)
        for body in ({"message": MARKER}, {"message": [MARKER]}, {MARKER: MARKER}, {"message": "x", "limit": MARKER}):
            web.post(f"{base}/v1/tools/find", json=body)
        web.post(f"{base}/v1/tools/find", content=MARKER)
        web.get(f"{base}/v1/{MARKER}?text={MARKER}")


async def _logged(databases: Databases, name: str, *folders: Path) -> str:
    """Everything that was written down: every file, every row of every table."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    rows = [
        row[0] for table in metadata.tables for row in await databases.admin(f"select t::text from {table} t", name)
    ]
    return "\n".join([*(path.read_text(errors="replace") for path in files), *map(str, rows)])


@pytest.mark.parametrize("text", ["off", "on"])
async def test_what_callers_say_is_logged_only_where_the_setting_is_on(
    open_folder: Path, tmp_path: Path, databases: Databases, text: str
) -> None:
    """Even with every detail logged, and never with a secret."""
    name = await databases.create()
    settings = {"THRESHER_DATABASE_URL": databases.url(name), "THRESHER_LOG_LEVEL": "DEBUG", "THRESHER_LOG_TEXT": text}
    with opened(open_folder / secrets.token_hex(4), **settings) as home, _served(home, tmp_path) as url:
        await asyncio.to_thread(_speak, home, url)
    logged = await _logged(databases, name, home.folder, tmp_path)
    calls = await databases.admin("select name, state from invocation order by id", name)
    messages = await databases.admin("select message from discovery where message is not null", name)
    await databases.drop(name)

    assert "find_tools" in logged
    assert "refused" in logged
    assert ("fake_echo", "ok") in calls
    assert KEY not in logged
    if text == "off":
        assert [line for line in logged.splitlines() if MARKER in line] == []
    else:
        assert (f"{MARKER} echo with ***",) in messages
        assert f'"text": "{MARKER} ***"' in logged
