"""A guarded server in a process of its own, and a browser that signs in at it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from thresher.core import UpstreamError
from thresher.upstream import Credentials, ServerConfig, SignedIn, auth_for, open_sign_in

FAKES = Path(__file__).parents[2] / "fakes"


@dataclass
class Guarded:
    """An MCP server with its authorization server."""

    process: subprocess.Popen[str]
    port: int

    @classmethod
    def start(cls, *options: str, script: str = "oauth_server.py") -> Guarded:
        """Start one."""
        command = [sys.executable, str(FAKES / script), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout
        return cls(process, int(process.stdout.readline()))

    def stop(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    @property
    def url(self) -> str:
        """Where it speaks MCP."""
        return f"http://127.0.0.1:{self.port}/mcp"

    async def post(self, path: str, **body: Any) -> None:
        """Change what it does."""
        async with httpx2.AsyncClient() as client:
            await client.post(f"http://127.0.0.1:{self.port}{path}", json=body)

    async def becomes(self, **options: str) -> None:
        """Let it behave otherwise from now on."""
        await self.post("/control", **options)

    async def seen(self, what: str) -> int:
        """How often something has happened."""
        return int((await self.story())["counts"].get(what, 0))

    async def story(self) -> dict[str, Any]:
        """What has happened, and every secret that it has issued."""
        async with httpx2.AsyncClient() as client:
            return (await client.get(f"http://127.0.0.1:{self.port}/seen")).json()


@dataclass(frozen=True)
class Page:
    """A page in a browser.

    Attributes:
        status_code: The HTTP status.
        text: The page.
        location: The target of a redirect; empty without one.
    """

    status_code: int
    text: str
    location: str = ""


async def browse(address: str) -> Page:
    """Open an address as a browser does, through all redirects."""
    page = await asyncio.to_thread(_open, address)
    return await browse(page.location) if page.location else page


async def redirected(address: str) -> str:
    """Where the authorization server sends a browser that opens an address."""
    return (await asyncio.to_thread(_open, address)).location


def _open(address: str) -> Page:
    # Not by the library under test: its log is looked at.
    parts = urlsplit(address)
    connection = HTTPConnection(parts.netloc, timeout=20)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    page = Page(answer.status, answer.read().decode(), answer.headers.get("Location", ""))
    connection.close()
    return page


async def signed_in(
    config: ServerConfig, credentials: Credentials, *, scopes: tuple[str, ...] = (), seconds: float = 20.0
) -> SignedIn:
    """Sign in with a willing browser."""
    shown: asyncio.Queue[str] = asyncio.Queue()
    async with open_sign_in(config, credentials, scopes=scopes) as sign_in:
        running = asyncio.create_task(sign_in.run(shown.put_nowait, seconds=seconds))
        address = asyncio.create_task(shown.get())
        await asyncio.wait({running, address}, return_when=asyncio.FIRST_COMPLETED)
        if address.done():
            await browse(address.result())
        address.cancel()
        return await running


def state_of(address: str) -> str:
    """The state in an authorization address."""
    return parse_qs(urlsplit(address).query)["state"][0]


async def whoami(config: ServerConfig, credentials: Credentials) -> str:
    """Call the guarded tool once, over a connection of its own."""
    async with httpx2.AsyncClient(auth=auth_for(config, credentials), timeout=60) as client:
        return await ask(config, client)


async def ask(config: ServerConfig, client: httpx2.AsyncClient) -> str:
    """Call the guarded tool over a connection."""
    params = {"name": "whoami", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    response = await client.post(config.url, json=message)
    if response.status_code != 200:
        raise UpstreamError(f"HTTP status {response.status_code}")
    return response.json()["result"]["content"][0]["text"]
