"""A FastMCP server guarded by FastMCP's own authorization server, with registration; prints its port.

Usage: fastmcp_oauth_server.py [sse]; over streamable HTTP at /mcp, or over the older SSE at /sse.

What others wrote, beside our own fake: the same sign-in must work at both. `POST /expire` ends all access tokens.
"""

import socket
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.dependencies import get_access_token
from starlette.requests import Request
from starlette.responses import Response

listening = socket.create_server(("127.0.0.1", 0))
base = f"http://127.0.0.1:{listening.getsockname()[1]}"
provider = InMemoryOAuthProvider(
    base_url=base,
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read"]),
    revocation_options=RevocationOptions(enabled=True),
    required_scopes=["read"],
)
server = FastMCP("guarded", auth=provider)


@server.tool
def whoami() -> str:
    token = get_access_token()
    return " ".join(token.scopes) if token else "nobody"


@server.custom_route("/expire", methods=["POST"])
async def expire(_request: Request) -> Response:
    provider.access_tokens.clear()
    return Response()


if __name__ == "__main__":
    print(base.rpartition(":")[2], flush=True)
    uvicorn.Server(
        uvicorn.Config(server.http_app(transport="sse" if "sse" in sys.argv else "http"), log_level="error")
    ).run(sockets=[listening])
