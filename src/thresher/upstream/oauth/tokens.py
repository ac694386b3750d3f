"""The access token of a server and identity, shared by all connections of this process, and its use in requests.

Invariant: callers that ask while a token is being renewed wait for the same renewal, and cancelling one does not stop
it; the stored credential is read again every few seconds in the background, so that changes by others are seen. A
request never waits for a person, and for a renewal only if its token is unusable; a token is sent only to the
origin for which it was obtained; at most two tokens are tried for a request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from http import HTTPStatus
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

from thresher.core import StoreError, event
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth.credential import Credential, Credentials, address_of, read_credential
from thresher.upstream.oauth.failures import SignInNeeded, sign_in_needed
from thresher.upstream.oauth.grants import machine_client
from thresher.upstream.oauth.renewal import renew

_AUTHORIZATION = "Authorization"
_CHALLENGE = "WWW-Authenticate"


def auth_for(config: ServerConfig, credentials: Credentials | None) -> StoredTokens | None:
    """How requests to a server are authorized.

    Args:
        config: The server, with the identity whose credentials to use.
        credentials: The store of sign-ins; None without one.

    Returns:
        Authorization with the stored sign-in; None for a child process, or a server whose owner has configured an
        `Authorization` header.
    """
    if credentials is None or not _takes_tokens(config):
        return None
    return StoredTokens(config, token_source(config, credentials))


def identity_for(config: ServerConfig, *, owner: str | None, user: str | None) -> str:
    """The identity whose credentials a caller uses at a server.

    Args:
        config: The server.
        owner: The user who added it; None for the whole tenant.
        user: The calling user.

    Returns:
        The calling user if each user signs in separately, else the owner; empty for the whole tenant.
    """
    shared = config.oauth is not None and config.oauth.shared
    personal = _takes_tokens(config) and machine_client(config) is None and not shared
    return (user if personal else owner) or ""


def _takes_tokens(config: ServerConfig) -> bool:
    headers = {name.lower() for name in config.headers}
    return config.transport != "stdio" and _AUTHORIZATION.lower() not in headers


class StoredTokens(httpx2.Auth):
    """Authorization for one connection; all connections of a server and identity share the source of tokens."""

    def __init__(self, config: ServerConfig, keeper: TokenSource) -> None:
        self._config = config
        self._keeper = keeper
        self._origin = _origin(httpx2.URL(config.url))

    def quick(self, url: httpx2.URL) -> str | None:
        """The token for a request that most likely needs no further steps; a refusal shows if it does.

        Returns:
            The token, empty for none; None if the request must go through the flow.
        """
        token = self._keeper.ready() if _origin(url) == self._origin else None
        return token if not token or self._keeper.accepted(token) else None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token, and again with another one if the server refuses the first.

        Raises:
            SignInNeeded: A person must sign in first.
            UpstreamError: The token has expired and cannot be renewed at the moment.
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
        """Check whether a refusal (403) is due to missing permissions.

        Args:
            challenge: The answer's `WWW-Authenticate` header; empty without one.

        Raises:
            SignInNeeded: It is; the error names the permissions.
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


_logger = logging.getLogger("thresher.upstream")
FRESH_SECONDS = 10.0
"""Seconds between checks for credentials that others have stored."""
_AHEAD_SECONDS = 5.0
"""Seconds between attempts to renew a token that is still valid."""
_PATIENCE_SECONDS = 60.0
"""Seconds without a further renewal after the server has refused a fresh token."""
_NEVER = float("-inf")
T = TypeVar("T")
_Key = tuple[object, ...]
_keepers: WeakValueDictionary[_Key, TokenSource] = WeakValueDictionary()
_running: set[asyncio.Task[Any]] = set()


def token_source(config: ServerConfig, credentials: Credentials) -> TokenSource:
    """The shared source of a server's token for an identity; it lives as long as it is in use."""
    key = (id(credentials), config.tenant, config.identity, config.name, config.url, config.oauth)
    keeper = _keepers.get(key)
    if keeper is None:
        keeper = _keepers[key] = TokenSource(config, credentials)
    return keeper


def forget(config: ServerConfig) -> None:
    """Make the token sources of this server and identity read again after a sign-in or sign-out."""
    for keeper in list(_keepers.values()):
        if keeper.whose == (config.tenant, config.identity, config.name):
            keeper.forget()


async def settle_sign_ins(seconds: float = 10.0) -> None:
    """Wait for running renewals, so that no token is lost when the process ends."""
    if _running:
        await asyncio.wait(set(_running), timeout=seconds)


