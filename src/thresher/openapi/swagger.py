"""Reads parameters and responses of Swagger 2.0 into the same records as those of OpenAPI 3.

Its `body` and `formData` parameters become the request's body, its `consumes` and `produces` the forms of bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from thresher.openapi.context import Context
from thresher.openapi.parts import PLACES
from thresher.openapi.pointers import join
from thresher.openapi.records import Body, Content, Json, Parameter, ParameterIn, Response

JSON_MEDIA: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
_NOT_SCHEMA: Final = frozenset({"name", "in", "required", "description", "schema", "allowEmptyValue", "deprecated"})


def read_swagger_parameter(context: Context, value: Json, pointer: str) -> Parameter | None:
    """A parameter of any place, `body` and `formData` among them; None, noted, where it cannot be told what it is."""
    fields, place = context.follow(value, pointer, "A parameter")
    if place not in context.parameters:
        context.parameters[place] = _parameter(context, fields, place)
    return context.parameters[place]


def _parameter(context: Context, fields: Mapping[str, Json], place: str) -> Parameter | None:
    if not fields:
        return None
    name = context.text(fields.get("name"), join(place, "name"), "A parameter's name")
    where = fields.get("in")
    if where not in PLACES or not (name or where == "body"):
        context.notes.add("bad-parameter", "The parameter has no name, or `in` says no place; it is left out.", place)
        return None
    schema = _schema(context, fields, place)
    return Parameter(
        name=name,
        place=cast("ParameterIn", where),
        required=where == "path" or context.flag(fields.get("required"), join(place, "required"), "required"),
        description=context.text(fields.get("description"), join(place, "description"), "A description"),
        schema=schema,
        deprecated=context.flag(fields.get("deprecated", fields.get("x-deprecated")), place, "deprecated"),
        example=fields.get("x-example", schema.get("example")),
        pointer=place,
    )


def _schema(context: Context, fields: Mapping[str, Json], place: str) -> Mapping[str, Json]:
    """The schema of a body, or the one that a parameter's own keywords make."""
    if fields.get("in") == "body":
        return context.mapping(fields.get("schema"), join(place, "schema"), "A schema")
    own = {key: value for key, value in fields.items() if key not in _NOT_SCHEMA and not key.startswith("x-")}
    return {**own, "type": "string", "format": "binary"} if own.get("type") == "file" else own


def body_of(parameters: Sequence[Parameter], consumes: Sequence[str]) -> Body | None:
    """The body that `body` and `formData` parameters make; None without any."""
    whole = next((each for each in parameters if each.place == "body"), None)
    if whole is not None:
        contents = tuple(Content(media, whole.schema, _example(whole)) for media in consumes or (JSON_MEDIA,))
        return Body(whole.required, whole.description, contents, whole.pointer)
    fields = [each for each in parameters if each.place == "formData"]
    if not fields:
        return None
    schema = {
        "type": "object",
        "properties": {each.name: _property(each) for each in fields},
        "required": [each.name for each in fields if each.required],
    }
    if not schema["required"]:
        del schema["required"]
    forms = tuple(media for media in consumes if media in {FORM, MULTIPART}) or (_form(fields),)
    required = any(each.required for each in fields)
    return Body(required, "", tuple(Content(media, schema) for media in forms), fields[0].pointer)


def _example(parameter: Parameter) -> Json:
    return parameter.example


def _property(parameter: Parameter) -> Mapping[str, Json]:
    """A field of a form, as a property of its schema."""
    return {**parameter.schema, "description": parameter.description} if parameter.description else parameter.schema


def _form(fields: Sequence[Parameter]) -> str:
    """The form that is meant where `consumes` names none."""
    return MULTIPART if any(each.schema.get("format") == "binary" for each in fields) else FORM


def read_swagger_response(
    context: Context, status: str, value: Json, pointer: str, produces: Sequence[str]
) -> Response:
    """What an operation answers under one status."""
    fields, place = context.follow(value, pointer, "A response")
    examples = context.mapping(fields.get("examples"), join(place, "examples"), "examples")
    schema = fields.get("schema")
    contents: tuple[Content, ...] = ()
    if schema is not None or examples:
        told = context.mapping(schema, join(place, "schema"), "A schema") if schema is not None else None
        contents = tuple(
            Content(media, told, examples.get(media, (told or {}).get("example")))
            for media in dict.fromkeys((*(produces or (JSON_MEDIA,)), *examples))
        )
    return Response(
        status=status,
        description=context.text(fields.get("description"), join(place, "description"), "A description"),
        contents=contents,
        headers=tuple(name for name, _, _ in context.entries(fields.get("headers"), join(place, "headers"), "headers")),
        pointer=place,
    )
