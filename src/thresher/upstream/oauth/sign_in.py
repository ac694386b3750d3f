"""Signs a person in at a server, and out again.

Invariant: nothing is stored before the sign-in has succeeded, so that an abandoned one leaves the former sign-in
unchanged; a sign-out first deletes the credential and then informs the authorization server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from pydantic import AnyUrl

from thresher.core import (
    JSON,
    ConfigurationError,
    InvalidInput,
    NotFound,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    event,
)
from thresher.upstream.config import OAuthClient, ServerConfig
from thresher.upstream.oauth.credential import Credential, Credentials, read_credential, shown_address
from thresher.upstream.oauth.endpoint import OAuthEndpoint, check_address, open_endpoint
from thresher.upstream.oauth.flow import FlowStorage, challenge, run_flow, settle_method
from thresher.upstream.oauth.grants import PROTOCOL, authenticated, machine_client, obtain
from thresher.upstream.oauth.loopback import Loopback, open_loopback
from thresher.upstream.oauth.tokens import forget

_logger = logging.getLogger("thresher.upstream")
SIGN_IN_SECONDS = 300.0
"""How long a person may take."""
_PROBE_SECONDS = 20.0
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
State = Literal["", "done", "needed"]


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The result of a sign-in.

    Attributes:
        issuer: The authorization server; empty for an old one that does not report it.
        scope: The granted scopes; empty if unknown.
        expires_at: Expiry of the first access token, in seconds since the epoch; None if unknown.
        renewable: Whether it can be renewed without another sign-in.
    """

    issuer: str
    scope: str
    expires_at: float | None
    renewable: bool


class SignIn:
    """One sign-in, from the address that a person opens to the stored token; see `open_sign_in`."""

    def __init__(self, config: ServerConfig, credentials: Credentials, loopback: Loopback, scopes: tuple[str, ...]):
        self._config = config
        self._credentials = credentials
        self._loopback = loopback
        self._client = config.oauth or OAuthClient()
        self._scopes = scopes or self._client.scopes

    async def run(self, show: Callable[[str], None], *, seconds: float = SIGN_IN_SECONDS) -> SignedIn:
        """Sign in.

        Args:
            show: Called with the address that a person must open.
            seconds: How long to wait for the person.

        Raises:
            UpstreamTimeout: Nobody has signed in within that time.
            UpstreamRefused: The server offers no sign-in, or the person or the authorization server refuses.
            UpstreamError: One of the servers cannot be reached.
        """
        try:
            async with asyncio.timeout(seconds):
                credential = await self._obtain(show)
        except TimeoutError:
            raise UpstreamTimeout(
                f"Nobody has signed in at server '{self._config.name}' within {seconds:g} s.",
                hint="Run the command again; --no-browser only prints the address.",
            ) from None
        return await keep(self._config, self._credentials, credential)

    def take(self, address: str) -> None:
        """Accept the final address of a browser that cannot reach this machine.

        Raises:
            InvalidInput: It does not belong to this sign-in.
        """
        self._loopback.take(address)

    async def _obtain(self, show: Callable[[str], None]) -> Credential:
        async with open_endpoint(self._config) as endpoint:
            if machine_client(self._config) is not None:
                return await obtain(self._config, None)
            return await self._let_sign_in(endpoint, show)

    async def _let_sign_in(self, endpoint: OAuthEndpoint, show: Callable[[str], None]) -> Credential:
        request, answer = await _probe(self._config)
        memory = FlowStorage(_preset(self._client))
        provider = self._provider(memory, show)
        try:
            found = challenge(request, answer, self._scopes)
            return await run_flow(self._config, provider, endpoint, request, found)
        except UpstreamRefused:
            nothing_found = provider.context.oauth_metadata is None and provider.context.auth_server_url is None
            if nothing_found and answer.status_code != HTTPStatus.UNAUTHORIZED:
                raise UpstreamRefused(
                    f"Server '{self._config.name}' offers no sign-in (HTTP status {answer.status_code} without one).",
                    hint=f"Try it without one: thresher servers refresh {self._config.name}.",
                ) from None
            raise

    def _provider(self, memory: FlowStorage, show: Callable[[str], None]) -> OAuthClientProvider:
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(self._loopback.address)],
            client_name="Thresher",
            scope=" ".join(self._scopes) or None,
        )

        async def redirect(address: str) -> None:
            context = provider.context
            if context.client_info is not None:
                self._check_client(context.client_info)
                context.client_info = settle_method(context.client_info, context.oauth_metadata)
            check_address(self._config, address)
            self._loopback.expect(parse_qs(urlsplit(address).query)["state"][0])
            show(address)

        async def callback() -> AuthorizationCodeResult:
            return await self._loopback.answer()

        document = self._client.client_id if _is_document(self._client) else None
        provider = OAuthClientProvider(self._config.url, metadata, memory, redirect, callback, document)
        return provider

    def _check_client(self, used: OAuthClientInformationFull) -> None:
        """Refuse to replace a configured client, or to send its secret to another server."""
        configured = self._client.client_id
        if configured and not _is_document(self._client) and used.client_id != configured:
            raise UpstreamRefused(
                f"Server '{self._config.name}' names another authorization server than '{self._client.issuer}'.",
                hint="Correct 'issuer' in its definition, or leave it out if you trust the server.",
            )


