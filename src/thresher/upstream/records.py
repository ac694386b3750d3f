"""Records of an upstream server: listing, call outcomes, changes, the state of its sessions and their limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_types import ContentBlock

from thresher.core import JSON, Tool


@dataclass(frozen=True, slots=True)
class UpstreamLimits:
    """Limits of sessions; a test can shorten them. Times are in seconds.

    Attributes:
        servers: Maximum servers with sessions; the longest idle one is closed first.
        leases: Maximum clients with a session of their own at one server.
        lease_wait: How long a further client waits for one.
        lease_idle: Idle time after which a leased session is closed.
        shared_idle: Idle time after which a shared session is closed, unless it has subscriptions.
        tending: Time between checks for idle sessions.
        ping_after: Idle time after which, and interval at which, a session is pinged.
        ping: Time limit for a ping; after two misses the session is given up.
        probe: Time for a child to answer in the newest revision before the older handshake is tried as well.
        web_probe: The same for an HTTP server, where the handshakes are tried one after the other.
        failures: Failed attempts in a row after which a server is left alone for a while.
        pause: The first such pause; it doubles each time.
        longest_pause: The longest such pause.
        answer: Time for a person to answer a server's question.
        rounds: Maximum requests for input in one call (2026-07-28).
    """

    servers: int = 500
    leases: int = 16
    lease_wait: float = 10.0
    lease_idle: float = 300.0
    shared_idle: float = 3600.0
    tending: float = 5.0
    ping_after: float = 60.0
    ping: float = 10.0
    probe: float = 0.5
    web_probe: float = 5.0
    failures: int = 3
    pause: float = 1.0
    longest_pause: float = 60.0
    answer: float = 600.0
    rounds: int = 10


@dataclass(frozen=True, slots=True)
class Listing:
    """A complete listing of a server.

    Attributes:
        tools: All usable tools, in the server's order, each name once.
        instructions: The server's instructions for the model; may be empty.
        version: The server's own version; empty if it does not report one.
        protocol: The protocol revision, such as `2025-11-25`.
        capabilities: The server's capabilities, as JSON.
        resources: Definitions of its resources as JSON, in the server's order, each address once.
        templates: Definitions of its resource templates as JSON, each address template once.
        prompts: Definitions of its prompts as JSON, each name once.
        problems: Unusable parts of the listing, one sentence each; the rest is valid.
        partial: Which of `resources`, `templates` and `prompts` could not be listed; their tuples are then empty.
        ttl_ms: How long the list of tools is valid according to the server (2026-07-28); None if not reported.
        cache_scope: `public` or `private` according to the server (2026-07-28); empty if not reported.
    """

    tools: tuple[Tool, ...]
    instructions: str
    version: str
    protocol: str = ""
    capabilities: JSON = field(default_factory=dict[str, Any])
    resources: tuple[JSON, ...] = ()
    templates: tuple[JSON, ...] = ()
    prompts: tuple[JSON, ...] = ()
    problems: tuple[str, ...] = ()
    partial: frozenset[str] = frozenset()
    ttl_ms: int | None = None
    cache_scope: str = ""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The unchanged answer to a call.

    Attributes:
        content: Blocks (text, image, audio, resource, link) in the types of the MCP library.
        structured: The structured content; an object up to revision 2025-11-25, any JSON value after.
        is_error: Whether the tool itself reports a failure, which the content explains.
        meta: The answer's `_meta`.
        raw: The whole answer as JSON, for callers that pass it on; must not be changed.
        asks: Whether it is a request for input (2026-07-28) instead of an answer; only peers with `rounds` get one.
    """

    content: list[ContentBlock]
    structured: Any
    is_error: bool
    meta: JSON | None = None
    raw: JSON | None = None
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that a server reports.

    Attributes:
        what: What changed: the list of tools, resources or prompts, or the content of one `resource`.
        uri: The resource's address; empty for a list.
    """

    what: Literal["tools", "resources", "prompts", "resource"]
    uri: str = ""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of the sessions with one server.

    Attributes:
        name: The server's name.
        state: `idle` (not yet used, or closed because it was idle), `connecting`, `ready`, `lost` (reconnects at the
            next use), `failed` (the last attempt to connect failed), `open` (failed several times: not tried again for
            a while) or `closed`.
        pid: The shared session's child process; None if there is none.
        tenant: The owning tenant.
        identity: The user whose credentials the sessions use; empty for the tenant's.
        owner: The user who owns the server; empty for the tenant.
        leased: Number of clients with a session of their own.
        problem: Why it is `failed` or `open`; else empty.
    """

    name: str
    state: str
    pid: int | None
    tenant: int = 0
    identity: str = ""
    leased: int = 0
    problem: str = ""
    owner: str = ""
