"""The gateway over HTTP in front of a server that talks back, and clients of both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp_types import CallToolResult

from tests.support import eventually
from thresher.core import Caller
from thresher.gateway import build_gateway, http_app
from thresher.services import Services
from thresher.upstream import ServerConfig

TALKING = Path(__file__).parent.parent / "fakes" / "talking_server.py"


@asynccontextmanager
async def over_http(era: str, notes: Path) -> AsyncIterator[str]:
    """The same server over HTTP; gives its address."""
    command = (sys.executable, str(TALKING), era, str(notes), "http")
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()


async def add_talking(services: Services, era: str, *notes: str, **more: Any) -> None:
    """Put the server into the catalogue, under the name `talk`."""
    config = ServerConfig("talk", "stdio", command=sys.executable, args=(str(TALKING), era, *notes), **more)
    await add(services, config)


async def add(services: Services, config: ServerConfig) -> None:
    """Put a server into the catalogue."""
    await services.tools.add_server(services.caller, config, trusted=True)
    await services.tools.refresh(services.caller, config.name)


@asynccontextmanager
async def served(services: Services, **options: Any) -> AsyncIterator[str]:
    """The gateway over HTTP behind a door that takes the user from a header."""
    mcp = http_app(build_gateway(services, **options))

    async def door(scope: Any, receive: Any, send: Any) -> None:
        named = dict(scope.get("headers", ())).get(b"x-user", b"").decode()
        scope["thresher.caller"] = Caller(services.caller.tenant, named or None)
        await mcp(scope, receive, send)

    async with mcp.router.lifespan_context(mcp):
        server = uvicorn.Server(uvicorn.Config(door, port=0, log_level="error", lifespan="off"))
        serving = asyncio.create_task(server.serve())
        await eventually(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
        server.should_exit = True
        await serving


def connect(url: str, mode: str, user: str = "", **handlers: Any) -> Client[Any]:
    """A client of a user."""
    transport = StreamableHttpTransport(url, headers={"x-user": user} if user else {})
    return Client(transport, mode=mode, **handlers)  # type: ignore[arg-type]


async def call(client: Client[Any], name: str, **arguments: Any) -> CallToolResult:
    """The answer of one of the server's tools, errors included."""
    return await client.call_tool_mcp("call_tool", {"name": f"talk_{name}", "arguments": arguments})


def text(result: CallToolResult) -> str:
    """The text of an answer."""
    return "".join(block.text for block in result.content if block.type == "text")
