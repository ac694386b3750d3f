"""What an upstream server gives: its tools, the outcome of a call, the state of its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from mcp_types import ContentBlock

from thresher.core import JSON, Tool


@dataclass(frozen=True, slots=True)
class Listing:
    """A complete, good listing of a server.

    Attributes:
        tools: All its tools, in its order, each name once.
        instructions: What the server says to the model about its use; may be empty.
        version: The server's own version; empty when it does not say.
        protocol: The protocol revision that was agreed on, such as `2025-11-25`.
    """

    tools: tuple[Tool, ...]
    instructions: str
    version: str
    protocol: str = ""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The answer to a call, as it came.

    Attributes:
        content: Blocks (text, image, audio, resource, link) in the types of the MCP library, to be handed on.
        structured: The structured content; an object up to revision 2025-11-25, any JSON value after.
        is_error: The tool itself says that it failed; the content says why.
        meta: The answer's `_meta`.
    """

    content: list[ContentBlock]
    structured: Any
    is_error: bool
    meta: JSON | None = None


class ServerState(NamedTuple):
    """The state of one server's session.

    Attributes:
        name: The server.
        state: `idle` (not yet used), `connecting`, `ready`, `lost` (reconnects at the next use), `failed` (the
            last attempt to connect did) or `closed`.
        pid: The child's process id; None when there is none.
    """

    name: str
    state: str
    pid: int | None
