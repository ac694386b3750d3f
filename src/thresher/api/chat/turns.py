"""Answers one request with a turn, streamed or whole, while its client is connected.

Invariant: when the client disconnects, or the request ends in another way, the turn is cancelled and has ended before
anything else is done. An error before the first byte is the answer; a later one is an event of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from thresher.agent import Event, TurnReport
from thresher.api.chat.answers import BEAT, Writer
from thresher.api.chat.requests import THREAD_HEADER, CompletionCall
from thresher.api.errors import refused, unexpected
from thresher.core import ThresherError, traced

BEAT_SECONDS: Final = 10.0
"""The longest silence of a stream: proxies close connections that are silent for 30 to 60 seconds."""


class ClientGone(Exception):
    """The client has disconnected."""


class Turn:
    """A running turn, whose events wait until they are taken.

    Args:
        events: Its events; closed however the turn ends.
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
        """Return all events that wait, or the next one.

        Args:
            seconds: The longest time to wait for it.

        Returns:
            The events; an empty list at the end; None if there was none in time.

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
        """Cancel the turn."""
        self._work.cancel()

    async def end(self) -> None:
        """Cancel the turn, and wait until it has ended."""
        self._work.cancel()
        await asyncio.wait([self._work])
        if not self._work.cancelled():
            self._work.exception()  # already reported, or of no use


class TurnResponse(Response):
    """The answer to a request.

    Args:
        events: The turn, which has not begun.
        completion: The request.
    """

    def __init__(self, events: AsyncGenerator[Event], completion: CompletionCall) -> None:
        super().__init__()
        self._events = events
        self._completion = completion

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        with traced() as trace:
            turn = Turn(self._events)
            gone = asyncio.create_task(_until_gone(receive, turn))
            answer = _Answer(self._completion, turn, trace, scope["path"])
            try:
                await (answer.stream if self._completion.stream else answer.whole)(scope, receive, send)
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
    """Sends the answer of one turn."""

    def __init__(self, completion: CompletionCall, turn: Turn, trace: str, path: str) -> None:
        self._turn = turn
        self._writer = Writer(completion)
        self._path = path
        self._headers = {"x-request-id": trace}
        if completion.call.thread is not None:
            self._headers[THREAD_HEADER] = str(completion.call.thread)

    async def whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the whole answer at the end."""
        try:
            answer = JSONResponse(self._writer.whole(await self._report()), headers=self._headers)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001 - a face: every error becomes one clear answer
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
        """Send the events of the turn as they come."""
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
        except Exception as error:  # noqa: BLE001 - a face: every error becomes one clear answer
            answer = self._failed(error)
            if not begun:
                await answer(scope, receive, send)
                return
            await _send(send, b"event: error\ndata: " + bytes(answer.body) + b"\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pieces(self) -> AsyncGenerator[bytes]:
        """Yield the bytes of the stream; the first at the first event, or after a long silence."""
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
        return refused(error, self._path) if isinstance(error, ThresherError) else unexpected(error, self._path)


_UNTOLD: Final = "a turn ended without a report"


async def _send(send: Send, piece: bytes) -> None:
    if piece:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
