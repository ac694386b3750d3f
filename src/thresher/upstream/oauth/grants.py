"""The two grants that need no person: a refresh token, and client credentials.

Invariant: a grant is requested only from the authorization server of the sign-in.
"""

from __future__ import annotations

import base64
import time
import warnings
from typing import Literal
from urllib.parse import quote

import httpx2
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from thresher.upstream.config import OAuthClient, ServerConfig
from thresher.upstream.oauth.credential import Credential
from thresher.upstream.oauth.endpoint import OAuthEndpoint, check_address, open_endpoint
from thresher.upstream.oauth.failures import GrantRefused, sign_in_needed
from thresher.upstream.oauth.flow import FlowStorage, challenge, run_flow

PROTOCOL = "2025-11-25"
"""Passed to the library's flow, which then requests tokens for this server alone (RFC 8707)."""
Method = Literal["client_secret_basic", "client_secret_post"]
_METHODS: tuple[Method, ...] = ("client_secret_basic", "client_secret_post")


def machine_client(config: ServerConfig) -> OAuthClient | None:
    """The configured client whose own rights are used; None if a person signs in."""
    return config.oauth if config.oauth is not None and config.oauth.grant == "client_credentials" else None


async def obtain(config: ServerConfig, held: Credential | None) -> Credential:
    """Get a new token without a person.

    Args:
        config: The server.
        held: The stored credential.

    Raises:
        SignInNeeded: It needs a person.
        GrantRefused: The authorization server refuses permanently.
        UpstreamError: It gave no usable answer, or refuses temporarily.
    """
    async with open_endpoint(config) as endpoint:
        if (client := machine_client(config)) is not None:
            return await _client_credentials(config, client, held.issuer if held is not None else "", endpoint)
        return await _refreshed(config, check_renewable(config, held), endpoint)


def check_renewable(config: ServerConfig, held: Credential | None) -> Credential:
    """Return the stored credential if it can be renewed without a person.

    Raises:
        SignInNeeded: It cannot.
    """
    if held is None or held.tokens is None:
        raise sign_in_needed(config, "nobody has signed in")
    if held.refused:
        raise sign_in_needed(config, held.problem or "the sign-in is no longer valid")
    if not held.refresh:
        raise sign_in_needed(config, "the sign-in has ended and the server gave no means to renew it")
    return held


async def _refreshed(config: ServerConfig, held: Credential, endpoint: OAuthEndpoint) -> Credential:
    check_address(config, held.token_endpoint)
    form = {"grant_type": "refresh_token", "refresh_token": held.refresh}
    if held.resource:
        form["resource"] = held.resource
    request = authenticated(config, held, held.token_endpoint, form)
    return held.renewed(await endpoint.tokens(request), time.time())


def authenticated(config: ServerConfig, held: Credential, url: str, form: dict[str, str]) -> httpx2.Request:
    """A request to the authorization server, authenticated as our client (RFC 6749, section 2.3.1)."""
    client, secret = held.client, ""
    headers: dict[str, str] = {}
    if client is not None:
        secret = _secret(config, client)
        form = {**form, "client_id": client.client_id}
        if secret and client.token_endpoint_auth_method == "client_secret_post":  # noqa: S105 - a method, not a secret
            form["client_secret"] = secret
        elif secret:
            pair = f"{quote(client.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return httpx2.Request("POST", url, data=form, headers=headers)


def _secret(config: ServerConfig, client: OAuthClientInformationFull) -> str:
    if client.token_endpoint_auth_method == "none":  # noqa: S105 - a method, not a secret
        return ""
    if config.oauth is not None and config.oauth.client_id == client.client_id and config.oauth.client_secret:
        return config.oauth.client_secret  # the owner may have changed it since
    return client.client_secret or ""


async def _client_credentials(
    config: ServerConfig, client: OAuthClient, known: str, endpoint: OAuthEndpoint
) -> Credential:
    """Try the usual method to prove the secret, then the other one if the server supports only that.

    Without a configured issuer, the first one that issued a token remains the only one.
    """
    for method in _METHODS:
        provider = _provider(config, client, client.issuer or known, method)
        request = httpx2.Request("POST", config.url, headers={MCP_PROTOCOL_VERSION_HEADER: PROTOCOL})
        try:
            return await run_flow(config, provider, endpoint, request, challenge(request, None, client.scopes))
        except GrantRefused as refusal:
            metadata = provider.context.oauth_metadata
            offered = (metadata.token_endpoint_auth_methods_supported if metadata is not None else None) or []
            if not refusal.client or method == _METHODS[-1] or _METHODS[-1] not in offered:
                raise
    raise AssertionError("the last method returns or raises")


def _provider(config: ServerConfig, client: OAuthClient, issuer: str, method: Method) -> ClientCredentialsOAuthProvider:
    with warnings.catch_warnings():
        # The library expects an issuer, which is unknown at the first contact.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return ClientCredentialsOAuthProvider(
            config.url,
            FlowStorage(),
            client_id=client.client_id,
            client_secret=client.client_secret,
            token_endpoint_auth_method=method,
            scope=" ".join(client.scopes) or None,
            issuer=issuer or None,
        )
