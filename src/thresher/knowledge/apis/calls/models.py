"""Records of calls: hosts, credentials, and what a call has come to.

Invariant: frozen; no record that a caller sees holds a secret.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

CredentialType: TypeAlias = Literal["key", "basic", "bearer", "oauth2"]
Place: TypeAlias = Literal["header", "query", "cookie"]
Effect: TypeAlias = Literal["any", "read", "write"]
"""What a call may be: `read` only with a safe method, `write` only with another one."""

MOST_PAGES: Final = 20
SECONDS: Final = 30.0
"""Time limit of a call, with its retries and pages."""


@dataclass(frozen=True, slots=True)
class ApiHost:
    """A host that calls of an API may reach.

    Attributes:
        provider: Name of the API.
        host: Its origin: `https://api.example.com` or `http://127.0.0.1:8000`.
        private: Whether its addresses need not be public.
        owner: The only user for whom it is allowed; None for everyone in the tenant.
    """

    provider: str
    host: str
    private: bool = False
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class ApiCredential:
    """A stored credential, without its secret.

    Attributes:
        provider: Name of the API.
        scheme: The security scheme of the description; empty if it has none.
        type: How it is used.
        place: Where a key is sent.
        name: Name of the header, parameter or cookie of a key.
        token_url: Where `oauth2` fetches tokens.
        scopes: What it asks for there.
        owner: The only user for whom it is used; None for everyone in the tenant.
        updated_at: When it was stored.
    """

    provider: str
    scheme: str
    type: CredentialType
    place: Place = "header"
    name: str = ""
    token_url: str = ""
    scopes: tuple[str, ...] = ()
    owner: str | None = None
    updated_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class SealedCredential:
    """A stored credential with its row id and its sealed user and secret."""

    id: int
    about: ApiCredential
    sealed: bytes


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it is sent, secrets masked.

    Attributes:
        method: Upper case.
        url: The whole address.
        headers: By name.
        body: Text of the body, or a line for each part of a form; long ones are clipped.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str = ""


@dataclass(frozen=True, slots=True)
class ApiReply:
    """What a call of an operation has come to.

    Attributes:
        endpoint: Public id of the operation.
        provider: Name of the API.
        request: What was sent, or in a dry run would be.
        status: Status of the answer; 0 in a dry run.
        headers: Those that a caller may need.
        media: Media type of the answer.
        encoding: What `body` is: the JSON value, a text, or the base64 of bytes; empty without a body.
        body: The answer; with several pages, the list of their bodies.
        pages: How many were fetched.
        next: Arguments that get the next page, beside those of this call; empty if there is none, or it is a link.
        more: Whether there is a next page.
        left_out: What of the answer is not here, and how to get it; empty if it is whole.
        notes: What else a caller should know, such as a redirect that was not followed.
        ms: How long it took.
    """

    endpoint: str
    provider: str
    request: SentRequest
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    media: str = ""
    encoding: Literal["", "json", "text", "base64"] = ""
    body: Any = None
    pages: int = 0
    next: Mapping[str, Any] = field(default_factory=dict[str, Any])
    more: bool = False
    left_out: str = ""
    notes: tuple[str, ...] = ()
    ms: float = 0.0
