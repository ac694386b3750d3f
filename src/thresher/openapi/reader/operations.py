"""Reads the operations of a description: each method of each path and webhook.

Invariant: a part that cannot be read is noted and left out; its operation stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from thresher.openapi.pointers import join
from thresher.openapi.reader.context import METHODS, Context
from thresher.openapi.reader.spec_objects import (
    read_body,
    read_parameter,
    read_response,
    read_security,
    read_servers,
    schema_example,
)
from thresher.openapi.records import Body, Json, MediaType, Operation, Parameter, ParameterIn, Requirement, Response

JSON_MEDIA: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
PLACES: Final = frozenset({"path", "query", "header", "body", "formData"})
_NOT_SCHEMA: Final = frozenset({"name", "in", "required", "description", "schema", "allowEmptyValue", "deprecated"})


def read_swagger_parameter(context: Context, value: Json, pointer: str) -> Parameter | None:
    """Read a parameter of any kind, `body` and `formData` included; None, with a note, if it is malformed."""
    fields, place = context.follow(value, pointer, "A parameter")
    if not fields and value != {}:
        return None
    if place not in context.parameters:
        context.parameters[place] = _parameter(context, fields, place)
    return context.parameters[place]


def _parameter(context: Context, fields: Mapping[str, Json], place: str) -> Parameter | None:
    where = context.text(fields, "in", place)
    name = context.text(fields, "name", place)
    if where not in PLACES or not (name or where == "body"):
        context.note("bad-parameter", "The parameter has no name, or `in` has no valid value; it is left out.", place)
        return None
    schema = _schema(context, fields, place)
    return Parameter(
        name=name,
        place=cast("ParameterIn", where),
        required=where == "path" or context.flag(fields, "required", place),
        description=context.text(fields, "description", place),
        schema=schema,
        deprecated=fields.get("deprecated") is True or fields.get("x-deprecated") is True,
        example=fields.get("x-example", schema_example(schema)),
        pointer=place,
    )


def _schema(context: Context, fields: Mapping[str, Json], place: str) -> Mapping[str, Json]:
    """Return the schema of a body, or the schema that a parameter's own keywords make."""
    if fields.get("in") == "body":
        return context.schema(fields, "schema", place) or {}
    own = {key: value for key, value in fields.items() if key not in _NOT_SCHEMA and not key.startswith("x-")}
    return {**own, "type": "string", "format": "binary"} if own.get("type") == "file" else own


def body_of(parameters: Sequence[Parameter], consumes: Sequence[str]) -> Body | None:
    """Return the body that `body` and `formData` parameters make, or None."""
    whole = next((each for each in parameters if each.place == "body"), None)
    if whole is not None:
        contents = tuple(MediaType(media, whole.schema, whole.example) for media in consumes or (JSON_MEDIA,))
        return Body(whole.required, whole.description, contents, whole.pointer)
    fields = [each for each in parameters if each.place == "formData"]
    if not fields:
        return None
    required = [each.name for each in fields if each.required]
    schema: dict[str, Json] = {"type": "object", "properties": {each.name: _property(each) for each in fields}}
    if required:
        schema["required"] = required
    forms = tuple(media for media in consumes if media in {FORM, MULTIPART}) or (_form(fields),)
    return Body(bool(required), "", tuple(MediaType(media, schema) for media in forms), fields[0].pointer)


def _property(parameter: Parameter) -> Mapping[str, Json]:
    """Return a form field as a property of the body's schema."""
    return {**parameter.schema, "description": parameter.description} if parameter.description else parameter.schema


def _form(fields: Sequence[Parameter]) -> str:
    """Return the media type to assume if `consumes` names no form."""
    return MULTIPART if any(each.schema.get("format") == "binary" for each in fields) else FORM


def read_swagger_response(
    context: Context, status: str, value: Json, pointer: str, produces: Sequence[str]
) -> Response:
    """Read the response for one status."""
    fields, place = context.follow(value, pointer, "A response")
    return Response(
        status=status,
        description=context.text(fields, "description", place),
        contents=_contents(context, fields, place, produces),
        headers=tuple(name for name, _, _ in context.entries(fields, "headers", place)),
        pointer=place,
    )


