"""The connection to a model's service: sockets, and the HTTP transport over them.

Invariant: the size of a service's answer is bounded, and a lost connection is reported at once.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final, cast
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2
from httpcore2 import SOCKET_OPTION

from thresher.core import ModelError

LARGEST_ANSWER: Final = 8 << 20
"""Maximum bytes of an answer: a hundred times the longest ones."""


class UnknownHost(httpcore2.ConnectError):
    """The host's name cannot be resolved."""


class Unsecured(httpcore2.ConnectError):
    """The other side does not speak TLS, or has no trusted certificate."""


class Sockets(httpcore2.AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - the library's, which we give none
        socket_options: Iterable[SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore2.AsyncNetworkStream:
        """See the library's method."""
        try:
            async with asyncio.timeout(timeout):
                return _Socket(*await asyncio.open_connection(host, port, happy_eyeballs_delay=0.25))
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout from error
        except socket.gaierror as error:
            raise UnknownHost(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        """Wait between tries to connect."""
        await asyncio.sleep(seconds)


class _Socket(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout from error
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            self._writer.write(buffer)
            async with asyncio.timeout(timeout):
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore2.WriteTimeout from error
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    def abort(self) -> None:
        self._writer.transport.abort()

    async def aclose(self) -> None:
        self.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            await self.aclose()
            raise httpcore2.ConnectTimeout from error
        except OSError as error:
            await self.aclose()
            raise Unsecured(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # on an idle connection this means that the other side has closed it
            return self._reader.at_eof() or self._reader.exception() is not None
        return self._writer.get_extra_info({"server_addr": "peername", "client_addr": "sockname"}.get(info, info))


_LARGEST_STREAM: Final = 8 * LARGEST_ANSWER
"""Bytes of a stream: it has more around a word than the word itself, and is read as it comes."""
_SENT: Final = ("host", "content-type", "content-length", "transfer-encoding", "accept")
_KEPT: Final = 100
_KEPT_SECONDS: Final = 30.0


class ServiceTransport(httpx2.AsyncBaseTransport):
    """A transport to one service.

    Args:
        address: The service's.
        key: Sent as a bearer token; None for no key.
        hint: What to check if an answer is too long.
    """

    def __init__(self, address: httpx2.URL, key: str | None, hint: str) -> None:
        self._pool = _pool(address)
        self._hint = hint
        # Compressed answers could not be measured before they are unpacked.
        self._headers = [(b"accept-encoding", b"identity"), (b"user-agent", b"thresher")]
        if key is not None:
            self._headers.append((b"authorization", b"Bearer " + key.encode()))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        url = request.url
        headers = [(name.encode(), request.headers[name].encode()) for name in _SENT if name in request.headers]
        answer = await self._pool.handle_async_request(
            httpcore2.Request(
                request.method,
                httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=headers + self._headers,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        known = httpx2.Headers(answer.headers)
        if (coding := known.get("content-encoding", "").strip().lower()) not in ("", "identity"):
            await answer.aclose()
            raise ModelError(
                f"The chat model's answer is packed ({coding[:20]}); it must not be.",
                hint=self._hint,
            )
        most = _LARGEST_STREAM if known.get("content-type", "").startswith("text/event-stream") else LARGEST_ANSWER
        return httpx2.Response(
            answer.status,
            headers=known,
            stream=_Counted(cast("httpx2.AsyncByteStream", answer.stream), most, self._hint),
            extensions=cast("dict[str, Any]", answer.extensions),  # pyright: ignore[reportUnknownMemberType] - untyped there
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most: int, hint: str) -> None:
        self._inner = inner
        self._most = most
        self._hint = hint

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._inner:
            read += len(part)
            if read > self._most:
                raise ModelError(f"The chat model's answer is larger than {self._most >> 20} MiB.", hint=self._hint)
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


def _pool(address: httpx2.URL) -> httpcore2.AsyncConnectionPool:
    """Return connections to a service, through the machine's proxy if it has one."""
    context = httpx2.create_ssl_context() if address.scheme == "https" else None
    return httpcore2.AsyncConnectionPool(
        ssl_context=context,
        proxy=_proxy(address),
        max_connections=None,
        max_keepalive_connections=_KEPT,
        keepalive_expiry=_KEPT_SECONDS,
        network_backend=Sockets(),
    )


def _proxy(address: httpx2.URL) -> httpcore2.Proxy | None:
    """Return the machine's proxy for a service."""
    named = getproxies()
    found = named.get(address.scheme) or named.get("all")
    if not found or proxy_bypass(address.host):
        return None
    proxy = httpx2.Proxy(found if "://" in found else f"http://{found}")
    url = proxy.url
    place = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    return httpcore2.Proxy(place, auth=proxy.raw_auth)
