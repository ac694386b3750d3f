"""Parses server-sent events from chunks of a stream.

Invariant: pure; the size of an event is bounded, and all three kinds of line ends are understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thresher.upstream.transport.errors import Broken

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event.

    Attributes:
        data: Its data lines, joined by line feeds; empty for an event that only sets an id.
        kind: Its type; `message` by default.
        identity: The last event id so far; empty if there was none.
    """

    data: bytes
    kind: str
    identity: str


class EventReader:
    """Parses one stream; `retry` holds the milliseconds to wait before a reconnect, if the server has set them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._data = bytearray()  # each line with a line feed
        self._kind = ""
        self._after_return = False
        self._first = True
        self.identity = ""
        self.retry: int | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that this chunk completes.

        Raises:
            Broken: An event exceeds the size limit.
        """
        if self._after_return and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_return = False
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = bytes(self._partial) + lines[0]
            self._partial.clear()
        self._partial += rest
        for line in lines:
            event = self._line(line)
            if event is not None:
                yield event
        if len(self._data) + len(self._partial) > self._limit:
            raise Broken(f"an event of more than {self._limit // 2**20} MiB")

    def _line(self, line: bytes) -> ServerEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_MARK)
        if not line:
            return self._complete()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data += value + b"\n"
            if len(self._data) > self._limit:
                raise Broken(f"an event of more than {self._limit // 2**20} MiB")
        elif name == b"event":
            self._kind = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self.identity = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry = int(value)
        return None

    def _complete(self) -> ServerEvent | None:
        event = ServerEvent(bytes(self._data[:-1]), self._kind or "message", self.identity) if self._data else None
        self._data.clear()
        self._kind = ""
        return event
