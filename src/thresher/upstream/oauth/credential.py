"""What is stored of a sign-in, and the door to where it is stored.

Invariant: a credential is used only for the address and by the client that it was obtained for; its `repr` is empty.
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
"""How long one process may take to renew a token before another may believe that it died over it."""
_EARLY_SECONDS = 60.0
"""Renewed so long before the end, or a tenth of the lifetime if that is less: a call may be under way for a while."""


class Credentials(Protocol):
    """Where sign-ins are kept: one for each tenant, server and identity."""

    async def load(self, config: ServerConfig) -> JSON | None:
        """What is stored; None when nothing is."""
        ...

    async def save(self, config: ServerConfig, value: JSON) -> None:
        """Store, whatever was there; it is durable on return."""
        ...

    async def exchange(self, config: ServerConfig, old: JSON | None, new: JSON) -> bool:
        """Store `new` if `old` is still what is stored, in one step for all processes; False when it is not."""
        ...

    async def clear(self, config: ServerConfig) -> None:
        """Forget it."""
        ...


class Claim(BaseModel):
    """One process is about to use up the refresh token; the others wait for what it gets.

    Attributes:
        id: Whose.
        at: Since when, in seconds of the epoch.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(default_factory=lambda: secrets.token_hex(8))
    at: float

    def alive(self, now: float) -> bool:
        """Whether its holder may still be at it."""
        return abs(now - self.at) < CLAIM_SECONDS


class Credential(BaseModel):
    """A sign-in at one server.

    Attributes:
        address: The server that the tokens are for.
        client: How we are registered with the authorization server.
        issuer: The authorization server; empty for an old one that does not say.
        token_endpoint: Where it renews tokens.
        revocation_endpoint: Where it takes tokens back; empty when it does not.
        resource: What the tokens are asked for (RFC 8707); empty when the server does not say.
        tokens: The last tokens.
        expires_at: When the access token ends, in seconds of the epoch; None when nobody said.
        problem: Why somebody has to sign in; empty when nobody has to.
        refused: The authorization server itself has refused to renew, so that trying again is of no use.
        claim: Who is renewing.
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
    claim: Claim | None = None

    def __repr__(self) -> str:
        return "Credential(***)"

    __str__ = __repr__

    @property
    def access(self) -> str:
        """The access token; empty when there is none."""
        return self.tokens.access_token if self.tokens is not None else ""

    @property
    def refresh(self) -> str:
        """The refresh token; empty when there is none."""
        return (self.tokens.refresh_token or "") if self.tokens is not None else ""

    def expired(self, now: float) -> bool:
        """Whether the access token has ended, as far as is known."""
        return self.expires_at is not None and now >= self.expires_at

    def due(self, now: float) -> bool:
        """Whether the access token should be renewed before it is used."""
        if self.expires_at is None or self.tokens is None:
            return False
        early = min(_EARLY_SECONDS, (self.tokens.expires_in or 0) / 10) if self.refresh else 0.0
        return now >= self.expires_at - early

    def changed(self, **values: Any) -> Credential:
        """The same with other values."""
        return self.model_copy(update=values)

    def renewed(self, tokens: OAuthToken, now: float) -> Credential:
        """The same with new tokens; what the answer leaves out stays as it was (RFC 6749, section 6)."""
        kept = {"refresh_token": tokens.refresh_token or self.refresh or None, "scope": tokens.scope or self.scope}
        expires_at = None if tokens.expires_in is None else now + tokens.expires_in
        return self.changed(
            tokens=tokens.model_copy(update=kept), expires_at=expires_at, problem="", refused=False, claim=None
        )

    @property
    def scope(self) -> str | None:
        """What was granted; None when nobody said."""
        return self.tokens.scope if self.tokens is not None else None

    def dump(self) -> JSON:
        """As it is stored."""
        return self.model_dump(mode="json", exclude_none=True)


def address_of(config: ServerConfig) -> str:
    """A server's address in the one form in which addresses are compared."""
    return resource_url_from_server_url(config.url)


def shown_address(url: object) -> str:
    """An address as it may be shown: neither user nor query."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def read_credential(config: ServerConfig, value: JSON | None) -> Credential | None:
    """The stored credential, if it belongs to this server as it is configured now."""
    if value is None:
        return None
    try:
        credential = Credential.model_validate(value)
    except ValidationError:
        return None  # of another version: signing in again replaces it
    if credential.address != address_of(config):
        return None
    configured = config.oauth.client_id if config.oauth is not None else ""
    if configured and credential.client is not None and credential.client.client_id != configured:
        # A client metadata address that the authorization server does not take gives way to a registration.
        return credential if configured.startswith("https://") else None
    return credential
