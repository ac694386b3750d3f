"""How a caller proves who it is, in words and for code.

Invariant: pure; no credential is ever in what comes out, only names of variables that hold one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from thresher.core import one_line
from thresher.openapi.description import Description
from thresher.openapi.records import Operation, Requirement, SecurityScheme

Way: TypeAlias = Literal["bearer", "basic", "header", "query", "cookie"]

NOTHING_SAID: Final = "The description does not say how a caller proves who it is."
NOT_NEEDED: Final = "No sign-in is needed."
_TOKEN: Final = re.compile(r"[^A-Za-z0-9!#$%&'*+.^_`|~-]")
_NAME: Final = 80
_SCOPES: Final = 8
_WAYS: Final = 8


@dataclass(frozen=True, slots=True)
class Credential:
    """What a call carries to be let in.

    Attributes:
        way: Where it goes.
        key: Name of the header, parameter or cookie; empty for `bearer` and `basic`.
        variables: Names of the environment variables that hold it: one, for `basic` user and password.
    """

    way: Way
    key: str
    variables: tuple[str, ...]


def header_name(name: str) -> str:
    """A name as a header may have it; other characters are left out."""
    return _TOKEN.sub("", name)


def credentials_of(description: Description, operation: Operation, prefix: str) -> tuple[Credential, ...]:
    """What a call carries by the first way that code can go; nothing where none is said or needed.

    Args:
        description: Where the schemes are.
        operation: What is called.
        prefix: Beginning of the variables' names, such as the provider's name.
    """
    for requirement in operation.security or ():
        known = [description.security_schemes.get(name) for name, _ in requirement.schemes]
        found = [None if scheme is None else _credential(scheme, prefix) for scheme in known]
        if found and all(found):
            return tuple(one for one in found if one is not None)
    return ()


def _credential(scheme: SecurityScheme, prefix: str) -> Credential | None:
    if scheme.type in {"oauth2", "openIdConnect"} or (scheme.type, scheme.scheme) == ("http", "bearer"):
        return Credential("bearer", "", (variable(prefix, "token"),))
    if (scheme.type, scheme.scheme) == ("http", "basic"):
        return Credential("basic", "", (variable(prefix, "user"), variable(prefix, "password")))
    key = header_name(scheme.key) if scheme.place in {"header", "cookie"} else scheme.key
    if scheme.type != "apiKey" or not key:
        return None
    held = (variable(prefix, scheme.name or scheme.key),)
    if scheme.place == "header":
        return Credential("header", key, held)
    if scheme.place == "query":
        return Credential("query", key, held)
    return Credential("cookie", key, held) if scheme.place == "cookie" else None


def variable(prefix: str, name: str) -> str:
    """The name of an environment variable."""
    plain = re.sub(r"[^A-Z0-9]+", "_", f"{prefix[:_NAME]}_{name[:_NAME]}".upper()).strip("_") or "TOKEN"
    return plain if plain[0].isalpha() else f"API_{plain}"


def auth_of(description: Description, operation: Operation) -> tuple[str, ...]:
    """Ways to be let in, in words, any of which is enough."""
    if operation.security is None:
        return (NOTHING_SAID,)
    ways = [_way(description, requirement) for requirement in operation.security[:_WAYS]]
    return tuple(dict.fromkeys(ways)) or (NOT_NEEDED,)


def _way(description: Description, requirement: Requirement) -> str:
    if not requirement.schemes:
        return NOT_NEEDED
    return " and ".join(_words(description, name, scopes) for name, scopes in requirement.schemes)


def _words(description: Description, name: str, scopes: tuple[str, ...]) -> str:
    scheme = description.security_schemes.get(name)
    said = (
        _scheme(scheme) if scheme is not None else f"{one_line(name, _NAME)} (which the description does not explain)"
    )
    if not scopes:
        return said
    more = f" and {len(scopes) - _SCOPES} more" if len(scopes) > _SCOPES else ""
    return f"{said} with scope {', '.join(one_line(scope, _NAME) for scope in scopes[:_SCOPES])}{more}"


def _scheme(scheme: SecurityScheme) -> str:
    name, key = one_line(scheme.name, _NAME), one_line(scheme.key, _NAME)
    if scheme.type == "apiKey":
        places = {"header": "header", "query": "query parameter", "cookie": "cookie"}
        return f"an API key in the {places.get(scheme.place, 'request as')} {key}"
    if scheme.type == "http":
        words = {"basic": "user and password (HTTP basic)", "bearer": "a bearer token in the header Authorization"}
        return words.get(scheme.scheme, f"HTTP authentication {one_line(scheme.scheme, _NAME)}")
    words = {
        "oauth2": f"an OAuth 2 access token ({name}) in the header Authorization",
        "openIdConnect": f"an OpenID Connect token ({name}) in the header Authorization",
        "mutualTLS": "a client certificate (mutual TLS)",
    }
    return words.get(scheme.type, name)
