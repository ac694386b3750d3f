"""Sessions of the console: each is opened with a key, and is held by a browser as a random token.

Invariant: the database and this process know a token's SHA-256, and never the key's text. A session ends when it is
closed, unused for `IDLE`, older than `LONGEST_SESSION`, or when its key is revoked: at once in this process, and within
`FRESH_SECONDS` in any other.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache
from sqlalchemy import delete, insert, or_

from thresher.core import AccessDenied, Caller, Tenant
from thresher.store.engine import Database
from thresher.store.keys import FRESH_SECONDS, USE_SECONDS, Keys
from thresher.store.tables import console_session

IDLE: Final = dt.timedelta(hours=2)
LONGEST_SESSION: Final = dt.timedelta(hours=12)
KNOWN: Final = 1_000
"""Most sessions kept in memory between two requests."""
_NOBODY: Final = Tenant(0, "")
_FIND: Final = "select session, tenant_id, key_hash from session_key(%s, %s)"
_USED: Final = "update console_session set used_at = now() where tenant_id = %s and id = %s returning id"


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is open.

    Attributes:
        caller: Who signed in.
        key: The SHA-256 of the key.
    """

    caller: Caller
    key: bytes


@dataclass(slots=True)
class _Known:
    id: int
    tenant: int
    key: bytes
    until: float
    noted: float | None


class Sessions:
    """The sessions of all tenants. One per process.

    Args:
        database: The database of the sessions.
        keys: The keys that they are opened with.
    """

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database = database
        self._keys = keys
        self._known: LRUCache[bytes, _Known] = LRUCache(KNOWN)

    async def open(self, key: str) -> str:
        """Sign in with a key.

        Returns:
            The session's token.

        Raises:
            AccessDenied: The key is unknown or revoked.
        """
        caller = await self._keys.holder(key)
        if caller is None:
            raise AccessDenied("The key is unknown or revoked.", hint="Make one: thresher keys add NAME")
        token = secrets.token_urlsafe(32)
        now = dt.datetime.now(dt.UTC)
        mine = console_session.c.tenant_id == caller.tenant.id
        ended = or_(console_session.c.expires_at < now, console_session.c.used_at < now - IDLE)
        values = {
            "tenant_id": caller.tenant.id,
            "key_id": caller.key,
            "hash": _hash(token),
            "expires_at": now + LONGEST_SESSION,
        }
        async with self._database.transaction(caller.tenant) as connection:
            await connection.execute(delete(console_session).where(mine, ended))
            await connection.execute(insert(console_session).values(values))
        return token

    async def find(self, token: str, *, is_use: bool = True) -> Session | None:
        """Return the open session of a token; None if there is none.

        Args:
            token: The token.
            is_use: Whether somebody does something; False for a page that merely stays open.

        Raises:
            StoreUnavailable: The database does not answer, or too many unknown tokens are being looked up.
        """
        digest = _hash(token)
        known = self._known.get(digest)
        if known is None or time.monotonic() >= known.until:
            known = await self._look_up(digest, known)
        if known is not None and is_use:
            await self._note(known)
        caller = await self._keys.holder_of(known.key) if known is not None else None
        return Session(caller, known.key) if known is not None and caller is not None else None

    async def close(self, token: str) -> None:
        """Sign out."""
        digest = _hash(token)
        session = await self.find(token)
        self._known.pop(digest, None)
        if session is None:
            return
        tenant = session.caller.tenant
        async with self._database.transaction(tenant) as connection:
            mine = console_session.c.tenant_id == tenant.id
            await connection.execute(delete(console_session).where(mine, console_session.c.hash == digest))

    async def _look_up(self, digest: bytes, known: _Known | None) -> _Known | None:
        async with self._keys.lookups.turn():
            rows = await self._database.once(
                _NOBODY, lambda driver: driver.execute(_FIND, (digest, IDLE), prepare=True)
            )
        if not rows:
            self._known.pop(digest, None)
            return None
        session, tenant, key = rows[0]
        now = time.monotonic()
        noted = known.noted if known is not None else None
        self._known[digest] = found = _Known(session, tenant, bytes(key), now + FRESH_SECONDS, noted)
        return found

    async def _note(self, known: _Known) -> None:
        """Say that a session was used, once in a while."""
        now = time.monotonic()
        if known.noted is not None and now < known.noted + USE_SECONDS:
            return
        known.noted = now
        owner, used = Tenant(known.tenant, ""), (known.tenant, known.id)
        await self._database.once(owner, lambda driver: driver.execute(_USED, used, prepare=True))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
