"""Lets a session's question reach a client that can only be answered: the call waits while the client comes back.

The stateless era has no requests from server to client. A question ends the request with an `input_required` result;
the client sends the request again with the answers and the state that it was given, and the call goes on. Needed only
where a server of the handshake era asks a client of the stateless one.

Invariant: a parked call goes on for the same caller, method and arguments alone (the state is sealed over them); parked
calls are bounded in number and time, and one that nobody comes back for is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast
from uuid import uuid4

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CreateMessageRequest,
    InputRequiredResult,
    InputResponseRequestParams,
    InputResponses,
    LoggingMessageNotificationParams,
    Result,
)

from thresher.core import Caller, InvalidInput, event
from thresher.gateway.peers import ClientPeer, Context, Peers, Question, asked_in_rounds, owner_of, refuse_sampling

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
