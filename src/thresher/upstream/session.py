"""All use of one server with one identity: the shared session, leased sessions, and requests over them.

Invariant: a call that may have been carried out is never sent again; a client that can be asked something never shares
a session of the older kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic, perf_counter
from typing import Any, TypeVar

from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from mcp_types import (
    CallToolResult,
    ClientCapabilities,
    CompleteRequestParams,
    CompleteResult,
    GetPromptResult,
    InputRequiredResult,
    ReadResourceResult,
)
from pydantic import BaseModel, ValidationError

from thresher.core import JSON, Breaker, Pauses, Settings, UpstreamError, UpstreamTimeout
from thresher.upstream.config import ServerConfig
from thresher.upstream.connection import ServerConnection, ServerContext
from thresher.upstream.eras import CheaperEra, is_plain
from thresher.upstream.failures import Failures, NotCarriedOut, SessionLost, StaleListing
from thresher.upstream.link import Leases, ServerLink, ServerMemory
from thresher.upstream.listing import read_listing
from thresher.upstream.masking import Redactor, ServerLog, mask_arguments, passwords_in
from thresher.upstream.oauth import Credentials
from thresher.upstream.peer import Peer, can_be_asked
from thresher.upstream.questions import checked, complete
from thresher.upstream.records import CallOutcome, Changed, Listing, ServerState, UpstreamLimits
from thresher.upstream.subscriptions import ChangeSubscriptions, OnUpdate
from thresher.upstream.transport.messages import Message, too_large

Result = TypeVar("Result", bound=BaseModel)
Value = TypeVar("Value")
_SAFE = (NotCarriedOut, SessionLost)
"""A read may be sent again over a fresh session; any other request only if the server cannot have begun it."""


class ServerSession:
    """The sessions with one server for one identity; safe for concurrent callers."""

    def __init__(
        self,
        config: ServerConfig,
        settings: Settings,
        limits: UpstreamLimits,
        changed: Callable[[ServerConfig, Changed], None],
        credentials: Credentials | None,
    ) -> None:
        self.config = config
        self._settings = settings
        self._limits = limits
        self._changed = changed
        self._redact = _redactor(config)
        self._log = ServerLog(self._redact)
        self._failures = Failures(config, self._log, self._redact)
        self._context = ServerContext(
            config, settings, limits, self._log, self._failures, self._has_changed, credentials
        )
        pauses = Pauses(limits.failures, limits.pause, limits.longest_pause)
        self._memory = ServerMemory(Breaker(pauses))
        self._shared = ServerLink(self._context, self._memory, None, self._opened)
        self._cheaper = CheaperEra(self._context, ServerMemory(Breaker(pauses), "session"))
        self._leases = Leases(config.name, self._lease, limits.leases, limits.lease_wait)
        self._subscriptions = ChangeSubscriptions(settings.upstream_call_seconds)
        self._headers: dict[str, dict[tuple[str, ...], str]] = {}
        self._misses = 0
        self._pinged_at = 0.0
        self._pinging: asyncio.Task[None] | None = None
        self._quiet = False
        self.used_at = monotonic()

    @property
    def state(self) -> ServerState:
        """The state of the sessions as far as it is known without asking the server."""
        state = self._shared.state
        return ServerState(
            self.config.name,
            state,
            self._shared.pid,
            tenant=self.config.tenant,
            identity=self.config.identity,
            leased=len(self._leases),
            problem=self._memory.breaker.reason if state in ("failed", "open") else "",
            owner=self.config.owner,
        )

    def log(self) -> tuple[str, ...]:
        """The last lines of the server's stderr."""
        return self._log.lines()

    async def list_tools(self) -> Listing:
        """List everything; tried again over a fresh session if the first one is dead.

        Raises:
            UpstreamError: See `ServerConnection.open` and `read_listing`.
        """
        self._quiet = True  # a caller that lists does not need to be notified of changes
        try:
            return await self._use(self._read_listing, None, repeat=_SAFE)
        finally:
            self._quiet = False

    async def _read_listing(self, connection: ServerConnection) -> Listing:
        seconds = self._settings.upstream_call_seconds
        try:
            async with asyncio.timeout(seconds):
                listing = await read_listing(self.config.name, connection, self._failures, seconds, self._redact)
        except TimeoutError:
            raise UpstreamTimeout(
                f"Server '{self.config.name}' did not list its tools within {seconds:g} s.",
                hint="For a slow server raise THRESHER_UPSTREAM_CALL_SECONDS.",
            ) from None
        self._cheaper.listed(listing)
        if connection.agreement.stateless:
            self._headers = {
                tool.name: x_mcp_header_map(tool.input_schema)
                for tool in listing.tools
                if find_invalid_x_mcp_header(tool.input_schema) is None
            }
        return listing

    async def call_tool(
        self,
        name: str,
        arguments: JSON,
        *,
        peer: Peer | None = None,
        timeout: float | None = None,
        meta: JSON | None = None,
    ) -> CallOutcome:
        """Call a tool once.

        Args:
            name: The tool's name in the server's listing.
            arguments: Arguments for the tool's schema; not checked here.
            peer: The client behind the call.
            timeout: Seconds for the answer; None for the setting.
            meta: Our own fields for `_meta`, never a client's.

        Raises:
            UpstreamTimeout: No answer in time; the call is cancelled at the server.
            UpstreamRefused: Unknown tool, or a request for input that this peer cannot answer.
            UpstreamError: The connection was lost; the message says whether the call may have been carried out.
        """
        params = {"name": name, "arguments": dict(arguments), **({"_meta": dict(meta)} if meta else {})}

        async def send(connection: ServerConnection) -> Message:
            return await self._sent(connection, "tools/call", params, peer, timeout, self._repeated(name, arguments))

        async def call(connection: ServerConnection) -> Message:
            started = perf_counter()
            try:
                answer = await send(connection)
            except StaleListing:
                # As the specification says: list again to learn the arguments' headers, and send once more.
                await self._read_listing(connection)
                return await send(connection)
            if arguments:  # without arguments there are no headers to compare
                self._cheaper.called(connection, perf_counter() - started)
            return answer

        # Whoever routes by headers that repeat arguments relies on them.
        plain = is_plain(peer) and not self._headers.get(name)
        session = await self._cheaper.session() if plain else None
        raw = await self._use(call, peer, repeat=(NotCarriedOut,), shared=session)
        if _asks(raw, peer):
            return CallOutcome(content=[], structured=None, is_error=False, raw=raw, asks=True)
        answer = self._parsed("tools/call", raw if "content" in raw else {**raw, "content": []}, CallToolResult)
        return CallOutcome(
            content=answer.content,
            structured=answer.structured_content,
            is_error=answer.is_error,
            meta=answer.meta,
            raw=raw,
        )

    def _repeated(self, name: str, arguments: JSON) -> Mapping[str, str]:
        """The arguments that are repeated as headers (2026-07-28)."""
        known = self._headers.get(name)
        return mcp_param_headers(known, arguments) if known else {}

    async def read_resource(self, uri: str, *, peer: Peer | None = None) -> ReadResourceResult | InputRequiredResult:
        """Read a resource; raises what `call_tool` raises."""
        return await self._request("resources/read", {"uri": uri}, ReadResourceResult, peer)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None, *, peer: Peer | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Fill in a prompt; raises what `call_tool` raises."""
        params = {"name": name} if arguments is None else {"name": name, "arguments": dict(arguments)}
        return await self._request("prompts/get", params, GetPromptResult, peer)

    async def complete(self, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument; raises what `call_tool` raises."""
        fields = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        fields.pop("_meta", None)
        raw = await self._read("completion/complete", fields, None)
        return self._parsed("completion/complete", raw, CompleteResult)

    async def _request(
        self, method: str, params: Mapping[str, Any], kind: type[Result], peer: Peer | None
    ) -> Result | InputRequiredResult:
        raw = await self._read(method, params, peer)
        return self._parsed(method, raw, InputRequiredResult if _asks(raw, peer) else kind)

    async def _read(self, method: str, params: Mapping[str, Any], peer: Peer | None) -> Message:
        async def ask(connection: ServerConnection) -> Message:
            return await self._sent(connection, method, params, peer, None, {})

        return await self._use(ask, peer, repeat=_SAFE)

    async def _sent(
        self,
        connection: ServerConnection,
        method: str,
        params: Mapping[str, Any],
        peer: Peer | None,
        timeout: float | None,
        headers: Mapping[str, str],
    ) -> Message:
        seconds = timeout if timeout is not None else self._settings.upstream_call_seconds

        async def send(more: Mapping[str, Any]) -> Message:
            answer = await connection.request(method, {**params, **more}, seconds=seconds, peer=peer, headers=headers)
            if problem := too_large(answer):
                raise self._failures.malformed(method, problem)
            return answer

        if peer is not None and peer.rounds is not None:
            answer = await send(peer.rounds if connection.agreement.stateless else {})
            return checked(self.config.name, method, answer, peer, self._failures)
        if not connection.agreement.stateless:
            return await send({})
        return await complete(self.config.name, method, send, peer, self._limits, self._failures)

    def _parsed(self, method: str, raw: Message, kind: type[Result]) -> Result:
        ttl = raw.get("ttlMs")
        if "ttlMs" in raw and (not isinstance(ttl, int) or isinstance(ttl, bool) or ttl < 0):
            raw = {name: value for name, value in raw.items() if name != "ttlMs"}
        try:
            return kind.model_validate(raw, by_name=False)
        except ValidationError as error:
            raise self._failures.of_request(method, error, 0.0) from None

    async def _use(
        self,
        work: Callable[[ServerConnection], Awaitable[Value]],
        peer: Peer | None,
        *,
        repeat: tuple[type[UpstreamError], ...],
        shared: ServerLink | None = None,
    ) -> Value:
        self.used_at = monotonic()
        if peer is not None and can_be_asked(peer) and await self._is_leased(peer):
            async with self._leases.of(peer) as link:
                return await self._over(link, work, repeat)
        return await self._over(shared or self._shared, work, repeat)

    async def stateless(self) -> bool:
        """Whether the server supports the newest kind; the first call connects to find out."""
        if not self._memory.era:
            await self._shared.connection()
        return self._memory.era == "stateless"

    async def _is_leased(self, peer: Peer) -> bool:
        """Whether a peer that can be asked needs its own session.

        If the server supports both kinds, the peer's kind decides: a server that asks during a session's call often
        cannot ask without a session.
        """
        if not await self.stateless():
            return True
        return peer.rounds is None and self._memory.sessions is not False

    async def _over(
        self,
        link: ServerLink,
        work: Callable[[ServerConnection], Awaitable[Value]],
        repeat: tuple[type[UpstreamError], ...],
    ) -> Value:
        connection = await link.connection()
        try:
            value = await work(connection)
        except repeat:
            value = await work(await link.connection())
        self._memory.breaker.succeeded()
        return value

    def _lease(self, capabilities: ClientCapabilities) -> ServerLink:
        return ServerLink(self._context, self._memory, capabilities)

    def _opened(self, connection: ServerConnection, again: bool) -> None:
        self._subscriptions.opened(connection)
        self._misses = 0
        if again and not self._quiet:
            for kind in ("tools", "resources", "prompts"):
                # Changes in between were missed, and a restarted program may be another version.
                started = kind == "tools" and connection.pid is not None
                if started or connection.agreement.offers(kind, "listChanged"):
                    self._changed(self.config, Changed(kind))

    def _has_changed(self, change: Changed) -> None:
        if change.what == "resource":
            self._subscriptions.updated(change.uri)
        elif change.what == "tools":
            self._cheaper.forget()
        self._changed(self.config, change)

    async def subscribe(self, uri: str, on_update: OnUpdate) -> None:
        """See `Upstreams.subscribe`."""
        self.used_at = monotonic()
        await self._subscriptions.add(await self._shared.connection(), uri, on_update)

    async def unsubscribe(self, uri: str, on_update: OnUpdate) -> None:
        """See `Upstreams.unsubscribe`."""
        await self._subscriptions.remove(uri, on_update)

    async def release(self, peer_id: str) -> None:
        """End the session that was leased for a client."""
        await self._leases.release(peer_id)

    @property
    def busy(self) -> bool:
        """Whether a shared session has requests under way or subscriptions."""
        current = self._shared.current
        return bool(self._subscriptions) or self._cheaper.busy or (current is not None and current.busy)

    def tend(self) -> None:
        """Close sessions that were idle for too long, and ping idle ones."""
        self._leases.rest(self._limits.lease_idle)
        connection, now = self._shared.current, monotonic()
        self._cheaper.rest(self._limits.lease_idle)
        if connection is None or self.busy or (self._pinging is not None and not self._pinging.done()):
            return
        # Idle time starts with the opening: connecting may take longer than a session may be idle.
        if now - max(self.used_at, connection.opened_at) > self._limits.shared_idle:
            self._pinging = asyncio.create_task(self._shared.rest())
        elif now - max(connection.used_at, self._pinged_at) > self._limits.ping_after:
            self._pinging = asyncio.create_task(self._ping(connection))

    async def _ping(self, connection: ServerConnection) -> None:
        answers = await connection.answers(self._limits.ping)
        self._pinged_at = monotonic()
        self._misses = 0 if answers else self._misses + 1
        if self._misses > 1 and not connection.busy:
            connection.give_up("it no longer answers")

    async def retire(self) -> None:
        """Wait for requests under way, then close; the session accepts no new ones."""
        await asyncio.gather(self._shared.retire(), self._cheaper.retire())
        await self.close()

    async def close(self) -> None:
        """End all sessions and processes at once; no further requests are accepted."""
        if self._pinging is not None and not self._pinging.done():
            self._pinging.cancel()
        await asyncio.gather(
            self._subscriptions.close(), self._leases.close(), self._cheaper.close(), self._shared.close()
        )


def _asks(raw: Message, peer: Peer | None) -> bool:
    return peer is not None and peer.rounds is not None and raw.get("resultType") == "input_required"


def _redactor(config: ServerConfig) -> Redactor:
    masked = mask_arguments(config.args)
    hidden = [arg.rpartition("=")[2] for arg, shown in zip(config.args, masked, strict=True) if arg != shown]
    hidden += [*config.handed, *passwords_in(config.handed)]
    return Redactor(config.env, config.headers, values=[*hidden, config.url] if config.url else hidden)
