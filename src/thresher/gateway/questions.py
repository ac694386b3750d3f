"""Runs a request upstream so that what its server asks reaches the client that made it.

Who speaks what decides how. A client with a session is asked within it. A client of the stateless era and a server of
the same exchange their rounds through the gateway, which keeps nothing of them. Where such a client meets a server
with sessions, the call is parked: the question ends the request, the client sends the request again with the answers
and the state that it was given, and the call goes on.

Invariant: a server's state goes back to that server alone, with the request that it was given out for, from the caller
to whom it was given; the boundary that seals it ensures the latter two. Parked calls are bounded in number and time,
and one that the client does not come back for is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast
from uuid import uuid4

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ClientCapabilities,
    CreateMessageRequest,
    InputRequiredResult,
    InputResponseRequestParams,
    InputResponses,
    LoggingMessageNotificationParams,
    Result,
)

from thresher.calling import Result as ToolResult
from thresher.core import Caller, InvalidInput, event
from thresher.gateway.callers import connection_of, current_caller
from thresher.gateway.peers import (
    ClientPeer,
    Context,
    Peers,
    Question,
    asked_in_rounds,
    modern,
    owner_of,
    refuse_sampling,
    session_peer,
)
from thresher.services import Services
from thresher.upstream import Peer, ServerConfig

logger = logging.getLogger("thresher.gateway")

PARKED_SECONDS = 300.0
"""How long a person may think over one question."""
PARKED = 256
"""Calls that may wait at once, in the whole process."""
PARKED_EACH = 16
"""And of one caller."""


class _Parked:
    """A call that can wait; also the peer that its server sees."""

    def __init__(self, caller: Caller, context: Context, peer_id: str) -> None:
        self.caller = caller
        self.id = peer_id
        self.owner = owner_of(caller)
        self.capabilities = asked_in_rounds(context)
        self.rounds = None
        self.level = None
        self.token = uuid4().hex
        self.work: asyncio.Task[Any] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._client: ClientPeer | None = None
        self._asked = asyncio.Event()
        self._open: dict[str, tuple[Question, asyncio.Future[Result]]] = {}
        self._count = 0

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Heard by the request under way, if there is one."""
        if self._client is not None:
            await self._client.progress(progress, total, message)

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        """Heard by the request under way, if there is one."""
        if self._client is not None:
            await self._client.log(params)

    async def ask(self, request: Question) -> Result:
        """Wait for the answer of a later request."""
        if isinstance(request, CreateMessageRequest):
            raise refuse_sampling()
        self._count += 1
        key = f"question {self._count}"
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._open[key] = (request, answer)
        self._asked.set()
        try:
            return await answer
        finally:
            del self._open[key]

    def answer(self, responses: InputResponses) -> None:
        """Hand on the answers; a question that has none stays open and is asked again."""
        for key, response in responses.items():
            if (found := self._open.get(key)) is not None and not found[1].done():
                found[1].set_result(response)
        self._asked.clear()
        if any(not answer.done() for _, answer in self._open.values()):
            self._asked.set()

    async def until_asked(self, context: Context) -> InputRequiredResult | None:
        """Wait for a question or the end of the call, whichever is first; None at the end."""
        work = cast("asyncio.Task[Any]", self.work)
        self._client = ClientPeer(context, self.id, self.capabilities)
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait({work, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            asked.cancel()
            self._client = None
        if work.done():
            return None
        questions = {key: question for key, (question, answer) in self._open.items() if not answer.done()}
        return InputRequiredResult(input_requests=dict(questions), request_state=self.token)


class Parking:
    """Runs calls whose server may ask in the middle, and whose client answers in rounds; one per process."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._waiting: dict[str, _Parked] = {}

    async def run(
        self,
        caller: Caller,
        context: Context,
        params: InputResponseRequestParams,
        work: Callable[[Any], Awaitable[Any]],
    ) -> Any:
        """Begin a call, or go on with the one that the request's state names.

        Args:
            caller: Who asks.
            context: The request.
            params: Its parameters, the state opened already.
            work: The call, given its peer.

        Returns:
            What `work` returns, or an `InputRequiredResult`.

        Raises:
            MCPError: The state names no call of this caller that still waits.
            InvalidInput: Too many calls wait.
        """
        parked = self._begin(caller, context, work) if params.request_state is None else self._resume(caller, params)
        required = await parked.until_asked(context)
        if required is None:
            return await cast("asyncio.Task[Any]", parked.work)
        self._park(parked)
        return required

    def _begin(self, caller: Caller, context: Context, work: Callable[[Any], Awaitable[Any]]) -> _Parked:
        if len(self._waiting) >= PARKED or sum(one.caller == caller for one in self._waiting.values()) >= PARKED_EACH:
            raise InvalidInput("Too many calls wait for an answer of their user.", hint="Answer or cancel some first.")
        parked = _Parked(caller, context, "")

        async def run() -> Any:
            with self._peers.place(caller) as parked.id:
                return await work(parked)

        parked.work = asyncio.create_task(run())
        return parked

    def _resume(self, caller: Caller, params: InputResponseRequestParams) -> _Parked:
        parked = self._waiting.get(params.request_state or "")
        if parked is None or parked.caller != caller:
            raise MCPError(
                code=INVALID_PARAMS,
                message="No call waits for this requestState any more. Send the request again without it.",
                data={"reason": "invalid_request_state"},
            )
        del self._waiting[parked.token]
        if parked.timer is not None:
            parked.timer.cancel()
        parked.token = uuid4().hex
        parked.answer(params.input_responses or {})
        return parked

    def _park(self, parked: _Parked) -> None:
        self._waiting[parked.token] = parked
        parked.timer = asyncio.get_running_loop().call_later(PARKED_SECONDS, self._give_up, parked)

    def _give_up(self, parked: _Parked) -> None:
        if self._waiting.pop(parked.token, None) is not None and parked.work is not None:
            event(logger, "nobody came back", level=logging.WARNING, tenant=parked.caller.tenant.id)
            parked.work.cancel()

    async def close(self) -> None:
        """Cancel everything that waits."""
        waiting = [parked.work for parked in self._waiting.values() if parked.work is not None]
        for parked in list(self._waiting.values()):
            if parked.timer is not None:
                parked.timer.cancel()
        self._waiting.clear()
        for work in waiting:
            work.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


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
            work: Sends it on for a peer; a request for input is its result, typed or as a `ToolResult`.

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
    if not isinstance(result, ToolResult) or not result.asks or result.answer.get("requestState") is None:
        return result
    state = _named(result.answer["requestState"], config)
    return cast("R", ToolResult({**result.answer, "requestState": state}, asks=True))


def _named(state: str, config: ServerConfig) -> str:
    return f"{_PASSED} {config.name} {state}"
