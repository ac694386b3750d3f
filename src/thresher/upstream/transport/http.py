"""Streamable HTTP: each request is a POST whose answer is JSON or a stream of events.

Invariant: a failed request never takes the others of its session down, and what arrives on a request's own stream
belongs to that request alone.
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
from thresher.upstream.transport.channel import Call, Channel, Listener
from thresher.upstream.transport.events import EventReader
from thresher.upstream.transport.exchange import Answer, AuthorizedExchange, Exchange, LibraryExchange
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
from thresher.upstream.transport.trouble import Broken, Expired, Status, Trouble, Unusable
from thresher.upstream.transport.wire import Wire

_ERROR_BODY_BYTES = 64 * 1024
_MAX_REDIRECTS = 5
_MAX_RESUMPTIONS = 3
"""In a row without any event."""
_RESUME_SECONDS = 1.0
_LONGEST_RESUME_SECONDS = 30.0
_GOODBYE_SECONDS = 2.0
SESSION_HEADER = "mcp-session-id"
_ACCEPT = "application/json, text/event-stream"


def exchange_of(config: ServerConfig, connect_seconds: float, auth: StoredTokens | None) -> Exchange:
    """The client that fits a server: our own, the library's for what goes through a proxy."""
    url = httpx2.URL(config.url)
    proxied = not {url.scheme, "all"}.isdisjoint(getproxies()) and not proxy_bypass(url.host)
    fits = url.host.isascii() and not proxied
    exchange = Wire(config.headers, connect_seconds) if fits else LibraryExchange(config.headers, connect_seconds)
    return exchange if auth is None else AuthorizedExchange(exchange, auth)


async def reachable(config: ServerConfig, connect_seconds: float) -> bool:
    """Whether anything answers at a server's address; nobody's headers or tokens are sent."""
    exchange = exchange_of(replace(config, headers={}), connect_seconds, None)
    try:
        answer = await exchange.send("GET", httpx2.URL(config.url).copy_with(userinfo=b""), {"accept": "*/*"}, b"")
        await answer.close()
    except Trouble:
        return False
    finally:
        await exchange.close()
    return True


class HttpChannel(Channel):
    """A session over streamable HTTP, or in the newest revision none at all."""

    def __init__(self, config: ServerConfig, exchange: Exchange, listener: Listener, *, owned: bool) -> None:
        super().__init__(listener, owned=owned)
        self._url = httpx2.URL(config.url)
        self._exchanger = exchange
        self._session = ""

    async def open(self) -> None:
        """Nothing to do: each request connects by itself."""

    async def begin(self) -> None:
        """Say that the handshake is done; then listen to what the server says outside of requests, if it does."""
        await super().begin()
        if self._session:
            self._start(self._listen())

    async def close(self) -> None:
        """Take leave of the server, which is a courtesy, and end all connections."""
        await self._end_tasks()
        if self._session:
            with suppress(Trouble, UpstreamError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await (await self._send("DELETE", {}, b"")).close()
        await self._exchanger.close()

    async def _send(self, method: str, headers: Mapping[str, str], body: bytes) -> Answer:
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
        raise Unusable("it redirects without end")

    def _redirected(self, answer: Answer) -> httpx2.URL | None:
        """Where to send the request again: only where its secrets may go too, with method and body kept."""
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
        self, identity: Identity, method: str, params: Mapping[str, Any], headers: Mapping[str, str], call: Call
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
                    raise Unusable("its answer is no JSON-RPC message for this request")
                return answered(message)
            if kind.startswith("text/event-stream"):
                return answered(await self._followed(answer, identity, call))
            raise Unusable(f"unexpected content type: {kind[:100] or 'none'}")
        finally:
            await answer.close()

    async def _refusal(self, answer: Answer) -> Exception:
        """What an answer without a result means: a JSON-RPC error where it holds one, else its status."""
        status, body = answer.status, b""
        with suppress(Trouble):  # the status says enough
            body = await answer.beginning(_ERROR_BODY_BYTES)
        # 404 is the specification's; 400 with such a text is what servers from the TypeScript SDK's example answer.
        forgotten = status == HTTPStatus.BAD_REQUEST and b"session id" in body.lower()
        if self._session and (status == HTTPStatus.NOT_FOUND or forgotten):
            return Expired("the session has expired")
        if status < HTTPStatus.BAD_REQUEST:
            return Unusable(f"HTTP status {status} {answer.reason} in place of an answer")
        message = decoded(body) or decoded(b'{"jsonrpc":"2.0",' + body.lstrip().removeprefix(b"{"))
        if message is not None and isinstance(message.get("error"), dict) and "code" in message["error"]:
            return failed(message["error"])
        return Status(status, answer.reason)

    async def _followed(self, answer: Answer, identity: Identity, call: Call) -> Message:
        """The answer out of a request's own stream, resumed as often as the server closes it early."""
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

    async def _resumed(self, reader: EventReader) -> Answer:
        await asyncio.sleep(_pause(reader))
        answer = await self._send("GET", {"accept": "text/event-stream", "last-event-id": reader.identity}, b"")
        if answer.status != HTTPStatus.OK:
            await answer.close()
            raise Broken("the stream ended without an answer and cannot be resumed")
        return answer

    async def _hear(
        self, answer: Answer, reader: EventReader, call: Call | None, identity: Identity | None
    ) -> tuple[Message | None, bool]:
        """Read a stream to the answer to `identity`, or to its end; also says whether anything came."""
        heard = False
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    heard = True
                    message = decoded(event.data) if event.kind == "message" and event.data else None
                    if message is None:
                        if event.data and event.kind == "message" and identity is not None:
                            raise Unusable("an event that is no JSON-RPC message")
                    elif "method" not in message:
                        if identity is not None:
                            return message, True
                    elif "id" in message:
                        self._question(message, call)
                    else:
                        await self._tell(message, call)
        return None, heard

    async def _tell(self, message: Message, call: Call | None) -> None:
        params = parameters(message)
        if message["method"] == "notifications/cancelled":
            self._withdrawn(params)
        else:
            await self._listener.told(message["method"], params, call if call is not None else self._latest())

    async def _listen(self) -> None:
        """Keep the session's own stream open; servers that have none say so."""
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
            except (Trouble, UpstreamError):
                heard = False
            attempts = 0 if heard else attempts + 1
            await asyncio.sleep(max(_pause(reader), _RESUME_SECONDS * attempts))

    async def _post(self, fields: Mapping[str, Any]) -> None:
        if self.version in MODERN_PROTOCOL_VERSIONS:
            return  # the newest revision has no such messages: closing a request's stream is what cancels it
        await (await self._send("POST", {}, encoded(**fields))).close()


def _pause(reader: EventReader) -> float:
    return _RESUME_SECONDS if reader.retry is None else min(reader.retry / 1000, _LONGEST_RESUME_SECONDS)
