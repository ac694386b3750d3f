"""Streamable HTTP: each request is a POST whose answer is JSON or a stream of events.

Invariant: a failed request never ends the other requests of its session, and messages on a request's own stream
belong to that request alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx2
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from thresher.core import UpstreamError
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth import StoredTokens
from thresher.upstream.transport.channel import Channel, ChannelListener, PendingCall
from thresher.upstream.transport.errors import Broken, ErrorStatus, SessionExpired, TransportError, Unusable
from thresher.upstream.transport.events import EventReader
from thresher.upstream.transport.exchange import AuthorizedExchange, HttpAnswer, HttpExchange, LibraryExchange
from thresher.upstream.transport.messages import (
    Identity,
    Message,
    answered,
    decoded,
    encoded,
    failed,
    identity_of,
    parameters,
)
from thresher.upstream.transport.process import MAX_MESSAGE_BYTES
from thresher.upstream.transport.wire import WireClient

_ERROR_BODY_BYTES = 64 * 1024
_MAX_REDIRECTS = 5
_MAX_RESUMPTIONS = 3
"""Maximum attempts in a row without any event."""
_RESUME_SECONDS = 1.0
_LONGEST_RESUME_SECONDS = 30.0
_GOODBYE_SECONDS = 2.0
SESSION_HEADER = "mcp-session-id"
_ACCEPT = "application/json, text/event-stream"


def exchange_of(config: ServerConfig, connect_seconds: float, auth: StoredTokens | None) -> HttpExchange:
    """The HTTP client for a server: our own, or the library's for proxies."""
    url = httpx2.URL(config.url)
    proxied = not {url.scheme, "all"}.isdisjoint(getproxies()) and not proxy_bypass(url.host)
    fits = url.host.isascii() and not proxied
    exchange = WireClient(config.headers, connect_seconds) if fits else LibraryExchange(config.headers, connect_seconds)
    return exchange if auth is None else AuthorizedExchange(exchange, auth)


async def reachable(config: ServerConfig, connect_seconds: float) -> bool:
    """Whether anything answers at a server's address; no headers or tokens are sent."""
    exchange = exchange_of(replace(config, headers={}), connect_seconds, None)
    try:
        answer = await exchange.send("GET", httpx2.URL(config.url).copy_with(userinfo=b""), {"accept": "*/*"}, b"")
        await answer.close()
    except TransportError:
        return False
    finally:
        await exchange.close()
    return True


