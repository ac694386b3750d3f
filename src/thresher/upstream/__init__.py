"""Sessions with other MCP servers: their definitions, listings and calls.

Invariant: no secret of a server appears in a message, log line or `repr`, and no child process outlives its session.

Uses: core.
"""

from thresher.upstream.config import (
    GuardedSql,
    OAuthClient,
    ServerConfig,
    public_config,
    read_sql,
    restore_config,
    sealed_part,
    statements_in,
    valid_name,
)
from thresher.upstream.oauth import (
    Credentials,
    SignedIn,
    SignIn,
    SignInNeeded,
    auth_for,
    check_sign_in,
    check_sign_out,
    identity_for,
    open_sign_in,
    settle_sign_ins,
    sign_in_state,
    sign_out,
)
from thresher.upstream.parsing import ServerFile, ServerProblem, checked_server, parse_servers
from thresher.upstream.peer import Peer, Question
from thresher.upstream.pool import IdleUpstreams, Upstreams
from thresher.upstream.records import CallOutcome, Changed, Listing, ServerState, UpstreamLimits
from thresher.upstream.transport.process import start_child, stop_child

__all__ = [
    "CallOutcome",
    "Changed",
    "Credentials",
    "GuardedSql",
    "IdleUpstreams",
    "Listing",
    "OAuthClient",
    "Peer",
    "Question",
    "ServerConfig",
    "ServerFile",
    "ServerProblem",
    "ServerState",
    "SignIn",
    "SignInNeeded",
    "SignedIn",
    "UpstreamLimits",
    "Upstreams",
    "auth_for",
    "check_sign_in",
    "check_sign_out",
    "checked_server",
    "identity_for",
    "open_sign_in",
    "parse_servers",
    "public_config",
    "read_sql",
    "restore_config",
    "sealed_part",
    "settle_sign_ins",
    "sign_in_state",
    "sign_out",
    "start_child",
    "statements_in",
    "stop_child",
    "valid_name",
]
