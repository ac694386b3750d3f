"""The local address to which a browser is redirected after a sign-in.

Invariant: it listens only on 127.0.0.1, for one sign-in, and accepts only answers with that sign-in's state.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from html import escape
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import AuthorizationCodeResult

from thresher.core import InvalidInput, UpstreamRefused
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth.failures import clean

_HOST = "127.0.0.1"
_PATH = "/callback"
_REQUEST_BYTES = 32 * 1024
_REQUEST_SECONDS = 10.0
_PAGE = "<!doctype html><meta charset=utf-8><title>Thresher</title><h1>{title}</h1><p>{text}</p>"


class Loopback:
    """Waits for the browser of one sign-in; see `open_loopback`."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._state = ""
        self._port = 0
        self._answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    @property
    def address(self) -> str:
        """The redirect address for the browser."""
        return f"http://{_HOST}:{self._port}{_PATH}"

    def expect(self, state: str) -> None:
        """Accept answers with this state from now on."""
        self._state = state

    async def answer(self) -> AuthorizationCodeResult:
        """Wait for the browser.

        Raises:
            UpstreamRefused: The authorization server or the person has refused.
        """
        return await asyncio.shield(self._answer)

    def take(self, address: str) -> None:
        """Accept the redirect address of a browser that could not reach this process.

        Raises:
            InvalidInput: It does not belong to this sign-in.
        """
        query = {name: values[0] for name, values in parse_qs(urlsplit(address.strip()).query).items()}
        if not self._state or not secrets.compare_digest(query.get("state", "").encode(), self._state.encode()):
            raise InvalidInput(
                "That address does not belong to this sign-in.",
                hint="Copy the whole address that the browser shows after the sign-in.",
            )
        if self._answer.done():
            raise InvalidInput("This sign-in already has its answer.")
        if code := query.get("code"):
            result = AuthorizationCodeResult(code=code, state=query["state"], iss=query.get("iss"))
            self._answer.set_result(result)
            return
        words = clean(f"{query.get('error', 'no code')}: {query.get('error_description', '')}").rstrip(": ")
        self._answer.set_exception(
            UpstreamRefused(f"The sign-in at server '{self._config.name}' was refused: {words}.")
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._page(head.split(b"\r\n", 1)[0].decode("ascii")))
                await writer.drain()
        writer.close()

    def _page(self, line: str) -> bytes:
        method, _, target = line.partition(" ")
        target = target.rpartition(" ")[0]
        if method != "GET" or urlsplit(target).path != _PATH:
            return _response("404 Not Found", "Nothing is here", "")
        try:
            self.take(target)
        except InvalidInput as error:
            return _response("400 Bad Request", "This was not expected", str(error))
        if (refusal := self._answer.exception()) is not None:
            return _response("200 OK", "Not signed in", str(refusal))
        return _response("200 OK", "Thank you", "Go back to the terminal; this page can be closed.")

    def listens(self, server: asyncio.Server) -> None:
        """Record the chosen port."""
        self._port = int(server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Stop waiting."""
        if self._answer.done() and not self._answer.cancelled():
            self._answer.exception()  # there may have been no waiting caller
        self._answer.cancel()


@asynccontextmanager
async def open_loopback(config: ServerConfig, port: int = 0) -> AsyncGenerator[Loopback]:
    """Listen for one sign-in.

    Args:
        config: The server.
        port: The port; 0 for any free one.

    Raises:
        InvalidInput: The port is taken.
    """
    loopback = Loopback(config)
    try:
        server = await asyncio.start_server(loopback._serve, _HOST, port, limit=_REQUEST_BYTES)  # pyright: ignore[reportPrivateUsage] - its own server
    except OSError as error:
        raise InvalidInput(
            f"Port {port} for the sign-in cannot be opened ({error.strerror}).",
            hint="Free it, or register another redirect address and set 'callbackPort' to its port.",
        ) from None
    loopback.listens(server)
    try:
        async with server:
            yield loopback
    finally:
        loopback.close()


def _response(status: str, title: str, text: str) -> bytes:
    body = _PAGE.format(title=escape(title), text=escape(text)).encode()
    headers = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Content-Security-Policy: default-src 'none'",
        "Connection: close",
    )
    return "\r\n".join(headers).encode() + b"\r\n\r\n" + body
