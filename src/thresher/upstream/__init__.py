"""Sessions with other MCP servers: how to reach them, their tools, calls.

Invariant: no secret of a server shows in a message, a log line or a `repr`, and no child process outlives its session.

Uses: core.
"""

from thresher.upstream.config import ServerConfig, public_config, restore_config, sealed_part, valid_name
from thresher.upstream.guarded import GuardedSql, read_sql, statements_in
from thresher.upstream.limits import Limits
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
from thresher.upstream.oauth_client import OAuthClient
from thresher.upstream.parsing import ServerFile, ServerProblem, checked_server, parse_servers
from thresher.upstream.peer import Peer, Question
from thresher.upstream.pool import IdleUpstreams, Upstreams
from thresher.upstream.records import CallOutcome, Changed, Listing, ServerState
from thresher.upstream.transport.process import start_child, stop_child

__all__ = [
    "CallOutcome",
    "Changed",
    "Credentials",
    "GuardedSql",
    "IdleUpstreams",
    "Limits",
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
