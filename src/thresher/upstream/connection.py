"""One live connection with one server, from handshake to end.

Invariant: what a server asks goes to the peer whose call is under way on a connection of its own, and nowhere else: a
connection that several clients share declares nothing that a server could ask, and refuses what it asks all the same.
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
from thresher.upstream.handshake import Agreement, Era, declared, envelope, routing, shake_hands
from thresher.upstream.limits import Limits
from thresher.upstream.log import ServerLog
from thresher.upstream.oauth import Credentials, auth_for
from thresher.upstream.peer import Peer, asked_for, can_be_asked
from thresher.upstream.questions import asked, progressed, refused_by, told_log
from thresher.upstream.records import Changed
from thresher.upstream.transport.channel import Call, Channel
from thresher.upstream.transport.http import HttpChannel, exchange_of, reachable
from thresher.upstream.transport.messages import Message, too_large
from thresher.upstream.transport.process import EXIT_SECONDS, TERMINATE_SECONDS
from thresher.upstream.transport.sse import SseChannel
from thresher.upstream.transport.stdio import ITS_OWN_END, StdioChannel
from thresher.upstream.transport.trouble import Expired, Trouble

_logger = logging.getLogger("thresher.upstream")
CLOSE_SECONDS = EXIT_SECONDS + TERMINATE_SECONDS + 1.0
"""For an orderly end."""
_LISTS: Mapping[str, Changed] = {
    "notifications/tools/list_changed": Changed("tools"),
    "notifications/resources/list_changed": Changed("resources"),
    "notifications/prompts/list_changed": Changed("prompts"),
}


class Surroundings:
    """What all connections with one server share.

    Attributes:
        config: The server.
        settings: Time limits that a person can set.
        limits: The other bounds.
        credentials: Where sign-ins are stored.
        log: What the server writes beside the protocol.
        failures: Words its failures.
        changed: Told what the server says has changed.
    """

    def __init__(
        self,
        config: ServerConfig,
        settings: Settings,
        limits: Limits,
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


class Connection:
    """A connection; the listener of its channel.

    Args:
        around: What all connections with the server share.
        capabilities: What the one client whose connection it is can be asked; None when clients share it.
    """

    def __init__(self, around: Surroundings, capabilities: ClientCapabilities | None) -> None:
        self._around = around
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
        """Whether new requests can be sent, as far as known."""
        return self._usable and not self.ended

    @property
    def ended(self) -> bool:
        """Whether the channel is gone, so that no request is under way either."""
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
        """What was agreed on.

        Raises:
            SessionLost: The connection was never opened.
        """
        if self._agreement is None:
            raise self._around.failures.lost("connect")
        return self._agreement

    async def open(self, known: Era) -> None:
        """Connect and shake hands; one client's own connection is of the older kind wherever the server can.

        Args:
            known: What is remembered of the server.

        Raises:
            UpstreamError: The server cannot be started or reached, or ends before it is ready.
            UpstreamTimeout: It was not ready in time.
            UpstreamRefused: It refused the handshake.
        """
        seconds = self._around.settings.upstream_connect_seconds
        try:
            async with asyncio.timeout(seconds):
                agreement = await self._shake_hands(known)
        except TimeoutError:
            await self.close()
            raise self._around.failures.connect_timeout(seconds) from None
        except (MCPError, Trouble, ValidationError) as error:
            await self.close()
            raise self._around.failures.of_connect(error, self._exit_status()) from None
        except BaseException:
            await self.close()
            raise
        self._agreement = agreement
        self.opened_at = monotonic()

    async def _shake_hands(self, known: Era) -> Agreement:
        limits, stdio = self._around.limits, self._around.config.transport == "stdio"
        channel = self._channel = self._new_channel()
        await channel.open()
        if self._around.config.transport == "sse":
            known = "session"  # no server ever spoke the newest revision over it
        probe = limits.probe if stdio else limits.web_probe
        offered, era = (ClientCapabilities(), known) if self._capabilities is None else (self._capabilities, "session")
        return await shake_hands(channel, offered, era=era, known=known, probe=probe, beside=stdio)

    def _new_channel(self) -> Channel:
        config, owned = self._around.config, self._capabilities is not None
        if config.transport == "stdio":
            return StdioChannel(config, self._around.log, self, owned=owned)
        auth = auth_for(config, self._around.credentials)
        exchange = exchange_of(config, self._around.settings.upstream_connect_seconds, auth)
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
            method: Its name.
            params: Its parameters.
            seconds: For the answer, without the time in which the peer is asked; None for as long as it takes.
            peer: Who stands behind it.
            headers: HTTP headers of its own.

        Raises:
            NotCarriedOut: The server cannot have begun it; the connection is of no more use.
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
        # A server that dies of a call is no server that cannot be used.
        self.worked = self.worked or method == "tools/call"
        self._begin()
        try:
            answer = await channel.request(method, params, seconds=seconds, headers=headers, call=Call(peer))
        except (MCPError, Trouble) as error:
            failure = self._around.failures.of_request(method, error, seconds or 0.0)
            if isinstance(failure, NotCarriedOut | SessionLost):
                # Not ended at once: others may still get their answers over it.
                self._usable = False
            raise failure from None
        finally:
            self._end()
        self.worked = True
        return answer

    async def listen(self, params: Mapping[str, Any]) -> None:
        """Hold the request open over which a server of 2026-07-28 says what has changed; returns when it ends it.

        Raises:
            UpstreamError: As `request`.
        """
        agreement, channel = self.agreement, self._channel
        assert channel is not None  # noqa: S101 - there is no agreement without a channel
        method = "subscriptions/listen"
        params = {**params, "_meta": envelope(agreement.version, {})}
        try:
            await channel.request(method, params, seconds=None, headers=routing(agreement.version, method, params))
        except (MCPError, Trouble) as error:
            raise self._around.failures.of_request(method, error, 0.0) from None

    def _envelope(self, agreement: Agreement, peer: Peer | None) -> dict[str, Any]:
        if peer is None:
            return envelope(agreement.version, {})
        offered: Mapping[str, Any] = {}
        if can_be_asked(peer):
            # Sampling does not cross from one kind of the protocol to the other.
            left_out = {} if peer.rounds is not None else {"sampling": None}
            offered = declared(asked_for(peer.capabilities).model_copy(update=left_out))
        wanted = peer.level if "logging" in agreement.capabilities else None
        told = {} if wanted is None else {LOG_LEVEL_META_KEY: wanted}
        return {**envelope(agreement.version, offered), **told}

    def _begin(self) -> None:
        self._under_way += 1
        self._idle.clear()

    def _end(self) -> None:
        self._under_way -= 1
        self.used_at = monotonic()
        if not self._under_way:
            self._idle.set()

    async def answers(self, seconds: float) -> bool:
        """Whether the server still answers; no user's token is sent for it, and nothing is deleted by it."""
        config = self._around.config
        if config.transport != "stdio" and (config.identity or auth_for(config, self._around.credentials)):
            return await reachable(config, seconds)
        if self.agreement.stateless and config.transport != "stdio":
            return True  # there is no session that could have ended
        method = "server/discover" if self.agreement.stateless else "ping"
        meta = {"_meta": envelope(self.agreement.version, {})} if self.agreement.stateless else {}
        assert self._channel is not None  # noqa: S101 - there is no agreement without a channel
        try:
            await self._channel.request(method, meta, seconds=seconds)
        except Expired:
            self._usable = False  # the next use opens a new session, and no call pays for the discovery
        except MCPError:
            return True
        except Trouble as trouble:
            return hasattr(trouble, "status")
        return True

    def give_up(self, reason: str) -> None:
        """Treat the connection as lost."""
        self.lost(reason)

    async def asked(self, method: str, params: Message, call: Call | None) -> Mapping[str, Any]:
        """See `Listener.asked`."""
        if method == "ping":
            return {}
        if self._capabilities is None:
            raise refused_by("this session belongs to no single client", method)
        if problem := too_large(params):
            raise refused_by(problem, method)
        return await asked(self._version(), self._capabilities, method, params, call, self._around.limits.answer)

    async def told(self, method: str, params: Message, call: Call | None) -> None:
        """See `Listener.told`."""
        if method == "notifications/progress":
            await progressed(params, call)
        elif method == "notifications/message":
            await told_log(params, call)
        elif method in _LISTS:
            self._around.changed(_LISTS[method])
        elif method == "notifications/resources/updated" and isinstance(params.get("uri"), str):
            self._around.changed(Changed("resource", params["uri"]))

    def _version(self) -> str:
        return self._channel.version if self._channel and self._channel.version else "2025-11-25"

    def lost(self, reason: str) -> None:
        """See `Listener.lost`."""
        if not self._reason:
            self._reason = reason
            if self._agreement is not None and self._closing is None:
                # What is left of it - processes that the child started, sockets - goes now, not at the next use.
                self._closing = asyncio.create_task(self._close(), name=f"end {self._around.config.name}")
                event(_logger, "upstream_lost", level=logging.WARNING, server=self._around.config.name, reason=reason)

    async def close(self) -> None:
        """End the session and its process; returns within a few seconds, whatever the server does."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name=f"close {self._around.config.name}")
        # A caller that gives up must not leave half of it undone.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        channel = self._channel
        if channel is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS + 2.0):
                    await channel.close()
        self.lost("the session was closed")

    async def retire(self, seconds: float) -> None:
        """Let the requests under way come to their end, at most for so long, then close."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        await self.close()
