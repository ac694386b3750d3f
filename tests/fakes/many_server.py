"""A FastMCP server with many tools, over stdio or streamable HTTP on loopback, of one protocol era or of both.

Usage: many_server.py TOOLS [KEY=VALUE ...]; over HTTP it prints its port. Options: `stdio=yes`, `port=N`,
`heard=FILE` appends the revision and method of each request, `era=both|session|stateless` refuses the other era as
servers do that do not know it.

`echo` answers with its text; `place` has an argument that is repeated as a header; `log` logs its text and
reports progress; `ask` asks its caller.
"""

import json
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.server.elicitation import AcceptedElicitation
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from pydantic import Field

OPTIONS = dict(option.split("=", 1) for option in sys.argv[2:])
ERA = OPTIONS.get("era", "both")
server: FastMCP[Any] = FastMCP("many", version=OPTIONS.get("version", "1"))


@dataclass
class Person:
    """The answer to a question."""

    name: str


@server.tool
def echo(text: str) -> str:
    """Answer with the text."""
    return text


@server.tool
def place(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Answer with the region."""
    return region


@server.tool
async def log(text: str, ctx: Context) -> str:
    """Log the text, and report progress."""
    await ctx.debug(text)
    await ctx.report_progress(1, 1)
    return text


@server.tool
async def ask(user: str, ctx: Context) -> str:
    """Ask the caller for a name."""
    answer = await ctx.elicit(f"Who is {user}?", response_type=Person)
    return answer.data.name if isinstance(answer, AcceptedElicitation) else "no answer"


def file_of(path: str, query: str = "", limit: int = 10, tags: list[str] | None = None) -> dict[str, Any]:
    """Find a file by its path, a query, and its tags."""
    return {"path": path}


for number in range(int(sys.argv[1]) - 4):
    server.tool(file_of, name=f"file_{number}")


def refusal(message: dict, stateless: bool) -> dict | None:
    """The error for a request of the era that this server does not speak."""
    if ERA == "session" and stateless:
        return {"code": -32600, "message": "Bad Request: Missing session ID"}
    if ERA == "stateless" and not stateless:
        supported = {"supported": ["2026-07-28"]}
        return {"code": UNSUPPORTED_PROTOCOL_VERSION, "message": "Unsupported protocol version", "data": supported}
    return None


def watched(app: Any) -> Any:
    """The app behind a door that notes each request, and refuses those of the other era."""

    async def door(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        message = json.loads(body)
        revision = dict(scope["headers"]).get(b"mcp-protocol-version", b"").decode()
        if "heard" in OPTIONS and {"id", "method"} <= message.keys():
            with Path(OPTIONS["heard"]).open("a", encoding="utf-8") as file:
                file.write(f"{revision} {message['method']}\n")
        if error := refusal(message, revision > "2026"):
            data = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": error}).encode()
            kind = (b"content-type", b"application/json")
            await send({"type": "http.response.start", "status": 400, "headers": [kind]})
            await send({"type": "http.response.body", "body": data})
            return
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Any:
            return unread.pop() if unread else await receive()

        await app(scope, replay, send)

    return door


def main() -> None:
    if "stdio" in OPTIONS:
        server.run("stdio", show_banner=False)
        return
    config = uvicorn.Config(watched(server.http_app(path="/mcp")), log_level="error", timeout_graceful_shutdown=1)
    # With the protocol named: asyncio switches Nagle's algorithm off only for sockets that say they are TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(OPTIONS.get("port", "0"))))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
