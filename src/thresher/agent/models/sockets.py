"""Connections for the HTTP library, straight on asyncio: a fifth of what its own, made for every event loop, cost.

Invariant: a stream that was closed has let go of its socket; no error of the platform gets through as it is.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Iterable
from typing import Any, TypeVar

import httpcore2
from httpcore2 import SOCKET_OPTION

T = TypeVar("T")


class UnknownHost(httpcore2.ConnectError):
    """Nobody knows where the host is."""


class Unsecured(httpcore2.ConnectError):
    """The other side does not speak TLS, or has no certificate that is trusted."""


class Sockets(httpcore2.AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - the library's, which we give none
        socket_options: Iterable[SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore2.AsyncNetworkStream:
        """See the library's."""
        opened = asyncio.open_connection(host, port, happy_eyeballs_delay=0.25)
        try:
            return _Socket(*await _in_time(opened, timeout))
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout from error
        except socket.gaierror as error:
            raise UnknownHost(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        """Wait between tries to connect."""
        await asyncio.sleep(seconds)


class _Socket(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return await _in_time(self._reader.read(max_bytes), timeout)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout from error
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            self._writer.write(buffer)
            await _in_time(self._writer.drain(), timeout)
        except TimeoutError as error:
            raise httpcore2.WriteTimeout from error
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    def abort(self) -> None:
        self._writer.transport.abort()

    async def aclose(self) -> None:
        self.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            await _in_time(self._writer.start_tls(ssl_context, server_hostname=server_hostname), timeout)
        except TimeoutError as error:
            await self.aclose()
            raise httpcore2.ConnectTimeout from error
        except OSError as error:
            await self.aclose()
            raise Unsecured(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # asked of a connection that waits for work: then the other side has hung up
            return self._reader.at_eof() or self._reader.exception() is not None
        return self._writer.get_extra_info({"server_addr": "peername", "client_addr": "sockname"}.get(info, info))


async def _in_time(work: Awaitable[T], timeout: float | None) -> T:
    if timeout is None:
        return await work
    async with asyncio.timeout(timeout):
        return await work
