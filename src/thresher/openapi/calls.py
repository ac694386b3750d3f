"""A call of an operation with example values, ready to be written as code.

Invariant: pure; every value is an example, and what must be given is there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import quote

from thresher.openapi.characters import UNSEEN
from thresher.openapi.credentials import Credential, credentials_of, header_name
from thresher.openapi.description import Description
from thresher.openapi.examples import best_example
from thresher.openapi.records import Body, Content, Json, Operation, Parameter

PLACEHOLDER: Final = "https://api.example.com"
_ABSOLUTE: Final = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_BREAKS: Final = str.maketrans("", "", "\n\t")
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Call:
    """A call.

    Attributes:
        method: Upper case.
        url: With the path's parameters filled in, without query.
        query: Names and values.
        headers: Likewise, without those of credentials and of the body.
        cookies: Likewise.
        media: Of the body; empty without one.
        body: An example; None without.
        credentials: What lets the caller in.
    """

    method: str
    url: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    media: str = ""
    body: Json = None
    credentials: tuple[Credential, ...] = ()

    @property
    def kind(self) -> str:
        """How the body is sent: `json`, `form`, `multipart`, `raw`, or empty without one."""
        media = self.media.lower().split(";")[0].strip()
        if not media:
            return ""
        if media == "application/json" or media.endswith("+json") or media == "*/*":
            return "json"
        if media.startswith("multipart/"):
            return "multipart"
        return "form" if media == _FORM and isinstance(self.body, dict) else "raw"


def call_of(description: Description, operation: Operation, *, base_url: str = "", prefix: str = "") -> Call:
    """A call with everything that must be given.

    Args:
        description: Where references lead.
        operation: What is called.
        base_url: Where it is called, where the description names no whole address.
        prefix: Beginning of the names of variables that hold credentials.
    """
    credentials = credentials_of(description, operation, prefix)
    signed = {one.key.lower() for one in credentials} | {"authorization", "content-type", "accept"}
    content = sent_content(operation.body)
    accept = next((one.media for response in operation.responses for one in response.contents), "")

    def given(place: str) -> tuple[tuple[str, str], ...]:
        wanted = [one for one in operation.parameters if one.place == place and one.required]
        return tuple((_clean(one.name), _text(description, one)) for one in wanted if one.name.lower() not in signed)

    accepted = (("Accept", _clean(accept)),) if accept else ()
    return Call(
        method=operation.method,
        url=base_of(description, operation, base_url) + filled_path(description, operation),
        query=given("query"),
        headers=(*accepted, *((header_name(name), value) for name, value in given("header") if header_name(name))),
        cookies=tuple((header_name(name), value) for name, value in given("cookie")),
        media="" if content is None else _media(content.media),
        body=None if content is None else finite(request_example(description, content)),
        credentials=credentials,
    )


def _media(named: str) -> str:
    """What a body is sent as; JSON where anything may be."""
    return "application/json" if "*" in named else _clean(named)


def sent_content(body: Body | None) -> Content | None:
    """The form in which a body is sent: JSON where it may be."""
    contents = () if body is None else body.contents
    return next((one for one in contents if "json" in one.media.lower()), contents[0] if contents else None)


def request_example(description: Description, content: Content) -> Json:
    """An example of a body that is sent."""
    return best_example(description, content.schema, content.example, direction="request")


def base_of(description: Description, operation: Operation, base_url: str) -> str:
    """Where an operation is called, without a slash at its end."""
    servers = operation.servers or description.servers
    whole = next((url for url in servers if _ABSOLUTE.match(url)), "")
    if not whole:
        relative = next((url for url in servers if url.startswith("/")), "")
        whole = (base_url if _ABSOLUTE.match(base_url) else PLACEHOLDER).rstrip("/") + relative
    return _clean(whole).rstrip("/")


def is_placeholder(base: str) -> bool:
    """Whether a base address stands for one that nobody named."""
    return base == PLACEHOLDER or base.startswith(f"{PLACEHOLDER}/")


def filled_path(description: Description, operation: Operation) -> str:
    """The path with examples in the places of its parameters."""
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
    """An example of a parameter's value."""
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
    """Text without control characters."""
    return UNSEEN.sub("", text).translate(_BREAKS)


def finite(value: Json) -> Json:
    """A value without numbers that JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [finite(one) for one in cast("list[Json]", value)]
    if isinstance(value, dict):
        return {name: finite(one) for name, one in cast("dict[str, Json]", value).items()}
    return value
