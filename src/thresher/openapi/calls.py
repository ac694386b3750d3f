"""Example calls of an operation, with credentials, ready to be written as code.

Invariant: pure; every value is an example, and everything required is present.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import quote

from thresher.core import one_line
from thresher.openapi.examples import best_example
from thresher.openapi.pointers import join
from thresher.openapi.reader.characters import UNSEEN
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Body, Json, MediaType, Operation, Parameter, Requirement, SecurityScheme
from thresher.openapi.requests.servers import whole_address
from thresher.openapi.schemas import mapped

Way: TypeAlias = Literal["bearer", "basic", "header", "query", "cookie"]

NOTHING_SAID: Final = "The description does not say how a caller proves who it is."
NOT_NEEDED: Final = "No sign-in is needed."
_TOKEN: Final = re.compile(r"[^A-Za-z0-9!#$%&'*+.^_`|~-]")
_NAME: Final = 80
_SCOPES: Final = 8
_WAYS: Final = 8


@dataclass(frozen=True, slots=True)
class CallCredential:
    """A credential that a call carries.

    Attributes:
        way: Where it is sent.
        key: Name of the header, parameter or cookie; empty for `bearer` and `basic`.
        variables: Names of the environment variables that hold it: one, or user and password for `basic`.
    """

    way: Way
    key: str
    variables: tuple[str, ...]


def header_name(name: str) -> str:
    """Return a name without the characters that a header name cannot hold."""
    return _TOKEN.sub("", name)


def credentials_of(description: Description, operation: Operation, prefix: str) -> tuple[CallCredential, ...]:
    """Return the credentials of the first security requirement that code can satisfy; empty if none is given or needed.

    Args:
        description: Defines the security schemes.
        operation: The operation to call.
        prefix: Prefix of the variable names, such as the provider's name.
    """
    for requirement in operation.security or ():
        known = [description.security_schemes.get(name) for name, _ in requirement.schemes]
        found = [None if scheme is None else _credential(scheme, prefix) for scheme in known]
        if found and all(found):
            return tuple(one for one in found if one is not None)
    return ()


def _credential(scheme: SecurityScheme, prefix: str) -> CallCredential | None:
    if scheme.type in {"oauth2", "openIdConnect"} or (scheme.type, scheme.scheme) == ("http", "bearer"):
        return CallCredential("bearer", "", (variable(prefix, "token"),))
    if (scheme.type, scheme.scheme) == ("http", "basic"):
        return CallCredential("basic", "", (variable(prefix, "user"), variable(prefix, "password")))
    key = header_name(scheme.key) if scheme.place in {"header", "cookie"} else scheme.key
    if scheme.type != "apiKey" or not key:
        return None
    held = (variable(prefix, scheme.name or scheme.key),)
    if scheme.place == "header":
        return CallCredential("header", key, held)
    if scheme.place == "query":
        return CallCredential("query", key, held)
    return CallCredential("cookie", key, held) if scheme.place == "cookie" else None


def client_credentials_url(description: Description, name: str) -> str:
    """Return where a security scheme fetches tokens with client credentials, as written; empty if it does not."""
    old = description.dialect == "2.0"
    place = join("/securityDefinitions" if old else "/components/securitySchemes", name)
    fields = mapped(description.follow(description.resolve(place)))
    flow = fields if old else mapped(mapped(fields.get("flows")).get("clientCredentials"))
    return "" if old and fields.get("flow") != "application" else str(flow.get("tokenUrl") or "")


def variable(prefix: str, name: str) -> str:
    """Return the name of an environment variable."""
    plain = re.sub(r"[^A-Z0-9]+", "_", f"{prefix[:_NAME]}_{name[:_NAME]}".upper()).strip("_") or "TOKEN"
    return plain if plain[0].isalpha() else f"API_{plain}"


def auth_of(description: Description, operation: Operation) -> tuple[str, ...]:
    """Return the alternative ways to authenticate, in words."""
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


PLACEHOLDER: Final = "https://api.example.com"
_BREAKS: Final = str.maketrans("", "", "\n\t")
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """An example call.

    Attributes:
        method: Upper case.
        url: With path parameters filled in, without a query.
        query: Names and values.
        headers: Names and values, without those of credentials and body.
        cookies: Names and values.
        media: Media type of the body; may be empty.
        body: An example, or None.
        credentials: Those of one security requirement.
    """

    method: str
    url: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    media: str = ""
    body: Json = None
    credentials: tuple[CallCredential, ...] = ()

    @property
    def kind(self) -> str:
        """How the body is sent: `json`, `form`, `multipart`, `raw`, or empty without a body."""
        media = self.media.lower().split(";")[0].strip()
        if not media:
            return ""
        if media == "application/json" or media.endswith("+json") or media == "*/*":
            return "json"
        if media.startswith("multipart/"):
            return "multipart"
        return "form" if media == _FORM and isinstance(self.body, dict) else "raw"


def call_of(
    description: Description, operation: Operation, *, base_url: str = "", location: str = "", prefix: str = ""
) -> ExampleCall:
    """Return an example call with everything that is required.

    Args:
        description: Resolves references.
        operation: The operation to call.
        base_url: Used if the description gives no absolute address.
        location: Where the description was read from; a URL is used if there is no `base_url` either.
        prefix: Prefix of the variables that hold credentials.
    """
    credentials = credentials_of(description, operation, prefix)
    signed = {one.key.lower() for one in credentials} | {"authorization", "content-type", "accept"}
    content = sent_content(operation.body)
    accept = next((one.media for response in operation.responses for one in response.contents), "")

    def given(place: str) -> tuple[tuple[str, str], ...]:
        wanted = [one for one in operation.parameters if one.place == place and one.required]
        return tuple((_clean(one.name), _text(description, one)) for one in wanted if one.name.lower() not in signed)

    accepted = (("Accept", _clean(accept)),) if accept else ()
    return ExampleCall(
        method=operation.method,
        url=base_of(description, operation, base_url, location) + filled_path(description, operation),
        query=given("query"),
        headers=(*accepted, *((header_name(name), value) for name, value in given("header") if header_name(name))),
        cookies=tuple((header_name(name), value) for name, value in given("cookie")),
        media="" if content is None else _media(content.media),
        body=None if content is None else finite(request_example(description, content)),
        credentials=credentials,
    )


def _media(named: str) -> str:
    """Return the media type of a body; JSON if any is allowed."""
    return "application/json" if "*" in named else _clean(named)


def sent_content(body: Body | None) -> MediaType | None:
    """Return the content that a request sends: JSON if allowed."""
    contents = () if body is None else body.contents
    return next((one for one in contents if "json" in one.media.lower()), contents[0] if contents else None)


def request_example(description: Description, content: MediaType) -> Json:
    """Return an example of a request body."""
    return best_example(description, content.schema, content.example, direction="request")


def base_of(description: Description, operation: Operation, base_url: str, location: str = "") -> str:
    """Return the base address of an operation without a trailing slash; see `base_address`."""
    servers = operation.servers or description.servers
    return base_address(servers, base_url, location) or base_address(servers, PLACEHOLDER)


def base_address(servers: Sequence[str], base_url: str = "", location: str = "") -> str:
    """Return the base address that servers of a description mean, without a trailing slash; empty if none is known.

    It is that of the first server whose address is known, see `whole_address`; no server means the root of the host
    (OpenAPI 3.1, 4.8.5; Swagger 2.0, `host`).

    Args:
        servers: As the description names them, with the defaults of their variables.
        base_url: An address that the description does not name.
        location: The path or URL that the description was read from.
    """
    known = (whole_address(url, base_url, location) for url in (*servers, "/"))
    return _clean(next((one for one in known if one), "")).rstrip("/")


def is_placeholder(base: str) -> bool:
    """Return whether a base address is a placeholder because the description gives none."""
    return base == PLACEHOLDER or base.startswith(f"{PLACEHOLDER}/")


def filled_path(description: Description, operation: Operation) -> str:
    """Return the path with examples for its parameters."""
    path = operation.path if operation.path.startswith("/") else f"/{operation.path}"
    for one in operation.parameters:
        if one.place == "path":
            path = path.replace(f"{{{one.name}}}", quote(_text(description, one), safe=""))
    return _clean(path)


def _text(description: Description, parameter: Parameter) -> str:
    value = parameter_example(description, parameter)
    if isinstance(value, list):
        return ",".join(_scalar(one) for one in cast("list[Json]", value))
    if isinstance(value, dict):
        pairs = cast("dict[str, Json]", value).items()
        return ",".join(f"{name},{_scalar(one)}" for name, one in pairs)
    return _scalar(value)


def parameter_example(description: Description, parameter: Parameter) -> Json:
    """Return an example value of a parameter."""
    schema: Mapping[str, Json] = parameter.schema or {"type": "string"}
    value = best_example(description, schema, parameter.example, direction="request")
    if value == "text" or (value == "" and parameter.place == "path"):
        return parameter.name
    return finite(value)


def _scalar(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else _clean(str(value))


def _clean(text: str) -> str:
    """Return the text without control characters."""
    return UNSEEN.sub("", text).translate(_BREAKS)


def finite(value: Json) -> Json:
    """Return the value without numbers that JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [finite(one) for one in cast("list[Json]", value)]
    if isinstance(value, dict):
        return {name: finite(one) for name, one in cast("dict[str, Json]", value).items()}
    return value
