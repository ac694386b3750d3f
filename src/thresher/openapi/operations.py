"""Reads the operations of a description: each method of each path and of each webhook.

Invariant: a part that cannot be read is noted and left out; its operation stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from thresher.openapi.context import Context
from thresher.openapi.dialects import METHODS
from thresher.openapi.frame import read_security, read_servers
from thresher.openapi.parts import read_body, read_parameter, read_response
from thresher.openapi.pointers import join
from thresher.openapi.records import Body, Json, Operation, Parameter, Requirement, Response
from thresher.openapi.swagger import body_of, read_swagger_parameter, read_swagger_response


@dataclass(frozen=True, slots=True)
class Item:
    """A path, or a webhook, with what it gives to each of its operations.

    Attributes:
        path: As in the description; a webhook's name.
        fields: Of the path item, its reference followed.
        pointer: Where they stand.
        parameters: Of all its operations.
        servers: Likewise.
    """

    path: str
    fields: Mapping[str, Json]
    pointer: str
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
        read_security(context, root.get("security"), "/security"),
        context.texts(root.get("consumes"), "/consumes", "consumes"),
        context.texts(root.get("produces"), "/produces", "produces"),
    )
    seen: set[str] = set()
    for item in _items(context):
        for method, value, pointer in _methods(context, item):
            fields = context.mapping(value, pointer, "An operation")
            if not isinstance(value, dict):
                continue
            operation = _operation(context, item, method, fields, pointer, defaults)
            if operation.key in seen:
                context.notes.add("duplicate-operation", f"{operation.key} stands twice; the first is kept.", pointer)
                continue
            seen.add(operation.key)
            yield operation, _said(item, operation, fields)


def _items(context: Context) -> Iterator[Item]:
    """The paths, then the webhooks."""
    for group in ("paths", "webhooks"):
        for path, value, pointer in context.entries(context.root.get(group), f"/{group}", group):
            yield _item(context, path, value, pointer)


def _item(context: Context, path: str, value: Json, pointer: str) -> Item:
    own = context.mapping(value, pointer, "A path")
    fields, place = context.follow(value, pointer, "A path")
    if fields is not own:
        fields = {**fields, **{key: each for key, each in own.items() if key != "$ref"}}
    parameters = _parameters(context, fields.get("parameters"), join(place, "parameters"))
    servers = () if context.dialect == "2.0" else read_servers(context, fields, place)
    return Item(path, fields, place, parameters, servers)


def _methods(context: Context, item: Item) -> Iterator[tuple[str, Json, str]]:
    """Method, value and pointer of a path's operations."""
    for method in METHODS[context.dialect]:
        if method in item.fields:
            yield method.upper(), item.fields[method], join(item.pointer, method)
    if context.dialect == "3.2":
        place = join(item.pointer, "additionalOperations")
        for method, value, pointer in context.entries(item.fields.get("additionalOperations"), place, "Operations"):
            yield method.upper(), value, pointer


def _parameters(context: Context, value: Json, pointer: str) -> tuple[Parameter, ...]:
    """The parameters of a list; the last of those of one name and place."""
    read = read_swagger_parameter if context.dialect == "2.0" else read_parameter
    found = (
        read(context, each, join(pointer, i)) for i, each in enumerate(context.items(value, pointer, "parameters"))
    )
    return tuple({(each.name, each.place): each for each in found if each is not None}.values())


def _operation(
    context: Context, item: Item, method: str, fields: Mapping[str, Json], pointer: str, defaults: Defaults
) -> Operation:
    def text(key: str) -> str:
        return context.text(fields.get(key), join(pointer, key), key)

    own = _parameters(context, fields.get("parameters"), join(pointer, "parameters"))
    merged = {(each.name, each.place): each for each in (*item.parameters, *own)}
    security = read_security(context, fields.get("security"), join(pointer, "security"))
    swagger = context.dialect == "2.0"
    return Operation(
        method=method,
        path=item.path,
        operation_id=text("operationId"),
        summary=text("summary")
        or ("" if swagger else context.text(item.fields.get("summary"), item.pointer, "summary")),
        description=text("description")
        or ("" if swagger else context.text(item.fields.get("description"), item.pointer, "description")),
        tags=context.texts(fields.get("tags"), join(pointer, "tags"), "tags"),
        parameters=tuple(each for each in merged.values() if each.place not in {"body", "formData"}),
        body=_body(context, fields, pointer, tuple(merged.values()), defaults),
        responses=tuple(_responses(context, fields, pointer, defaults)),
        security=defaults.security if security is None else security,
        deprecated=context.flag(fields.get("deprecated"), join(pointer, "deprecated"), "deprecated"),
        servers=() if swagger else read_servers(context, fields, pointer) or item.servers,
        pointer=pointer,
    )


def _body(
    context: Context,
    fields: Mapping[str, Json],
    pointer: str,
    parameters: tuple[Parameter, ...],
    defaults: Defaults,
) -> Body | None:
    if context.dialect != "2.0":
        return read_body(context, fields.get("requestBody"), join(pointer, "requestBody"))
    consumes = context.texts(fields.get("consumes"), join(pointer, "consumes"), "consumes") or defaults.consumes
    return body_of(parameters, consumes)


def _responses(context: Context, fields: Mapping[str, Json], pointer: str, defaults: Defaults) -> Iterator[Response]:
    place = join(pointer, "responses")
    produces = context.texts(fields.get("produces"), join(pointer, "produces"), "produces") or defaults.produces
    for status, value, where in context.entries(fields.get("responses"), place, "responses"):
        if context.dialect == "2.0":
            yield read_swagger_response(context, status, value, where, produces)
        else:
            yield read_response(context, status, value, where)


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
