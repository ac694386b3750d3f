"""Reads parameters and responses of Swagger 2.0 into the same records as those of OpenAPI 3.

Its `body` and `formData` parameters become the request's body, its `consumes` and `produces` the forms of bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from thresher.openapi.context import Context
from thresher.openapi.parts import schema_example
from thresher.openapi.records import Body, Content, Json, Parameter, ParameterIn, Response

JSON_MEDIA: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
PLACES: Final = frozenset({"path", "query", "header", "body", "formData"})
_NOT_SCHEMA: Final = frozenset({"name", "in", "required", "description", "schema", "allowEmptyValue", "deprecated"})


def read_swagger_parameter(context: Context, value: Json, pointer: str) -> Parameter | None:
    """A parameter of any place, `body` and `formData` among them; None, noted, where it cannot be told what it is."""
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
        context.note("bad-parameter", "The parameter has no name, or `in` says no place; it is left out.", place)
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
    """The schema of a body, or the one that a parameter's own keywords make."""
    if fields.get("in") == "body":
        return context.schema(fields, "schema", place) or {}
    own = {key: value for key, value in fields.items() if key not in _NOT_SCHEMA and not key.startswith("x-")}
    return {**own, "type": "string", "format": "binary"} if own.get("type") == "file" else own


def body_of(parameters: Sequence[Parameter], consumes: Sequence[str]) -> Body | None:
    """The body that `body` and `formData` parameters make; None without any."""
    whole = next((each for each in parameters if each.place == "body"), None)
    if whole is not None:
        contents = tuple(Content(media, whole.schema, whole.example) for media in consumes or (JSON_MEDIA,))
        return Body(whole.required, whole.description, contents, whole.pointer)
    fields = [each for each in parameters if each.place == "formData"]
    if not fields:
        return None
    required = [each.name for each in fields if each.required]
    schema: dict[str, Json] = {"type": "object", "properties": {each.name: _property(each) for each in fields}}
    if required:
        schema["required"] = required
    forms = tuple(media for media in consumes if media in {FORM, MULTIPART}) or (_form(fields),)
    return Body(bool(required), "", tuple(Content(media, schema) for media in forms), fields[0].pointer)


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
    return Response(
        status=status,
        description=context.text(fields, "description", place),
        contents=_contents(context, fields, place, produces),
        headers=tuple(name for name, _, _ in context.entries(fields, "headers", place)),
        pointer=place,
    )


def _contents(context: Context, fields: Mapping[str, Json], place: str, produces: Sequence[str]) -> tuple[Content, ...]:
    """The forms of an answer: those that are produced, and those that there is an example of."""
    examples = context.mapping(fields, "examples", place)[0]
    schema = context.schema(fields, "schema", place)
    if schema is None and not examples:
        return ()
    forms = dict.fromkeys((*(produces or (JSON_MEDIA,)), *examples))
    example = schema_example(schema)
    return tuple(Content(media, schema, examples.get(media, example)) for media in forms)
