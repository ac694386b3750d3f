"""Drives the MCP library's OAuth flow: the library discovers, registers and exchanges; this module sends and stores.

The library's provider is not used for calls: it holds a lock during each whole request, drops tokens after any failed
refresh, and does not know a stored token's expiry or token endpoint.

Invariant: only our own errors leave this module, and the library's log lines, which quote foreign answers, are dropped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from urllib.parse import urljoin

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from pydantic import ValidationError

from thresher.core import UpstreamRefused
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth.credential import Credential, address_of
from thresher.upstream.oauth.endpoint import OAuthEndpoint, is_token_request, read_tokens
from thresher.upstream.oauth.failures import clean

# Its lines quote answers with tokens and secrets; our own errors describe what went wrong.
logging.getLogger("mcp.client.auth.oauth2").disabled = True

_ENOUGH_REQUESTS = 40
"""More than discovery, registration and exchange need, including redirects."""


class FlowStorage:
    """The library's `TokenStorage` for a single flow, in memory only.

    Args:
        client: A registration to use instead of a new one.
    """

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return None: a flow obtains tokens and does not renew them."""
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store the flow's result."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registration to use."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a new registration."""
        self.client = client_info


def challenge(request: httpx2.Request, answer: httpx2.Response | None, scopes: tuple[str, ...]) -> httpx2.Response:
    """The 401 that starts the flow.

    Args:
        request: The request to the server.
        answer: The server's answer; None if it was not asked.
        scopes: Scopes to request instead of those that the server names.
    """
    asked = answer is not None and answer.status_code in (401, 403)
    words = {
        "resource_metadata": extract_field_from_www_auth(answer, "resource_metadata") if asked and answer else None,
        "scope": " ".join(scopes) or (extract_field_from_www_auth(answer, "scope") if asked and answer else None),
    }
    shown = ", ".join(f'{name}="{clean(value).replace(chr(34), "")}"' for name, value in words.items() if value)
    headers = {"WWW-Authenticate": f"Bearer {shown}"} if shown else {}
    return httpx2.Response(401, headers=headers, request=request)


async def run_flow(
    config: ServerConfig,
    provider: OAuthClientProvider,
    endpoint: OAuthEndpoint,
    request: httpx2.Request,
    answer: httpx2.Response,
    *,
    now: Callable[[], float] = time.time,
) -> Credential:
    """Obtain tokens.

    Args:
        config: The server.
        provider: The library's flow, with `FlowStorage`.
        endpoint: Sends its requests.
        request: The request that the flow authorizes; it is not sent again.
        answer: The server's 401; see `challenge`.
        now: The clock, in seconds since the epoch.

    Returns:
        The credential, not yet stored.

    Raises:
        GrantRefused: The authorization server refused permanently.
        UpstreamRefused: It, or the server's metadata, does not allow a sign-in.
        UpstreamError: One of them gave no usable answer.
    """
    try:
        await _drive(config, provider, endpoint, request, answer)
    except OAuthRegistrationError as error:
        # The library quotes an answer that it could not read.
        words = "its answer is not usable" if isinstance(error.__cause__, ValueError) else clean(str(error))
        raise UpstreamRefused(
            f"The authorization server of '{config.name}' does not let us register: {words}.",
            hint='Register a client there by hand and name it in the server\'s definition: "oauth": {"clientId": ...}.',
        ) from None
    except ValidationError as error:
        fields = ", ".join(str(problem["loc"][-1]) for problem in error.errors(include_input=False) if problem["loc"])
        raise UpstreamRefused(f"The sign-in metadata of server '{config.name}' is not usable ({fields}).") from None
    except OAuthFlowError as error:
        raise UpstreamRefused(
            f"Signing in at server '{config.name}' is not possible: {clean(str(error))}.",
            hint="The server's metadata is wrong: report it there.",
        ) from None
    return _obtained(config, provider, now())


async def _drive(
    config: ServerConfig,
    provider: OAuthClientProvider,
    endpoint: OAuthEndpoint,
    request: httpx2.Request,
    answer: httpx2.Response,
) -> None:
    flow = provider.async_auth_flow(request)
    try:
        outgoing = await anext(flow)
        response = answer
        for _ in range(_ENOUGH_REQUESTS):
            outgoing = await flow.asend(response)
            if outgoing is request:
                return  # it carries a token now
            response = await endpoint.send(outgoing)
            if is_token_request(outgoing) and response.next_request is None:
                tokens = read_tokens(config, response, secrets=_secrets(provider))
                # What we have read tolerantly, in the library's stricter form.
                response = httpx2.Response(200, content=tokens.model_dump_json(exclude_none=True), request=outgoing)
        raise UpstreamRefused(f"Signing in at server '{config.name}' leads to endless redirects.")
    finally:
        await flow.aclose()


def _secrets(provider: OAuthClientProvider) -> list[str]:
    client = provider.context.client_info
    return [client.client_secret] if client is not None and client.client_secret else []


def _obtained(config: ServerConfig, provider: OAuthClientProvider, now: float) -> Credential:
    context = provider.context
    metadata, tokens = context.oauth_metadata, context.current_tokens
    if tokens is None:
        raise UpstreamRefused(f"Signing in at server '{config.name}' ended without a token.")
    base = context.get_authorization_base_url(config.url)
    with_resource = context.should_include_resource_param(context.protocol_version)
    return Credential(
        address=address_of(config),
        client=context.client_info,
        issuer=str(metadata.issuer) if metadata is not None else "",
        token_endpoint=str(metadata.token_endpoint) if metadata is not None else urljoin(base, "/token"),
        revocation_endpoint=str(metadata.revocation_endpoint or "") if metadata is not None else "",
        resource=context.get_resource_url() if with_resource else "",
    ).renewed(tokens, now)


def settle_method(client: OAuthClientInformationFull, metadata: OAuthMetadata | None) -> OAuthClientInformationFull:
    """Set how a client proves its secret, if its registration does not.

    By RFC 8414, section 2, a server that lists no methods takes `client_secret_basic`.
    """
    if client.token_endpoint_auth_method is not None or client.client_secret is None:
        return client
    offered = (metadata.token_endpoint_auth_methods_supported if metadata is not None else None) or []
    method = "client_secret_post" if "client_secret_post" in offered and "client_secret_basic" not in offered else None
    return client.model_copy(update={"token_endpoint_auth_method": method or "client_secret_basic"})
