"""Who stands behind a call: what an upstream server says and asks while the call is under way goes to it alone.

Invariant: a question reaches a peer only while a call of that same peer is under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    ElicitRequest,
    ListRootsRequest,
    LoggingLevel,
    LoggingMessageNotificationParams,
    Result,
)

Question: TypeAlias = ElicitRequest | CreateMessageRequest | ListRootsRequest
"""What a server can ask of a client."""


class Peer(Protocol):
    """The client behind a call. Two peers of one `id` are the same connection; each call may bring its own."""

    @property
    def id(self) -> str:
        """The client's connection; a session that was leased for it belongs to no other."""
        ...

    @property
    def owner(self) -> str:
        """Whose connection it is, the same for all connections of one user; each user has a share of the sessions."""
        ...

    @property
    def capabilities(self) -> ClientCapabilities:
        """What it can be asked; with none of elicitation, sampling and roots its calls use the shared session."""
        ...

    @property
    def rounds(self) -> Mapping[str, Any] | None:
        """What a client of 2026-07-28 sent beside its request: `inputResponses`, `requestState`, or nothing yet.

        Then a server of that revision gets it as it is, and what the server asks is handed on in place of the answer.
        None for a client whose questions come by `ask`.
        """
        ...

    @property
    def level(self) -> LoggingLevel | None:
        """How severe what a server of 2026-07-28 logs during the call must be; None when the client wants none."""
        ...

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Told of the progress of its call, in order and before the call's answer."""
        ...

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        """Told what the server logs during its call."""
        ...

    async def ask(self, request: Question) -> Result:
        """Answer what the server asks.

        Raises:
            MCPError: It cannot; the server is told so in these words.
        """
        ...


def asked_for(capabilities: ClientCapabilities) -> ClientCapabilities:
    """The part of a client's capabilities that lets a server ask it something."""
    return ClientCapabilities(
        elicitation=capabilities.elicitation, sampling=capabilities.sampling, roots=capabilities.roots
    )


def can_be_asked(peer: Peer | None) -> bool:
    """Whether a server could ask this peer anything."""
    if peer is None:
        return False
    known = peer.capabilities
    return known.elicitation is not None or known.sampling is not None or known.roots is not None
