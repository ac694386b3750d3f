"""Answers one request with a turn: streamed or whole, for as long as its client is there.

Invariant: when the client goes, or the request ends in any other way, the turn is cancelled and has ended before
anything else is done; an error before the first byte is an answer of its own, later one an event of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from thresher.agent import Event, TurnReport
from thresher.api.chat.reading import THREAD_HEADER, Asked
from thresher.api.chat.writing import BEAT, Writer
from thresher.api.errors import refused, unforeseen
from thresher.core import ThresherError, traced

BEAT_SECONDS: Final = 10.0
"""After so long a silence a stream says that it lives: proxies close what is silent for 30 to 60 seconds."""


class ClientGone(Exception):
    """Nobody reads the answer any more."""


class Turn:
    """A turn on its way, whose events wait until they are taken.

    Args:
        events: What it tells; closed at the end, however that comes.
    """

    def __init__(self, events: AsyncGenerator[Event]) -> None:
        self._waiting: list[Event] = []
        self._stirred = asyncio.Event()
        self._ended = False
        self._work = asyncio.create_task(self._run(events))

    async def _run(self, events: AsyncGenerator[Event]) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    self._waiting.append(event)
                    self._stirred.set()
        finally:
            self._ended = True
            self._stirred.set()

    async def take(self, seconds: float | None = None) -> list[Event] | None:
        """All events that wait, or the next one.

        Args:
            seconds: How long to wait for it.

        Returns:
            The events; none at the end; None where the time was up first.

        Raises:
            ClientGone: The turn was cancelled.
        """
        if not self._waiting and not self._ended:
            self._stirred.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._stirred.wait()
            except TimeoutError:
                return None
        taken, self._waiting = self._waiting, []
        if not taken:
            await asyncio.wait([self._work])
            if self._work.cancelled():
                raise ClientGone
            self._work.result()
        return taken

    def cancel(self) -> None:
        """Have it end."""
        self._work.cancel()

    async def end(self) -> None:
        """Have it end, and wait until it has."""
        self._work.cancel()
        await asyncio.wait([self._work])
        if not self._work.cancelled():
            self._work.exception()  # told already, or of no use to anybody


class TurnResponse(Response):
    """The answer to a request.

    Args:
        events: The turn, not yet begun.
        asked: What was asked for.
    """

    def __init__(self, events: AsyncGenerator[Event], asked: Asked) -> None:
        super().__init__()
        self._events = events
        self._asked = asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        with traced() as trace:
            turn = Turn(self._events)
            gone = asyncio.create_task(_until_gone(receive, turn))
            answer = _Answer(self._asked, turn, trace, scope["path"])
            try:
                await (answer.stream if self._asked.stream else answer.whole)(scope, receive, send)
            except ClientGone:
                pass
            finally:
                gone.cancel()
                await turn.end()


async def _until_gone(receive: Receive, turn: Turn) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    turn.cancel()


class _Answer:
    """What is sent of one turn."""

    def __init__(self, asked: Asked, turn: Turn, trace: str, path: str) -> None:
        self._turn = turn
        self._writer = Writer(asked)
        self._path = path
        self._headers = {"x-request-id": trace}
        if asked.call.thread is not None:
            self._headers[THREAD_HEADER] = str(asked.call.thread)

    async def whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the whole answer at the end."""
        try:
            answer = JSONResponse(self._writer.whole(await self._report()), headers=self._headers)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - a face: whatever went wrong becomes one clear answer
            answer = self._failed(error)
        await answer(scope, receive, send)

    async def _report(self) -> TurnReport:
        last: Event | None = None
        while events := await self._turn.take():
            last = events[-1]
        if not isinstance(last, TurnReport):
            raise RuntimeError(_UNTOLD)
        return last

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what the turn tells as soon as it does."""
        begun = False
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    if not begun:
                        begun = True
                        await send({"type": "http.response.start", "status": 200, "headers": self._stream_headers()})
                    await _send(send, piece)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - a face: whatever went wrong becomes one clear answer
            answer = self._failed(error)
            if not begun:
                await answer(scope, receive, send)
                return
            await _send(send, b"event: error\ndata: " + bytes(answer.body) + b"\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pieces(self) -> AsyncGenerator[bytes]:
        """The bytes of the stream; the first once something was told, or nothing for long."""
        events = await self._turn.take(BEAT_SECONDS)
        yield self._writer.begin() + self._writer.write(events or ())
        while events != []:
            events = await self._turn.take(BEAT_SECONDS)
            yield BEAT if events is None else self._writer.write(events)
        if not self._writer.ended:
            raise RuntimeError(_UNTOLD)

    def _stream_headers(self) -> list[tuple[bytes, bytes]]:
        named = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        named |= {"x-accel-buffering": "no", **self._headers}  # or nginx keeps an answer until it is whole
        return [(name.encode(), value.encode()) for name, value in named.items()]

    def _failed(self, error: Exception) -> JSONResponse:
        return refused(error, self._path) if isinstance(error, ThresherError) else unforeseen(error, self._path)


_UNTOLD: Final = "a turn ended without a report"


async def _send(send: Send, piece: bytes) -> None:
    if piece:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
