"""HTTP+SSE, the predecessor of streamable HTTP: a stream of events from the server, and a POST for each message to it.

Invariant: messages go only to the origin of the stream, and the size of an event is bounded.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from http import HTTPStatus

import httpx2
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from thresher.upstream.config import ServerConfig
from thresher.upstream.transport.channel import ChannelListener
from thresher.upstream.transport.errors import Broken, Closed, ErrorStatus, SessionExpired, TransportError, Unusable
from thresher.upstream.transport.events import EventReader, ServerEvent
from thresher.upstream.transport.exchange import HttpAnswer, HttpExchange
from thresher.upstream.transport.messages import decoded
from thresher.upstream.transport.process import MAX_MESSAGE_BYTES
from thresher.upstream.transport.streams import StreamChannel


class SseChannel(StreamChannel):
    """A channel over HTTP+SSE (revision 2024-11-05)."""

    def __init__(self, config: ServerConfig, exchange: HttpExchange, listener: ChannelListener, *, owned: bool) -> None:
        super().__init__(listener, owned=owned)
        self._url = httpx2.URL(config.url)
        self._exchanger = exchange
        self._endpoint: asyncio.Future[httpx2.URL] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Open the stream, and wait until it names the address for messages."""
        answer = await self._exchanger.send("GET", self._url, {"accept": "text/event-stream"}, b"")
        kind = answer.headers.get("content-type", "").lower()
        if answer.status != HTTPStatus.OK or not kind.startswith("text/event-stream"):
            await answer.close()
            if answer.status != HTTPStatus.OK:
                raise ErrorStatus(answer.status, answer.reason)
            raise Unusable(f"unexpected content type: {kind[:100] or 'none'}")
        self._start(self._read(answer))
        await asyncio.shield(self._endpoint)

    async def close(self) -> None:
        """End the stream."""
        self._closing = True
        self._end("the session was closed")
        await self._end_tasks()
        await self._exchanger.close()

    async def _read(self, answer: HttpAnswer) -> None:
        reader = EventReader(MAX_MESSAGE_BYTES)
        reason = "the server closed the stream"
        try:
            async with aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    for event in reader.feed(chunk):
                        await self._hear(event)
        except TransportError as trouble:
            reason = str(trouble)
        finally:
            await answer.close()
            self._end(reason)
            if not self._endpoint.done():
                self._endpoint.set_exception(Broken(f"{reason}, before it named an address for messages"))
                self._endpoint.exception()  # there may be no waiting caller

    async def _hear(self, event: ServerEvent) -> None:
        if event.kind == "endpoint":
            if not self._endpoint.done():
                self._endpoint.set_result(self._checked(event.data.decode("utf-8", "replace")))
        elif event.kind == "message" and (message := decoded(event.data)) is not None:
            await self._receive(message)

    def _checked(self, path: str) -> httpx2.URL:
        try:
            target = self._url.join(path.strip())
        except httpx2.InvalidURL:
            raise Unusable("the address for messages that it names is not valid") from None
        if (target.scheme, target.host, target.port) != (self._url.scheme, self._url.host, self._url.port):
            raise Unusable("the address for messages that it names is elsewhere")
        return target.copy_with(userinfo=self._url.userinfo)

    async def _write(self, data: bytes) -> None:
        if self._ended:
            raise Closed(self._ended)
        headers = {"content-type": "application/json"}
        if self.version:
            headers[MCP_PROTOCOL_VERSION_HEADER] = self.version
        answer = await self._exchanger.send("POST", await asyncio.shield(self._endpoint), headers, data)
        await answer.finish()
        if answer.status == HTTPStatus.NOT_FOUND:
            self._end("the session has expired")
            raise SessionExpired("the session has expired")
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ErrorStatus(answer.status, answer.reason)
