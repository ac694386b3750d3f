"""Runs a request upstream so that what its server asks reaches the client that made it.

Who speaks what decides how. A client with a session is asked within it. A client of the stateless era and a server of
the same exchange their rounds through the gateway, which keeps nothing of them. Where such a client meets a server
with sessions, the call is parked.

Invariant: a server's state goes back to that server alone, with the request that it was given out for, from the caller
to whom it was given; the boundary that seals it sees to the latter two.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from mcp import MCPError
from mcp_types import INVALID_PARAMS, ClientCapabilities, InputRequiredResult, InputResponseRequestParams

from thresher.calling import Result
from thresher.gateway.callers import connection_of, current_caller
from thresher.gateway.parking import Parking
from thresher.gateway.peers import ClientPeer, Context, asked_in_rounds, modern, session_peer
from thresher.services import Services
from thresher.upstream import Peer, ServerConfig

R = TypeVar("R")

_NOTHING = ClientCapabilities()
_PASSED = "passed"
_RELEASED = "thresher.released"


class Asking:
    """Runs requests for clients of both eras.

    Args:
        services: The sessions.
        parking: Where calls wait that cross from one era to the other.
    """

    def __init__(self, services: Services, parking: Parking) -> None:
        self._services = services
        self._parking = parking

    async def run(
        self,
        context: Context,
        params: InputResponseRequestParams,
        config: ServerConfig,
        work: Callable[[Peer], Awaitable[R]],
    ) -> R | InputRequiredResult:
        """Run a request.

        Args:
            context: The client's request.
            params: Its parameters, the state opened already.
            config: The server that serves it.
            work: Sends it on for a peer; a request for input is its result, typed or as a `Result`.

        Returns:
            What `work` returns, with the server's state made ours; or what a parked call asks.

        Raises:
            MCPError: The state is none for this request.
        """
        if not modern(context):
            return await work(self._in_session(context))
        capabilities = asked_in_rounds(context)
        if await self._crosses(params.request_state, capabilities, config):
            return await self._parking.run(current_caller(self._services), context, params, work)
        return _ours(await work(ClientPeer(context, "", capabilities, _again(context, config))), config)

    async def _crosses(self, state: str | None, capabilities: ClientCapabilities, config: ServerConfig) -> bool:
        if state is not None:
            return not state.startswith(f"{_PASSED} ")
        return capabilities != _NOTHING and not await self._services.upstreams.stateless(config)

    def _in_session(self, context: Context) -> ClientPeer:
        """The peer of a session; what is leased for it is let go when the session ends, however it does."""
        peer, connection = session_peer(context), connection_of(context)
        if _RELEASED not in connection.state and peer.capabilities != _NOTHING:
            connection.state[_RELEASED] = True
            connection.exit_stack.push_async_callback(self._services.upstreams.release, peer.id)
        return peer


def _again(context: Context, config: ServerConfig) -> dict[str, Any]:
    """What the client sent again with its request, as it sent it, and the server's state as that gave it out."""
    sent = context.params or {}
    again: dict[str, Any] = {}
    if (responses := sent.get("inputResponses")) is not None:
        again["inputResponses"] = responses
    if (state := sent.get("requestState")) is not None:
        _, server, theirs = cast("str", state).split(" ", 2)
        if server != config.name:
            raise MCPError(
                code=INVALID_PARAMS,
                message="This requestState is for another server. Send the request again without it.",
                data={"reason": "invalid_request_state"},
            )
        again["requestState"] = theirs
    return again


def _ours(result: R, config: ServerConfig) -> R:
    """A result whose state, if it has one, says whose it is."""
    if isinstance(result, InputRequiredResult):
        state = result.request_state
        return result if state is None else result.model_copy(update={"request_state": _named(state, config)})
    if not isinstance(result, Result) or not result.asks or result.answer.get("requestState") is None:
        return result
    state = _named(result.answer["requestState"], config)
    return cast("R", Result({**result.answer, "requestState": state}, asks=True))


def _named(state: str, config: ServerConfig) -> str:
    return f"{_PASSED} {config.name} {state}"
