"""Adds credentials to requests, and keeps their secrets out of everything that is shown.

Invariant: tokens live in memory only, and are fetched for exactly the stored credential.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, quote_plus
from weakref import WeakValueDictionary

from cachetools import LRUCache

from thresher.core import MASK, Caller, InvalidInput, NotAllowed, SourceUnavailable, mask_text
from thresher.knowledge.apis.addresses import Refusal
from thresher.knowledge.apis.calls.access import Access, AccessStore, allowed_host, refusal_of
from thresher.knowledge.apis.calls.models import SealedCredential
from thresher.knowledge.apis.calls.sending import RawReply, Sender
from thresher.knowledge.apis.heads import ProviderHead
from thresher.openapi import EncodedBody, HttpRequest, cookie_text

_TOKENS: Final = 1_024
_EARLY: Final = 30.0
"""Seconds before its end from which a token is not used."""
_LASTS: Final = 300.0
"""Seconds that a token is used whose server does not say how long it lasts."""
_SHORTEST: Final = 4
"""Characters of a secret that is masked wherever it appears; a shorter one would mask parts of words."""
_SHORT: Final = 2
"""Characters from which a shorter one is masked where it is a word of an error, a header or an address."""
_OK: Final = 200


@dataclass(slots=True)
class Secrets:
    """The secrets of one call."""

    _texts: set[str] = field(default_factory=set[str])
    _short: set[str] = field(default_factory=set[str])

    def add(self, *texts: str) -> None:
        """Mask these from now on, also as they stand in addresses and JSON."""
        for text in texts:
            forms = {text, _quoted(text), quote_plus(text), cookie_text(text), json.dumps(text)[1:-1]}
            self._texts |= {one for one in forms if len(one) >= _SHORTEST}
            self._short |= {one for one in forms if _SHORT <= len(one) < _SHORTEST}

    def masked(self, text: str) -> str:
        """Return a text without the secrets, and without what shows by its form that it is one."""
        text = self.without(text)
        if self._short:
            either = "|".join(map(re.escape, sorted(self._short, key=len, reverse=True)))
            text = re.sub(rf"(?<![^\W_])(?:{either})(?![^\W_])", MASK, text)
        return mask_text(text)

    def without(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret in sorted(self._texts, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text

    def __repr__(self) -> str:
        return "Secrets(***)"


def _quoted(text: str) -> str:
    return quote(text, safe="")


def signed_names(credentials: Sequence[SealedCredential]) -> frozenset[tuple[str, str]]:
    """Return place and name, in lower case, of the parameters that credentials fill."""
    return frozenset(
        (one.about.place, one.about.name.lower()) if one.about.type == "key" else ("header", "authorization")
        for one in credentials
    )


class Signer:
    """Signs requests; one per process.

    Args:
        store: Opens credentials.
        sender: Fetches tokens.
    """

    def __init__(self, store: AccessStore, sender: Sender) -> None:
        self._store = store
        self._sender = sender
        self._tokens: LRUCache[str, tuple[str, float]] = LRUCache(_TOKENS)
        self._fetching: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def sign(
        self,
        caller: Caller,
        provider: ProviderHead,
        access: Access,
        request: HttpRequest,
        credentials: Sequence[SealedCredential],
        secrets: Secrets,
        *,
        dry: bool = False,
    ) -> HttpRequest:
        """Return a request with credentials.

        Args:
            caller: The tenant and user.
            provider: The API.
            access: The hosts that may be reached.
            request: The request.
            credentials: What it carries.
            secrets: Gets everything that is secret.
            dry: Whether no token is fetched.

        Raises:
            NotAllowed: Nobody has allowed the host of the tokens, or it refuses the client.
            SourceUnavailable: It cannot be reached.
        """
        for one in credentials:
            user, secret = self._store.open(one)
            secrets.add(secret)
            about = one.about
            if about.type == "basic":
                pair = base64.b64encode(f"{user}:{secret}".encode()).decode()
                secrets.add(pair)
                request = request.adding(headers=[("Authorization", f"Basic {pair}")])
            elif about.type == "key":
                encode = {"query": _quoted, "cookie": cookie_text}.get(about.place, str)
                pairs = [(about.name, encode(secret))]
                request = request.adding(**{"query" if about.place == "query" else f"{about.place}s": pairs})
            else:
                token = secret
                if about.type == "oauth2":
                    token = MASK if dry else await self._token(caller, provider, access, one, (user, secret))
                    secrets.add(*([] if dry else [token]))
                request = request.adding(headers=[("Authorization", f"Bearer {token}")])
        return request

    def forget(self, caller: Caller, credentials: Sequence[SealedCredential]) -> bool:
        """Forget the tokens of credentials; return whether there were any."""
        known = [self._tokens.pop(_key(caller, one), None) for one in credentials]
        return any(one is not None for one in known)

    async def _token(
        self,
        caller: Caller,
        provider: ProviderHead,
        access: Access,
        credential: SealedCredential,
        client: tuple[str, str],
    ) -> str:
        key = _key(caller, credential)
        async with self._fetching.setdefault(key, asyncio.Lock()):  # calls at the same time share one token
            token, until = self._tokens.get(key, ("", 0.0))
            if time.monotonic() >= until:
                token, until = await self._fetched(caller, provider, access, credential, client)
                self._tokens[key] = token, until
        return token

    async def _fetched(
        self,
        caller: Caller,
        provider: ProviderHead,
        access: Access,
        credential: SealedCredential,
        client: tuple[str, str],
    ) -> tuple[str, float]:
        """Return a new token, and until when it is used."""
        host = allowed_host(access, provider, credential.about.token_url, [credential])
        refusal = refusal_of(host, provider)
        reply = await self._asked(caller, credential, client, refusal, in_body=False)
        if reply.status in (400, 401):  # some servers take the client only in the body
            reply = await self._asked(caller, credential, client, refusal, in_body=True)
        token, seconds = _read_token(reply, credential.about.token_url)
        return token, time.monotonic() + max(0.0, seconds - _EARLY)

    async def _asked(
        self,
        caller: Caller,
        credential: SealedCredential,
        client: tuple[str, str],
        refusal: Refusal | None,
        *,
        in_body: bool,
    ) -> RawReply:
        user, secret = map(quote_plus, client)
        fields = {"grant_type": "client_credentials", "scope": " ".join(credential.about.scopes)}
        sent = {name: quote_plus(value) for name, value in fields.items() if value}
        headers = [("Accept", "application/json")]
        if in_body:
            sent |= {"client_id": user, "client_secret": secret}
        else:
            pair = base64.b64encode(f"{user}:{secret}".encode()).decode()
            headers.append(("Authorization", f"Basic {pair}"))
        form = "&".join(f"{name}={value}" for name, value in sent.items()).encode()
        body = EncodedBody("application/x-www-form-urlencoded", form)
        request = HttpRequest("POST", credential.about.token_url, "", headers=tuple(headers), body=body)
        return await self._sender.send(caller.tenant.id, request, refusal=refusal, signed=True)


def _key(caller: Caller, credential: SealedCredential) -> str:
    return f"{caller.tenant.id}:{credential.id}:{hashlib.sha256(credential.sealed).hexdigest()}"


def _read_token(reply: RawReply, address: str) -> tuple[str, float]:
    """Return the token and the seconds that it lasts.

    Raises:
        NotAllowed: The client was refused.
        SourceUnavailable: The answer has no token.
    """
    try:
        answer = json.loads(reply.content)
        token, seconds = str(answer["access_token"]), float(answer.get("expires_in") or _LASTS)
    except (ValueError, TypeError, LookupError, AttributeError):
        token, seconds = "", 0.0
    if reply.status in (400, 401, 403):
        raise NotAllowed(
            f"{address} refused the client ({reply.status}).", hint="Store its id and secret again, or other scopes."
        )
    if reply.status != _OK or not token:
        raise SourceUnavailable(f"{address} gave no token ({reply.status}).", hint="Try again later.")
    if not token.isprintable() or not token.isascii():
        raise InvalidInput(f"{address} gave a token that cannot be sent.")
    return token, seconds
