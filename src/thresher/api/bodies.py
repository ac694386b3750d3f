"""Bounds the bodies of requests.

Invariant: no request makes the process hold more than the bound, whether it says how long it is or not.
"""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 4 * 1024 * 1024
"""Bytes of a body: a message with a pasted log fits, an upload does not."""


class Bounded:
    """An application whose requests end with 413 when their body is too long.

    Args:
        application: Turns an `HTTPException` into an answer.
    """

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        read = int(announced) if announced.isdecimal() and int(announced) > BODY_LIMIT else 0

        async def bounded() -> Message:
            nonlocal read
            message = await receive() if read <= BODY_LIMIT else {"type": "http.disconnect"}
            read += len(message.get("body", b""))
            if read > BODY_LIMIT:
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"A body has {BODY_LIMIT} bytes at most",
                    {"connection": "close"},
                )
            return message

        await self._application(scope, bounded, send)
