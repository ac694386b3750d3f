"""The warm session with one server: connects at the first use, again after a loss, and lists and calls over it.

Invariant: at most one attempt to connect at a time, whoever asks; a call that may have been carried out is never
sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, TypeVar

from mcp.client import ClientSession
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequest,
    CompleteRequestParams,
    CompleteResult,
    GetPromptRequest,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from pydantic import TypeAdapter

from thresher.core import JSON, Settings, UpstreamError, UpstreamRefused, UpstreamTimeout, event
from thresher.upstream.config import ServerConfig
from thresher.upstream.connection import Connection
from thresher.upstream.failures import Failures, NotCarriedOut, SessionLost, StaleListing
from thresher.upstream.listing import read_listing
from thresher.upstream.log import ServerLog
from thresher.upstream.masking import Redactor, mask_arguments
from thresher.upstream.peer import Peer
from thresher.upstream.records import CallOutcome, Listing, ServerState

_logger = logging.getLogger("thresher.upstream")
_CALL = "tools/call"
_CallAnswer: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)

Result = TypeVar("Result")


class Session:
    """All use of one server goes through here; safe for any number of concurrent callers."""

    def __init__(self, config: ServerConfig, settings: Settings) -> None:
        self.config = config
        self._settings = settings
        redact = _redactor(config)
        self._log = ServerLog(redact)
        self._failures = Failures(config, self._log, redact)
        self._connection: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._leaving: set[Connection] = set()
        self._failed = False
        self._closed = False

    @property
    def state(self) -> ServerState:
        """What is known of the session now, without asking the server."""
        connection = self._connection
        if self._closed:
            state = "closed"
        elif self._opening is not None and not self._opening.done():
            state = "connecting"
        elif self._failed:
            state = "failed"
        elif connection is None:
            state = "idle"
        else:
            state = "ready" if connection.alive else "lost"
        return ServerState(self.config.name, state, connection.pid if connection else None)

    def log(self) -> tuple[str, ...]:
        """The last lines that the server wrote to its stderr."""
        return self._log.lines()

    async def list_tools(self) -> Listing:
        """List all tools; sent once more over a fresh session when the first one turns out to be dead.

        Raises:
            UpstreamError: See `Connection.open` and `read_listing`.
        """
        return await self._use(self._read_listing, repeat=(NotCarriedOut, SessionLost))

    async def _read_listing(self, connection: Connection) -> Listing:
        seconds = self._settings.upstream_call_seconds
        try:
            async with asyncio.timeout(seconds):
                return await read_listing(self.config.name, connection, self._failures, seconds)
        except TimeoutError:
            raise UpstreamTimeout(
                f"Server '{self.config.name}' did not list its tools within {seconds:g} s.",
                hint="For a slow server raise THRESHER_UPSTREAM_CALL_SECONDS.",
            ) from None

    async def call_tool(
        self, name: str, arguments: JSON, *, timeout: float | None = None, peer: Peer | None = None
    ) -> CallOutcome:
        """Call a tool once.

        Args:
            name: As the server lists it.
            arguments: As the tool's schema wants them; not checked here.
            timeout: Seconds for the answer; None for the setting.
            peer: Who is told of the progress.

        Raises:
            UpstreamTimeout: No answer in time; the server is told to cancel.
            UpstreamRefused: Unknown tool, or a request for input that a shared session cannot pass on.
            UpstreamError: The server went away; the message says whether the call may have been carried out.
        """
        seconds = timeout if timeout is not None else self._settings.upstream_call_seconds

        async def send(session: ClientSession) -> CallToolResult | InputRequiredResult:
            # Not session.call_tool: that lists all tools again whenever it does not know the name, and checks the
            # output against the schema, which is for the client at the end to do.
            params = CallToolRequestParams(name=name, arguments=dict(arguments))
            return await session.send_request(
                CallToolRequest(params=params),
                _CallAnswer,
                request_read_timeout_seconds=seconds,
                progress_callback=peer.progress if peer else None,
            )

        async def call(connection: Connection) -> CallToolResult | InputRequiredResult:
            try:
                return await connection.request(_CALL, send, seconds)
            except StaleListing:
                # The specification's way out: list, so that the arguments' headers are known, and send once more.
                await self._read_listing(connection)
                return await connection.request(_CALL, send, seconds)

        return self._outcome(name, await self._use(call, repeat=(NotCarriedOut,)))

    async def read_resource(self, uri: str, *, peer: Peer | None = None) -> ReadResourceResult:
        """Read a resource; errors as `call_tool`."""
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        return await self._ask("resources/read", request, ReadResourceResult)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None, *, peer: Peer | None = None
    ) -> GetPromptResult:
        """Fill in a prompt; errors as `call_tool`."""
        given = dict(arguments) if arguments is not None else None
        request = GetPromptRequest(params=GetPromptRequestParams(name=name, arguments=given))
        return await self._ask("prompts/get", request, GetPromptResult)

    async def complete(self, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument; errors as `call_tool`."""
        return await self._ask("completion/complete", CompleteRequest(params=params), CompleteResult)

    async def _ask(self, method: str, request: Any, kind: Any) -> Any:
        seconds = self._settings.upstream_call_seconds
        return await self._use(
            lambda connection: connection.request(method, lambda session: session.send_request(request, kind), seconds),
            repeat=(NotCarriedOut, SessionLost),
        )

    async def subscribe(self, uri: str, on_update: Callable[[str], None]) -> None:
        """See `Upstreams.subscribe`."""

    async def unsubscribe(self, uri: str, on_update: Callable[[str], None]) -> None:
        """See `Upstreams.unsubscribe`."""

    async def release(self, peer_id: str) -> None:
        """See `Upstreams.release`."""

    def _outcome(self, name: str, answer: CallToolResult | InputRequiredResult) -> CallOutcome:
        if isinstance(answer, InputRequiredResult):
            raise UpstreamRefused(
                f"Server '{self.config.name}' asks the caller of '{name}' for input, which is not yet supported.",
                hint="Use this tool from a client that is connected to the server itself.",
            )
        return CallOutcome(
            content=answer.content,
            structured=answer.structured_content,
            is_error=bool(answer.is_error),
            meta=answer.meta,
        )

    async def _use(
        self, work: Callable[[Connection], Awaitable[Result]], *, repeat: tuple[type[UpstreamError], ...]
    ) -> Result:
        connection = await self.connection()
        try:
            return await work(connection)
        except repeat:
            return await work(await self.connection())

    async def connection(self) -> Connection:
        """The live connection, opened first if need be; callers that come meanwhile wait for the same attempt.

        Raises:
            UpstreamError: It cannot be opened, or the session is closed.
        """
        if self._closed:
            raise self._is_closed()
        if self._connection is not None and self._connection.alive:
            return self._connection
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"connect {self.config.name}")
            self._opening.add_done_callback(_seen)
        return await self._attempt(self._opening)

    async def _attempt(self, opening: asyncio.Task[Connection]) -> Connection:
        try:
            # A caller that gives up must not end the attempt for the others.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if opening.cancelled() and caller is not None and not caller.cancelling():
                raise self._is_closed() from None
            raise

    def _is_closed(self) -> UpstreamError:
        return UpstreamError(f"The session with server '{self.config.name}' was closed.", hint="Try again.")

    async def _open(self) -> Connection:
        await self._leave_old()
        connection = Connection(self.config, self._log, self._failures, self._settings)
        started = perf_counter()
        try:
            await connection.open()
        except UpstreamError as error:
            self._failed = True
            event(_logger, "upstream_failed", level=logging.WARNING, server=self.config.name, error=error.message)
            raise
        self._failed = False
        self._connection = connection
        event(
            _logger,
            "upstream_ready",
            server=self.config.name,
            protocol=connection.session.protocol_version,
            pid=connection.pid,
            ms=round(1000 * (perf_counter() - started), 1),
        )
        return connection

    async def _leave_old(self) -> None:
        """Part with the former connection; requests that are still under way on it may end."""
        old, self._connection = self._connection, None
        if old is None:
            return
        if old.ended:
            # Its child must be gone before the next one starts: both may want the same file or port.
            await old.close()
            return
        self._leaving.add(old)
        retiring = asyncio.create_task(old.retire(self._settings.upstream_call_seconds))
        retiring.add_done_callback(lambda _: self._leaving.discard(old))

    async def retire(self) -> None:
        """Let the requests under way end, then close; nothing new can be asked of the session."""
        self._closed = True
        if self._connection is not None:
            await self._connection.retire(self._settings.upstream_call_seconds)
        await self.close()

    async def close(self) -> None:
        """End the session and its process at once; nothing can be asked of it afterwards."""
        self._closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait({self._opening})
        connections = [*self._leaving, *([self._connection] if self._connection else [])]
        await asyncio.gather(*(connection.close() for connection in connections))


def _seen(task: asyncio.Task[Any]) -> None:
    # Everybody who waited may have given up; asyncio would complain of an error that nobody read.
    if not task.cancelled():
        task.exception()


def _redactor(config: ServerConfig) -> Redactor:
    masked = mask_arguments(config.args)
    hidden = [arg.rpartition("=")[2] for arg, shown in zip(config.args, masked, strict=True) if arg != shown]
    return Redactor(config.env, config.headers, values=[*hidden, config.url] if config.url else hidden)
