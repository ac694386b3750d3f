"""How requests reach a service.

Invariant: no answer is longer than the bounds here, and a compressed one is refused; a request has the headers that are
named here, and no others that libraries add or find in the environment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final, cast
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from thresher.agent.models.sockets import Sockets
from thresher.core import ModelError
from thresher.llm import LARGEST_ANSWER

_LARGEST_STREAM: Final = 8 * LARGEST_ANSWER
"""Bytes: a stream says more around a word than the word has, and is read as it comes."""
_SENT: Final = ("host", "content-type", "content-length", "transfer-encoding", "accept")
_KEPT: Final = 100
_KEPT_SECONDS: Final = 30.0


class Wire(httpx2.AsyncBaseTransport):
    """A transport to one service.

    Args:
        address: The service's.
        key: Sent as a bearer token; None: none is.
        hint: What to check where an answer is too long.
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
        if (coding := _coding(answer)) not in (b"", b"identity"):
            await answer.aclose()
            raise ModelError(
                f"The chat model's answer is packed ({coding[:20].decode('ascii', 'replace')}); it must not be.",
                hint=self._hint,
            )
        return httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Counted(cast("httpx2.AsyncByteStream", answer.stream), _most(answer), self._hint),
            extensions=cast("dict[str, Any]", answer.extensions),  # pyright: ignore[reportUnknownMemberType] - untyped there
        )

    async def aclose(self) -> None:
        """End the connections."""
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


def _most(answer: httpcore2.Response) -> int:
    return _LARGEST_STREAM if _header(answer, b"content-type").startswith(b"text/event-stream") else LARGEST_ANSWER


def _coding(answer: httpcore2.Response) -> bytes:
    return _header(answer, b"content-encoding").strip().lower()


def _header(answer: httpcore2.Response, name: bytes) -> bytes:
    return next((value for known, value in answer.headers if known.lower() == name), b"")


def _pool(address: httpx2.URL) -> httpcore2.AsyncConnectionPool:
    """Connections to a service, through the machine's proxy where it has one."""
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
    """The proxy that this machine names for a service."""
    named = getproxies()
    found = named.get(address.scheme) or named.get("all")
    if not found or proxy_bypass(address.host):
        return None
    proxy = httpx2.Proxy(found if "://" in found else f"http://{found}")
    url = proxy.url
    place = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    return httpcore2.Proxy(place, auth=proxy.raw_auth)
