"""Reads the operations of a description: each method of each path and of each webhook.

Invariant: a part that cannot be read is noted and left out; its operation stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from thresher.openapi.context import Context
from thresher.openapi.dialects import METHODS
from thresher.openapi.frame import read_security, read_servers
from thresher.openapi.parts import read_body, read_parameter, read_response
from thresher.openapi.pointers import join
from thresher.openapi.records import Body, Json, Operation, Parameter, Requirement, Response
from thresher.openapi.swagger import body_of, read_swagger_parameter, read_swagger_response

_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""What a method may be called, by RFC 9110, section 5.6.2."""
_LONGEST_METHOD: Final = 40
_LONGEST_PATH: Final = 2_000
"""Octets: method and path name an operation, also in indexes whose keys are bounded."""


@dataclass(frozen=True, slots=True)
class Item:
    """A path, or a webhook, with what it gives to each of its operations.

    Attributes:
        path: As in the description; a webhook's name.
        fields: Of the path item, its reference followed, with what stands beside the reference.
        places: Where each of them stands: the pointer of the mapping that holds it.
        parameters: Of all its operations.
        servers: Likewise.
    """

    path: str
    fields: Mapping[str, Json]
    places: Mapping[str, str]
    parameters: tuple[Parameter, ...]
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the description gives to every operation that does not say otherwise."""

    security: tuple[Requirement, ...] | None
    consumes: tuple[str, ...]
    produces: tuple[str, ...]


def read_operations(context: Context) -> Iterator[tuple[Operation, list[Json]]]:
    """Each operation, still without schemas and digest, and all that the description says of it."""
    root = context.root
    defaults = Defaults(
        read_security(context, root, ""), context.texts(root, "consumes", ""), context.texts(root, "produces", "")
    )
    seen: set[str] = set()
    for item in _items(context):
        for method, value, pointer in _methods(context, item):
            fields, _ = context.follow(value, pointer, "An operation")
            if not fields and value != {}:
                continue
            operation = _operation(context, item, method, fields, pointer, defaults)
            if operation.key in seen:
                context.note("duplicate-operation", f"{operation.key} stands twice; the first is kept.", pointer)
                continue
            seen.add(operation.key)
            yield operation, _said(item, operation, fields)


def _items(context: Context) -> Iterator[Item]:
    """The paths, then the webhooks."""
    for group in ("paths", "webhooks"):
        for path, value, pointer in context.entries(context.root, group, ""):
            if len(path.encode("utf-8", "replace")) > _LONGEST_PATH:
                message = f"The path {path[:60]}... has more than {_LONGEST_PATH:,} octets; it is left out. Shorten it."
                context.note("long-path", message, f"/{group}")
                continue
            yield _item(context, path, value, pointer)


def _item(context: Context, path: str, value: Json, pointer: str) -> Item:
    """A path; what stands beside its reference wins."""
    fields, place = context.follow(value, pointer, "A path")
    places = dict.fromkeys(fields, place)
    if fields is not value and isinstance(value, dict):
        own = {key: each for key, each in cast("dict[str, Json]", value).items() if key != "$ref"}
        fields = {**fields, **own}
        places.update(dict.fromkeys(own, pointer))
    servers = () if context.dialect == "2.0" else read_servers(context, fields, places.get("servers", place))
    return Item(path, fields, places, _parameters(context, fields, places.get("parameters", place)), servers)


def _methods(context: Context, item: Item) -> Iterator[tuple[str, Json, str]]:
    """Method, value and pointer of a path's operations."""
    for key, value in item.fields.items():
        if key in METHODS[context.dialect]:
            yield key.upper(), value, join(item.places[key], key)
        elif key == "additionalOperations" and context.dialect == "3.2":
            for method, each, pointer in context.entries(item.fields, key, item.places[key]):
                if len(method) <= _LONGEST_METHOD and _TOKEN.fullmatch(method):
                    yield method.upper(), each, pointer
                else:
                    context.note(
                        "bad-method", "The method is not a short word that HTTP allows; it is left out.", pointer
                    )


def _parameters(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[Parameter, ...]:
    """The parameters of a path or an operation; the last of those of one name and place."""
    if "parameters" not in fields:
        return ()
    read = read_swagger_parameter if context.dialect == "2.0" else read_parameter
    found = (read(context, each, place) for each, place in context.items(fields, "parameters", pointer))
    return tuple({(each.name, each.place): each for each in found if each is not None}.values())


def _operation(
    context: Context, item: Item, method: str, fields: Mapping[str, Json], pointer: str, defaults: Defaults
) -> Operation:
    own = _parameters(context, fields, pointer)
    merged = tuple({(each.name, each.place): each for each in (*item.parameters, *own)}.values())
    security = read_security(context, fields, pointer)
    return Operation(
        method=method,
        path=item.path,
        operation_id=context.text(fields, "operationId", pointer),
        summary=context.text(fields, "summary", pointer) or _of_path(context, item, "summary"),
        description=context.text(fields, "description", pointer) or _of_path(context, item, "description"),
        tags=context.texts(fields, "tags", pointer),
        parameters=tuple(each for each in merged if each.place not in {"body", "formData"}),
        body=_body(context, fields, pointer, merged, defaults),
        responses=tuple(_responses(context, fields, pointer, defaults)),
        security=defaults.security if security is None else security,
        deprecated=context.flag(fields, "deprecated", pointer),
        servers=() if context.dialect == "2.0" else read_servers(context, fields, pointer) or item.servers,
        pointer=pointer,
    )


def _of_path(context: Context, item: Item, key: str) -> str:
    """A text that a path gives to its operations; empty without."""
    return context.text(item.fields, key, item.places[key]) if key in item.fields else ""


def _body(
    context: Context,
    fields: Mapping[str, Json],
    pointer: str,
    parameters: tuple[Parameter, ...],
    defaults: Defaults,
) -> Body | None:
    if context.dialect != "2.0":
        return read_body(context, fields, pointer)
    return body_of(parameters, context.texts(fields, "consumes", pointer) or defaults.consumes)


def _responses(context: Context, fields: Mapping[str, Json], pointer: str, defaults: Defaults) -> Iterator[Response]:
    swagger = context.dialect == "2.0"
    produces = context.texts(fields, "produces", pointer) or defaults.produces if swagger else ()
    if "responses" not in fields and context.dialect in {"2.0", "3.0"}:
        context.note("no-responses", "The operation does not say what it answers. Add its responses.", pointer)
    for status, value, place in context.entries(fields, "responses", pointer):
        if swagger:
            yield read_swagger_response(context, status, value, place, produces)
        else:
            yield read_response(context, status, value, place)


def _said(item: Item, operation: Operation, fields: Mapping[str, Json]) -> list[Json]:
    """What makes an operation, as plain data: what it says itself, and what it takes from others."""
    body = [each.media for each in operation.body.contents] if operation.body else []
    answers = [[each.media for each in response.contents] for response in operation.responses]
    security = operation.security and [each.schemes for each in operation.security]
    return [
        operation.method,
        operation.path,
        {key: value for key, value in fields.items() if not key.startswith("x-")},
        item.fields.get("parameters"),
        [operation.summary, operation.description, operation.servers, security, body, answers],
    ]
