"""The servers that the gateway's benchmarks talk to, each a process of its own: `python -m benchmarks.endpoints WHAT`.

`upstream [TOOLS]` is a streamable-HTTP server with one tool, or with so many; `proxy URL` is FastMCP's own proxy of it;
`plain URL` is the least that a gateway can be: one warm client and no check. `hung` accepts connections and never
answers.

Invariant: each prints its address as its first line, and listens on loopback alone.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastmcp import FastMCP
from fastmcp.server import create_proxy
from fastmcp.tools.base import ToolResult
from mcp import Client

from benchmarks.processes import Process, starting, until


def upstream(tools: str = "1") -> FastMCP[Any]:
    """A server with a tool that answers with what it was given, and others that are only listed."""
    server: FastMCP[Any] = FastMCP("upstream")

    @server.tool(annotations={"readOnlyHint": True})
    def echo(text: str) -> str:
        return text

    def find_file(path: str, query: str = "", limit: int = 10, tags: list[str] | None = None) -> dict[str, Any]:
        return {"path": path, "query": query, "limit": limit, "tags": tags}

    for number in range(1, int(tools)):
        described = f"Find file number {number} by its path, a query and its tags."
        server.tool(find_file, name=f"find_file_{number}", description=described)
    return server


def plain(url: str) -> FastMCP[Any]:
    """Ten plain lines: one warm client, no catalogue, no check."""
    client = Client(url)

    @asynccontextmanager
    async def warm(_: FastMCP[Any]) -> AsyncGenerator[None]:
        async with client:
            await client.list_tools()
            yield

    server: FastMCP[Any] = FastMCP("plain", lifespan=warm)

    @server.tool
    async def call_tool(name: str, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult.from_mcp_result(await client.call_tool(name, arguments))

    return server


async def _listens(server: uvicorn.Server) -> bool:
    return server.started


async def _serve(server: FastMCP[Any]) -> None:
    config = uvicorn.Config(
        server.http_app(path="/mcp"), port=0, log_level="error", access_log=False, timeout_keep_alive=600
    )
    listening = uvicorn.Server(config)
    serving = asyncio.create_task(listening.serve())
    await until(lambda: _listens(listening), pause=0.01)
    port = listening.servers[0].sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    await serving


async def _hang() -> None:
    """Accept connections and leave them without an answer."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", flush=True)
    await server.serve_forever()


@asynccontextmanager
async def endpoint(what: str, *arguments: str) -> AsyncGenerator[Process]:
    """One of these servers as a child process, until the block ends."""
    async with starting(sys.executable, "-m", "benchmarks.endpoints", what, *arguments) as process:
        yield process


async def main(what: str, *arguments: str) -> None:
    """Serve until the process is ended."""
    if what == "hung":
        await _hang()
        return
    await _serve({"upstream": upstream, "proxy": create_proxy, "plain": plain}[what](*arguments))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
