"""A web server for tests that answers as configured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Site:
    """What a server answers, and the requests it received.

    Attributes:
        base: Its address.
        pages: Path to status, headers and body.
        asked: Heads of the requests.
    """

    base: str = ""
    pages: dict[str, tuple[int, Mapping[str, str], bytes]] = field(
        default_factory=dict[str, tuple[int, Mapping[str, str], bytes]]
    )
    asked: list[str] = field(default_factory=list[str])

    def serves(self, path: str, body: bytes = b"", status: int = 200, **headers: str) -> str:
        """Answer this path with these bytes from now on; return the address of the page."""
        self.pages[path] = status, {name.replace("_", "-"): value for name, value in headers.items()}, body
        return f"{self.base}{path}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, with 304 if the caller has the page's ETag."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head)
        status, headers, body = self.pages.get(head.split()[1], (404, {}, b"nothing"))
        if (tag := headers.get("etag")) and f"if-none-match: {tag}".lower() in head.lower():
            status, body = 304, b""
        lines = [f"HTTP/1.1 {status} x", f"content-length: {len(body)}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def site() -> AsyncGenerator[Site]:
    """A server on a free port."""
    found = Site()
    server = await asyncio.start_server(found.answer, "127.0.0.1", 0)
    found.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield found
