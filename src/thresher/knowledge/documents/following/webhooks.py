"""Webhooks: calls without a key that have a repository indexed again.

A call is signed with HMAC-SHA256 over its time, a dot and the raw body. Its time must be near ours and later than that
of every call that was accepted before, so a call that was overheard cannot be sent again.

Invariant: no secret is stored: it is derived from the key of the installation and a number drawn for the webhook. Every
refusal is the same, whatever is wrong.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import time
from typing import Final

from sqlalchemy import Update, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import AccessDenied, Caller, Tenant
from thresher.store import Database, SecretBox
from thresher.store.tables import repository

SKEW_SECONDS: Final = 300.0
"""How far the time of a call may be from ours."""
_ID: Final = re.compile(r"(\d{1,9})-(\d{1,18})")
_TIME: Final = re.compile(r"\d{1,12}(?:\.\d{1,6})?")


class Webhooks:
    """Makes and checks webhooks.

    Args:
        database: The database of the repositories.
        box: Holds the key of the installation.
    """

    def __init__(self, database: Database, box: SecretBox) -> None:
        self._database = database
        self._key = box.signing_key("webhooks")

    async def make(self, connection: AsyncConnection, tenant: Tenant, key: int, name: str) -> tuple[str, str]:
        """Give a repository a webhook in place of an earlier one; return its path and its secret."""
        drawn = secrets.token_hex(16)
        await connection.execute(_of(tenant.id, key).values(webhook=drawn, webhook_at=None))
        return f"/v1/repositories/{name}/refresh?webhook={tenant.id}-{key}", self._secret(tenant.id, key, drawn)

    async def remove(self, connection: AsyncConnection, tenant: Tenant, key: int) -> None:
        """Take a repository's webhook away."""
        await connection.execute(_of(tenant.id, key).values(webhook=None, webhook_at=None))

    async def caller(self, name: str, webhook: str, at: str, signature: str, body: bytes) -> Caller:
        """The caller who chose the source that a call is about; the call cannot be sent again.

        Args:
            name: The repository, as the path says.
            webhook: The webhook, as the query says.
            at: Seconds since 1970, as the call says.
            signature: `sha256=` and 64 hexadecimal digits.
            body: The body, as it came.

        Raises:
            AccessDenied: The call is not signed by the webhook's secret, late, or was accepted before.
            StoreUnavailable: The database cannot be reached.
        """
        found, seconds = _ID.fullmatch(webhook), float(at) if _TIME.fullmatch(at) else math.inf
        if found is None or abs(seconds - time.time()) > SKEW_SECONDS:
            raise _REFUSED
        tenant, key = int(found[1]), int(found[2])
        ours = (repository.c.tenant_id == tenant) & (repository.c.id == key) & (repository.c.name == name)
        async with self._database.transaction(Tenant(tenant, "")) as connection:
            query = select(repository.c.webhook, repository.c.owner, repository.c.keyed).where(
                ours, repository.c.state != "removing"
            )
            row = (await connection.execute(query)).one_or_none()
            secret = self._secret(tenant, key, (row.webhook if row else None) or secrets.token_hex(16))
            signed = hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(f"sha256={signed}".encode(), signature.encode()) or row is None:
                raise _REFUSED
            newer = or_(repository.c.webhook_at.is_(None), repository.c.webhook_at < seconds)
            once = update(repository).where(ours, newer).values(webhook_at=seconds).returning(repository.c.id)
            if (await connection.execute(once)).first() is None:
                raise _REFUSED
            return Caller(Tenant(tenant, ""), row.owner, keyed=row.keyed)

    def _secret(self, tenant: int, key: int, drawn: str) -> str:
        return hmac.new(self._key, f"{tenant}:{key}:{drawn}".encode(), hashlib.sha256).hexdigest()


_REFUSED: Final = AccessDenied(
    "The call of this webhook is not accepted.",
    hint="Sign `TIME.BODY` with the webhook's secret; each call needs a later time, within five minutes of now.",
)


def _of(tenant: int, key: int) -> Update:
    return update(repository).where(repository.c.tenant_id == tenant, repository.c.id == key)
