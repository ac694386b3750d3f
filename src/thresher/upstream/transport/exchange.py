"""One HTTP request and its answer, with or without authorization; `LibraryExchange` is used for what `Wire` cannot do.

Invariant: the size of an answer is bounded, counted after decompression, and an answer that is not read to its end
closes its connection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Protocol

import httpx2

from thresher.core import UpstreamError
from thresher.upstream.oauth import StoredTokens
from thresher.upstream.transport.errors import Broken, Unreachable


class HttpAnswer(ABC):
    """An answer whose head has arrived.

    Attributes:
        status: The HTTP status.
        reason: The reason phrase.
        headers: Headers by lower-case name; the last one of each name.
    """

    status: int
    reason: str
    headers: Mapping[str, str]

    @abstractmethod
    def chunks(self) -> AsyncGenerator[bytes]:
        """The chunks of the body, decompressed.

        Raises:
            Broken: The body was interrupted.
        """

    @abstractmethod
    async def close(self) -> None:
        """Discard the unread rest; may be called more than once."""

    async def finish(self) -> None:
        """Ignore the unread rest, so that the connection can be reused after it has arrived."""
        await self.close()

    async def read(self, limit: int) -> bytes:
        """The whole body.

        Raises:
            Broken: It was interrupted, or has more than `limit` bytes.
        """
        body = await self.beginning(limit)
        if len(body) > limit:
            raise Broken(f"the answer has more than {limit // 2**20} MiB")
        return body

    async def beginning(self, limit: int) -> bytes:
        """The body up to its end, or a little past `limit` bytes."""
        body = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    break
        return bytes(body)


class HttpExchange(Protocol):
    """Sends requests."""

    async def send(self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """Send one request; redirects are not followed.

        Raises:
            Unreachable: There is no connection, and the request was not sent.
            Broken: No answer came.
        """
        ...

    async def close(self) -> None:
        """End all connections."""
        ...


class AuthorizedExchange:
    """Sends each request with authorization, and again if the authorization requires it."""

    def __init__(self, exchange: HttpExchange, auth: StoredTokens) -> None:
        self._exchange = exchange
        self._auth = auth

    async def send(self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """See `HttpExchange.send`; also raises what the authorization raises."""
        # Most requests have a valid token or need none, and the objects of the flow cost more than everything else.
        token = self._auth.quick(url)
        if token is not None:
            added = {"authorization": f"Bearer {token}"} if token else {}
            answer = await self._exchange.send(method, url, {**headers, **added}, body)
            if answer.status == HTTPStatus.FORBIDDEN:
                await self._check_scope(answer)
            if answer.status != HTTPStatus.UNAUTHORIZED:
                return answer
            await answer.close()  # the server has carried nothing out
        return await self._send_with_care(method, url, headers, body)

    async def _check_scope(self, answer: HttpAnswer) -> None:
        try:
            self._auth.check_scope(answer.headers.get("www-authenticate", ""))
        except UpstreamError:
            await answer.close()
            raise

    async def _send_with_care(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes
    ) -> HttpAnswer:
        flow = self._auth.async_auth_flow(httpx2.Request(method, url))
        answer: HttpAnswer | None = None
        try:
            request = await anext(flow)
            while True:
                added = {name: value for name, value in request.headers.items() if name.lower() == "authorization"}
                answer = await self._exchange.send(method, url, {**headers, **added}, body)
                try:
                    request = await flow.asend(httpx2.Response(answer.status, headers=dict(answer.headers)))
                except StopAsyncIteration:
                    answered, answer = answer, None
                    return answered
                await answer.close()
        finally:
            await flow.aclose()
            if answer is not None:
                await answer.close()

    async def close(self) -> None:
        """See `HttpExchange.close`."""
        await self._exchange.close()


class LibraryExchange:
    """Sends requests through the HTTP library, for proxies."""

    def __init__(self, headers: Mapping[str, str], connect_seconds: float) -> None:
        # No read time-out: each request has its own limit, and a stream may be silent for long.
        timeout = httpx2.Timeout(connect=connect_seconds, read=None, write=None, pool=None)
        self._client = httpx2.AsyncClient(headers=dict(headers), timeout=timeout)

    async def send(self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """See `HttpExchange.send`."""
        request = self._client.build_request(method, url, headers=dict(headers), content=body or None)
        try:
            return _LibraryAnswer(await self._client.send(request, stream=True, follow_redirects=False))
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            raise Unreachable(_reason(error)) from None
        except httpx2.TransportError as error:
            raise Broken(_reason(error)) from None

    async def close(self) -> None:
        """See `HttpExchange.close`."""
        await self._client.aclose()


class _LibraryAnswer(HttpAnswer):
    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.reason = response.reason_phrase
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncGenerator[bytes]:
        pieces: AsyncIterator[bytes] = self._response.aiter_bytes()
        try:
            async for piece in pieces:
                yield piece
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise Broken(_reason(error)) from None

    async def close(self) -> None:
        await self._response.aclose()


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
