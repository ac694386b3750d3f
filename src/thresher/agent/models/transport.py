"""Connections to services.

Invariant: no answer takes more memory than `LARGEST_ANSWER`; a request has the headers that are named here, whatever
libraries add to it or find in the environment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import httpx2

from thresher.core import ModelError
from thresher.llm import LARGEST_ANSWER

_SENT: Final = ("host", "content-type", "content-length", "transfer-encoding", "accept")
_LIMITS: Final = httpx2.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30.0)


class Wire(httpx2.AsyncBaseTransport):
    """A transport to one service.

    Args:
        key: Sent as a bearer token; None: none is.
        hint: What to check where an answer is too long.
    """

    def __init__(self, key: str | None, hint: str) -> None:
        self._inner = httpx2.AsyncHTTPTransport(limits=_LIMITS)
        self._hint = hint
        # Compressed answers could not be measured before they are unpacked.
        self._headers = {"accept-encoding": "identity", "user-agent": "thresher"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        headers = {name: request.headers[name] for name in _SENT if name in request.headers}
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=headers | self._headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        answer = await self._inner.handle_async_request(sent)
        answer.stream = _Counted(answer.stream, self._hint)  # pyright: ignore[reportArgumentType] - it is asynchronous
        return answer

    async def aclose(self) -> None:
        """End the connections."""
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, hint: str) -> None:
        self._inner = inner
        self._hint = hint

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._inner:
            read += len(part)
            if read > LARGEST_ANSWER:
                raise ModelError(f"The chat model's answer is larger than {LARGEST_ANSWER >> 20} MiB.", hint=self._hint)
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
