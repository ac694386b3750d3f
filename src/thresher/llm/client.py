"""Sends requests to a chat service, and hands its answers over as they arrive.

Invariant: nothing of this process's environment is sent to a service, and only what is written here; the key is only in
the header of that service's requests. A service's own words are in none of our messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final, cast

import httpcore2
import httpx2

from thresher.core import ModelError
from thresher.llm.service import retry_after
from thresher.llm.transport import ServiceTransport

_BROKEN: Final = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, httpcore2.ProxyError)
_UNUSABLE: Final = (httpcore2.UnsupportedProtocol, httpcore2.LocalProtocolError, httpx2.InvalidURL)
_HEADERS: Final = {"content-type": "application/json", "accept": "application/json"}


class RequestLost(Exception):
    """It failed, and another try may succeed.

    Args:
        why: Such as `HTTP 503` or `ReadError`.
        wait: Seconds to wait, according to the service; None if it does not say.
    """

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.wait = wait


class RequestRefused(Exception):
    """The service answered with an unsuccessful status.

    Args:
        status: The status.
        body: Its text, which may quote the request.
        wait: As for `RequestLost`.
    """

    def __init__(self, status: int, body: bytes, wait: float | None) -> None:
        super().__init__(str(status))
        self.status = status
        self.body = body
        self.wait = wait


class ServiceClient:
    """Connections to one service.

    Args:
        url: Its base address, such as `https://api.openai.com/v1`; a query is sent with every request.
        key: Sent as a bearer token; None for no key.
        hint: What to check if the service fails.
    """

    def __init__(self, url: str, key: str | None, hint: str) -> None:
        base = httpx2.URL(url)
        self.address = base.copy_with(path=base.path.rstrip("/") + "/chat/completions")
        self._hint = hint
        self._web = httpx2.AsyncClient(transport=ServiceTransport(base, key, hint), timeout=None)

    @asynccontextmanager
    async def send(self, content: bytes) -> AsyncGenerator[ServiceAnswer]:
        """Send a request; the block has an answer with a successful status.

        Args:
            content: Its body, as JSON.

        Raises:
            RequestRefused: The service refuses.
            RequestLost: The connection broke, or could not be made.
            ModelError: The address cannot be used, or the answer is too large.
        """
        try:
            async with self._web.stream("POST", self.address, content=content, headers=_HEADERS) as answer:
                if not answer.is_success:
                    refusal = await answer.aread()
                    raise RequestRefused(answer.status_code, refusal, retry_after(answer.headers))
                yield ServiceAnswer(answer)
        except _UNUSABLE:
            raise ModelError("The address of the chat model cannot be used.", hint=self._hint) from None
        except _BROKEN as error:
            raise RequestLost(type(error).__name__) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._web.aclose()


class ServiceAnswer:
    """An answer that has begun to arrive.

    Args:
        response: With a successful status.
    """

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        packed = response.headers.get("content-encoding", "identity") != "identity"
        self._parts = response.aiter_bytes() if packed else aiter(cast("httpx2.AsyncByteStream", response.stream))
        kind = response.headers.get("content-type", "")
        self.is_whole = "json" in kind and "event-stream" not in kind

    def abort(self) -> None:
        """Close the connection now; a reader gets an error."""
        self._response.extensions["network_stream"].abort()

    async def read(self) -> bytes:
        """Return the whole answer."""
        return await self._response.aread()

    async def part(self) -> bytes:
        """Return what has arrived since the last part; empty at the end."""
        return await anext(self._parts, b"")

    async def finish(self, seconds: float) -> None:
        """Wait briefly for its end, so that the connection can be used again."""
        with suppress(TimeoutError, *_BROKEN):
            async with asyncio.timeout(seconds):
                while await self.part():
                    pass
