"""A channel over one stream of messages in each direction: a child's pipes, or HTTP+SSE.

Invariant: messages that belong to a request are handled in order, before its answer, in the task that waits for it; a
slow caller does not delay others.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from thresher.upstream.transport.channel import Channel, ChannelListener, PendingCall
from thresher.upstream.transport.errors import Closed
from thresher.upstream.transport.messages import Identity, Message, answered, encoded, identity_of, parameters

_MAX_WAITING = 1_000
"""Maximum notifications that wait for a slow caller; further ones are dropped."""


class StreamChannel(Channel):
    """Pairs answers with requests by their ids."""

    def __init__(self, listener: ChannelListener, *, owned: bool) -> None:
        super().__init__(listener, owned=owned)
        self._boxes: dict[Identity, asyncio.Queue[Message | Closed]] = {}
        self._ended = ""

    @abstractmethod
    async def _write(self, data: bytes) -> None:
        """Send one message; raises Closed if the stream has ended."""

    async def _exchange(
        self,
        identity: Identity,
        method: str,
        params: Mapping[str, Any],
        headers: Mapping[str, str],  # noqa: ARG002 - these streams have none
        call: PendingCall,
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
                await self._listener.on_notification(item["method"], parameters(item), call)
        finally:
            del self._boxes[identity]

    async def _post(self, fields: Mapping[str, Any]) -> None:
        if not self._ended:
            await self._write(encoded(**fields))

    async def _receive(self, message: Message) -> None:
        """Handle one message of the server."""
        if "method" not in message:
            identity = identity_of(message.get("id"))
            if identity is not None and identity in self._boxes:
                self._boxes[identity].put_nowait(message)
                # The request has ended, even if its caller does not know yet: later messages do not belong to it.
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
            await self._listener.on_notification(method, params, None)
        elif identity in self._boxes and self._boxes[identity].qsize() < _MAX_WAITING:
            self._boxes[identity].put_nowait(message)

    def _belongs_to(self, method: str, params: Message) -> Identity | None:
        """The request to which a notification belongs; a log message names none and belongs to the latest call."""
        if method == "notifications/progress":
            return identity_of(params.get("progressToken"))
        if method == "notifications/message":
            latest = self._latest()
            return next((identity for identity, call in self._calls.items() if call is latest), None)
        return None

    def _end(self, reason: str) -> None:
        """End the stream and all requests over it."""
        if self._ended:
            return
        self._ended = reason
        for box in self._boxes.values():
            box.put_nowait(Closed(reason))
        if not self._closing:
            self._listener.on_lost(reason)
