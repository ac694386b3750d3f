"""One live connection with a server, from the handshake to its end.

Invariant: a server's question reaches only the peer whose call is under way on a connection of its own. A connection
that several clients share declares no capabilities that a server could use to ask, and refuses questions all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import LOG_LEVEL_META_KEY, ClientCapabilities
from pydantic import ValidationError

from thresher.core import Settings, event
from thresher.upstream.config import ServerConfig
from thresher.upstream.failures import Failures, NotCarriedOut, SessionLost
from thresher.upstream.handshake import NO_SESSION_STATUS, Agreement, Era, declared, envelope, routing, shake_hands
from thresher.upstream.masking import ServerLog
from thresher.upstream.oauth import Credentials, auth_for
from thresher.upstream.peer import Peer, can_be_asked, question_capabilities
from thresher.upstream.questions import answer_question, pass_log, pass_progress, refused_by
from thresher.upstream.records import Changed, UpstreamLimits
from thresher.upstream.transport.channel import Channel, PendingCall
from thresher.upstream.transport.errors import ErrorStatus, SessionExpired, TransportError
from thresher.upstream.transport.http import HttpChannel, exchange_of, reachable
from thresher.upstream.transport.messages import Message, too_large
from thresher.upstream.transport.process import EXIT_SECONDS, TERMINATE_SECONDS
from thresher.upstream.transport.sse import SseChannel
from thresher.upstream.transport.stdio import ITS_OWN_END, StdioChannel

_logger = logging.getLogger("thresher.upstream")
CLOSE_SECONDS = EXIT_SECONDS + TERMINATE_SECONDS + 1.0
"""Seconds for an orderly end."""
_LISTS: Mapping[str, Changed] = {
    "notifications/tools/list_changed": Changed("tools"),
    "notifications/resources/list_changed": Changed("resources"),
    "notifications/prompts/list_changed": Changed("prompts"),
}


class ServerContext:
    """What all connections with one server share.

    Attributes:
        config: The server.
        settings: Configurable time limits.
        limits: The other limits.
        credentials: The store of sign-ins.
        log: The server's output beside the protocol.
        failures: Translates its failures.
        changed: Called with each change that the server reports.
    """

    def __init__(
        self,
        config: ServerConfig,
        settings: Settings,
        limits: UpstreamLimits,
        log: ServerLog,
        failures: Failures,
        changed: Callable[[Changed], None],
        credentials: Credentials | None,
    ) -> None:
        self.config = config
        self.settings = settings
        self.limits = limits
        self.log = log
        self.failures = failures
        self.changed = changed
        self.credentials = credentials


class ServerConnection:
    """A connection, and the listener of its channel.

    Args:
        context: What all connections with the server share.
        capabilities: What the connection's only client can be asked; None if clients share it.
    """

    def __init__(self, context: ServerContext, capabilities: ClientCapabilities | None) -> None:
        self._context = context
        self._capabilities = capabilities
        self._channel: Channel | None = None
        self._agreement: Agreement | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._under_way = 0
        self._usable = True
        self._reason = ""
        self._closing: asyncio.Task[None] | None = None
        self.used_at = self.opened_at = monotonic()
        self.worked = False

    @property
    def alive(self) -> bool:
        """Whether new requests can be sent, as far as is known."""
        return self._usable and not self.ended

    @property
    def ended(self) -> bool:
        """Whether the channel has ended, and with it all requests."""
        return self._agreement is None or bool(self._reason)

    @property
    def busy(self) -> bool:
        """Whether a request is under way."""
        return self._under_way > 0

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._channel.pid if self._channel and not self._reason else None

    @property
    def agreement(self) -> Agreement:
        """The result of the handshake.

        Raises:
            SessionLost: The connection was never opened.
        """
        if self._agreement is None:
            raise self._context.failures.lost("connect")
        return self._agreement

    async def open(self, known: Era) -> None:
        """Connect and shake hands; a client's own connection uses the older kind if the server supports it.

        Args:
            known: The remembered era of the server.

        Raises:
            UpstreamError: The server cannot be started or reached, or ends before it is ready.
            UpstreamTimeout: It was not ready in time.
            UpstreamRefused: It refused the handshake.
        """
        seconds = self._context.settings.upstream_connect_seconds
        try:
            async with asyncio.timeout(seconds):
                agreement = await self._shake_hands(known)
        except TimeoutError:
            await self.close()
            raise self._context.failures.connect_timeout(seconds) from None
        except (MCPError, TransportError, ValidationError) as error:
            await self.close()
            raise self._context.failures.of_connect(error, self._exit_status()) from None
        except BaseException:
            await self.close()
            raise
        self._agreement = agreement
        self.opened_at = monotonic()

    async def _shake_hands(self, known: Era) -> Agreement:
        limits, stdio = self._context.limits, self._context.config.transport == "stdio"
        channel = self._channel = self._new_channel()
        await channel.open()
        if self._context.config.transport == "sse":
            known = "session"  # the newest revision does not exist over SSE
        probe = limits.probe if stdio else limits.web_probe
        offered, era = (ClientCapabilities(), known) if self._capabilities is None else (self._capabilities, "session")
        return await shake_hands(channel, offered, era=era, known=known, probe=probe, beside=stdio)

    def _new_channel(self) -> Channel:
        config, owned = self._context.config, self._capabilities is not None
        if config.transport == "stdio":
            return StdioChannel(config, self._context.log, self, owned=owned)
        auth = auth_for(config, self._context.credentials)
        exchange = exchange_of(config, self._context.settings.upstream_connect_seconds, auth)
        kind = SseChannel if config.transport == "sse" else HttpChannel
        return kind(config, exchange, self, owned=owned)

    def _exit_status(self) -> str:
        code = self._channel.exit_code if isinstance(self._channel, StdioChannel) else None
        if code is None or self._reason != ITS_OWN_END:
            return ""
        return f" (signal {-code})" if code < 0 else f" (exit status {code})"

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        seconds: float | None,
        peer: Peer | None = None,
        headers: Mapping[str, str] = {},
    ) -> Message:
        """Send one request and wait for its result; cancelling the caller cancels it at the server.

        Args:
            method: The request's method.
            params: Its parameters.
            seconds: Time limit, not counting the time in which the peer is asked; None for no limit.
            peer: The client behind the request.
            headers: Additional HTTP headers.

        Raises:
            NotCarriedOut: The server cannot have begun it; the connection is no longer usable.
            SessionLost: The connection ended meanwhile.
            UpstreamTimeout: No answer within `seconds`.
            UpstreamRefused: The server answered with an error, or against the protocol.
            UpstreamError: The answer was lost on the way.
        """
        agreement, channel = self.agreement, self._channel
        assert channel is not None  # noqa: S101 - there is no agreement without a channel
        if agreement.stateless:
            params = {**params, "_meta": {**params.get("_meta", {}), **self._envelope(agreement, peer)}}
            headers = {**routing(agreement.version, method, params), **headers}
        # A server that crashes during a call still counts as one that can be used.
        self.worked = self.worked or method == "tools/call"
        self._begin()
        try:
            answer = await channel.request(method, params, seconds=seconds, headers=headers, call=PendingCall(peer))
        except (MCPError, TransportError) as error:
            failure = self._context.failures.of_request(method, error, seconds or 0.0)
            # A bare status may be that of another program at the address, which speaks the other era.
            elsewhere = isinstance(error, ErrorStatus) and error.status in NO_SESSION_STATUS
            if elsewhere or isinstance(failure, NotCarriedOut | SessionLost):
                # Not closed at once: other requests may still get their answers.
                self._usable = False
            raise failure from None
        finally:
            self._end()
        self.worked = True
        return answer

    async def listen(self, params: Mapping[str, Any]) -> None:
        """Hold open the request over which a server of 2026-07-28 reports changes; returns when the server ends it.

        Raises:
            UpstreamError: As `request`.
        """
        agreement, channel = self.agreement, self._channel
        assert channel is not None  # noqa: S101 - there is no agreement without a channel
        method = "subscriptions/listen"
        params = {**params, "_meta": envelope(agreement.version, {})}
        try:
            await channel.request(method, params, seconds=None, headers=routing(agreement.version, method, params))
        except (MCPError, TransportError) as error:
            raise self._context.failures.of_request(method, error, 0.0) from None

    def _envelope(self, agreement: Agreement, peer: Peer | None) -> dict[str, Any]:
        if peer is None:
            return envelope(agreement.version, {})
        offered: Mapping[str, Any] = {}
        if can_be_asked(peer):
            # Sampling does not work between the two kinds of the protocol.
            left_out = {} if peer.rounds is not None else {"sampling": None}
            offered = declared(question_capabilities(peer.capabilities).model_copy(update=left_out))
        wanted = peer.level if "logging" in agreement.capabilities else None
        level = {} if wanted is None else {LOG_LEVEL_META_KEY: wanted}
        return {**envelope(agreement.version, offered), **level}

    def _begin(self) -> None:
        self._under_way += 1
        self._idle.clear()

    def _end(self) -> None:
        self._under_way -= 1
        self.used_at = monotonic()
        if not self._under_way:
            self._idle.set()

    async def answers(self, seconds: float) -> bool:
        """Whether the server still answers; sends no user's token, and has no side effects."""
        config = self._context.config
        if config.transport != "stdio" and (config.identity or auth_for(config, self._context.credentials)):
            return await reachable(config, seconds)
        if self.agreement.stateless and config.transport != "stdio":
            return True  # there is no session to check
        method = "server/discover" if self.agreement.stateless else "ping"
        meta = {"_meta": envelope(self.agreement.version, {})} if self.agreement.stateless else {}
        assert self._channel is not None  # noqa: S101 - there is no agreement without a channel
        try:
            await self._channel.request(method, meta, seconds=seconds)
        except SessionExpired:
            self._usable = False  # the next use opens a new session, so that no call fails first
        except MCPError:
            return True
        except TransportError as trouble:
            return hasattr(trouble, "status")
        return True

    def give_up(self, reason: str) -> None:
        """Treat the connection as lost."""
        self.on_lost(reason)

    async def on_request(self, method: str, params: Message, call: PendingCall | None) -> Mapping[str, Any]:
        """See `ChannelListener.on_request`."""
        if method == "ping":
            return {}
        if self._capabilities is None:
            raise refused_by("this session belongs to no single client", method)
        if problem := too_large(params):
            raise refused_by(problem, method)
        return await answer_question(
            self._version(), self._capabilities, method, params, call, self._context.limits.answer
        )

    async def on_notification(self, method: str, params: Message, call: PendingCall | None) -> None:
        """See `ChannelListener.on_notification`."""
        if method == "notifications/progress":
            await pass_progress(params, call)
        elif method == "notifications/message":
            await pass_log(params, call)
        elif method in _LISTS:
            self._context.changed(_LISTS[method])
        elif method == "notifications/resources/updated" and isinstance(params.get("uri"), str):
            self._context.changed(Changed("resource", params["uri"]))

    def _version(self) -> str:
        return self._channel.version if self._channel and self._channel.version else "2025-11-25"

    def on_lost(self, reason: str) -> None:
        """See `ChannelListener.on_lost`."""
        if not self._reason:
            self._reason = reason
            if self._agreement is not None and self._closing is None:
                # Clean up now - sockets, processes that the child started - and not at the next use.
                self._closing = asyncio.create_task(self._close(), name=f"end {self._context.config.name}")
                event(_logger, "upstream_lost", level=logging.WARNING, server=self._context.config.name, reason=reason)

    async def close(self) -> None:
        """End the session and its process; returns within a few seconds in any case."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close {self._context.config.name}")
        # Cancelling the caller must not interrupt the clean-up.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        channel = self._channel
        if channel is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS + 2.0):
                    await channel.close()
        self.on_lost("the session was closed")

    async def retire(self, seconds: float) -> None:
        """Wait for requests under way, at most this long, then close."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        await self.close()
