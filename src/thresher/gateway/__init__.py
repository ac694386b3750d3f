"""Face 1, MCP: the endpoint that clients connect to.

Invariant: tools/list is the same for the same caller and catalogue, whatever was asked before.

Uses: core.
"""

from thresher.gateway.streams import serve_stream_session

__all__ = ["serve_stream_session"]