class _SharedRun(Generic[T]):
    """Runs work once at a time; concurrent callers share the result."""

    def __init__(self, work: Callable[..., Coroutine[Any, Any, T]]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None

    def begin(self, *arguments: object) -> asyncio.Task[T]:
        """Start the work unless it is running."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(*arguments))
            _running.add(self._task)
            self._task.add_done_callback(_ended)
        return self._task

    async def __call__(self, *arguments: object) -> T:
        """Do the work or wait for the current run; cancelling a caller does not stop it."""
        return await asyncio.shield(self.begin(*arguments))


def _ended(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled():
        task.exception()  # all callers may be gone; asyncio would report the exception as never retrieved


class TokenSource:
    """Provides the access token, and renews it."""

    def __init__(self, config: ServerConfig, credentials: Credentials) -> None:
        self._config = config
        self._credentials = credentials
        self._held: Credential | None = None
        self._read_at = self._looked_at = _NEVER
        self._renewed_at = self._ahead_at = _NEVER
        self._accepted = ""
        self._changes = 0
        self._read = _SharedRun(self._load)
        self._renew = _SharedRun(self._renewed)

    @property
    def whose(self) -> tuple[int, str, str]:
        """Tenant, identity and server."""
        return (self._config.tenant, self._config.identity, self._config.name)

    def forget(self) -> None:
        """Read the stored credential again before the next use."""
        self._read_at = self._renewed_at = _NEVER
        self._changes += 1

    def accepted(self, token: str) -> bool:
        """Whether the server is known to accept this token; the last accepted one is remembered."""
        return token == self._accepted and not (self._held is not None and self._held.problem)

    def ready(self) -> str | None:
        """The token to send now, empty for none; None if it must be read or renewed first."""
        held = self._held
        if self._read_at == _NEVER:
            return None
        self._look_again()
        if held is None or held.tokens is None:
            return None if machine_client(self._config) is not None else ""
        return None if held.refused or held.due(time.time()) else held.access

    async def token(self) -> str:
        """Return the token to send, renewed if necessary; empty if nobody has signed in.

        Raises:
            SignInNeeded: The sign-in is no longer valid.
            UpstreamError: The token has expired and cannot be renewed at the moment.
            StoreError: The database is unavailable, and no credential was read before.
        """
        held = await self._current()
        if held is None or held.tokens is None:
            return "" if machine_client(self._config) is None else (await self._renew("")).access
        now = time.time()
        if held.refused or held.expired(now):
            return (await self._renew(held.access)).access
        if held.due(now) and time.monotonic() - self._ahead_at > _AHEAD_SECONDS:
            self._ahead_at = time.monotonic()
            self._renew.begin(held.access)
        return held.access

    async def replace(self, refused: str) -> str:
        """Return another token in place of one that the server has just refused.

        Raises:
            SignInNeeded: It needs a person.
            UpstreamError: It cannot be renewed at the moment.
        """
        held = self._held
        if held is not None and held.access not in ("", refused) and not held.due(time.time()):
            return held.access  # a concurrent call has renewed it
        if refused != self._accepted and time.monotonic() - self._renewed_at < _PATIENCE_SECONDS:
            raise self.refusal()
        try:
            renewed = await self._renew(refused)
        except SignInNeeded as needed:
            await self._mark(needed)
            raise
        self._renewed_at = time.monotonic()
        return renewed.access

    def refusal(self) -> SignInNeeded:
        """The error of a server that refuses a fresh token."""
        return sign_in_needed(self._config, "it refuses even a token that was just issued")

    async def accept(self, token: str) -> None:
        """Note that the server has accepted a token, and clear a recorded need for a sign-in."""
        self._accepted = token
        if self._held is not None and self._held.problem:
            await self._change_problem("")

    async def _mark(self, needed: SignInNeeded) -> None:
        event(_logger, "sign_in_needed", level=logging.WARNING, server=self._config.name, reason=needed.message)
        await self._change_problem(needed.message.partition(": ")[2].rstrip("."))

    async def _change_problem(self, problem: str) -> None:
        """Record for all processes whether a sign-in is needed; it does not matter if that cannot be stored."""
        try:
            value = await self._credentials.load(self._config)
            stored = read_credential(self._config, value)
            if stored is None and value is not None:
                return  # for the server's former address; must not be replaced
            stored = stored or Credential(address=address_of(self._config))
            if stored.problem == problem or stored.refused:
                self._held = stored
                return
            marked = stored.changed(problem=problem)
            if await self._credentials.exchange(self._config, value, marked.dump()):
                self._held = marked
        except StoreError as error:
            event(_logger, "sign_in_not_noted", level=logging.WARNING, server=self._config.name, reason=error.message)

    async def _current(self) -> Credential | None:
        if self._read_at == _NEVER:
            return await self._read()
        self._look_again()
        return self._held

    def _look_again(self) -> None:
        """Check in the background for credentials stored by others: the database may be slow or unavailable."""
        now = time.monotonic()
        if now - max(self._read_at, self._looked_at) > FRESH_SECONDS:
            self._looked_at = now
            self._read.begin()

    async def _load(self) -> Credential | None:
        while True:
            changes = self._changes
            held = read_credential(self._config, await self._credentials.load(self._config))
            if changes == self._changes:  # else a newer credential has been stored meanwhile
                self._held, self._read_at = held, time.monotonic()
                return held

    async def _renewed(self, unfit: str) -> Credential:
        held = await renew(self._config, self._credentials, unfit)
        self._changes += 1
        self._held, self._read_at = held, time.monotonic()
        return held
