"""Reads parameters, bodies and responses of OpenAPI 3: what a call sends and what it gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast, get_args

from thresher.openapi.context import Context
from thresher.openapi.pointers import join
from thresher.openapi.records import Body, Content, Json, Parameter, ParameterIn, Response

PLACES: Final = frozenset(get_args(ParameterIn))


def read_parameter(context: Context, value: Json, pointer: str) -> Parameter | None:
    """A parameter, through its reference; None, noted, where it cannot be told what it is."""
    fields, place = context.follow(value, pointer, "A parameter")
    if place not in context.parameters:
        context.parameters[place] = _parameter(context, fields, place, pointer)
    return context.parameters[place]


def _parameter(context: Context, fields: Mapping[str, Json], place: str, user: str) -> Parameter | None:
    name = context.text(fields.get("name"), join(place, "name"), "A parameter's name")
    where = fields.get("in")
    if not name or where not in PLACES:
        if fields or not isinstance(context.references.at(user)[0], dict):
            context.notes.add(
                "bad-parameter", "The parameter has no name, or `in` says no place; it is left out.", place
            )
        return None
    schema, example = _said(context, fields, place)
    return Parameter(
        name=name,
        place=cast("ParameterIn", where),
        required=where == "path" or context.flag(fields.get("required"), join(place, "required"), "required"),
        description=context.text(fields.get("description"), join(place, "description"), "A description"),
        schema=schema,
        deprecated=context.flag(fields.get("deprecated"), join(place, "deprecated"), "deprecated"),
        example=example,
        pointer=place,
    )


def _said(context: Context, fields: Mapping[str, Json], place: str) -> tuple[Mapping[str, Json], Json]:
    """The schema and the first example of a parameter, its own or those of its content."""
    contents = read_contents(context, fields.get("content"), join(place, "content"))
    if contents and "schema" not in fields:
        return contents[0].schema or {}, contents[0].example
    schema = context.mapping(fields.get("schema"), join(place, "schema"), "A schema")
    return schema, example_in(context, fields, schema, place)


def example_in(context: Context, fields: Mapping[str, Json], schema: Mapping[str, Json] | None, pointer: str) -> Json:
    """The first example that a parameter or a form of a body gives, its own before its schema's; None without."""
    if "example" in fields:
        return fields["example"]
    for _, each, place in context.entries(fields.get("examples"), join(pointer, "examples"), "examples"):
        given, _ = context.follow(each, place, "An example")
        for key in ("value", "dataValue", "serializedValue"):
            if key in given:
                return given[key]
    if not schema:
        return None
    several = schema.get("examples")
    if "example" in schema or not isinstance(several, list) or not several:
        return schema.get("example")
    return cast("list[Json]", several)[0]


def read_contents(context: Context, value: Json, pointer: str) -> tuple[Content, ...]:
    """The forms of a body, in order."""
    return tuple(
        _content(context, media, each, place) for media, each, place in context.entries(value, pointer, "content")
    )


def _content(context: Context, media: str, value: Json, pointer: str) -> Content:
    fields, place = context.follow(value, pointer, "A form of a body")
    given = fields.get("schema")
    if given is None and "itemSchema" in fields:
        schema: Mapping[str, Json] | None = {"type": "array", "items": fields["itemSchema"]}
    elif isinstance(given, bool):
        schema = {} if given else {"not": {}}
    else:
        schema = None if given is None else context.mapping(given, join(place, "schema"), "A schema")
    return Content(media, schema, example_in(context, fields, schema, place))


def read_body(context: Context, value: Json, pointer: str) -> Body | None:
    """What a request carries; None without, or where its reference is broken."""
    if value is None:
        return None
    fields, place = context.follow(value, pointer, "A request body")
    if not fields:
        return None
    if place not in context.bodies:
        context.bodies[place] = Body(
            required=context.flag(fields.get("required"), join(place, "required"), "required"),
            description=context.text(fields.get("description"), join(place, "description"), "A description"),
            contents=read_contents(context, fields.get("content"), join(place, "content")),
            pointer=place,
        )
    return context.bodies[place]


def read_response(context: Context, status: str, value: Json, pointer: str) -> Response:
    """What an operation answers under one status."""
    fields, place = context.follow(value, pointer, "A response")
    said = fields.get("description") or fields.get("summary")
    return Response(
        status=status,
        description=context.text(said, join(place, "description"), "A description"),
        contents=read_contents(context, fields.get("content"), join(place, "content")),
        headers=tuple(name for name, _, _ in context.entries(fields.get("headers"), join(place, "headers"), "headers")),
        pointer=place,
    )
