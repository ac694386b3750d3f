"""Translates a server's failures into our errors, with the server's name and a hint.

Invariant: a message holds no secret of the server, and `NotCarriedOut` is raised only if the server cannot have
begun the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION
from pydantic import ValidationError

from thresher.core import UpstreamError, UpstreamRefused, UpstreamTimeout, first_problem
from thresher.upstream.config import ServerConfig, public_config
from thresher.upstream.masking import Redactor, ServerLog
from thresher.upstream.transport.errors import (
    Closed,
    ErrorStatus,
    SessionExpired,
    TimedOut,
    TransportError,
    Unreachable,
    Unusable,
)

_MESSAGE_CHARS = 1_000
_STATUS_HINTS: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "Give it a valid 'Authorization' header, or sign in: thresher servers login NAME.",
    HTTPStatus.FORBIDDEN: "The credentials in its headers do not allow this.",
    HTTPStatus.NOT_FOUND: "Check the path of its address; most servers answer at /mcp.",
    HTTPStatus.METHOD_NOT_ALLOWED: 'Check the path. An older server may want "type": "sse", often at /sse.',
    HTTPStatus.TOO_MANY_REQUESTS: "Wait a while: the server limits the rate.",
}


class NotCarriedOut(UpstreamError):
    """The server cannot have begun the request, so it is safe to send it again over a fresh session."""


class SessionLost(UpstreamError):
    """The session ended while the request was under way: the server may have carried it out."""


class RequestRefused(UpstreamRefused):
    """The server answered a request with an error.

    Attributes:
        rpc_code: The JSON-RPC error's code.
        rpc_data: What it carries, such as the addresses that a person has to visit first.
    """

    def __init__(self, message: str, *, hint: str = "", code: int = 0, data: Any = None) -> None:
        super().__init__(message, hint=hint)
        self.rpc_code = code
        self.rpc_data = data


class StaleListing(RequestRefused):
    """The server refused a call because our definitions of its tools are outdated (2026-07-28)."""


class Failures:
    """Translates one server's failures."""

    def __init__(self, config: ServerConfig, log: ServerLog, redact: Redactor) -> None:
        self._config = config
        self._log = log
        self._redact = redact

    def of_request(
        self, method: str, error: MCPError | TransportError | ValidationError, seconds: float
    ) -> UpstreamError:
        """The error of a request over a live session."""
        if isinstance(error, ValidationError):
            return self._malformed(method, error)
        if isinstance(error, TimedOut):
            return UpstreamTimeout(
                f"Server '{self._config.name}' did not answer {method} within {seconds:g} s.",
                hint="It may still be working on it. For slow tools raise THRESHER_UPSTREAM_CALL_SECONDS.",
            )
        if isinstance(error, Closed):
            return self.lost(method, str(error))
        message = self._redact(str(error))[:_MESSAGE_CHARS]
        if isinstance(error, TransportError):
            return self._below_protocol(error, message, f"{method} failed")
        if error.code == UNSUPPORTED_PROTOCOL_VERSION:
            return NotCarriedOut(
                f"Server '{self._config.name}' no longer supports the revision agreed on: {message}.",
                hint="The next use agrees on one again.",
            )
        kind = StaleListing if error.code == HEADER_MISMATCH else RequestRefused
        return kind(
            f"Server '{self._config.name}' refused {method}: {message} (code {error.code}).",
            hint="Check the name and arguments.",
            code=error.code,
            data=error.data,
        )

    def left_alone(self, failures: int, seconds: float, reason: str) -> UpstreamError:
        """The error while a server that failed several times in a row is left alone."""
        return UpstreamError(
            f"Server '{self._config.name}' has failed {failures} times in a row and is left alone for {seconds:.0f} s "
            f"more; the last time: {reason}",
            hint="Then it is tried again. To try now: disable and enable the server.",
        )

    def lost(self, method: str, reason: str = "") -> SessionLost:
        """The error of a request during which the session ended."""
        return SessionLost(
            f"Server '{self._config.name}' was lost during {method} ({reason or 'the session was closed'}); "
            "the request may or may not have been carried out.",
            hint=f"The next use connects again. {self._last_lines()}".strip(),
        )

    def of_connect(self, error: MCPError | TransportError | ValidationError, exit_status: str) -> UpstreamError:
        """The error of an attempt to connect; `exit_status` describes how the child ended, if it did."""
        cannot = f"Server '{self._config.name}' cannot be connected"
        if isinstance(error, ValidationError):
            return self._malformed("initialize", error)
        if isinstance(error, MCPError):
            words = self._redact(error.message)[:_MESSAGE_CHARS]
            return UpstreamRefused(
                f"{cannot}: it refused the handshake: {words} (code {error.code}).", hint=self._how_to_test()
            )
        message = self._redact(str(error))[:_MESSAGE_CHARS]
        if isinstance(error, Closed):
            hint = f"{self._last_lines()} {self._how_to_test()}".strip()
            return UpstreamError(f"{cannot}: {message or 'it ended'}{exit_status}, before it was ready.", hint=hint)
        if isinstance(error, Unusable):
            return UpstreamRefused(f"{cannot}: {message}.", hint=self._how_to_test())
        return self._below_protocol(error, message, "cannot be connected")

    def connect_timeout(self, seconds: float) -> UpstreamTimeout:
        """The error of a server that was not ready in time."""
        return UpstreamTimeout(
            f"Server '{self._config.name}' was not ready within {seconds:g} s.",
            hint=f"A first start that downloads needs longer: raise THRESHER_UPSTREAM_CONNECT_SECONDS. "
            f"{self._last_lines()} {self._how_to_test()}".replace("  ", " "),
        )

    def malformed(self, method: str, reason: str) -> UpstreamRefused:
        """The error of an answer that violates the protocol or exceeds a limit."""
        return UpstreamRefused(
            f"Server '{self._config.name}' answered {method} with something unusable: {reason}.",
            hint="This is a fault of that server: report it there, or disable it.",
        )

    def _malformed(self, method: str, error: ValidationError) -> UpstreamRefused:
        return self.malformed(method, self._redact(first_problem(error))[:_MESSAGE_CHARS])

    def _below_protocol(self, trouble: TransportError, message: str, what: str) -> UpstreamError:
        name, address = self._config.name, public_config(self._config).get("url", "")
        match trouble:
            case Unreachable():
                return NotCarriedOut(
                    f"Server '{name}' cannot be reached at {address} ({message}).",
                    hint="Is it running? Check the address.",
                )
            case SessionExpired():
                return NotCarriedOut(f"Server '{name}' has forgotten our session.", hint="Try again.")
            case ErrorStatus(status=status):
                hint = _STATUS_HINTS.get(status, "Look at the server's own log.")
                return UpstreamError(
                    f"Server '{name}' {what}: HTTP status {status} {message}".rstrip() + ".", hint=hint
                )
            case Unusable():
                return UpstreamRefused(
                    f"Server '{name}' {what}: no usable answer ({message}).",
                    hint="The request may have been carried out. Look at the server's own log.",
                )
            case _:
                return UpstreamError(
                    f"Server '{name}' {what}: its answer did not arrive whole ({message}).",
                    hint="The request may have been carried out. Look at the server's own log.",
                )

    def _last_lines(self) -> str:
        tail = self._log.tail()
        return f"Its last lines: {tail}" if tail else ""

    def _how_to_test(self) -> str:
        shown = public_config(self._config)
        if self._config.transport != "stdio":
            return f"Test it by hand: curl -i {shown['url']}"
        return f"Test it by hand: {' '.join([shown['command'], *shown['args']])}"
