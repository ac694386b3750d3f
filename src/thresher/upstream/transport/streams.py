"""A channel over one stream of messages in each direction: a child's pipes, or HTTP+SSE.

Invariant: what belongs to one request is heard in its order, before its answer, in the task that waits for it; a
caller that is slow holds up nobody else.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from thresher.upstream.transport.channel import Call, Channel, Listener
from thresher.upstream.transport.messages import Identity, Message, answered, encoded, identity_of, parameters
from thresher.upstream.transport.trouble import Closed

_MAX_WAITING = 1_000
"""Notifications that wait for one slow caller; further ones are dropped."""


class StreamChannel(Channel):
    """Pairs answers with requests by their ids."""

    def __init__(self, listener: Listener, *, owned: bool) -> None:
        super().__init__(listener, owned=owned)
        self._boxes: dict[Identity, asyncio.Queue[Message | Closed]] = {}
        self._ended = ""

    @abstractmethod
    async def _write(self, data: bytes) -> None:
        """Send one message; raises Closed when the stream has ended."""

    async def _exchange(
        self,
        identity: Identity,
        method: str,
        params: Mapping[str, Any],
        headers: Mapping[str, str],  # noqa: ARG002 - these streams have none
        call: Call,
    ) -> Message:
        if self._ended:
            raise Closed(self._ended)
        box = self._boxes[identity] = asyncio.Queue()
        try:
            await self._write(encoded(id=identity, method=method, params=params))
            while True:
                item = await box.get()
                if isinstance(item, Closed):
                    raise item
                if "method" not in item:
                    return answered(item)
                await self._listener.told(item["method"], parameters(item), call)
        finally:
            del self._boxes[identity]

    async def _post(self, fields: Mapping[str, Any]) -> None:
        if not self._ended:
            await self._write(encoded(**fields))

    async def _receive(self, message: Message) -> None:
        """Hear one message of the server."""
        if "method" not in message:
            identity = identity_of(message.get("id"))
            if identity is not None and identity in self._boxes:
                self._boxes[identity].put_nowait(message)
                # From here on it has ended, though its caller may not have heard so yet: what follows is none of it.
                self._calls.pop(identity, None)
        elif "id" in message:
            self._question(message, None)
        else:
            await self._notified(message)

    async def _notified(self, message: Message) -> None:
        method, params = message["method"], parameters(message)
        if method == "notifications/cancelled":
            self._withdrawn(params)
            return
        identity = self._belongs_to(method, params)
        if identity is None:
            await self._listener.told(method, params, None)
        elif identity in self._boxes and self._boxes[identity].qsize() < _MAX_WAITING:
            self._boxes[identity].put_nowait(message)

    def _belongs_to(self, method: str, params: Message) -> Identity | None:
        """The request that a notification is about; a log line names none: it is the latest call's."""
        if method == "notifications/progress":
            return identity_of(params.get("progressToken"))
        if method == "notifications/message":
            latest = self._latest()
            return next((identity for identity, call in self._calls.items() if call is latest), None)
        return None

    def _end(self, reason: str) -> None:
        """The stream has ended: so has every request over it."""
        if self._ended:
            return
        self._ended = reason
        for box in self._boxes.values():
            box.put_nowait(Closed(reason))
        if not self._closing:
            self._listener.lost(reason)
