"""API keys: each authenticates its holder for a tenant, and for a user inside it.

Invariant: the text of a key exists only when it is created and with its holder; the database and this process know its
SHA-256. A key has 256 random bits, so a plain hash cannot be searched, and the duration of a comparison of hashes
reveals nothing. A revoked key is refused at once by the process that revoked it, and within `FRESH_SECONDS` by any
other.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
import re
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from cachetools import LRUCache
from sqlalchemy import Row, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from thresher.core import Caller, Conflict, NotFound, StoreUnavailable, Tenant, ThresherError, checked_label, event
from thresher.store.engine import Database
from thresher.store.tables import access_key

_logger = logging.getLogger("thresher.store")

FRESH_SECONDS = 2.0
"""How long the database's answer about a key is used."""
USE_SECONDS = 60.0
"""Least time between two writes of a key's last use."""
LOOKUPS = 2
"""Most lookups at once: a flood of unknown keys uses no more connections."""
WAITING = 64
"""Most lookups that wait for their turn; further ones are refused."""
KNOWN = 10_000
"""Most keys kept in memory between two uses."""

PLACEHOLDERS = frozenset({"", "x", "none", "EMPTY", "dummy", "ollama", "sk-none", "sk-no-key-required"})
"""Values given to clients that insist on a key where none is needed; no key has the form of one of them."""

_FORM = re.compile(r"thr_[A-Za-z0-9_-]{43}")
_NOBODY: Final = Tenant(0, "")
_HOLDER = "select id, tenant_id, tenant_name, owner from key_holder(%s)"
_EXIST = "select keys_exist()"
_USED = "update access_key set used_at = now() where tenant_id = %s and id = %s returning id"


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key as people may see it.

    Attributes:
        tenant: The tenant's name.
        name: Its name inside the tenant.
        user: The user that it authenticates; None for the tenant as a whole.
        hint: Its first characters, to tell keys apart.
        created_at: When it was created.
        used_at: When it was last used, to the minute; None if never.
        revoked_at: When it was revoked; None if it is valid.
    """

    tenant: str
    name: str
    user: str | None
    hint: str
    created_at: dt.datetime
    used_at: dt.datetime | None
    revoked_at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class _KnownKey:
    """The database's answer about a key, and how long it is used."""

    caller: Caller
    until: float


class Lookups:
    """Lets few lookups of keys and sessions run at once: what nobody knows can be sent by anybody."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(LOOKUPS)
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Wait for a turn.

        Raises:
            StoreUnavailable: Too many wait.
        """
        if self._waiting >= WAITING:
            raise StoreUnavailable("Too many unknown keys are being looked up.", hint="Try again in a second.")
        self._waiting += 1
        try:
            async with self._turns:
                yield
        finally:
            self._waiting -= 1


