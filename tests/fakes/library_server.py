"""A well-behaved server made with the MCP library: both protocol eras, over stdio or streamable HTTP.

Usage: library_server.py stdio | http (prints its port).
"""

import socket
import sys

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("library", version="9.9", instructions="Made with the library.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Report progress."""
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    # With the protocol named: asyncio switches Nagle's algorithm off only for sockets that say they are TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
