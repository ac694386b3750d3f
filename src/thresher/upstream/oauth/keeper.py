"""The token of one server and identity as this process knows it, for every connection that uses it.

Invariant: whoever asks while a token is being renewed waits for the same renewal, and giving up waiting does not stop
it; what is known is read again every few seconds beside the calls, so that what others have stored is seen.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from thresher.core import StoreError, event
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth.credential import Credential, Credentials, address_of, read_credential
from thresher.upstream.oauth.failures import SignInNeeded, sign_in_needed
from thresher.upstream.oauth.grants import machine_client
from thresher.upstream.oauth.renewal import renew

_logger = logging.getLogger("thresher.upstream")
FRESH_SECONDS = 10.0
"""How long this process goes on without asking what other processes, or a person, have stored."""
_AHEAD_SECONDS = 5.0
"""Between attempts to renew a token that can still be used."""
_PATIENCE_SECONDS = 60.0
"""After a server has refused a token that we had just got anew, no further one is got for it for so long."""
_NEVER = float("-inf")
T = TypeVar("T")
_Key = tuple[object, ...]
_keepers: WeakValueDictionary[_Key, Keeper] = WeakValueDictionary()
_running: set[asyncio.Task[Any]] = set()


def keeper_of(config: ServerConfig, credentials: Credentials) -> Keeper:
    """The one keeper of a server's token for an identity; it lives as long as somebody uses it."""
    key = (id(credentials), config.tenant, config.identity, config.name, config.url, config.oauth)
    keeper = _keepers.get(key)
    if keeper is None:
        keeper = _keepers[key] = Keeper(config, credentials)
    return keeper


def forget(config: ServerConfig) -> None:
    """Let the keepers of this server and identity read anew: somebody has signed in or out."""
    for keeper in list(_keepers.values()):
        if keeper.whose == (config.tenant, config.identity, config.name):
            keeper.forget()


async def settle_sign_ins(seconds: float = 10.0) -> None:
    """Wait for renewals under way, so that no token is lost when the process ends."""
    if _running:
        await asyncio.wait(set(_running), timeout=seconds)


class _Shared(Generic[T]):
    """One run of some work at a time; whoever asks meanwhile gets its outcome."""

    def __init__(self, work: Callable[..., Coroutine[Any, Any, T]]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None

    def begin(self, *arguments: object) -> asyncio.Task[T]:
        """Start the work unless it is under way."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(*arguments))
            _running.add(self._task)
            self._task.add_done_callback(_ended)
        return self._task

    async def __call__(self, *arguments: object) -> T:
        """Do the work, or wait for the run that is under way; giving up does not stop it."""
        return await asyncio.shield(self.begin(*arguments))


def _ended(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled():
        task.exception()  # whoever waited may have given up; asyncio would complain of an error that nobody read


class Keeper:
    """Hands out the access token, and gets new ones."""

    def __init__(self, config: ServerConfig, credentials: Credentials) -> None:
        self._config = config
        self._credentials = credentials
        self._held: Credential | None = None
        self._read_at = self._looked_at = _NEVER
        self._renewed_at = self._ahead_at = _NEVER
        self._accepted = ""
        self._changes = 0
        self._read = _Shared(self._load)
        self._renew = _Shared(self._renewed)

    @property
    def whose(self) -> tuple[int, str, str]:
        """Tenant, identity and server."""
        return (self._config.tenant, self._config.identity, self._config.name)

    def forget(self) -> None:
        """Read anew before the next use."""
        self._read_at = self._renewed_at = _NEVER
        self._changes += 1

    def accepted(self, token: str) -> bool:
        """Whether the server is known to take this token; the last one is remembered."""
        return token == self._accepted and not (self._held is not None and self._held.problem)

    def ready(self) -> str | None:
        """The token to send now, empty for none; None when that takes asking or renewing."""
        held = self._held
        if self._read_at == _NEVER:
            return None
        self._look_again()
        if held is None or held.tokens is None:
            return None if machine_client(self._config) is not None else ""
        return None if held.refused or held.due(time.time()) else held.access

    async def token(self) -> str:
        """The token to send, renewed if need be; empty when nobody has signed in.

        Raises:
            SignInNeeded: The sign-in has ended.
            UpstreamError: The token has ended and cannot be renewed for the moment.
            StoreError: The database is away, and nothing is known yet.
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
        """Another token than the one that the server has just refused.

        Raises:
            SignInNeeded: There is none without a person.
            UpstreamError: It cannot be had for the moment.
        """
        held = self._held
        if held is not None and held.access not in ("", refused) and not held.due(time.time()):
            return held.access  # a call beside this one has renewed it
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
        """The server refuses a token that it was just given anew."""
        return sign_in_needed(self._config, "it refuses even a token that was just issued")

    async def accept(self, token: str) -> None:
        """The server has taken a token, so that nobody has to sign in, whatever was said before."""
        self._accepted = token
        if self._held is not None and self._held.problem:
            await self._change_problem("")

    async def _mark(self, needed: SignInNeeded) -> None:
        event(_logger, "sign_in_needed", level=logging.WARNING, server=self._config.name, reason=needed.message)
        await self._change_problem(needed.message.partition(": ")[2].rstrip("."))

    async def _change_problem(self, problem: str) -> None:
        """Let everybody see whether a sign-in is needed; it is no loss when that cannot be stored."""
        try:
            value = await self._credentials.load(self._config)
            stored = read_credential(self._config, value)
            if stored is None and value is not None:
                return  # of the server's former address; it is not ours to replace
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
        """Read what others may have stored since, beside the calls: the database may be slow, or away."""
        now = time.monotonic()
        if now - max(self._read_at, self._looked_at) > FRESH_SECONDS:
            self._looked_at = now
            self._read.begin()

    async def _load(self) -> Credential | None:
        while True:
            changes = self._changes
            held = read_credential(self._config, await self._credentials.load(self._config))
            if changes == self._changes:  # else what was read may be older than what is known by now
                self._held, self._read_at = held, time.monotonic()
                return held

    async def _renewed(self, unfit: str) -> Credential:
        held = await renew(self._config, self._credentials, unfit)
        self._changes += 1
        self._held, self._read_at = held, time.monotonic()
        return held