class Keys:
    """The keys of all tenants. One per process.

    Args:
        database: The database of the keys.

    Attributes:
        lookups: The turns of lookups; those of sessions take them, too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: LRUCache[bytes, _KnownKey] = LRUCache(KNOWN)
        self._looking: dict[bytes, asyncio.Task[_KnownKey | None]] = {}
        self.lookups = Lookups()
        self._any: tuple[bool, float] = (True, 0.0)
        self._revocations = 0
        self._used: dict[int, float] = {}
        self._writing: set[asyncio.Task[None]] = set()
        self._watched: dict[bytes, set[Callable[[], None]]] = {}

    async def add(self, tenant: Tenant, name: str, user: str | None = None) -> tuple[str, KeyInfo]:
        """Create a key; the name of a revoked one may be used again.

        Returns:
            The key's text, which cannot be shown again, and its record.

        Raises:
            InvalidInput: The name or the user is empty, too long or not printable.
            Conflict: A valid key has this name.
        """
        for what, given in (("A key's name", name), ("A user's name", user)):
            if given is not None:
                checked_label(given, what)
        text = f"thr_{secrets.token_urlsafe(32)}"
        values = {"owner": user, "hash": _hash(text), "hint": f"{text[:8]}…"}
        fresh = {"created_at": dt.datetime.now(dt.UTC), "used_at": None, "revoked_at": None}
        adding = (
            insert(access_key)
            .values(tenant_id=tenant.id, name=name, **values)
            .on_conflict_do_update(
                index_elements=["tenant_id", "name"],
                set_=values | fresh,
                where=access_key.c.revoked_at.is_not(None),
            )
            .returning(access_key)
        )
        row = await self._change(tenant, adding)
        if row is None:
            raise Conflict(f"A key '{name}' already exists.", hint="Choose another name, or revoke that one first.")
        self._any = (True, 0.0)
        return text, _info(tenant, row)

    async def list(self, tenant: Tenant) -> tuple[KeyInfo, ...]:
        """Return the tenant's keys by name, including revoked ones."""
        await self.settle()
        async with self._database.transaction(tenant) as connection:
            found = await connection.execute(
                select(access_key).where(access_key.c.tenant_id == tenant.id).order_by(access_key.c.name)
            )
            return tuple(_info(tenant, row) for row in found)

    async def revoke(self, tenant: Tenant, name: str) -> KeyInfo:
        """Refuse a key from now on and end its open connections; revoking it again does nothing.

        Raises:
            NotFound: The tenant has no such key.
        """
        revoking = (
            update(access_key)
            .where(access_key.c.tenant_id == tenant.id, access_key.c.name == name)
            .values(revoked_at=func.coalesce(access_key.c.revoked_at, func.now()))
            .returning(access_key)
        )
        row = await self._change(tenant, revoking)
        if row is None:
            raise NotFound(f"There is no key '{name}'.", hint="See: thresher keys list.")
        self._revocations += 1
        self._known.pop(row.hash, None)
        self._end(row.hash)
        return _info(tenant, row)

    async def exist(self) -> bool:
        """Return whether any key was ever created, including revoked ones."""
        answer, until = self._any
        if time.monotonic() >= until:
            rows = await self._database.once(_NOBODY, lambda driver: driver.execute(_EXIST, prepare=True))
            answer = bool(rows[0][0])
            self._any = (answer, time.monotonic() + FRESH_SECONDS)
        return answer

    async def holder(self, text: str) -> Caller | None:
        """Return the caller that a key authenticates; None if the key is unknown or revoked.

        Raises:
            StoreUnavailable: The database does not answer, or too many unknown keys are being looked up.
        """
        return await self.holder_of(_hash(text)) if _FORM.fullmatch(text) else None

    async def holder_of(self, digest: bytes) -> Caller | None:
        """Like `holder`, for the SHA-256 of a key."""
        known = self._known.get(digest)
        if known is None or time.monotonic() >= known.until:
            known = await self._look_up(digest)
        return known and known.caller

    @contextmanager
    def watched(self, key: str | bytes, end: Callable[[], None]) -> Generator[None]:
        """Call `end` once if the key, given as its text or its SHA-256, is revoked during the block."""
        digest = _hash(key) if isinstance(key, str) else key
        self._watched.setdefault(digest, set()).add(end)
        try:
            yield
        finally:
            callbacks = self._watched.get(digest, set())
            callbacks.discard(end)
            if not callbacks:
                self._watched.pop(digest, None)

    async def patrol(self) -> NoReturn:
        """Run until cancelled: end connections with keys that another process revoked. A database failure ends none."""
        while True:
            await asyncio.sleep(FRESH_SECONDS / 2)
            for digest in [*self._watched]:
                with suppress(ThresherError):
                    if await self._look_up(digest) is None:
                        self._end(digest)

    async def settle(self) -> None:
        """Wait until the last uses are written; before the database closes or is read."""
        while self._writing:
            await asyncio.wait(self._writing)

    async def _look_up(self, digest: bytes) -> _KnownKey | None:
        """Return the current state of a key; simultaneous lookups of the same key share one query."""
        looking = self._looking.get(digest)
        if looking is None:
            looking = self._looking[digest] = asyncio.create_task(self._looked_up(digest))
            looking.add_done_callback(lambda done: self._looked(digest, done))
        return await asyncio.shield(looking)

    def _looked(self, digest: bytes, done: asyncio.Task[_KnownKey | None]) -> None:
        self._looking.pop(digest, None)
        if not done.cancelled():
            done.exception()  # retrieved, since every waiting caller may be gone

    async def _looked_up(self, digest: bytes) -> _KnownKey | None:
        rows = await self._rows(digest)
        if not rows:
            self._known.pop(digest, None)
            return None
        row, tenant_id, tenant_name, owner = rows[0]
        tenant = Tenant(tenant_id, tenant_name)
        self._note_use(tenant, row)
        known = self._known[digest] = _KnownKey(
            Caller(tenant, owner, keyed=True, key=row), time.monotonic() + FRESH_SECONDS
        )
        return known

    async def _rows(self, digest: bytes) -> Sequence[tuple[Any, ...]]:
        """Query a key, again if a key was revoked meanwhile."""
        while True:
            before = self._revocations
            async with self.lookups.turn():
                rows = await self._database.once(
                    _NOBODY, lambda driver: driver.execute(_HOLDER, (digest,), prepare=True)
                )
            if before == self._revocations:
                return rows

    def _note_use(self, tenant: Tenant, row: int) -> None:
        """Write the use of a key in the background, from time to time."""
        now = time.monotonic()
        if now < self._used.get(row, now):
            return
        self._used[row] = now + USE_SECONDS
        task = asyncio.create_task(self._write_use(tenant, row))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write_use(self, tenant: Tenant, row: int) -> None:
        try:
            await self._database.once(tenant, lambda driver: driver.execute(_USED, (tenant.id, row), prepare=True))
        except ThresherError as error:
            event(_logger, "use of a key not written", level=logging.WARNING, reason=error.message)

    async def _change(self, tenant: Tenant, statement: ReturningInsert[Any] | ReturningUpdate[Any]) -> Row[Any] | None:
        async with self._database.transaction(tenant) as connection:
            return (await connection.execute(statement)).one_or_none()

    def _end(self, digest: bytes) -> None:
        for end in self._watched.pop(digest, set()):
            end()


def without_placeholder(text: str) -> str:
    """Return the key that a client shows; empty if it is a placeholder."""
    return "" if text in PLACEHOLDERS else text


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _info(tenant: Tenant, row: Row[Any]) -> KeyInfo:
    return KeyInfo(tenant.name, row.name, row.owner, row.hint, row.created_at, row.used_at, row.revoked_at)