class HttpChannel(Channel):
    """A channel over streamable HTTP, with a session or, in the newest revision, without one."""

    def __init__(self, config: ServerConfig, exchange: HttpExchange, listener: ChannelListener, *, owned: bool) -> None:
        super().__init__(listener, owned=owned)
        self._url = httpx2.URL(config.url)
        self._exchanger = exchange
        self._session = ""

    async def open(self) -> None:
        """See `Channel.open`; nothing to do, because each request connects by itself."""

    async def begin(self) -> None:
        """Complete the handshake, then listen to the server's messages outside of requests."""
        await super().begin()
        if self._session:
            self._start(self._listen())

    async def close(self) -> None:
        """End the session at the server, as a courtesy, and close all connections."""
        await self._end_tasks()
        if self._session:
            with suppress(TransportError, UpstreamError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await (await self._send("DELETE", {}, b"")).close()
        await self._exchanger.close()

    async def _send(self, method: str, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        fields = {"accept": _ACCEPT, **headers}
        if body:
            fields["content-type"] = "application/json"
        if self._session:
            fields[SESSION_HEADER] = self._session
        if self.version and MCP_PROTOCOL_VERSION_HEADER not in fields:
            fields[MCP_PROTOCOL_VERSION_HEADER] = self.version
        for _ in range(_MAX_REDIRECTS):
            answer = await self._exchanger.send(method, self._url, fields, body)
            target = self._redirected(answer)
            if target is None:
                return answer
            await answer.close()
            self._url = target
        raise Unusable("it redirects too often")

    def _redirected(self, answer: HttpAnswer) -> httpx2.URL | None:
        """The target of a redirect that keeps method and body; only where the request's secrets may be sent."""
        if answer.status not in (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT):
            return None
        target = self._url.join(answer.headers.get("location", ""))
        same = (target.scheme, target.host, target.port) == (self._url.scheme, self._url.host, self._url.port)
        upgraded = (self._url.scheme, self._url.port, target.scheme, target.port) == ("http", None, "https", None)
        if not same and not (upgraded and target.host == self._url.host):
            shown = target.copy_with(userinfo=b"", query=None, fragment=None)
            raise Unusable(f"it redirects to {shown}, which is elsewhere; use that address if it is right")
        return target.copy_with(userinfo=self._url.userinfo)

    async def _exchange(
        self, identity: Identity, method: str, params: Mapping[str, Any], headers: Mapping[str, str], call: PendingCall
    ) -> Message:
        answer = await self._send("POST", headers, encoded(id=identity, method=method, params=params))
        try:
            if answer.status != HTTPStatus.OK:
                raise await self._refusal(answer)
            if method == "initialize":
                self._session = answer.headers.get(SESSION_HEADER, "")
            kind = answer.headers.get("content-type", "").lower()
            if kind.startswith("application/json"):
                message = decoded(await answer.read(MAX_MESSAGE_BYTES))
                if message is None or identity_of(message.get("id", identity)) != identity:
                    raise Unusable("its answer is not a JSON-RPC message for this request")
                return answered(message)
            if kind.startswith("text/event-stream"):
                return answered(await self._followed(answer, identity, call))
            raise Unusable(f"unexpected content type: {kind[:100] or 'none'}")
        finally:
            await answer.close()

    async def _refusal(self, answer: HttpAnswer) -> Exception:
        """The error of an answer without a result: a JSON-RPC error if it holds one, else its status."""
        status, body = answer.status, b""
        with suppress(TransportError):  # the status says enough
            body = await answer.beginning(_ERROR_BODY_BYTES)
        # 404 follows the specification; servers based on the TypeScript SDK's example answer 400 with this text.
        forgotten = status == HTTPStatus.BAD_REQUEST and b"session id" in body.lower()
        if self._session and (status == HTTPStatus.NOT_FOUND or forgotten):
            return SessionExpired("the session has expired")
        if forgotten and self.version in MODERN_PROTOCOL_VERSIONS:
            return SessionExpired("it was restarted as a server with sessions")
        if status < HTTPStatus.BAD_REQUEST:
            return Unusable(f"HTTP status {status} {answer.reason} in place of an answer")
        message = decoded(body) or decoded(b'{"jsonrpc":"2.0",' + body.lstrip().removeprefix(b"{"))
        if message is not None and isinstance(message.get("error"), dict) and "code" in message["error"]:
            return failed(message["error"])
        return ErrorStatus(status, answer.reason)

    async def _followed(self, answer: HttpAnswer, identity: Identity, call: PendingCall) -> Message:
        """Read the answer from a request's own stream, and resume the stream if the server closes it early."""
        reader = EventReader(MAX_MESSAGE_BYTES)
        attempts = 0
        while True:
            try:
                found, heard = await self._hear(answer, reader, call, identity)
                if found is not None:
                    await answer.finish()
                    return found
                reason = "the stream ended without an answer"
            except Broken as broken:
                heard, reason = False, str(broken)
                if "MiB" in reason:
                    raise
            finally:
                await answer.close()
            attempts = 0 if heard else attempts + 1
            if not reader.identity or attempts > _MAX_RESUMPTIONS:
                raise Broken(reason)
            answer = await self._resumed(reader)

    async def _resumed(self, reader: EventReader) -> HttpAnswer:
        await asyncio.sleep(_pause(reader))
        answer = await self._send("GET", {"accept": "text/event-stream", "last-event-id": reader.identity}, b"")
        if answer.status != HTTPStatus.OK:
            await answer.close()
            raise Broken("the stream ended without an answer and cannot be resumed")
        return answer

    async def _hear(
        self, answer: HttpAnswer, reader: EventReader, call: PendingCall | None, identity: Identity | None
    ) -> tuple[Message | None, bool]:
        """Read a stream up to the answer to `identity`, or its end; also returns whether anything arrived."""
        heard = False
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    heard = True
                    message = decoded(event.data) if event.kind == "message" and event.data else None
                    if message is None:
                        if event.data and event.kind == "message" and identity is not None:
                            raise Unusable("an event that is not a JSON-RPC message")
                    elif "method" not in message:
                        if identity is not None:
                            return message, True
                    elif "id" in message:
                        self._question(message, call)
                    else:
                        await self._tell(message, call)
        return None, heard

    async def _tell(self, message: Message, call: PendingCall | None) -> None:
        params = parameters(message)
        if message["method"] == "notifications/cancelled":
            self._withdrawn(params)
        else:
            await self._listener.on_notification(
                message["method"], params, call if call is not None else self._latest()
            )

    async def _listen(self) -> None:
        """Keep the session's own stream open, if the server offers one."""
        reader = EventReader(MAX_MESSAGE_BYTES)
        attempts = 0
        while attempts <= _MAX_RESUMPTIONS:
            headers = {"accept": "text/event-stream"}
            if reader.identity:
                headers["last-event-id"] = reader.identity
            try:
                answer = await self._send("GET", headers, b"")
                try:
                    if answer.status != HTTPStatus.OK:
                        return
                    _, heard = await self._hear(answer, reader, None, None)
                finally:
                    await answer.close()
            except (TransportError, UpstreamError):
                heard = False
            attempts = 0 if heard else attempts + 1
            await asyncio.sleep(max(_pause(reader), _RESUME_SECONDS * attempts))

    async def _post(self, fields: Mapping[str, Any]) -> None:
        if self.version in MODERN_PROTOCOL_VERSIONS:
            return  # the newest revision has no such messages: closing a request's stream is what cancels it
        await (await self._send("POST", {}, encoded(**fields))).close()


def _pause(reader: EventReader) -> float:
    return _RESUME_SECONDS if reader.retry is None else min(reader.retry / 1000, _LONGEST_RESUME_SECONDS)
