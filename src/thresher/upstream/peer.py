"""The client behind a call: a server's messages and questions during the call go to that client alone.

Invariant: a question reaches a peer only while a call of that peer is under way.
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
"""A request that a server can send to a client."""


class Peer(Protocol):
    """The client behind a call. Peers with the same `id` are the same connection; each call may have its own object."""

    @property
    def id(self) -> str:
        """Id of the client's connection; a session leased for it is not used for others."""
        ...

    @property
    def owner(self) -> str:
        """The connection's user; each user has a limited share of the sessions."""
        ...

    @property
    def capabilities(self) -> ClientCapabilities:
        """What it can be asked; without elicitation, sampling and roots its calls use the shared session."""
        ...

    @property
    def rounds(self) -> Mapping[str, Any] | None:
        """What a client of 2026-07-28 sent with its request: `inputResponses`, `requestState`, or nothing yet.

        A server of that revision receives it unchanged, and its questions are returned instead of the answer.
        None for a client that is asked through `ask`.
        """
        ...

    @property
    def level(self) -> LoggingLevel | None:
        """Minimum level of log messages of a server of 2026-07-28 during the call; None for no messages."""
        ...

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Receive progress of the call, in order and before its answer."""
        ...

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        """Receive a log message of the server during the call."""
        ...

    async def ask(self, request: Question) -> Result:
        """Answer a question of the server.

        Raises:
            MCPError: The client cannot answer; the server receives this error.
        """
        ...


def question_capabilities(capabilities: ClientCapabilities) -> ClientCapabilities:
    """The capabilities that let a server ask a client something."""
    return ClientCapabilities(
        elicitation=capabilities.elicitation, sampling=capabilities.sampling, roots=capabilities.roots
    )


def can_be_asked(peer: Peer | None) -> bool:
    """Whether a server can ask this peer anything."""
    if peer is None:
        return False
    known = peer.capabilities
    return known.elicitation is not None or known.sampling is not None or known.roots is not None
