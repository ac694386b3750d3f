"""A channel to a server: requests with their answers, and the server's messages and questions meanwhile.

Invariant: a server's question is answered exactly once, by the call to which it belongs or by a refusal, and ends with
that call; an abandoned request is cancelled at the server.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from thresher.core import UpstreamError
from thresher.upstream.peer import Peer
from thresher.upstream.transport.errors import Broken, TimedOut, TransportError
from thresher.upstream.transport.messages import Identity, Message, identity_of, parameters

NEVER_CANCELLED = ("initialize", "server/discover")
"""Requests that the specification forbids to cancel."""
_OVER: Mapping[str, Any] = {"code": CONNECTION_CLOSED, "message": "The call that this question belongs to has ended."}


@dataclass(slots=True, eq=False)
class PendingCall:
    """A request under way, to which the server's messages belong.

    Attributes:
        peer: The client behind it.
        clock: Its time limit; stopped while the peer is asked something.
        questions: The server's questions that wait for the peer.
    """

    peer: Peer | None = None
    clock: asyncio.Timeout | None = None
    questions: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class ChannelListener(Protocol):
    """Handles messages that a server sends by itself."""

    async def on_request(self, method: str, params: Message, call: PendingCall | None) -> Mapping[str, Any]:
        """Answer a request of the server; raises MCPError to refuse it."""
        ...

    async def on_notification(self, method: str, params: Message, call: PendingCall | None) -> None:
        """Handle a notification; `call` is the request to which it belongs, if known."""
        ...

    def on_lost(self, reason: str) -> None:
        """Handle the end of the channel; may be called more than once."""
        ...


class Channel(ABC):
    """The common part of the transports.

    Args:
        listener: Handles the server's messages.
        owned: Whether all calls belong to one peer, so that a question without a call belongs to the latest.
    """

    def __init__(self, listener: ChannelListener, *, owned: bool) -> None:
        self._listener = listener
        self._owned = owned
        self._ids = count(1)
        self._calls: dict[Identity, PendingCall] = {}
        self._questions: dict[Identity, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self.version = ""

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return None

    @abstractmethod
    async def open(self) -> None:
        """Open the channel.

        Raises:
            TransportError: The server cannot be reached.
            UpstreamError: Its child cannot be started.
        """

    @abstractmethod
    async def close(self) -> None:
        """Close the channel and everything that belongs to it within a few seconds."""

    async def begin(self) -> None:
        """Notify the server that the handshake of a session is complete."""
        await self.notify("notifications/initialized")

    @abstractmethod
    async def _exchange(
        self, identity: Identity, method: str, params: Mapping[str, Any], headers: Mapping[str, str], call: PendingCall
    ) -> Message: ...

    @abstractmethod
    async def _post(self, fields: Mapping[str, Any]) -> None: ...

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        seconds: float | None,
        headers: Mapping[str, str] = {},
        call: PendingCall | None = None,
    ) -> Message:
        """Send a request and wait for its result.

        Args:
            method: The request's method.
            params: Its parameters.
            seconds: Time limit; None waits as long as the channel lives.
            headers: Additional HTTP headers.
            call: The call to which the server's messages meanwhile belong.

        Raises:
            TransportError: It failed below JSON-RPC.
            MCPError: The server answered with an error.
        """
        identity = next(self._ids)
        call = PendingCall() if call is None else call
        if call.peer is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": identity}}
        self._calls[identity] = call
        try:
            async with asyncio.timeout(seconds) as call.clock:
                return await self._exchange(identity, method, params, headers, call)
        except TimeoutError:
            if call.clock is None or not call.clock.expired():
                raise Broken("the connection timed out") from None
            self._give_up(identity, method, f"no answer within {seconds:g} s")
            raise TimedOut from None
        except asyncio.CancelledError:
            self._give_up(identity, method, "the caller has cancelled it")
            raise
        finally:
            self._calls.pop(identity, None)
            for question in call.questions:
                question.cancel()

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; a failure shows at the next request."""
        with suppress(TransportError, OSError, UpstreamError):
            await self._post({"method": method} if params is None else {"method": method, "params": params})

    def _give_up(self, identity: Identity, method: str, reason: str) -> None:
        if method not in NEVER_CANCELLED and not self._closing:
            self._start(self.notify("notifications/cancelled", {"requestId": identity, "reason": reason}))

    def _latest(self) -> PendingCall | None:
        calls = [call for call in self._calls.values() if call.peer is not None] if self._owned else []
        return calls[-1] if calls else None

    def _question(self, message: Message, call: PendingCall | None) -> None:
        """Answer a request of the server in a separate task."""
        identity = identity_of(message.get("id"))
        if identity is None:
            return
        belongs = call if call is not None else self._latest()
        task = self._questions[identity] = self._start(self._answer(identity, message, belongs))
        if belongs is not None:
            belongs.questions.add(task)
            task.add_done_callback(belongs.questions.discard)

    async def _answer(self, identity: Identity, message: Message, call: PendingCall | None) -> None:
        reply: Mapping[str, Any] = {"id": message["id"]}
        try:
            result = await self._listener.on_request(message["method"], parameters(message), call)
            reply = {**reply, "result": result}
        except MCPError as refusal:
            reply = {**reply, "error": refusal.error.model_dump(exclude_none=True)}
        except asyncio.CancelledError:
            # If the server itself has cancelled it, it expects no answer.
            if identity in self._questions and not self._closing:
                self._start(self._reply({**reply, "error": _OVER}))
            raise
        finally:
            self._questions.pop(identity, None)
        await self._reply(reply)

    async def _reply(self, fields: Mapping[str, Any]) -> None:
        with suppress(TransportError, OSError, UpstreamError):
            await self._post(fields)

    def _withdrawn(self, params: Message) -> None:
        """Cancel a question that the server has withdrawn."""
        identity = identity_of(params.get("requestId"))
        task = self._questions.pop(identity, None) if identity is not None else None
        if task is not None:
            task.cancel()

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._listener.on_lost(type(error).__name__)

    async def _end_tasks(self) -> None:
        self._closing = True
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
