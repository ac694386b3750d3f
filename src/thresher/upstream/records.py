"""What an upstream server gives: its components, the outcome of a call, the state of its sessions, what changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_types import ContentBlock

from thresher.core import JSON, Tool


@dataclass(frozen=True, slots=True)
class Listing:
    """A complete, good listing of a server.

    Attributes:
        tools: All its usable tools, in its order, each name once.
        instructions: What the server says to the model about its use; may be empty.
        version: The server's own version; empty when it does not say.
        protocol: The protocol revision that was agreed on, such as `2025-11-25`.
        capabilities: What the server says it can do, as JSON.
        resources: Definitions of its resources as JSON, in its order, each address once.
        templates: Definitions of its resource templates as JSON, each address template once.
        prompts: Definitions of its prompts as JSON, each name once.
        problems: What of the listing could not be used, one sentence each; the rest stands.
        partial: Which of `resources`, `templates` and `prompts` could not be listed; their empty tuple says nothing.
        ttl_ms: For how long the server says that its list of tools is good (2026-07-28); None when it does not say.
        cache_scope: `public` or `private`, as the server says (2026-07-28); empty when it does not say.
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
    """The answer to a call, as it came.

    Attributes:
        content: Blocks (text, image, audio, resource, link) in the types of the MCP library, to be handed on.
        structured: The structured content; an object up to revision 2025-11-25, any JSON value after.
        is_error: The tool itself says that it failed; the content says why.
        meta: The answer's `_meta`.
        raw: The whole answer as JSON, for those who only hand it on; treat it as frozen.
        asks: It is no answer yet, but a request for input (2026-07-28), which only peers with `rounds` get.
    """

    content: list[ContentBlock]
    structured: Any
    is_error: bool
    meta: JSON | None = None
    raw: JSON | None = None
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Changed:
    """What a server says has changed.

    Attributes:
        what: Its list of tools, resources or prompts, or the content of one `resource`.
        uri: The resource's address; empty for a list.
    """

    what: Literal["tools", "resources", "prompts", "resource"]
    uri: str = ""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of the sessions with one server.

    Attributes:
        name: The server.
        state: `idle` (not yet used, or closed for want of use), `connecting`, `ready`, `lost` (reconnects at the next
            use), `failed` (the last attempt to connect did), `open` (failed several times: not tried again for a
            while) or `closed`.
        pid: The shared session's child process; None when there is none.
        tenant: Whose server it is.
        identity: Whose credentials the sessions use.
        leased: How many clients have a session of their own.
        problem: Why it is `failed` or `open`; empty else.
    """

    name: str
    state: str
    pid: int | None
    tenant: int = 0
    identity: str = ""
    leased: int = 0
    problem: str = ""
