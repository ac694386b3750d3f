"""Renews a stored token: in one process at a time, and stored before it is used.

Invariant: a refresh token is used only under a claim that all processes respect; a renewal that fails temporarily
leaves the stored credential unchanged; a newer sign-in or sign-out is never overwritten.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from thresher.core import JSON, StoreError, UpstreamError, event
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth.credential import (
    CLAIM_SECONDS,
    Credential,
    Credentials,
    RenewalClaim,
    address_of,
    read_credential,
)
from thresher.upstream.oauth.failures import GrantRefused, sign_in_needed, unavailable
from thresher.upstream.oauth.grants import check_renewable, machine_client, obtain

_logger = logging.getLogger("thresher.upstream")
_POLL_SECONDS = 0.1
_MOST_LOST = 20
"""Lost races against other processes and people after which renewing gives up."""
_RENEWAL_SECONDS = CLAIM_SECONDS - 5.0
"""Time limit for a renewal; the rest of the claim is for storing the result."""
_STORE_SECONDS = 600.0
"""How long to retry storing a renewed token while the database is unavailable."""
_STORE_PAUSE_SECONDS = 2.0


async def renew(config: ServerConfig, credentials: Credentials, unfit: str) -> Credential:
    """Get another access token than `unfit`: from this process, another one, or a new sign-in, whichever is first.

    Args:
        config: The server, with the identity whose credentials to use.
        credentials: The store of sign-ins.
        unfit: The access token that has expired or was refused; empty without one.

    Returns:
        The stored credential with a usable token.

    Raises:
        SignInNeeded: It needs a person.
        UpstreamError: It is not possible at the moment; the sign-in is kept.
        StoreError: The database is unavailable.
    """
    lost = 0
    while lost < _MOST_LOST:
        value = await credentials.load(config)
        held = read_credential(config, value)
        now = time.time()
        if held is not None and held.access not in ("", unfit) and not held.refused and not held.expired(now):
            return held
        if machine_client(config) is None:
            check_renewable(config, held)
        if held is not None and held.claim is not None and held.claim.alive(now):
            await asyncio.sleep(_POLL_SECONDS)
            continue
        claimed = (held or Credential(address=address_of(config))).changed(claim=RenewalClaim(at=now))
        if await credentials.exchange(config, value, claimed.dump()):
            renewed = await _renew_claimed(config, credentials, claimed)
            if renewed is not None:
                return renewed
        lost += 1
    raise UpstreamError(
        f"The sign-in at server '{config.name}' cannot be stored: it keeps changing, or the server was removed.",
        hint="Look at thresher servers list.",
    )


async def _renew_claimed(config: ServerConfig, credentials: Credentials, claimed: Credential) -> Credential | None:
    """Renew under the claim; None if a person has signed in or out meanwhile."""
    held = claimed.dump()
    try:
        async with asyncio.timeout(_RENEWAL_SECONDS):
            renewed = await obtain(config, claimed)
    except GrantRefused as refusal:
        await _mark_refused(config, credentials, claimed, refusal)
        raise sign_in_needed(config, _refusal_words(refusal)) from None
    except BaseException as error:
        with suppress(StoreError):
            await asyncio.shield(credentials.exchange(config, held, claimed.changed(claim=None).dump()))
        if isinstance(error, TimeoutError):
            raise unavailable(config, claimed.token_endpoint, f"no answer within {_RENEWAL_SECONDS:g} s") from None
        if isinstance(error, UpstreamError):
            event(_logger, "token_not_renewed", level=logging.WARNING, server=config.name, reason=error.message)
        raise
    if not await _store(config, credentials, held, renewed):
        return None
    event(_logger, "token_renewed", server=config.name, expires_at=renewed.expires_at)
    return renewed


async def _mark_refused(
    config: ServerConfig, credentials: Credentials, claimed: Credential, refusal: GrantRefused
) -> None:
    words = _refusal_words(refusal)
    event(_logger, "sign_in_refused", level=logging.WARNING, server=config.name, reason=words)
    marked = claimed.changed(problem=words, refused=True, claim=None)
    await credentials.exchange(config, claimed.dump(), marked.dump())


def _refusal_words(refusal: GrantRefused) -> str:
    return refusal.message[:1].lower() + refusal.message[1:].rstrip(".")


async def _store(config: ServerConfig, credentials: Credentials, held: JSON, renewed: Credential) -> bool:
    """Store a renewed token, retrying for a long time: the old refresh token may no longer be valid."""
    deadline = time.monotonic() + _STORE_SECONDS
    while True:
        try:
            return await credentials.exchange(config, held, renewed.dump())
        except StoreError as error:
            event(_logger, "token_not_stored", level=logging.ERROR, server=config.name, reason=error.message)
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_STORE_PAUSE_SECONDS)
