"""Builds the request of a call out of checked arguments.

Invariant: pure; the address stays below the server's, whatever the arguments contain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from thresher.core import InvalidInput
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json, Operation, Parameter
from thresher.openapi.requests.arguments import CheckedArguments
from thresher.openapi.requests.bodies import EncodedBody, encode_body
from thresher.openapi.requests.styles import (
    Pairs,
    cookie_pairs,
    header_text,
    path_text,
    query_pairs,
    style_of,
)
from thresher.openapi.schemas import listed, mapped
from thresher.openapi.tips import SAFE

_MEDIA: Final = 8
_PLACE: Final = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request.

    Attributes:
        method: Upper case.
        base: Address of the server, without a trailing slash.
        path: Below it, encoded.
        query: Encoded names and values.
        headers: Names and values.
        cookies: Names and encoded values.
        body: None without one.
    """

    method: str
    base: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    body: EncodedBody | None = None

    @property
    def url(self) -> str:
        """The whole address."""
        query = "&".join(f"{name}={value}" if value or name else value for name, value in self.query)
        mark = "&" if "?" in self.path else "?"
        return f"{self.base}{self.path}{f'{mark}{query}' if query else ''}"

    @property
    def safe(self) -> bool:
        """Whether its method only reads (RFC 9110, section 9.2.1)."""
        return self.method in SAFE

    def adding(self, *, query: Pairs = [], headers: Pairs = [], cookies: Pairs = []) -> HttpRequest:  # noqa: B006 - never changed
        """Return the request with more of these; headers replace those of the same name."""
        named = {name.lower() for name, _ in headers}
        kept = [one for one in self.headers if one[0].lower() not in named]
        return replace(
            self,
            query=(*self.query, *query),
            headers=(*kept, *headers),
            cookies=(*self.cookies, *cookies),
        )


def build_request(
    description: Description, operation: Operation, base: str, arguments: CheckedArguments
) -> HttpRequest:
    """Return the request of a call, without credentials.

    Args:
        description: Knows how parameters are written.
        operation: The operation.
        base: Address of the server, without a trailing slash.
        arguments: As checked.

    Raises:
        InvalidInput: The path leads elsewhere, or the body cannot be written.
    """
    places: dict[str, Pairs] = {"query": [], "header": [], "cookie": []}
    filled: dict[str, str] = {}
    for parameter, value in arguments.values:
        if parameter.place == "path":
            filled[parameter.name] = path_text(parameter.name, value, style_of(description, parameter))
        elif parameter.place == "querystring":
            places["query"] += [("", text) for _, text in query_pairs("", value, style_of(description, parameter))]
        else:
            places[parameter.place] += _pairs(description, parameter, value)
    body = None
    if operation.body is not None and arguments.content is not None:
        body = encode_body(description, operation.body, arguments.content, arguments.body)
    given = {name.lower() for name, _ in places["header"]}
    headers = [("Accept", _accepted(description, operation))] if "accept" not in given else []
    return HttpRequest(
        method=operation.method,
        base=base,
        path=_path(operation, filled),
        query=tuple(places["query"]),
        headers=(*headers, *places["header"]),
        cookies=tuple(places["cookie"]),
        body=body,
    )


def _accepted(description: Description, operation: Operation) -> str:
    """Return the media types of the answers, and last any other."""
    answers = [one.media for each in operation.responses[:4] for one in each.contents[:4]]
    produced = mapped(description.resolve(operation.pointer)).get("produces") or description.root.get("produces")
    answers += [one for one in listed(produced) if isinstance(one, str)] if description.dialect == "2.0" else []
    sound = [one for one in dict.fromkeys(answers) if one.isascii() and one.isprintable()]
    return ", ".join([*sound[:_MEDIA], "*/*;q=0.5" if sound else "*/*"])


def _pairs(description: Description, parameter: Parameter, value: Json) -> Pairs:
    style = style_of(description, parameter)
    if parameter.place == "header":
        return [(parameter.name, header_text(value, style))]
    if parameter.place == "cookie":
        return cookie_pairs(parameter.name, value, style)
    return query_pairs(parameter.name, value, style)


def _path(operation: Operation, filled: Mapping[str, str]) -> str:
    path = operation.path if operation.path.startswith("/") else f"/{operation.path}"
    path = _PLACE.sub(lambda found: filled.get(found[0][1:-1], found[0]), path)
    plain, _, query = path.partition("?")
    if any(unquote(segment) in (".", "..") for segment in plain.split("/")) or "#" in path or "\\" in path:
        raise InvalidInput(f"The path {path[:200]} leads elsewhere.", hint="Give other values.")
    return f"{plain}?{query}" if query else plain
