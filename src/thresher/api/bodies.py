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


_PASSED_OVER = 4 * BODY_LIMIT
"""Bytes that are read and dropped: many clients hear the refusal only when they have sent all."""


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
            if BODY_LIMIT < read <= _PASSED_OVER:
                await _pass_over(receive)
            message = await receive() if read <= BODY_LIMIT else {"type": "http.disconnect"}
            read += len(message.get("body", b""))
            if read > BODY_LIMIT:
                if message.get("more_body", False):
                    await _pass_over(receive)
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"A body has {BODY_LIMIT} bytes at most",
                    {"connection": "close"},
                )
            return message

        await self._application(scope, bounded, send)


async def _pass_over(receive: Receive) -> None:
    """Let go of what comes of a body that is refused, up to a bound."""
    passed, more = 0, True
    while more and passed < _PASSED_OVER:
        message = await receive()
        passed += len(message.get("body", b""))
        more = message.get("more_body", False)
