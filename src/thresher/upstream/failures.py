"""Turns every way in which a server can fail into one of our errors, with the server's name and a way out.

Invariant: a message holds no secret of the server, and `NotCarriedOut` is raised only where the server cannot have
begun the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import cast

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, HEADER_MISMATCH, PARSE_ERROR, REQUEST_TIMEOUT
from pydantic import ValidationError

from thresher.core import UpstreamError, UpstreamRefused, UpstreamTimeout
from thresher.upstream.config import ServerConfig, public_config
from thresher.upstream.http import Trouble
from thresher.upstream.log import ServerLog
from thresher.upstream.masking import Redactor
from thresher.upstream.oauth import token_failure

_MESSAGE_CHARS = 1_000
_STATUS_HINTS = {
    HTTPStatus.UNAUTHORIZED: "Give it a valid 'Authorization' header.",
    HTTPStatus.FORBIDDEN: "The credentials in its headers do not allow this.",
    HTTPStatus.NOT_FOUND: "Check the path of its address; most servers answer at /mcp.",
    HTTPStatus.METHOD_NOT_ALLOWED: "Check the path; the older SSE transport is not supported.",
    HTTPStatus.TOO_MANY_REQUESTS: "Wait a while: the server limits the rate.",
}


class NotCarriedOut(UpstreamError):
    """The server cannot have begun the request, so it is safe to send it again over a fresh session."""


class SessionLost(UpstreamError):
    """The session ended while the request was under way: the server may have carried it out."""


class StaleListing(UpstreamRefused):
    """The server refused a call because we do not know its tools' present definitions (2026-07-28)."""


class Failures:
    """Words one server's failures."""

    def __init__(self, config: ServerConfig, log: ServerLog, redact: Redactor) -> None:
        self._config = config
        self._log = log
        self._redact = redact

    def of_request(
        self, method: str, error: MCPError | ValidationError, seconds: float, reason: str = ""
    ) -> UpstreamError:
        """The error of a request over a live session; `reason` says why the session ended, if it did."""
        name = self._config.name
        if isinstance(error, ValidationError):
            return self._malformed(method, error)
        message = self._redact(error.message)[:_MESSAGE_CHARS]
        if error.code in list(Trouble):
            return self._below_protocol(Trouble(error.code), message, error.data, f"{method} failed")
        if error.code == REQUEST_TIMEOUT and error.message.endswith("timed out"):
            return UpstreamTimeout(
                f"Server '{name}' did not answer {method} within {seconds:g} s.",
                hint="It may still be working on it. For slow tools raise THRESHER_UPSTREAM_CALL_SECONDS.",
            )
        if error.code == CONNECTION_CLOSED and error.message == "Connection closed":
            return self.lost(method, reason)
        # The MCP library's own words for an answer that broke off; the session itself goes on.
        broken_off = error.code == CONNECTION_CLOSED and error.message.startswith("SSE stream")
        if broken_off or (error.code == PARSE_ERROR and error.message.startswith("Failed to parse")):
            return UpstreamError(
                f"Server '{name}' gave no usable answer to {method}: {message}",
                hint="The request may have been carried out. Look at the server's own log.",
            )
        refusal = StaleListing if error.code == HEADER_MISMATCH else UpstreamRefused
        return refusal(
            f"Server '{name}' refused {method}: {message} (code {error.code}).", hint="Check the name and arguments."
        )

    def lost(self, method: str, reason: str = "") -> SessionLost:
        """The session ended during a request."""
        return SessionLost(
            f"Server '{self._config.name}' was lost during {method} ({reason or 'the session was closed'}); "
            "the request may or may not have been carried out.",
            hint=f"The next use connects again. {self._last_lines()}".strip(),
        )

    def of_connect(self, error: BaseException | None, reason: str) -> UpstreamError:
        """The error of an attempt to connect.

        Args:
            error: What ended the attempt; None when the server simply went away.
            reason: Why the transport ended, if it said so.
        """
        leaves = list(_leaves(error)) if error is not None else []
        for leaf in leaves:
            if isinstance(leaf, UpstreamError):
                return leaf
        cannot = f"Server '{self._config.name}' cannot be connected"
        for leaf in leaves:
            if isinstance(leaf, MCPError) and leaf.code in list(Trouble):
                return self._below_protocol(
                    Trouble(leaf.code), self._redact(leaf.message), leaf.data, "cannot be connected"
                )
            if isinstance(leaf, MCPError) and leaf.message != "Connection closed":
                words = self._redact(leaf.message)[:_MESSAGE_CHARS]
                return UpstreamRefused(
                    f"{cannot}: it refused the handshake: {words} (code {leaf.code}).", hint=self._how_to_test()
                )
        ours = next((leaf for leaf in leaves if not isinstance(leaf, MCPError)), None)
        if ours is not None:
            reason = self._redact(f"{type(ours).__name__}: {ours}")[:_MESSAGE_CHARS]
        hint = f"{self._last_lines()} {self._how_to_test()}".strip()
        return UpstreamError(f"{cannot}: {reason or 'it ended'}, before it was ready.", hint=hint)

    def connect_timeout(self, seconds: float) -> UpstreamTimeout:
        """The server was not ready in time."""
        return UpstreamTimeout(
            f"Server '{self._config.name}' was not ready within {seconds:g} s.",
            hint=f"A first start that downloads needs longer: raise THRESHER_UPSTREAM_CONNECT_SECONDS. "
            f"{self._last_lines()} {self._how_to_test()}".replace("  ", " "),
        )

    def malformed(self, method: str, reason: str) -> UpstreamRefused:
        """The answer does not follow the protocol, or exceeds a bound."""
        return UpstreamRefused(
            f"Server '{self._config.name}' answered {method} with something unusable: {reason}.",
            hint="This is a fault of that server: report it there, or disable it.",
        )

    def _malformed(self, method: str, error: ValidationError) -> UpstreamRefused:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return self.malformed(method, self._redact(f"{where}: {first['msg']}")[:_MESSAGE_CHARS])

    def _below_protocol(self, trouble: Trouble, message: str, data: object, what: str) -> UpstreamError:
        name, address = self._config.name, public_config(self._config).get("url", "")
        match trouble:
            case Trouble.UNREACHABLE:
                return NotCarriedOut(
                    f"Server '{name}' cannot be reached at {address} ({message}).",
                    hint="Is it running? Check the address.",
                )
            case Trouble.EXPIRED:
                return NotCarriedOut(f"Server '{name}' has forgotten our session.", hint="Try again.")
            case Trouble.BROKEN:
                return UpstreamError(
                    f"Server '{name}' {what}: its answer did not arrive whole ({message}).",
                    hint="The request may have been carried out. Look at the server's own log.",
                )
            case Trouble.TOKEN:
                return token_failure(message, data)
            case Trouble.STATUS:
                status = data if isinstance(data, int) else 0
                hint = _STATUS_HINTS.get(
                    HTTPStatus(status) if status in HTTPStatus.__members__.values() else HTTPStatus.OK
                )
                return UpstreamError(
                    f"Server '{name}' {what}: HTTP status {status} {message}".rstrip() + ".",
                    hint=hint or "Look at the server's own log.",
                )

    def _last_lines(self) -> str:
        tail = self._log.tail()
        return f"Its last lines: {tail}" if tail else ""

    def _how_to_test(self) -> str:
        shown = public_config(self._config)
        if self._config.transport != "stdio":
            return f"Test it by hand: curl -i {shown['url']}"
        return f"Test it by hand: {' '.join([shown['command'], *shown['args']])}"


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(inner)
    else:
        yield error
