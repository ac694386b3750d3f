"""A small HTTP/1.1 client that does what JSON-RPC requests need and no more, because every tool call goes through it.

Measured against the library on one warm connection: 1.1 ms for a call instead of 4.7 ms, server included.

Invariant: a connection serves one request at a time, and is reused only after an answer was read to its end and
as long as the server has sent nothing since; heads, chunks and bodies are bounded.
"""

from __future__ import annotations

import asyncio
import base64
import re
import select
import ssl
import sys
import time
import zlib
from collections.abc import AsyncGenerator, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

import httpx2

from thresher.upstream.transport.errors import Broken, Unreachable
from thresher.upstream.transport.exchange import HttpAnswer

MAX_CONNECTIONS = 200
"""Maximum connections to one server; further requests wait."""
KEPT_SECONDS = 4.0
"""Common servers close an idle connection after five seconds; a request must not coincide with that."""
_DRAIN_SECONDS = 0.5
_HEAD_BYTES = 64 * 1024
_CHUNK_BYTES = 256 * 1024
_BUFFER_BYTES = 1024 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: ([^\r\n]*))?")
_INVALID = re.compile(r"[\r\n\0]")
_OURS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    }
)
"""Headers that the protocol sets, not a configuration."""

Origin: TypeAlias = tuple[str, str, int]


@dataclass(slots=True, eq=False)
class _HttpConnection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used_at: float = 0.0

    def fresh(self) -> bool:
        """Whether the server has neither closed it nor sent anything."""
        if self.writer.is_closing() or self.reader.at_eof() or time.monotonic() - self.used_at > KEPT_SECONDS:
            return False
        raw: Any = self.writer.get_extra_info("socket")
        return not _readable(raw.fileno())

    def abort(self) -> None:
        self.writer.transport.abort()


