"""The stored form of a sign-in, and the protocol of its store.

Invariant: a credential is used only for the address and by the client for which it was obtained; its `repr` is empty.
"""

from __future__ import annotations

import secrets
from typing import Any, Protocol
from urllib.parse import urlsplit

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp.shared.auth_utils import resource_url_from_server_url
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from thresher.core import JSON
from thresher.upstream.config import ServerConfig

CLAIM_SECONDS = 25.0
"""Seconds after which a renewal by another process counts as abandoned."""
_EARLY_SECONDS = 60.0
"""Tokens are renewed this long before expiry, or a tenth of their lifetime if that is less, as calls take time."""


class Credentials(Protocol):
    """The store of sign-ins: one for each tenant, server and identity."""

    async def load(self, config: ServerConfig) -> JSON | None:
        """Return the stored value; None without one."""
        ...

    async def save(self, config: ServerConfig, value: JSON) -> None:
        """Store a value, replacing any other; it is durable on return."""
        ...

    async def exchange(self, config: ServerConfig, old: JSON | None, new: JSON) -> bool:
        """Store `new` if `old` is still stored, atomically for all processes; returns whether it was stored."""
        ...

    async def clear(self, config: ServerConfig) -> None:
        """Delete the stored value."""
        ...


class RenewalClaim(BaseModel):
    """A process's claim on the refresh token while it renews; other processes wait for its result.

    Attributes:
        id: Identifies the claiming process.
        at: Time of the claim, in seconds since the epoch.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(default_factory=lambda: secrets.token_hex(8))
    at: float

    def alive(self, now: float) -> bool:
        """Whether its holder may still be renewing."""
        return abs(now - self.at) < CLAIM_SECONDS


class Credential(BaseModel):
    """A sign-in at one server.

    Attributes:
        address: The server that the tokens are for.
        client: Our registration with the authorization server.
        issuer: The authorization server; empty for an old one that does not report it.
        token_endpoint: The endpoint for renewal.
        revocation_endpoint: The endpoint for revocation; empty without one.
        resource: The resource of the tokens (RFC 8707); empty if the server does not name one.
        tokens: The last tokens.
        expires_at: Expiry of the access token, in seconds since the epoch; None if unknown.
        problem: Why a person must sign in; empty if nobody must.
        refused: Whether the authorization server has refused a renewal permanently.
        claim: The claim of a process that renews.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    address: str
    client: OAuthClientInformationFull | None = None
    issuer: str = ""
    token_endpoint: str = ""
    revocation_endpoint: str = ""
    resource: str = ""
    tokens: OAuthToken | None = None
    expires_at: float | None = None
    problem: str = ""
    refused: bool = False
    claim: RenewalClaim | None = None

    def __repr__(self) -> str:
        return "Credential(***)"

    __str__ = __repr__

    @property
    def access(self) -> str:
        """The access token; empty without one."""
        return self.tokens.access_token if self.tokens is not None else ""

    @property
    def refresh(self) -> str:
        """The refresh token; empty without one."""
        return (self.tokens.refresh_token or "") if self.tokens is not None else ""

    def expired(self, now: float) -> bool:
        """Whether the access token has expired, as far as is known."""
        return self.expires_at is not None and now >= self.expires_at

    def due(self, now: float) -> bool:
        """Whether the access token should be renewed before it is used."""
        if self.expires_at is None or self.tokens is None:
            return False
        early = min(_EARLY_SECONDS, (self.tokens.expires_in or 0) / 10) if self.refresh else 0.0
        return now >= self.expires_at - early

    def changed(self, **values: Any) -> Credential:
        """A copy with other values."""
        return self.model_copy(update=values)

    def renewed(self, tokens: OAuthToken, now: float) -> Credential:
        """A copy with new tokens; fields that the answer leaves out are kept (RFC 6749, section 6)."""
        kept = {"refresh_token": tokens.refresh_token or self.refresh or None, "scope": tokens.scope or self.scope}
        expires_at = None if tokens.expires_in is None else now + tokens.expires_in
        return self.changed(
            tokens=tokens.model_copy(update=kept), expires_at=expires_at, problem="", refused=False, claim=None
        )

    @property
    def scope(self) -> str | None:
        """The granted scopes; None if unknown."""
        return self.tokens.scope if self.tokens is not None else None

    def dump(self) -> JSON:
        """The stored form."""
        return self.model_dump(mode="json", exclude_none=True)


def address_of(config: ServerConfig) -> str:
    """A server's address in canonical form, for comparison."""
    return resource_url_from_server_url(config.url)


def shown_address(url: object) -> str:
    """An address without user and query, so that it may be shown."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def read_credential(config: ServerConfig, value: JSON | None) -> Credential | None:
    """The stored credential, if it belongs to this server's current configuration; else None."""
    if value is None:
        return None
    try:
        credential = Credential.model_validate(value)
    except ValidationError:
        return None  # written by another version: a new sign-in replaces it
    if credential.address != address_of(config):
        return None
    configured = config.oauth.client_id if config.oauth is not None else ""
    if configured and credential.client is not None and credential.client.client_id != configured:
        # If the authorization server does not support a client metadata address, we have registered dynamically.
        return credential if configured.startswith("https://") else None
    return credential
