"""A channel to one server: requests with their answers, and what the server says and asks meanwhile.

Invariant: a question of the server is answered exactly once, by the call that it belongs to or by a refusal, and ends
with that call; a request that is given up is cancelled at the server.
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
from thresher.upstream.transport.messages import Identity, Message, identity_of, parameters
from thresher.upstream.transport.trouble import Broken, TimedOut, Trouble

NEVER_CANCELLED = ("initialize", "server/discover")
"""The specification forbids to cancel them."""
_OVER: Mapping[str, Any] = {"code": CONNECTION_CLOSED, "message": "The call that this question belongs to has ended."}


@dataclass(slots=True, eq=False)
class Call:
    """A request under way, as seen by what the server says meanwhile.

    Attributes:
        peer: Who stands behind it.
        clock: Its time limit; stands still while the peer is asked something.
        questions: The server's questions that wait for the peer.
    """

    peer: Peer | None = None
    clock: asyncio.Timeout | None = None
    questions: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class Listener(Protocol):
    """Hears what a server says of its own accord."""

    async def asked(self, method: str, params: Message, call: Call | None) -> Mapping[str, Any]:
        """Answer a question of the server; raises MCPError to refuse it."""
        ...

    async def told(self, method: str, params: Message, call: Call | None) -> None:
        """Hear a notification; `call` is the request that it belongs to, where that is known."""
        ...

    def lost(self, reason: str) -> None:
        """Hear that the channel has ended by itself; may come more than once."""
        ...


class Channel(ABC):
    """What the transports have in common.

    Args:
        listener: Hears the server.
        owned: All calls belong to one peer, so that a question which names no call is one for the latest.
    """

    def __init__(self, listener: Listener, *, owned: bool) -> None:
        self._listener = listener
        self._owned = owned
        self._ids = count(1)
        self._calls: dict[Identity, Call] = {}
        self._asked: dict[Identity, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self.version = ""

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return None

    @abstractmethod
    async def open(self) -> None:
        """Make it usable.

        Raises:
            Trouble: The server cannot be reached.
            UpstreamError: Its child cannot be started.
        """

    @abstractmethod
    async def close(self) -> None:
        """End it, and all that belongs to it, within a few seconds."""

    async def begin(self) -> None:
        """Say that the handshake of a session is done."""
        await self.notify("notifications/initialized")

    @abstractmethod
    async def _exchange(
        self, identity: Identity, method: str, params: Mapping[str, Any], headers: Mapping[str, str], call: Call
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
        call: Call | None = None,
    ) -> Message:
        """Send a request and wait for its result.

        Args:
            method: Its name.
            params: Its parameters.
            seconds: For the answer; None waits as long as the channel lives.
            headers: HTTP headers of its own.
            call: What the server says meanwhile belongs to it.

        Raises:
            Trouble: It failed below JSON-RPC.
            MCPError: The server answered with an error.
        """
        identity = next(self._ids)
        call = Call() if call is None else call
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
        """Send a notification; what goes wrong with it shows at the next request."""
        with suppress(Trouble, OSError, UpstreamError):
            await self._post({"method": method} if params is None else {"method": method, "params": params})

    def _give_up(self, identity: Identity, method: str, reason: str) -> None:
        if method not in NEVER_CANCELLED and not self._closing:
            self._start(self.notify("notifications/cancelled", {"requestId": identity, "reason": reason}))

    def _latest(self) -> Call | None:
        calls = [call for call in self._calls.values() if call.peer is not None] if self._owned else []
        return calls[-1] if calls else None

    def _question(self, message: Message, call: Call | None) -> None:
        """Answer a request of the server beside everything else."""
        identity = identity_of(message.get("id"))
        if identity is None:
            return
        belongs = call if call is not None else self._latest()
        task = self._asked[identity] = self._start(self._answer(identity, message, belongs))
        if belongs is not None:
            belongs.questions.add(task)
            task.add_done_callback(belongs.questions.discard)

    async def _answer(self, identity: Identity, message: Message, call: Call | None) -> None:
        reply: Mapping[str, Any] = {"id": message["id"]}
        try:
            result = await self._listener.asked(message["method"], parameters(message), call)
            reply = {**reply, "result": result}
        except MCPError as refusal:
            reply = {**reply, "error": refusal.error.model_dump(exclude_none=True)}
        except asyncio.CancelledError:
            # Cancelled by the server itself, it expects no answer any more.
            if identity in self._asked and not self._closing:
                self._start(self._reply({**reply, "error": _OVER}))
            raise
        finally:
            self._asked.pop(identity, None)
        await self._reply(reply)

    async def _reply(self, fields: Mapping[str, Any]) -> None:
        with suppress(Trouble, OSError, UpstreamError):
            await self._post(fields)

    def _withdrawn(self, params: Message) -> None:
        """The server no longer wants its question answered."""
        identity = identity_of(params.get("requestId"))
        task = self._asked.pop(identity, None) if identity is not None else None
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
            self._listener.lost(type(error).__name__)

    async def _end_tasks(self) -> None:
        self._closing = True
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
