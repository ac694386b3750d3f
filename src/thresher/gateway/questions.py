"""Runs a request upstream so that its server's questions reach the client that made it.

The protocol versions of both sides decide how. A client with a session is asked within it. A client and a server that
are both stateless exchange their rounds through the gateway, which stores nothing of them. If only the client is
stateless, the call is parked: the question ends the request, the client sends the request again with the answers and
the state that it was given, and the call continues.

Invariant: a server's state is returned only to that server, with the request that it was issued for, by the caller
to whom it was issued; the boundary that seals it ensures the latter two. Parked calls are limited in number and time,
and one that the client does not continue is cancelled.
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
from thresher.gateway.callers import connection_of, current_caller, modern
from thresher.gateway.peers import (
    ClientPeer,
    Context,
    Peers,
    Question,
    asked_in_rounds,
    owner_of,
    refuse_sampling,
    session_peer,
)
from thresher.services import Services
from thresher.upstream import Peer, ServerConfig

logger = logging.getLogger("thresher.gateway")

PARKED_SECONDS = 300.0
"""The longest time for one answer of a person."""
PARKED = 256
"""The most calls that wait at the same time in this process."""
PARKED_EACH = 16
"""The most that wait for one caller."""


class _Parked:
    """A call that can wait; it is also the peer that its server sees."""

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
        """Pass on to the current request, if there is one."""
        if self._client is not None:
            await self._client.progress(progress, total, message)

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        """Pass on to the current request, if there is one."""
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
        """Pass on the answers; a question without one stays open and is asked again."""
        for key, response in responses.items():
            if (found := self._open.get(key)) is not None and not found[1].done():
                found[1].set_result(response)
        self._asked.clear()
        if any(not answer.done() for _, answer in self._open.values()):
            self._asked.set()

    async def until_asked(self, context: Context) -> InputRequiredResult | None:
        """Wait for a question or the end of the call; None at the end."""
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
        """Begin a call, or continue the one that the request's state names.

        Args:
            caller: The tenant and user of the call.
            context: The request.
            params: Its parameters, the state already opened.
            work: Runs the call with its peer.

        Returns:
            What `work` returns, or an `InputRequiredResult`.

        Raises:
            MCPError: The state does not name a waiting call of this caller.
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
            with self._peers.allocated(caller) as parked.id:
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


class QuestionRelay:
    """Runs requests for clients of both eras.

    Args:
        services: The sessions.
        parking: Where calls from one era to the other wait.
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
            params: Its parameters, the state already opened.
            config: The server that serves it.
            work: Sends it on for a peer; its result may be a request for input, typed or as a `ToolResult`.

        Returns:
            What `work` returns, with the server's name in its state; or the question of a parked call.

        Raises:
            MCPError: The state does not belong to this request.
        """
        if not modern(context):
            return await work(self._in_session(context))
        capabilities = asked_in_rounds(context)
        if await self._crosses(params.request_state, capabilities, config):
            return await self._parking.run(current_caller(self._services), context, params, work)
        return _with_server(await work(ClientPeer(context, "", capabilities, _rounds(context, config))), config)

    async def attended(
        self,
        context: Context,
        params: InputResponseRequestParams,
        work: Callable[[Peer | None], Awaitable[ToolResult]],
    ) -> ToolResult | InputRequiredResult:
        """Run work in the middle of which the client can be asked, more than once.

        Args:
            context: The client's request.
            params: Its parameters, the state already opened.
            work: Gets who is asked; None if that is the client of the request, as in any call.

        Returns:
            What `work` returns; or the question of a parked call.

        Raises:
            MCPError: The state does not belong to this request.
            InvalidInput: Too many calls wait.
        """
        if not modern(context) or (params.request_state is None and asked_in_rounds(context) == _NOTHING):
            return await work(None)
        return await self._parking.run(current_caller(self._services), context, params, work)

    async def _crosses(self, state: str | None, capabilities: ClientCapabilities, config: ServerConfig) -> bool:
        if state is not None:
            return not state.startswith(f"{_PASSED} ")
        return capabilities != _NOTHING and not await self._services.upstreams.stateless(config)

    def _in_session(self, context: Context) -> ClientPeer:
        """Return the peer of a session; what is leased for it is released when the session ends."""
        peer, connection = session_peer(context), connection_of(context)
        if _RELEASED not in connection.state and peer.capabilities != _NOTHING:
            connection.state[_RELEASED] = True
            connection.exit_stack.push_async_callback(self._services.upstreams.release, peer.id)
        return peer


def _rounds(context: Context, config: ServerConfig) -> dict[str, Any]:
    """Return the client's answers as it sent them, and the server's state as the server issued it."""
    sent = context.params or {}
    rounds: dict[str, Any] = {}
    if (responses := sent.get("inputResponses")) is not None:
        rounds["inputResponses"] = responses
    if (state := sent.get("requestState")) is not None:
        _, server, theirs = cast("str", state).split(" ", 2)
        if server != config.name:
            raise MCPError(
                code=INVALID_PARAMS,
                message="This requestState is for another server. Send the request again without it.",
                data={"reason": "invalid_request_state"},
            )
        rounds["requestState"] = theirs
    return rounds


def _with_server(result: R, config: ServerConfig) -> R:
    """Return a result whose state, if it has one, names its server."""
    if isinstance(result, InputRequiredResult):
        state = result.request_state
        return result if state is None else result.model_copy(update={"request_state": _named(state, config)})
    if not isinstance(result, ToolResult) or not result.asks or result.answer.get("requestState") is None:
        return result
    state = _named(result.answer["requestState"], config)
    return cast("R", ToolResult({**result.answer, "requestState": state}, asks=True))


def _named(state: str, config: ServerConfig) -> str:
    return f"{_PASSED} {config.name} {state}"
