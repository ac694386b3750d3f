"""Sends OAuth requests to the addresses in a server's metadata, and interprets the answers.

Invariant: a secret is sent only over https, or in clear to the host that the owner configured; answers are bounded in
size; only a clear refusal counts as one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
from mcp.shared.auth import OAuthToken
from pydantic import ValidationError

from thresher.core import UpstreamError, UpstreamRefused, is_host
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth.credential import shown_address
from thresher.upstream.oauth.failures import GrantRefused, clean, unavailable

_ANSWER_BYTES = 1 << 20
_REQUEST_SECONDS = 15.0
_FORM = "application/x-www-form-urlencoded"
_GRANT_ERRORS = {"invalid_grant", "bad_refresh_token"}
"""`invalid_grant` is from RFC 6749, section 5.2, the other GitHub's."""
_CLIENT_ERRORS = {"invalid_client", "unauthorized_client", "incorrect_client_credentials"}
_KEPT_HEADERS = ("content-type", "www-authenticate")


class OAuthEndpoint:
    """Sends OAuth requests for one server; see `open_endpoint`."""

    def __init__(self, config: ServerConfig, client: httpx2.AsyncClient) -> None:
        self._config = config
        self._client = client

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and read the whole answer; redirects are returned, not followed.

        Raises:
            UpstreamRefused: The address is not safe, so nothing was sent.
            UpstreamError: No answer, or one that is too large.
        """
        check_address(self._config, str(request.url))
        request.headers["User-Agent"] = f"thresher/{version('thresher')}"
        request.headers.setdefault("Accept", "application/json")
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                return await self._answer(request)
        except TimeoutError:
            raise self._unavailable(request, f"no answer within {_REQUEST_SECONDS:g} s") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise self._unavailable(request, clean(str(error)) or type(error).__name__) from None

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._client.send(request, stream=True, follow_redirects=False)
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _ANSWER_BYTES:
                    raise self._unavailable(request, "the answer is too large")
        finally:
            await response.aclose()
        kept = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        whole = httpx2.Response(response.status_code, headers=kept, content=bytes(body), request=request)
        whole.next_request = response.next_request
        return whole

    async def tokens(self, request: httpx2.Request) -> OAuthToken:
        """Send a request to the token endpoint.

        Raises:
            GrantRefused: It refuses this grant, or our registration, permanently.
            UpstreamRefused: It refuses the request in some other way.
            UpstreamError: It gave no usable answer.
        """
        response = await self.send(request)
        return read_tokens(self._config, response, secrets=_form_values(request))

    def _unavailable(self, request: httpx2.Request, reason: str) -> UpstreamError:
        return unavailable(self._config, shown_address(request.url), reason)


@asynccontextmanager
async def open_endpoint(config: ServerConfig) -> AsyncGenerator[OAuthEndpoint]:
    """Open separate connections for OAuth requests, without the server's headers."""
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(_REQUEST_SECONDS)) as client:
        yield OAuthEndpoint(config, client)


def check_address(config: ServerConfig, url: str) -> None:
    """Check that no secret would be sent in clear to another host.

    Raises:
        UpstreamRefused: The address is neither https, nor on the server's own host, nor loopback like the server.
    """
    try:
        parts, own = urlsplit(url), urlsplit(config.url)
        sound = is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        parts, own, sound = urlsplit(""), urlsplit(""), False
    local = _is_loopback(parts.hostname) and _is_loopback(own.hostname)
    if sound and (parts.scheme == "https" or (parts.scheme == "http" and (parts.hostname == own.hostname or local))):
        return
    raise UpstreamRefused(
        f"Server '{config.name}' wants a sign-in at {shown_address(url)}, which is not safe.",
        hint="Authorization servers must have https addresses; report this to the operator of the server.",
    )


def _is_loopback(host: str | None) -> bool:
    if host is None:
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_token_request(request: httpx2.Request) -> bool:
    """Whether a request of the sign-in flow goes to the token endpoint."""
    return request.method == "POST" and request.headers.get("content-type", "").startswith(_FORM)


def read_tokens(config: ServerConfig, response: httpx2.Response, *, secrets: Iterable[str] = ()) -> OAuthToken:
    """Interpret the answer of a token endpoint.

    Deviations of real servers are tolerated: an error with status 200 (GitHub), scopes as a list, an odd `expires_in`.

    Args:
        config: The server of the sign-in.
        response: The whole answer.
        secrets: Secrets that were sent, which must not appear in an error.

    Raises:
        GrantRefused: The grant, or our registration, is refused permanently.
        UpstreamRefused: It is refused in some other way.
        UpstreamError: The answer is not usable.
    """
    where = shown_address(response.request.url)
    body = _object(response.content)
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR or response.status_code in (
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
    ):
        raise unavailable(config, where, f"HTTP status {response.status_code}")
    if isinstance(error := body.get("error"), str):
        raise _refusal(config, error, str(body.get("error_description") or ""), list(secrets))
    if response.status_code not in (HTTPStatus.OK, HTTPStatus.CREATED):
        raise unavailable(config, where, f"HTTP status {response.status_code}")
    try:
        return OAuthToken.model_validate(_tolerated(body))
    except ValidationError as error:
        # The error's own text quotes the answer with its tokens.
        fields = ", ".join(sorted({str(problem["loc"][0]) for problem in error.errors(include_input=False)}))
        raise unavailable(config, where, f"its answer lacks a usable {fields}") from None


def _refusal(config: ServerConfig, error: str, description: str, secrets: list[str]) -> UpstreamRefused:
    words = clean(f"{error}: {description}" if description else error, secrets)
    message = f"The authorization server of '{config.name}' refused: {words}."
    if error in _CLIENT_ERRORS:
        return GrantRefused(message, hint="Check the client id and secret, or sign in again.", client=True)
    if error in _GRANT_ERRORS:
        return GrantRefused(message, hint="Sign in again.")
    return UpstreamRefused(message, hint="The sign-in is kept. Check the scopes, or try again later.")


def _object(body: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", decoded) if isinstance(decoded, dict) else {}


def _tolerated(body: dict[str, Any]) -> dict[str, Any]:
    scope, seconds = body.get("scope"), body.get("expires_in")
    if isinstance(scope, list):
        scope = " ".join(str(word) for word in cast("list[object]", scope))
    try:
        seconds = None if seconds is None else max(0, int(float(seconds)))
    except (TypeError, ValueError, OverflowError):
        seconds = None
    given = {name: value for name, value in body.items() if value not in (None, "")}
    return {**given, "scope": scope, "expires_in": seconds}


def _form_values(request: httpx2.Request) -> list[str]:
    pairs = httpx2.QueryParams(request.content.decode("utf-8", "replace"))
    return [value for name, value in pairs.multi_items() if name in _SECRET_FIELDS]


_SECRET_FIELDS = {"refresh_token", "code", "code_verifier", "client_secret", "token"}