def check_sign_in(config: ServerConfig) -> None:
    """Check that a server accepts a sign-in.

    Raises:
        InvalidInput: It is a local program, or its definition contains an `Authorization` header.
    """
    _check_remote(config)
    if any(name.lower() == "authorization" for name in config.headers):
        raise InvalidInput(
            f"Server '{config.name}' has an 'Authorization' header in its definition, which is used.",
            hint="Add the server again without it to sign in.",
        )


async def check_sign_out(config: ServerConfig, credentials: Credentials) -> None:
    """Check that there is a sign-in to end; one that can no longer be decrypted counts.

    Raises:
        InvalidInput: The server is a local program.
        NotFound: Nobody is signed in.
    """
    _check_remote(config)
    try:
        held = await credentials.load(config) is not None
    except ConfigurationError:
        held = True
    if not held:
        raise NotFound(
            f"Nobody is signed in at server '{config.name}'.", hint="`thresher servers list` shows all sign-ins."
        )


def _check_remote(config: ServerConfig) -> None:
    if config.transport == "stdio":
        raise InvalidInput(
            f"Server '{config.name}' is a program on this machine; it signs in by itself.",
            hint="Set what it needs in its environment.",
        )


@asynccontextmanager
async def open_sign_in(
    config: ServerConfig, credentials: Credentials, *, scopes: tuple[str, ...] = ()
) -> AsyncGenerator[SignIn]:
    """Prepare a sign-in; everything that it opens is closed at the end of the block.

    Args:
        config: The server, with the identity that signs in.
        credentials: The store of sign-ins.
        scopes: Scopes to request instead of those in the definition or from the server.

    Raises:
        InvalidInput: This server accepts no sign-in, or the configured port is taken.
    """
    check_sign_in(config)
    async with open_loopback(config, config.oauth.callback_port if config.oauth is not None else 0) as loopback:
        yield SignIn(config, credentials, loopback, scopes)


async def keep(config: ServerConfig, credentials: Credentials, credential: Credential) -> SignedIn:
    """Store a sign-in, so that all connections of this process use it."""
    await credentials.save(config, credential.dump())
    forget(config)
    event(_logger, "signed_in", server=config.name, issuer=credential.issuer, expires_at=credential.expires_at)
    return SignedIn(credential.issuer, credential.scope or "", credential.expires_at, bool(credential.refresh))


async def sign_out(config: ServerConfig, credentials: Credentials) -> bool:
    """Delete a sign-in, then ask the authorization server to revoke it.

    Returns:
        Whether the authorization server has confirmed it; not all servers support revocation.

    Raises:
        InvalidInput: The server is a local program.
        NotFound: Nobody is signed in.
    """
    await check_sign_out(config, credentials)
    try:
        held = read_credential(config, await credentials.load(config))
    except ConfigurationError:
        held = None  # sealed with a lost key: it can only be deleted
    await credentials.clear(config)
    forget(config)
    event(_logger, "signed_out", server=config.name)
    if held is None or held.tokens is None or not held.revocation_endpoint:
        return False
    try:
        async with open_endpoint(config) as endpoint:
            # Revoking the refresh token also ends its access tokens (RFC 7009, section 2.1), if the server can.
            form = {"token": held.refresh or held.access}
            answer = await endpoint.send(authenticated(config, held, held.revocation_endpoint, form))
    except UpstreamError as error:
        event(_logger, "sign_in_not_revoked", level=logging.WARNING, server=config.name, reason=error.message)
        return False
    return answer.is_success


def sign_in_state(config: ServerConfig, value: JSON | None) -> State:
    """Whether a person is signed in at a server, or must sign in.

    Args:
        config: The server.
        value: The stored value.

    Returns:
        `done`, `needed`, or empty if no sign-in is known to be needed.
    """
    credential = read_credential(config, value)
    if credential is None:  # a stored value is for the server's former address
        return "" if value is None else "needed"
    if credential.problem:
        return "needed"
    return "done" if credential.tokens is not None else ""


async def _probe(config: ServerConfig) -> tuple[httpx2.Request, httpx2.Response]:
    """Send the server a harmless request, to learn how to sign in."""
    headers = {**config.headers, "Accept": "application/json, text/event-stream", MCP_PROTOCOL_VERSION_HEADER: PROTOCOL}
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(_PROBE_SECONDS)) as client:
        method, body = ("GET", None) if config.transport == "sse" else ("POST", _PING)
        request = client.build_request(method, config.url, headers=headers, json=body)
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                answer = await client.send(request, stream=True)  # an event stream does not end
                await answer.aclose()
        except (httpx2.TransportError, TimeoutError) as error:
            raise UpstreamError(
                f"Server '{config.name}' cannot be reached at {shown_address(config.url)} ({type(error).__name__}).",
                hint="Is it running? Check the address.",
            ) from None
    return request, answer


def _is_document(client: OAuthClient) -> bool:
    return not client.client_secret and is_valid_client_metadata_url(client.client_id)


def _preset(client: OAuthClient) -> OAuthClientInformationFull | None:
    """The owner's registration; None to register dynamically."""
    if not client.client_id or _is_document(client):
        return None
    method = None if client.client_secret else "none"
    return OAuthClientInformationFull(
        client_id=client.client_id,
        client_secret=client.client_secret or None,
        token_endpoint_auth_method=method,
        issuer=client.issuer or None,
    )
