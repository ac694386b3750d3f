"""Live parts of pages: HTML over server-sent events, sent when it changes.

Invariant: a stream ends with the session or key that opened it, and by itself after `LONGEST`; a browser opens it again
and continues. What is sent is rendered as pages are.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.responses import StreamingResponse

from thresher.console.visit import Visit

LONGEST: Final = 600.0
"""Seconds until a stream ends and is opened again, perhaps at another replica."""
EVERY: Final = 1.0
_HEARTBEAT: Final = 15


def live(visit: Visit, show: Callable[[], Awaitable[str]]) -> StreamingResponse:
    """Send a part of a page, and again whenever it has changed.

    Args:
        visit: The browser; its `Last-Event-ID`, as a header or in the address, says what it shows already.
        show: Renders the part.
    """
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_changes(visit, show), media_type="text/event-stream", headers=headers)


async def _changes(visit: Visit, show: Callable[[], Awaitable[str]]) -> AsyncIterator[str]:
    known = visit.sent.headers.get("last-event-id", "") or visit.query("last-event-id")
    loop = asyncio.get_running_loop()
    end, quiet = loop.time() + LONGEST, 0
    while loop.time() < end:
        if await visit.has_ended():
            return
        text = await show()
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        quiet += 1
        if digest != known:
            known, quiet = digest, 0
            yield sent_event(text, digest)
        elif quiet % _HEARTBEAT == 0:
            yield ": still here\n\n"
        await asyncio.sleep(EVERY)


def sent_event(text: str, identity: str = "", kind: str = "") -> str:
    """One event with a text of any lines."""
    lines = [f"event: {kind}"] if kind else []
    lines += [f"id: {identity}"] if identity else []
    return "\n".join((*lines, *(f"data: {line}" for line in text.splitlines() or [""]))) + "\n\n"
