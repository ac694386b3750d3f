"""Puts the stored token on each request to a server, and gets another one when it ends or is refused.

Invariant: a request waits for a person never, and for a renewal only when its token is of no use; a token goes to the
origin that it was obtained for and nowhere else; at most two tokens are tried for a request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from http import HTTPStatus

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth.credential import Credentials
from thresher.upstream.oauth.failures import sign_in_needed
from thresher.upstream.oauth.grants import machine_client
from thresher.upstream.oauth.keeper import Keeper, keeper_of

_AUTHORIZATION = "Authorization"
_CHALLENGE = "WWW-Authenticate"


def auth_for(config: ServerConfig, credentials: Credentials | None) -> StoredTokens | None:
    """How requests to a server are authorized.

    Args:
        config: The server, and whose credentials to use.
        credentials: Where sign-ins are stored; None where there are none.

    Returns:
        Authorization by the stored sign-in; None where there can be none: a child process, or a server whose owner
        has configured an `Authorization` header.
    """
    if credentials is None or not _takes_tokens(config):
        return None
    return StoredTokens(config, keeper_of(config, credentials))


def identity_for(config: ServerConfig, *, owner: str | None, user: str | None) -> str:
    """Whose credentials a caller uses at a server.

    Args:
        config: The server.
        owner: The user who has added it; None for the tenant as a whole.
        user: The caller.

    Returns:
        The caller where each person signs in for himself, else the owner; empty for the tenant as a whole.
    """
    shared = config.oauth is not None and config.oauth.shared
    personal = _takes_tokens(config) and machine_client(config) is None and not shared
    return (user if personal else owner) or ""


def _takes_tokens(config: ServerConfig) -> bool:
    headers = {name.lower() for name in config.headers}
    return config.transport != "stdio" and _AUTHORIZATION.lower() not in headers


class StoredTokens(httpx2.Auth):
    """Authorization of one connection; all connections of a server and identity share the keeper."""

    def __init__(self, config: ServerConfig, keeper: Keeper) -> None:
        self._config = config
        self._keeper = keeper
        self._origin = _origin(httpx2.URL(config.url))

    def quick(self, url: httpx2.URL) -> str | None:
        """The token for a request that most likely needs nothing more; whatever it is refused with tells.

        Returns:
            The token, empty for none; None when the request has to go through the flow.
        """
        token = self._keeper.ready() if _origin(url) == self._origin else None
        return token if not token or self._keeper.accepted(token) else None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token; once more with another one if the server refuses the first.

        Raises:
            SignInNeeded: Somebody has to sign in first.
            UpstreamError: The token has ended and cannot be renewed for the moment.
        """
        if _origin(request.url) != self._origin:
            yield request
            return
        token = self._keeper.ready()
        if token is None:
            token = await self._keeper.token()
        response = yield _with(request, token)
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            token = await self._keeper.replace(token)
            response = yield _with(request, token)
            if response.status_code == HTTPStatus.UNAUTHORIZED:
                raise self._keeper.refusal()
        if response.status_code == HTTPStatus.FORBIDDEN:
            self.check_scope(response.headers.get(_CHALLENGE, ""))
        if token and response.status_code < HTTPStatus.BAD_REQUEST and not self._keeper.accepted(token):
            await self._keeper.accept(token)

    def check_scope(self, challenge: str) -> None:
        """Look whether a refusal (403) is one for lack of permissions.

        Args:
            challenge: The answer's `WWW-Authenticate` header; empty without one.

        Raises:
            SignInNeeded: It is, and the permissions are named.
        """
        answer = httpx2.Response(HTTPStatus.FORBIDDEN, headers={_CHALLENGE: challenge})
        if extract_field_from_www_auth(answer, "error") == "insufficient_scope":
            scope = extract_field_from_www_auth(answer, "scope") or ""
            raise sign_in_needed(self._config, "it wants further permissions", scope=scope)


def _with(request: httpx2.Request, token: str) -> httpx2.Request:
    if token:
        request.headers[_AUTHORIZATION] = f"Bearer {token}"
    return request


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
