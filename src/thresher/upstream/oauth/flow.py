"""Runs the MCP library's OAuth flow by hand: it finds the servers, registers, and exchanges; we send and we store.

The library's provider is not used on calls: it holds a lock over each whole request, forgets tokens after any failed
refresh, and does not know a stored token's expiry or its token endpoint. Driven by hand it does what it is good at.

Invariant: only our own errors leave this module, and what the library logs of foreign answers is dropped.
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
from thresher.upstream.oauth.endpoint import Endpoint, is_token_request, read_tokens
from thresher.upstream.oauth.failures import clean

# Its lines quote authorization answers, tokens and secrets included; what went wrong is in our own errors.
logging.getLogger("mcp.client.auth.oauth2").disabled = True

_ENOUGH_REQUESTS = 40
"""More than discovery, registration and exchange with all their redirects can need."""


class Memory:
    """What one flow starts from and what it obtains: the library's `TokenStorage`, kept nowhere.

    Args:
        client: A registration to use in place of a new one.
    """

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """None: a flow obtains tokens, it does not renew them."""
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Take the flow's result."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The registration to use."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Take a new registration."""
        self.client = client_info


def challenge(request: httpx2.Request, answer: httpx2.Response | None, scopes: tuple[str, ...]) -> httpx2.Response:
    """The 401 that starts the flow.

    Args:
        request: What was asked of the server.
        answer: What it said; None when it was not asked.
        scopes: What to ask for in place of what the server names.
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
    endpoint: Endpoint,
    request: httpx2.Request,
    answer: httpx2.Response,
    *,
    now: Callable[[], float] = time.time,
) -> Credential:
    """Obtain tokens.

    Args:
        config: The server.
        provider: The library's flow, over a `Memory`.
        endpoint: Sends its requests.
        request: What the flow believes to authorize; it is not sent again.
        answer: The server's 401; see `challenge`.
        now: The clock, in seconds of the epoch.

    Returns:
        The credential, not yet stored.

    Raises:
        GrantRefused: The authorization server refused for good.
        UpstreamRefused: It, or the server's metadata, does not allow a sign-in.
        UpstreamError: One of them gave no usable answer.
    """
    try:
        await _drive(config, provider, endpoint, request, answer)
    except OAuthRegistrationError as error:
        # Where the answer could not be read the library quotes it.
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
            hint="This is a fault of that server's metadata: report it there.",
        ) from None
    return _obtained(config, provider, now())


async def _drive(
    config: ServerConfig,
    provider: OAuthClientProvider,
    endpoint: Endpoint,
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
                # The tolerant reading, in the library's stricter form.
                response = httpx2.Response(200, content=tokens.model_dump_json(exclude_none=True), request=outgoing)
        raise UpstreamRefused(f"Signing in at server '{config.name}' leads from one address to the next without end.")
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
    """Say how a client with a secret proves it, where its registration does not.

    By RFC 8414, section 2, a server that lists no methods takes `client_secret_basic`.
    """
    if client.token_endpoint_auth_method is not None or client.client_secret is None:
        return client
    offered = (metadata.token_endpoint_auth_methods_supported if metadata is not None else None) or []
    method = "client_secret_post" if "client_secret_post" in offered and "client_secret_basic" not in offered else None
    return client.model_copy(update={"token_endpoint_auth_method": method or "client_secret_basic"})
