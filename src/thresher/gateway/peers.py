"""Represents the client of one request towards the upstream server that serves it.

Invariant: a server's messages and questions during a call go to the client that made this call, and to no other; a
session that can ask is never shared by two calls that could be confused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, get_args

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INVALID_REQUEST,
    LOG_LEVEL_META_KEY,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    Result,
    SetLevelRequestParams,
)

from thresher.core import Caller, acting_caller
from thresher.gateway.callers import connection_id, connection_of, modern

Context: TypeAlias = ServerRequestContext[Any, Any]
Question: TypeAlias = ElicitRequest | CreateMessageRequest | ListRootsRequest

LEVELS: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)
"""By increasing severity."""

_LEVEL = "thresher.level"
_NOTHING = ClientCapabilities()


class ClientPeer:
    """The client of one request; the protocol `Peer` of upstream calls.

    Attributes:
        id: The client's connection, by which sessions are leased.
        owner: The caller's tenant and user.
        capabilities: What the client can be asked.
        rounds: What a client of the stateless era sent again with its request; None if it is asked with `ask`.
    """

    def __init__(
        self,
        context: Context,
        peer_id: str,
        capabilities: ClientCapabilities,
        rounds: Mapping[str, Any] | None = None,
    ) -> None:
        self._context = context
        self.id = peer_id
        self.owner = owner_of(acting_caller())
        self.capabilities = capabilities
        self.rounds = rounds

    @property
    def level(self) -> LoggingLevel | None:
        """The least severe level that the client wants; None if it wants no messages."""
        if not modern(self._context):
            return connection_of(self._context).state.get(_LEVEL, LEVELS[0])
        level = (self._context.meta or {}).get(LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress, if the client gave a token."""
        await self._context.session.report_progress(progress, total, message)

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        """Pass on a message, if the client wants its level."""
        context, least = self._context, self.level
        if least is not None and LEVELS.index(params.level) >= LEVELS.index(least):
            await context.session.send_notification(LoggingMessageNotification(params=params), context.request_id)

    async def ask(self, request: Question) -> Result:
        """Ask the client of this call.

        Raises:
            MCPError: It cannot be asked, refused, or has disconnected.
        """
        match request:
            case ElicitRequest():
                return await self._send(request, ElicitResult)
            case ListRootsRequest():
                return await self._send(request, ListRootsResult)
            case CreateMessageRequest():
                with_tools = request.params.tools is not None
                return await self._send(request, CreateMessageResultWithTools if with_tools else CreateMessageResult)

    async def _send(self, request: Question, result: type[Result]) -> Result:
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        return await self._context.session.send_request(request, result, metadata=related)


def owner_of(caller: Caller) -> str:
    """Return a name for a tenant and user, for their shares of common limits."""
    return f"{caller.tenant.id} {caller.user or ''}"


class Peers:
    """Allocates peer ids.

    A request of the stateless era names no connection. Its caller gets a number while the call lasts, so that two
    concurrent calls never share a session that asks, while successive calls find it warm.
    """

    def __init__(self) -> None:
        self._numbers: defaultdict[tuple[int, str | None], set[int]] = defaultdict(set)

    @contextmanager
    def allocated(self, caller: Caller) -> Generator[str]:
        """A peer id that no other call of this caller has during the block."""
        used = self._numbers[caller.tenant.id, caller.user]
        number = next(number for number in range(len(used) + 1) if number not in used)
        used.add(number)
        try:
            yield f"caller {owner_of(caller)} {number}"
        finally:
            used.discard(number)
            if not used:
                self._numbers.pop((caller.tenant.id, caller.user), None)


def session_peer(context: Context) -> ClientPeer:
    """Return the peer of a request of a 2025-era session."""
    return ClientPeer(context, connection_id(context), connection_of(context).client_capabilities or _NOTHING)


def asked_in_rounds(context: Context) -> ClientCapabilities:
    """Return what a client of the stateless era can be asked, in the answers to its requests."""
    declared = connection_of(context).client_capabilities
    if declared is None:
        return _NOTHING
    return ClientCapabilities(elicitation=declared.elicitation, sampling=declared.sampling, roots=declared.roots)


def refuse_sampling() -> MCPError:
    """Return the error for a server that asks a client of the stateless era for a completion."""
    return MCPError(
        code=INVALID_REQUEST,
        message="The client speaks MCP 2026-07-28, this session 2025-11-25: sampling does not cross from one to the "
        "other. Use a client of 2025-11-25 for this tool.",
    )


async def set_level(context: Context, params: SetLevelRequestParams) -> dict[str, Any]:
    """Serve `logging/setLevel`: the least severe level that this session gets."""
    connection_of(context).state[_LEVEL] = params.level
    return {}
