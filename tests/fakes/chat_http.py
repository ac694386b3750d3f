"""HTTP/1.1 for the fake chat service: as much as clients of the wire format speak, cheap enough for many streams."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Request:
    """One request. `body`: decoded, empty where there is none."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Connection(asyncio.Protocol):
    """One client's connection; answers its requests one after another.

    Args:
        serve: Answers a request; cancelled when the client goes away.
        gone: Told that a client went away before the end of its answer.
        everyone: Has each connection while it is open.
    """

    def __init__(
        self,
        serve: Callable[[Connection, Request], Awaitable[None]],
        gone: Callable[[], None],
        everyone: set[Connection],
    ) -> None:
        self._serve = serve
        self._gone = gone
        self._everyone = everyone
        self._heard = bytearray()
        self._work: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._transport: asyncio.Transport = None  # type: ignore[assignment]  # set before anything else is called

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._everyone.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._everyone.discard(self)
        self._room.set()
        if self._work is not None:
            self._work.add_done_callback(lambda _: self._gone())
            self._work.cancel()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self._heard += data
        if self._work is None and (request := self._request()) is not None:
            self._work = asyncio.get_running_loop().create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        try:
            await self._serve(self, request)
        except Exception:  # noqa: BLE001 - a model that fails must not hang its test
            traceback.print_exc()
            self.close()
        self._work = None
        if request.headers.get("connection") == "close":
            self.close()
        self.data_received(b"")

    def _request(self) -> Request | None:
        """The next request, once all of it is there."""
        end = self._heard.find(HEAD_END)
        if end < 0:
            return None
        first, *lines = self._heard[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        start, size = end + len(HEAD_END), int(headers.get("content-length", 0))
        if len(self._heard) < start + size:
            return None
        raw = bytes(self._heard[start : start + size])
        del self._heard[: start + size]
        method, path, _ = first.split(" ")
        return Request(method, path, headers, json.loads(raw) if raw else {})

    def head(self, status: int, kind: str, size: int | None, more: dict[str, str] | None = None) -> None:
        """Begin an answer; without a size it is chunked."""
        length = "transfer-encoding: chunked" if size is None else f"content-length: {size}"
        lines = [f"HTTP/1.1 {status} Said", f"content-type: {kind}", length]
        lines += [f"{name}: {value}" for name, value in (more or {}).items()]
        self.write("\r\n".join([*lines, "\r\n"]).encode())

    def write(self, data: bytes) -> None:
        """Send as it is."""
        self._transport.write(data)

    def chunk(self, data: bytes) -> None:
        """Send a part of a chunked answer; an empty one ends it."""
        self._transport.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def room(self) -> None:
        """Wait until the client has read enough."""
        await self._room.wait()

    def close(self) -> None:
        """Say goodbye after what was written."""
        self._transport.close()

    def end(self) -> None:
        """End at once, as the service does."""
        if self._work is not None:
            self._work.cancel()
        self._work = None
        self._transport.abort()
