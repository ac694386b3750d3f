"""Sessions with other MCP servers: how to reach them, their tools, calls.

Invariant: no secret of a server shows in a message, a log line or a `repr`, and no child process outlives its session.

Uses: core.
"""

from thresher.upstream.config import ServerConfig, public_config, restore_config, sealed_part, valid_name
from thresher.upstream.parsing import ServerFile, ServerProblem, parse_servers
from thresher.upstream.peer import Peer, Question
from thresher.upstream.pool import Upstreams
from thresher.upstream.records import CallOutcome, Changed, Listing, ServerState

__all__ = [
    "CallOutcome",
    "Changed",
    "Listing",
    "Peer",
    "Question",
    "ServerConfig",
    "ServerFile",
    "ServerProblem",
    "ServerState",
    "Upstreams",
    "parse_servers",
    "public_config",
    "restore_config",
    "sealed_part",
    "valid_name",
]
