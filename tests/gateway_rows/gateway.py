"""A whole gateway over HTTP, as an MCP client meets it, and the child-process servers behind it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastmcp import Client
from mcp_types import CallToolResult

from tests.support.product import listed
from thresher.app import App, open_app
from thresher.core import Caller, Settings
from thresher.daemon.server.http import address_of, bind, serving
from thresher.knowledge.tools import ServerInfo, ToolService
from thresher.upstream import ServerConfig

PROGRAM = Path(__file__).parent.parent / "fakes" / "folder_server.py"


def reading(name: str, description: str = "", properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A tool that says that it only reads, as a server lists it."""
    return listed(name, description, properties, annotations={"readOnlyHint": True}, **more)


@dataclass(frozen=True, slots=True)
class Child:
    """A child-process server that does what its folder says."""

    folder: Path
    config: ServerConfig

    @classmethod
    def at(cls, folder: Path, name: str, *tools: dict[str, Any], **more: Any) -> Child:
        """A server that lists these tools."""
        place = folder / name
        place.mkdir()
        config = ServerConfig(name, "stdio", command=sys.executable, args=(str(PROGRAM), str(place)), **more)
        child = cls(place, config)
        child.lists(*tools)
        return child

    def lists(self, *tools: dict[str, Any]) -> None:
        """From now on it lists these tools."""
        (self.folder / "tools.json").write_text(json.dumps(tools), encoding="utf-8")

    def breaks(self) -> None:
        """From now on its listing fails."""
        (self.folder / "tools.json").unlink()

    def hangs(self) -> None:
        """From now on it answers no handshake."""
        (self.folder / "mute").touch()

    def heard(self, method: str) -> int:
        """How many messages of this method it has received, over all its lives."""
        return self._lines("heard").count(method)

    def pids(self) -> list[int]:
        """The process of each of its starts."""
        return [int(line) for line in self._lines("starts")]

    def _lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that runs."""

    app: App
    address: str

    @property
    def url(self) -> str:
        """Where MCP clients connect."""
        return f"{self.address}/mcp"

    @property
    def tools(self) -> ToolService:
        """The catalogue behind it."""
        return self.app.services.tools

    @property
    def caller(self) -> Caller:
        """Who asks."""
        return self.app.services.caller

    async def server(self, name: str) -> ServerInfo:
        """What people may see of a server."""
        return next(server for server in await self.tools.list_servers(self.caller) if server.name == name)

    async def call(self, name: str, /, **arguments: Any) -> CallToolResult:
        """One client connects, calls one tool and leaves."""
        async with Client(self.url) as client:
            return await client.call_tool_mcp(name, arguments)

    async def run(self, name: str, **arguments: Any) -> CallToolResult:
        """Call an upstream tool that only reads, by its exposed name."""
        return await self.call("call_tool", name=name, arguments=arguments)


@asynccontextmanager
async def running(settings: Settings, *servers: Child | ServerConfig, wait: bool = True) -> AsyncGenerator[Gateway]:
    """A gateway with these servers, whose claims to only read are trusted once they are listed.

    Args:
        settings: Its settings; the database they name must be its own.
        servers: What stands behind it.
        wait: Whether to wait until all of them have been listed.
    """
    configs = [server.config if isinstance(server, Child) else server for server in servers]
    async with open_app(settings, servers=configs) as app, _listening(app) as address:
        if wait:
            await app.indexing
            for config in configs:
                await app.services.tools.set_server_trusted(app.services.caller, config.name, True)
        yield Gateway(app, address)


@asynccontextmanager
async def _listening(app: App) -> AsyncGenerator[str]:
    door = bind("127.0.0.1", 0)
    async with serving(app.asgi, door):
        yield address_of(door).removesuffix("/mcp")


def text(result: CallToolResult) -> str:
    """The text of an answer."""
    return "".join(block.text for block in result.content if block.type == "text")


def names(tools: Sequence[Any]) -> list[str]:
    """Names of listed tools."""
    return [tool.name for tool in tools]
