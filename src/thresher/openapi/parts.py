"""Reads parameters, bodies and responses of OpenAPI 3: what a call sends and what it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast, get_args

from thresher.openapi.context import Context
from thresher.openapi.pointers import join
from thresher.openapi.records import Body, Content, Json, Parameter, ParameterIn, Response

PLACES: Final = frozenset(get_args(ParameterIn)) - {"body", "formData"}


def read_parameter(context: Context, value: Json, pointer: str) -> Parameter | None:
    """A parameter, through its reference; None, noted, where it cannot be told what it is."""
    fields, place = context.follow(value, pointer, "A parameter")
    if not fields and value != {}:
        return None
    if place not in context.parameters:
        context.parameters[place] = _parameter(context, fields, place)
    found = context.parameters[place]
    beside = context.beside(value, pointer)
    return replace(found, description=beside) if found and beside else found


def _parameter(context: Context, fields: Mapping[str, Json], place: str) -> Parameter | None:
    name = context.text(fields, "name", place)
    where = context.text(fields, "in", place)
    if not name or where not in PLACES:
        context.note("bad-parameter", "The parameter has no name, or `in` says no place; it is left out.", place)
        return None
    schema, example = _said(context, fields, place)
    return Parameter(
        name=name,
        place=cast("ParameterIn", where),
        required=where == "path" or context.flag(fields, "required", place),
        description=context.text(fields, "description", place),
        schema=schema,
        deprecated=context.flag(fields, "deprecated", place),
        example=example,
        pointer=place,
    )


def _said(context: Context, fields: Mapping[str, Json], place: str) -> tuple[Mapping[str, Json], Json]:
    """The schema and the first example of a parameter, its own or those of its content."""
    if "schema" not in fields and (contents := read_contents(context, fields, place)):
        return contents[0].schema or {}, contents[0].example
    schema = context.schema(fields, "schema", place) or {}
    return schema, example_in(context, fields, schema, place)


def example_in(context: Context, fields: Mapping[str, Json], schema: Mapping[str, Json] | None, pointer: str) -> Json:
    """The first example that a parameter or a form of a body gives, its own before its schema's; None without."""
    if "example" in fields:
        return fields["example"]
    if "examples" in fields:
        for _, each, place in context.entries(fields, "examples", pointer):
            given, _ = context.follow(each, place, "An example")
            for key in ("value", "dataValue", "serializedValue"):
                if key in given:
                    return given[key]
    return schema_example(schema)


def schema_example(schema: Mapping[str, Json] | None) -> Json:
    """The example that stands in a schema itself; None without."""
    if not schema:
        return None
    several = schema.get("examples")
    if "example" in schema or not isinstance(several, list) or not several:
        return schema.get("example")
    return cast("list[Json]", several)[0]


def read_contents(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[Content, ...]:
    """The forms of a body, in order."""
    entries = context.entries(fields, "content", pointer)
    return tuple(_content(context, media, each, place) for media, each, place in entries)


def _content(context: Context, media: str, value: Json, pointer: str) -> Content:
    fields, place = context.follow(value, pointer, "A form of a body")
    schema = context.schema(fields, "schema", place)
    if schema is None and "itemSchema" in fields:
        schema = {"type": "array", "items": fields["itemSchema"]}
    return Content(media, schema, example_in(context, fields, schema, place))


def read_body(context: Context, fields: Mapping[str, Json], pointer: str) -> Body | None:
    """What an operation's request carries; None without, or where its reference is broken."""
    value = fields.get("requestBody")
    if value is None:
        return None
    said, place = context.follow(value, join(pointer, "requestBody"), "A request body")
    if not said:
        return None
    if place not in context.bodies:
        context.bodies[place] = Body(
            required=context.flag(said, "required", place),
            description=context.text(said, "description", place),
            contents=read_contents(context, said, place),
            pointer=place,
        )
    beside = context.beside(value, pointer)
    return replace(context.bodies[place], description=beside) if beside else context.bodies[place]


def read_response(context: Context, status: str, value: Json, pointer: str) -> Response:
    """What an operation answers under one status."""
    fields, place = context.follow(value, pointer, "A response")
    if place not in context.responses:
        said = context.text(fields, "description", place) or context.text(fields, "summary", place)
        context.responses[place] = Response(
            status=status,
            description=said,
            contents=read_contents(context, fields, place),
            headers=tuple(name for name, _, _ in context.entries(fields, "headers", place)),
            pointer=place,
        )
    found = context.responses[place]
    said = context.beside(value, pointer) or found.description
    return (
        found
        if (found.status, found.description) == (status, said)
        else replace(found, status=status, description=said)
    )