def _contents(
    context: Context, fields: Mapping[str, Json], place: str, produces: Sequence[str]
) -> tuple[MediaType, ...]:
    """Return the contents of a response: the media types in `produces` and those with an example."""
    examples = context.mapping(fields, "examples", place)[0]
    schema = context.schema(fields, "schema", place)
    if schema is None and not examples:
        return ()
    forms = dict.fromkeys((*(produces or (JSON_MEDIA,)), *examples))
    example = schema_example(schema)
    return tuple(MediaType(media, schema, examples.get(media, example)) for media in forms)


_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""Allowed characters of a method: `token` of RFC 9110, section 5.6.2."""
_LONGEST_METHOD: Final = 40
_LONGEST_PATH: Final = 2_000
"""Octets: method and path name an operation, also in indexes whose keys are bounded."""


@dataclass(frozen=True, slots=True)
class Item:
    """A path or webhook with what it gives to its operations.

    Attributes:
        path: As written; for a webhook its name.
        fields: Of the path item, with its reference followed and the fields beside the reference merged in.
        places: For each field, the pointer of the mapping that holds it.
        parameters: Shared by its operations.
        servers: Likewise.
    """

    path: str
    fields: Mapping[str, Json]
    places: Mapping[str, str]
    parameters: tuple[Parameter, ...]
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the description sets for operations that do not set it themselves."""

    security: tuple[Requirement, ...] | None
    consumes: tuple[str, ...]
    produces: tuple[str, ...]


def read_operations(context: Context) -> Iterator[tuple[Operation, list[Json]]]:
    """Yield each operation, without schemas and digest, with the plain data that defines it."""
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
                context.note(
                    "duplicate-operation", f"{operation.key} is defined twice; the first definition is kept.", pointer
                )
                continue
            seen.add(operation.key)
            yield operation, _definition_of(item, operation, fields)


def _items(context: Context) -> Iterator[Item]:
    """Yield the paths, then the webhooks."""
    for group in ("paths", "webhooks"):
        for path, value, pointer in context.entries(context.root, group, ""):
            if len(path.encode("utf-8", "replace")) > _LONGEST_PATH:
                message = f"The path {path[:60]}... has more than {_LONGEST_PATH:,} octets; it is left out. Shorten it."
                context.note("long-path", message, f"/{group}")
                continue
            yield _item(context, path, value, pointer)


def _item(context: Context, path: str, value: Json, pointer: str) -> Item:
    """Read a path item; fields beside its reference win over the target's."""
    fields, place = context.follow(value, pointer, "A path")
    places = dict.fromkeys(fields, place)
    if fields is not value and isinstance(value, dict):
        own = {key: each for key, each in cast("dict[str, Json]", value).items() if key != "$ref"}
        fields = {**fields, **own}
        places.update(dict.fromkeys(own, pointer))
    servers = () if context.dialect == "2.0" else read_servers(context, fields, places.get("servers", place))
    return Item(path, fields, places, _parameters(context, fields, places.get("parameters", place)), servers)


def _methods(context: Context, item: Item) -> Iterator[tuple[str, Json, str]]:
    """Yield method, value and pointer of a path's operations."""
    for key, value in item.fields.items():
        if key in METHODS[context.dialect]:
            yield key.upper(), value, join(item.places[key], key)
        elif key == "additionalOperations" and context.dialect == "3.2":
            for method, each, pointer in context.entries(item.fields, key, item.places[key]):
                if len(method) <= _LONGEST_METHOD and _TOKEN.fullmatch(method):
                    yield method.upper(), each, pointer
                else:
                    context.note("bad-method", "The method is not a valid HTTP method name; it is left out.", pointer)


def _parameters(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[Parameter, ...]:
    """Read the parameters of a path or operation; of several with one name and location the last wins."""
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
    """Return a text that a path gives to its operations; may be empty."""
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
        context.note("no-responses", "The operation has no responses. Add them.", pointer)
    for status, value, place in context.entries(fields, "responses", pointer):
        if swagger:
            yield read_swagger_response(context, status, value, place, produces)
        else:
            yield read_response(context, status, value, place)


def _definition_of(item: Item, operation: Operation, fields: Mapping[str, Json]) -> list[Json]:
    """Return everything that defines an operation as plain data: its own fields and what it inherits."""
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
