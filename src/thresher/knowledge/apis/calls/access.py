"""Hosts that calls may reach, and credentials: kept for a tenant or one user, chosen for an operation.

Invariant: a secret is sealed before it is stored and opened only to be sent. A tenant's credential is sent only to
hosts that the tenant allows, so that no user can have it sent elsewhere.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import httpx2

from thresher.core import Caller, InvalidInput, NotAllowed, NotFound, Settings, is_host, one_line
from thresher.knowledge.apis.addresses import Refusal, is_private_host
from thresher.knowledge.apis.cache import DescriptionCache
from thresher.knowledge.apis.calls.models import ApiCredential, ApiHost, CredentialType, Place, SealedCredential
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.naming import find_provider
from thresher.knowledge.apis.queries import access as queries
from thresher.openapi import Description, Operation, Requirement, SecurityScheme, client_credentials_url
from thresher.store import Database, SecretBox, run_retrying

_LONGEST: Final = 16_000
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_FRAMING: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "cookie", "content-type"})


@dataclass(frozen=True, slots=True)
class CredentialRequest:
    """A credential as a person gives it; what is empty is taken from the description.

    Attributes:
        secret: Key, password, token, or secret of the client.
        scheme: Name of the security scheme.
        type: `key`, `basic`, `bearer` or `oauth2`.
        user: User name, or id of the client.
        name: Name of the header, parameter or cookie of a key.
        place: Where a key is sent.
        token_url: Where `oauth2` fetches tokens.
        scopes: What it asks for there.
    """

    secret: str
    scheme: str = ""
    type: CredentialType | None = None
    user: str = ""
    name: str = ""
    place: Place | None = None
    token_url: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """What one call may use.

    Attributes:
        hosts: The hosts that the caller's calls may reach.
        credentials: By scheme; the user's own instead of the tenant's.
        source: Where the description was read.
    """

    hosts: tuple[ApiHost, ...]
    credentials: Mapping[str, SealedCredential]
    source: str


class AccessStore:
    """Hosts and credentials of all tenants.

    Args:
        database: Where they are stored.
        cache: Knows providers and their descriptions.
        secrets: Seals credentials.
        settings: Names what callers with a key may reach.
    """

    def __init__(self, database: Database, cache: DescriptionCache, secrets: SecretBox, settings: Settings) -> None:
        self._database = database
        self._cache = cache
        self._secrets = secrets
        self._settings = settings

    async def access(self, caller: Caller, provider: ProviderHead, version: int) -> Access:
        """Return what a call may use; one transaction."""
        async with self._database.transaction(caller.tenant) as link:
            hosts = await queries.hosts(link, caller, provider)
            found = await queries.credentials(link, caller, provider)
            source = await queries.source_of(link, caller, version)
        return Access(hosts, {one.about.scheme: one for one in found}, source)

    def open(self, credential: SealedCredential) -> tuple[str, str]:
        """Return user and secret of a credential.

        Raises:
            ConfigurationError: It was sealed with another key.
        """
        opened = json.loads(self._secrets.open(credential.sealed))
        return opened["user"], opened["secret"]

    async def list_hosts(self, caller: Caller, provider: str = "") -> tuple[ApiHost, ...]:
        """Return the hosts that calls may reach, of one API or of all.

        Raises:
            NotFound: There is no such provider.
        """
        heads = await self._heads(caller, provider)
        async with self._database.transaction(caller.tenant) as link:
            return tuple([one for head in heads for one in await queries.hosts(link, caller, head)])

    async def allow_host(self, caller: Caller, provider: str, host: str, *, private: bool) -> ApiHost:
        """Let calls of an API reach a host.

        Raises:
            InvalidInput: It is not a host.
            NotFound: There is no such provider.
            NotAllowed: A caller with a key may not allow private addresses.
        """
        head = find_provider(await self._cache.directory(caller), provider)
        origin = origin_of(host)
        if private and caller.keyed and origin not in map(origin_of, self._settings.api_hosts):
            raise NotAllowed(
                "A caller with a key may not allow an address that is not public.",
                hint=f"The server's operator names it in THRESHER_API_HOSTS: {origin}",
            )
        await run_retrying(
            self._database,
            caller.tenant,
            lambda link: queries.put_host(link, caller, head, origin, private=private),
        )
        return ApiHost(head.name, origin, private, caller.user)

    async def disallow_host(self, caller: Caller, provider: str, host: str) -> str:
        """Keep calls of an API from a host; return its origin.

        Raises:
            NotFound: There is no such provider, or the caller has not allowed this host.
        """
        head = find_provider(await self._cache.directory(caller), provider)
        origin = origin_of(host)
        removed = await run_retrying(
            self._database, caller.tenant, lambda link: queries.delete_host(link, caller, head, origin)
        )
        if not removed:
            raise NotFound(f"{origin} is not allowed for '{head.name}'.", hint=f"thresher apis hosts list {head.name}")
        return origin

    async def list_credentials(self, caller: Caller, provider: str = "") -> tuple[ApiCredential, ...]:
        """Return the credentials, without secrets, of one API or of all.

        Raises:
            NotFound: There is no such provider.
        """
        heads = await self._heads(caller, provider)
        async with self._database.transaction(caller.tenant) as link:
            return tuple([one.about for head in heads for one in await queries.credentials(link, caller, head)])

    async def set_credential(self, caller: Caller, provider: str, given: CredentialRequest) -> ApiCredential:
        """Store a credential for the caller: the tenant's if the caller has no user.

        Raises:
            NotFound: There is no such provider, or its description was not read yet.
            InvalidInput: It does not fit a security scheme of the description.
        """
        head = find_provider(await self._cache.directory(caller), provider)
        described: dict[str, tuple[SecurityScheme, str]] = {}
        for version in reversed(head.versions):  # the newest is last, and wins
            if version.digest:
                found = await self._cache.description(caller.tenant, version)
                for name, scheme in found.security_schemes.items():
                    described[name] = scheme, client_credentials_url(found, name)
        credential = replace(_credential(head.name, given, described), owner=caller.user)
        _check_secret(credential, given)
        sealed = self._secrets.seal(json.dumps({"user": given.user, "secret": given.secret}))
        await run_retrying(
            self._database,
            caller.tenant,
            lambda link: queries.put_credential(link, caller, head, credential, sealed),
        )
        return credential

    async def remove_credential(self, caller: Caller, provider: str, scheme: str | None) -> int:
        """Remove the caller's credential of a scheme, or all of an API; return how many.

        Raises:
            NotFound: There is no such provider or credential.
        """
        head = find_provider(await self._cache.directory(caller), provider)
        removed = await run_retrying(
            self._database, caller.tenant, lambda link: queries.delete_credentials(link, caller, head, scheme)
        )
        if not removed:
            raise NotFound(
                f"You have no such credential for '{head.name}'.", hint=f"thresher apis credentials list {head.name}"
            )
        return removed

    async def _heads(self, caller: Caller, provider: str) -> Sequence[ProviderHead]:
        directory = await self._cache.directory(caller)
        return [find_provider(directory, provider)] if provider.strip() else directory


def origin_of(text: str) -> str:
    """Return the origin of an address: scheme, host and a port that is not the scheme's own; https by default.

    Raises:
        InvalidInput: It is not a host.
    """
    text = text.strip()
    try:
        # Read by what sends: another reader could take the same text for another host (faß.de is not fass.de).
        url = httpx2.URL(text if "://" in text else f"https://{text}")
        host, port = url.raw_host.decode("ascii").rstrip("."), url.port
        sound = url.scheme in _PORTS and is_host(host) and port != 0 and not url.userinfo
    except (httpx2.InvalidURL, ValueError):
        sound, url, host, port = False, httpx2.URL(), "", None
    if not sound:
        raise InvalidInput(f"{text[:200]!r} is not a host.", hint="Write https://api.example.com, or a host's name.")
    shown = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{shown}" + (f":{port}" if port not in (None, _PORTS[url.scheme]) else "")


def allowed_host(
    access: Access, provider: ProviderHead, address: str, credentials: Sequence[SealedCredential]
) -> ApiHost:
    """Return the row that lets a call reach an address with these credentials.

    Raises:
        NotAllowed: Nobody has allowed it; the hint is the command that does.
    """
    origin = origin_of(address)
    rows = [one for one in access.hosts if one.host == origin]
    if any(one.about.owner is None for one in credentials) and provider.owner is None:
        shared = [one for one in rows if one.owner is None]
        if rows and not shared:
            raise NotAllowed(
                f"{origin} is allowed for you, but the credential is your team's, which has not allowed it.",
                hint="Store a credential of your own, or ask an administrator to allow the host.",
            )
        rows = shared
    if not rows:
        raise NotAllowed(
            f"Nobody has allowed calls of '{provider.name}' to {origin} yet; nothing was sent.",
            hint=f"A person allows it: {_allowing(provider, origin, private=is_private_host(_host_of(origin)))}",
        )
    return next((one for one in rows if one.private), rows[0])


def _host_of(origin: str) -> str:
    return httpx2.URL(origin).host


def _allowing(provider: ProviderHead, origin: str, *, private: bool) -> str:
    """Return the command that allows a host."""
    return f"thresher apis hosts allow {provider.name} {origin}{' --private' if private else ''}"


def refusal_of(host: ApiHost, provider: ProviderHead) -> Refusal | None:
    """Return what makes the error if an allowed host is not public; None if it need not be."""

    def refusal(name: str) -> NotAllowed:
        return NotAllowed(
            f"{name} is not a public address; nothing was sent.",
            hint=f"A person who trusts it allows it: {_allowing(provider, host.host, private=True)}",
        )

    return None if host.private else refusal


def credentials_for(
    access: Access, provider: ProviderHead, description: Description, operation: Operation
) -> tuple[SealedCredential, ...]:
    """Return the credentials that a call carries: those of the operation's first requirement that is complete.

    Where a description says nowhere that a sign-in is needed, the only credential is carried.

    Raises:
        NotAllowed: The operation needs a sign-in, and none is stored that suits.
    """
    stored = access.credentials
    if operation.security is None:
        silent = all(one.security is None for one in description.operations)
        only = [stored[""]] if "" in stored else [*stored.values()] if silent else []
        return tuple(only) if len(only) == 1 else ()
    for requirement in operation.security:
        if requirement.schemes and all(name in stored for name, _ in requirement.schemes):
            return tuple(stored[name] for name, _ in requirement.schemes)
    if not operation.security or any(not one.schemes for one in operation.security):
        return ()
    if "" in stored:
        return (stored[""],)
    raise _unsigned(provider, operation, operation.security, stored)


def _unsigned(
    provider: ProviderHead,
    operation: Operation,
    security: Sequence[Requirement],
    stored: Mapping[str, SealedCredential],
) -> NotAllowed:
    """Return the error for a call without a credential that it needs."""
    needed = [" and ".join(one_line(name, 80) for name, _ in each.schemes) for each in security[:4]]
    missing = next(name for name, _ in security[0].schemes if name not in stored)
    return NotAllowed(
        f"{operation.key} of '{provider.name}' needs a sign-in ({', or '.join(needed)}); nothing was sent.",
        hint=f"A person stores it: thresher apis credentials set {provider.name} --scheme {shlex.quote(missing)}",
    )


def _credential(
    provider: str, given: CredentialRequest, described: Mapping[str, tuple[SecurityScheme, str]]
) -> ApiCredential:
    """Return the credential that is meant, completed from the description."""
    usable = [name for name, (scheme, _) in described.items() if given.type or _type_of(scheme, given)]
    name = given.scheme or (usable[0] if len(usable) == 1 else "")
    if not name and given.type is None:
        known = ", ".join(usable) or "none that can be stored"
        raise InvalidInput(
            "It is not clear what the secret is for.",
            hint=f"Name a scheme of the description ({known}), or give a type: key, basic, bearer or oauth2.",
        )
    if name and name not in described:
        known = ", ".join(described) or "none"
        raise InvalidInput(
            f"The description has no security scheme '{name[:100]}'.",
            hint=f"It has: {known}. Instead of a scheme, a type can be given: key, basic, bearer or oauth2.",
        )
    scheme, token_url = described.get(name, (None, ""))
    kind = given.type or (None if scheme is None else _type_of(scheme, given))
    if kind is None:
        raise InvalidInput(f"'{name[:100]}' is a sign-in that calls cannot make.", hint="Give a type that fits.")
    keyed = kind == "key" and scheme is not None and scheme.type == "apiKey"
    place = given.place or (scheme.place if keyed and scheme else "") or "header"
    return ApiCredential(
        provider=provider,
        scheme=name,
        type=kind,
        place=_place(place),
        name=(given.name or (scheme.key if keyed and scheme else "")) if kind == "key" else "",
        token_url=(given.token_url or token_url) if kind == "oauth2" else "",
        scopes=given.scopes if kind == "oauth2" else (),
    )


def _place(text: str) -> Place:
    match text:
        case "query" | "cookie":
            return text
        case _:
            return "header"


def _type_of(scheme: SecurityScheme, given: CredentialRequest) -> CredentialType | None:
    if scheme.type == "apiKey":
        return "key"
    if scheme.type == "http":
        return "basic" if scheme.scheme == "basic" else "bearer" if scheme.scheme == "bearer" else None
    if scheme.type in ("oauth2", "openIdConnect"):
        return "oauth2" if given.user else "bearer"
    return None


def _check_secret(credential: ApiCredential, given: CredentialRequest) -> None:
    for text, what in ((given.secret, "secret"), (given.user, "user")):
        if not text.isprintable() or not text.isascii() or len(text) > _LONGEST:
            raise InvalidInput(f"The {what} holds characters that a request cannot hold, or is too long.")
    if not given.secret.strip():
        raise InvalidInput("The secret is empty.", hint="Type or pipe it: it is not taken from the command line.")
    if credential.type in ("basic", "oauth2") and not given.user:
        raise InvalidInput(f"A credential of type {credential.type} has a user.", hint="Give the user, or client id.")
    if credential.type == "basic" and ":" in given.user:
        raise InvalidInput("A user name with ':' cannot be sent.", hint="HTTP basic separates the password with it.")
    if credential.type == "oauth2":
        if "://" not in credential.token_url:
            raise InvalidInput("The address of the tokens is not known.", hint="Give it: --token-url https://...")
        origin_of(credential.token_url)
    if credential.type == "key" and (not _is_token(credential.name) or credential.name.lower() in _FRAMING):
        raise InvalidInput(f"{credential.name[:100]!r} is not the name of a key.", hint="Give the header or parameter.")


def _is_token(name: str) -> bool:
    """Return whether a name can be that of a header, a parameter and a cookie alike."""
    return bool(name) and all(letter.isascii() and (letter.isalnum() or letter in "!#$%&'*+-.^_`|~") for letter in name)
