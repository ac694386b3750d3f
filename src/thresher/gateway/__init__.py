"""Face 1, MCP: the endpoint that clients connect to.

Invariant: tools/list is the same for the same caller and catalogue, whatever was requested before.

Uses: agent, calling, context, core, knowledge, llm, packs, results, services, upstream.
"""

from thresher.gateway.callers import instructions
from thresher.gateway.clients import ClientSetup, clients, clients_over_http, own_command
from thresher.gateway.server import MCP_PATH, build_gateway, http_app
from thresher.gateway.streams import serve_stream_session

__all__ = [
    "MCP_PATH",
    "ClientSetup",
    "build_gateway",
    "clients",
    "clients_over_http",
    "http_app",
    "instructions",
    "own_command",
    "serve_stream_session",
]