class WireClient:
    """Connections with the servers of one configuration: one server, or several after redirects."""

    def __init__(self, headers: Mapping[str, str], connect_seconds: float) -> None:
        given = {name: value for name, value in headers.items() if name.lower() not in _OURS}
        names = {name.lower() for name in given}
        self._names_host = "host" in names
        self._authorizes = "authorization" in names
        if "user-agent" not in names:
            given["user-agent"] = "thresher"
        fixed = [f"{name}: {value}" for name, value in given.items() if not _INVALID.search(f"{name}{value}")]
        self._fixed = "\r\n".join([*fixed, "accept-encoding: identity", "", ""])
        self._connect_seconds = connect_seconds
        self._idle: dict[Origin, list[_HttpConnection]] = {}
        self._open: set[_HttpConnection] = set()
        self._room = asyncio.Semaphore(MAX_CONNECTIONS)
        self._tls: ssl.SSLContext | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def send(self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes) -> HttpAnswer:
        """See `Exchange.send`."""
        head = self._head(method, url, headers, body)
        origin = (url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80))
        await self._room.acquire()
        connection: _HttpConnection | None = None
        answer: WireAnswer | None = None
        try:
            connection = self._reused(origin) or await self._connected(origin)
            connection.writer.write(head + body)
            if len(body) > _BUFFER_BYTES:
                await connection.writer.drain()
            answer = await _read_head(self, origin, connection, method)
            return answer
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            raise Broken(_reason(error)) from None
        finally:
            if answer is None:
                self.give_up(connection)

    def _head(self, method: str, url: httpx2.URL, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = [f"{method} {url.raw_path.decode('ascii')} HTTP/1.1"]
        if not self._names_host:
            lines.append(f"host: {url.netloc.decode('ascii')}")
        if url.userinfo and not self._authorizes and "authorization" not in headers:
            secret = unquote(url.userinfo.decode("ascii")).encode()
            lines.append(f"authorization: Basic {base64.b64encode(secret).decode('ascii')}")
        if body or method == "POST":
            lines.append(f"content-length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in headers.items() if not _INVALID.search(value)]
        return "\r\n".join([*lines, self._fixed]).encode("utf-8", "replace")

    def _reused(self, origin: Origin) -> _HttpConnection | None:
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if connection.fresh():
                return connection
            self._forget(connection)
        return None

    async def _connected(self, origin: Origin) -> _HttpConnection:
        scheme, host, port = origin
        try:
            async with asyncio.timeout(self._connect_seconds):
                reader, writer = await asyncio.open_connection(
                    host, port, limit=_BUFFER_BYTES, ssl=self._context() if scheme == "https" else None
                )
        except TimeoutError:
            raise Unreachable(f"no connection within {self._connect_seconds:g} s") from None
        except (OSError, ssl.SSLError, UnicodeError) as error:
            raise Unreachable(_reason(error)) from None
        connection = _HttpConnection(reader, writer)
        self._open.add(connection)
        if self._closed:
            self._forget(connection)
            raise Unreachable("the client is closed")
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = httpx2.create_ssl_context()
        return self._tls

    def give_back(self, origin: Origin, connection: _HttpConnection) -> None:
        """Keep a connection whose answer was read to its end."""
        self._room.release()
        if self._closed:
            self._forget(connection)
            return
        connection.used_at = time.monotonic()
        self._idle.setdefault(origin, []).append(connection)

    def give_up(self, connection: _HttpConnection | None) -> None:
        """Close a connection whose answer was not read to its end."""
        self._room.release()
        if connection is not None:
            self._forget(connection)

    def _forget(self, connection: _HttpConnection) -> None:
        self._open.discard(connection)
        connection.abort()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a background task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End all connections at once."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for connection in [*self._open]:
            self._forget(connection)
        self._idle.clear()
        await asyncio.sleep(0)  # the loop closes the sockets in its next round


async def _read_head(wire: WireClient, origin: Origin, connection: _HttpConnection, method: str) -> WireAnswer:
    while True:
        head = await connection.reader.readuntil(b"\r\n\r\n")
        found = _STATUS_LINE.match(head)
        if found is None or len(head) > _HEAD_BYTES:
            raise Broken("it does not speak HTTP/1.1")
        status = int(found[2])
        if status >= 200:
            break
    headers: dict[str, str] = {}
    for line in head.split(b"\r\n")[1:-2]:
        name, _, value = line.partition(b":")
        headers[name.strip().lower().decode("latin-1")] = value.strip().decode("latin-1")
    lasting = found[1] == b"1" and "close" not in headers.get("connection", "").lower()
    reason = (found[3] or b"").decode("latin-1")
    empty = method == "HEAD" or status in (204, 304)
    return WireAnswer(wire, origin, connection, status, reason, headers, lasting=lasting, empty=empty)


class WireAnswer(HttpAnswer):
    """An answer on one of our own connections."""

    def __init__(
        self,
        wire: WireClient,
        origin: Origin,
        connection: _HttpConnection,
        status: int,
        reason: str,
        headers: Mapping[str, str],
        *,
        lasting: bool,
        empty: bool,
    ) -> None:
        self.status, self.reason, self.headers = status, reason, headers
        self._wire, self._origin = wire, origin
        self._connection: _HttpConnection | None = connection
        self._lasting = lasting
        self._chunked = not empty and "chunked" in headers.get("transfer-encoding", "").lower()
        self._left = 0 if empty or self._chunked else _length(headers)
        self._begun = False
        self._draining = False
        if self._left == 0 and not self._chunked:
            self._finished()

    async def read(self, limit: int) -> bytes:
        """The whole body; the fast path if its length is known."""
        connection, length = self._connection, self._left
        if connection is None or not length or length > limit or "content-encoding" in self.headers:
            return await super().read(limit)
        try:
            body = await connection.reader.readexactly(length)
        except (OSError, EOFError) as error:
            raise Broken(_reason(error)) from None
        self._finished()
        return body

    async def chunks(self) -> AsyncGenerator[bytes]:
        """See `HttpAnswer.chunks`."""
        decompress = _decompressor(self.headers.get("content-encoding", ""))
        try:
            while piece := await self._piece():
                if decompress is None:
                    yield piece
                    continue
                while piece:
                    yield decompress.decompress(piece, _CHUNK_BYTES)
                    piece = decompress.unconsumed_tail
        except (OSError, EOFError, ValueError, zlib.error, asyncio.LimitOverrunError) as error:
            raise Broken(_reason(error)) from None

    async def _piece(self) -> bytes:
        """Some bytes of the body in their transfer form; empty at its end."""
        if self._connection is None:
            return b""
        reader = self._connection.reader
        if self._chunked and not self._left:
            self._left = await self._next_chunk(reader)
        if self._left == 0:
            self._finished()
            return b""
        piece = await reader.read(min(self._left or _CHUNK_BYTES, _CHUNK_BYTES))
        if self._left is not None:
            if not piece:
                raise EOFError("it broke off")
            self._left -= len(piece)
            if self._left == 0 and not self._chunked:
                self._finished()
        elif not piece:
            self._lasting = False
            self._finished()
        return piece

    async def _next_chunk(self, reader: asyncio.StreamReader) -> int:
        if self._begun:
            await reader.readexactly(2)
        self._begun = True
        size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        if size < 0:
            raise ValueError("a chunk of negative size")
        while not size and await reader.readuntil(b"\r\n") != b"\r\n":
            pass  # trailers
        return size

    async def finish(self) -> None:
        """See `HttpAnswer.finish`; the end of a stream usually follows at once, which saves a new connection."""
        if self._connection is not None and self._lasting:
            self._draining = True
            self._wire.start(self._drain())

    async def _drain(self) -> None:
        self._draining = True
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while self._connection is not None and await self._piece():
                    pass
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            self._draining = False
            await self.close()

    def _finished(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._lasting:
            self._wire.give_back(self._origin, connection)
        elif connection is not None:
            self._wire.give_up(connection)

    async def close(self) -> None:
        """See `HttpAnswer.close`."""
        if self._draining:
            return
        connection, self._connection = self._connection, None
        if connection is not None:
            self._wire.give_up(connection)


def _length(headers: Mapping[str, str]) -> int | None:
    text = headers.get("content-length", "")
    if not text:
        return None
    if not text.isdecimal() or len(text) > 15:
        raise Broken("its answer has no valid length")
    return int(text)


def _decompressor(encoding: str) -> Any:
    # We do not ask for compression, but some servers compress anyway.
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        case unknown:
            raise Broken(f"its answer is compressed in a way that was not asked for ({unknown[:40]})")


def _reason(error: Exception) -> str:
    if isinstance(error, asyncio.IncompleteReadError):
        return "the server closed the connection without an answer" if not error.partial else "it broke off"
    return str(error) or type(error).__name__


if sys.platform == "win32":  # pragma: no cover - no poll there

    def _readable(number: int) -> bool:
        return bool(select.select([number], [], [], 0)[0])
else:

    def _readable(number: int) -> bool:
        poll = select.poll()
        poll.register(number, select.POLLIN | select.POLLHUP | select.POLLERR)
        return bool(poll.poll(0))
