"""One live connection with one server, from handshake to end.

Invariant: the task that `open` starts owns the transport and everything in it (cancel scopes are entered and left
there); requests run in their callers' tasks, any number at once; after `close` no process is left.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any, TypeVar

from mcp import Client
from mcp.client import Transport
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import Implementation
from pydantic import ValidationError

from thresher.core import Settings, event
from thresher.upstream.config import ServerConfig
from thresher.upstream.failures import Failures, NotCarriedOut, SessionLost
from thresher.upstream.http import http_transport
from thresher.upstream.log import ServerLog
from thresher.upstream.process import EXIT_SECONDS, TERMINATE_SECONDS, kill_child
from thresher.upstream.stdio import ITS_OWN_END, stdio_transport

_logger = logging.getLogger("thresher.upstream")
CLOSE_SECONDS = EXIT_SECONDS + TERMINATE_SECONDS + 1.0
"""For an orderly end; after it the task is cancelled and the group killed."""

Answer = TypeVar("Answer")


class Connection:
    """A connection with its handshake done.

    It declares no client capability: whatever a server asks its client for (sampling, elicitation, roots) names no
    call, so a session that many callers share could not tell who is asked.
    """

    def __init__(self, config: ServerConfig, log: ServerLog, failures: Failures, settings: Settings) -> None:
        self._config = config
        self._log = log
        self._failures = failures
        self._connect_seconds = settings.upstream_connect_seconds
        self._read_seconds = settings.upstream_call_seconds
        self._ended = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._under_way = 0
        self._usable = True
        self._reason = ""
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._session: ClientSession | None = None

    @property
    def alive(self) -> bool:
        """Whether new requests can be sent, as far as known."""
        return self._usable and not self.ended

    @property
    def ended(self) -> bool:
        """Whether the transport is gone, so that no request is under way either."""
        return self._session is None or self._task is None or self._task.done() or self._ended.is_set()

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process else None

    @property
    def session(self) -> ClientSession:
        """The library's session; what the handshake agreed on can be read from it."""
        if self._session is None:
            raise self._failures.lost("connect")
        return self._session

    async def open(self) -> None:
        """Connect and shake hands.

        Raises:
            UpstreamError: The server cannot be started or reached, or ends before it is ready.
            UpstreamTimeout: It was not ready in time.
            UpstreamRefused: It refused the handshake.
        """
        ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._own(ready), name=f"upstream {self._config.name}")
        self._task.add_done_callback(self._note_end)
        try:
            # When the transport ends, the handshake's requests fail and so does the task.
            await asyncio.wait({self._task, ready}, timeout=self._connect_seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        if ready.done():
            self._session = ready.result()
            return
        timed_out = not self._task.done()
        await self.close()
        if timed_out:
            raise self._failures.connect_timeout(self._connect_seconds)
        raise self._failures.of_connect(_outcome(self._task), self._reason + self._exit_status())

    def _exit_status(self) -> str:
        code = self._process.returncode if self._process else None
        if code is None or self._reason != ITS_OWN_END:
            return ""
        return f" (signal {-code})" if code < 0 else f" (exit status {code})"

    async def _own(self, ready: asyncio.Future[ClientSession]) -> None:
        client = Client(
            self._transport(),
            mode="auto",
            cache=None,
            read_timeout_seconds=self._read_seconds,
            client_info=Implementation(name="thresher", version=version("thresher")),
        )
        async with client:
            ready.set_result(client.session)
            await self._ended.wait()

    def _transport(self) -> Transport:
        if self._config.transport == "http":
            return http_transport(self._config, self._connect_seconds)
        return stdio_transport(self._config, self._log, self._note_process, self._note_loss)

    def _note_process(self, process: Process) -> None:
        self._process = process

    def _note_loss(self, reason: str) -> None:
        if not self._ended.is_set():
            self._reason = reason
            self._ended.set()
            event(_logger, "upstream_lost", level=logging.WARNING, server=self._config.name, reason=reason)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        error = _outcome(task)  # also marks it as seen
        if self._session is not None and not self._ended.is_set():
            self._note_loss(type(error).__name__ if error else "it ended")

    async def request(self, method: str, send: Callable[[ClientSession], Awaitable[Answer]], seconds: float) -> Answer:
        """Send one request and wait for its answer; cancelling the caller cancels it at the server.

        Args:
            method: Its name, for errors.
            send: Sends it over the session and waits at most `seconds`.
            seconds: For errors.

        Raises:
            NotCarriedOut: The server cannot have begun it; the connection is of no more use.
            SessionLost: The connection ended meanwhile.
            UpstreamTimeout: No answer within `seconds`.
            UpstreamRefused: The server answered with an error, or against the protocol.
            UpstreamError: The answer was lost on the way.
        """
        self._under_way += 1
        self._idle.clear()
        try:
            return await send(self.session)
        except (MCPError, ValidationError) as error:
            failure = self._failures.of_request(method, error, seconds, self._reason)
            if isinstance(failure, NotCarriedOut | SessionLost):
                # Not ended at once: others may still get their answers over it.
                self._usable = False
            raise failure from None
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def close(self) -> None:
        """End the session and its process; returns within a few seconds, whatever the server does."""
        self._ended.set()
        if self._task is None:
            return
        if self._session is None:
            self._task.cancel()  # in the handshake nothing waits for the event
        done, _ = await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
        if not done:
            self._task.cancel()
            if self._process is not None:
                kill_child(self._process)
            await asyncio.wait({self._task}, timeout=TERMINATE_SECONDS)

    async def retire(self, seconds: float) -> None:
        """Let the requests under way come to their end, at most for so long, then close."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        await self.close()


def _outcome(task: asyncio.Task[Any]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None
