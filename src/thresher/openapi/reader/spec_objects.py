"""Reads the smaller objects of the specification: servers, tags, security, parameters, bodies and responses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast, get_args

from thresher.openapi.pointers import join
from thresher.openapi.reader.context import Context
from thresher.openapi.records import (
    Body,
    Json,
    MediaType,
    Parameter,
    ParameterIn,
    Requirement,
    Response,
    SecurityScheme,
    Tag,
)

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_LONGEST: Final = 2_000
"""Longest server address, in characters, into which defaults are substituted."""


def read_servers(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[str, ...]:
    """Return the base addresses with the defaults of their variables filled in."""
    if context.dialect == "2.0":
        return _swagger_servers(context, fields, pointer)
    servers: list[str] = []
    for each, place in context.items(fields, "servers", pointer) if "servers" in fields else ():
        server, place = context.follow(each, place, "A server")
        url = context.text(server, "url", place)
        defaults: dict[str, str] = {}
        for name, variable, where in context.entries(server, "variables", place):
            said, where = context.follow(variable, where, "A variable")
            defaults[name] = context.text(said, "default", where)
        servers.append(_filled(url, defaults))
    return tuple(dict.fromkeys(url for url in servers if url))


def _filled(url: str, defaults: Mapping[str, str]) -> str:
    """Fill the defaults into an address; return it unchanged if the result would be longer than any real address."""
    places = _VARIABLE.findall(url)
    if len(url) + sum(len(defaults.get(name, "")) for name in places) > _LONGEST:
        return url
    return _VARIABLE.sub(lambda found: defaults.get(found[1]) or found[0], url)


def _swagger_servers(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[str, ...]:
    """Return the addresses that Swagger's `schemes`, `host` and `basePath` make."""
    base = context.text(fields, "basePath", pointer).rstrip("/")
    host = context.text(fields, "host", pointer)
    if not host:
        return (base,) if base else ()
    if len(host) + len(base) > _LONGEST:
        return ()
    schemes = dict.fromkeys(context.texts(fields, "schemes", pointer)) or ("https",)
    return tuple(f"{scheme}://{host}{base}" for scheme in schemes)


def read_tags(context: Context) -> tuple[Tag, ...]:
    """Return the distinct tags that the description explains."""
    tags: dict[str, Tag] = {}
    for each, place in context.items(context.root, "tags", ""):
        fields, place = context.follow(each, place, "A tag")
        name = context.text(fields, "name", place)
        said = context.text(fields, "description", place) or context.text(fields, "summary", place)
        if name:
            tags.setdefault(name, Tag(name, said))
    return tuple(tags.values())


def read_schemes(context: Context) -> Mapping[str, SecurityScheme]:
    """Return the security schemes by name."""
    if context.dialect == "2.0":
        entries = context.entries(context.root, "securityDefinitions", "")
    else:
        components, place = context.mapping(context.root, "components", "")
        entries = context.entries(components, "securitySchemes", place)
    return {name: _scheme(context, name, each, place) for name, each, place in entries}


def _scheme(context: Context, name: str, value: Json, pointer: str) -> SecurityScheme:
    fields, place = context.follow(value, pointer, "A security scheme")
    kind = context.text(fields, "type", place)
    return SecurityScheme(
        name=name,
        type="http" if kind == "basic" else kind,
        scheme="basic" if kind == "basic" else context.text(fields, "scheme", place).lower(),
        place=context.text(fields, "in", place),
        key=context.text(fields, "name", place),
        description=context.text(fields, "description", place),
    )


def read_security(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[Requirement, ...] | None:
    """Return the alternative security requirements, or None if none are given."""
    listed = tuple(_requirement(context, each, place) for each, place in context.items(fields, "security", pointer))
    return listed if isinstance(fields.get("security"), list) else None


def _requirement(context: Context, value: Json, pointer: str) -> Requirement:
    fields, place = context.follow(value, pointer, "A security requirement")
    return Requirement(
        tuple((name, context.texts(fields, name, place)) for name in fields if not name.startswith("x-"))
    )


PLACES: Final = frozenset(get_args(ParameterIn)) - {"body", "formData"}


def read_parameter(context: Context, value: Json, pointer: str) -> Parameter | None:
    """Read a parameter through its reference; None, with a note, if it is malformed."""
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
        context.note("bad-parameter", "The parameter has no name, or `in` has no valid value; it is left out.", place)
        return None
    schema, example = _schema_and_example(context, fields, place)
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


def _schema_and_example(context: Context, fields: Mapping[str, Json], place: str) -> tuple[Mapping[str, Json], Json]:
    """Return schema and first example of a parameter, either its own or those of its content."""
    if "schema" not in fields and (contents := read_contents(context, fields, place)):
        return contents[0].schema or {}, contents[0].example
    schema = context.schema(fields, "schema", place) or {}
    return schema, example_in(context, fields, schema, place)


def example_in(context: Context, fields: Mapping[str, Json], schema: Mapping[str, Json] | None, pointer: str) -> Json:
    """Return the first example of a parameter or media type, its own before its schema's, or None."""
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
    """Return the example in the schema itself, or None."""
    if not schema:
        return None
    several = schema.get("examples")
    if "example" in schema or not isinstance(several, list) or not several:
        return schema.get("example")
    return cast("list[Json]", several)[0]


def read_contents(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[MediaType, ...]:
    """Read the media types of a body, in order."""
    entries = context.entries(fields, "content", pointer)
    return tuple(_content(context, media, each, place) for media, each, place in entries)


def _content(context: Context, media: str, value: Json, pointer: str) -> MediaType:
    fields, place = context.follow(value, pointer, "A media type")
    schema = context.schema(fields, "schema", place)
    if schema is None and "itemSchema" in fields:
        schema = {"type": "array", "items": fields["itemSchema"]}
    return MediaType(media, schema, example_in(context, fields, schema, place))


def read_body(context: Context, fields: Mapping[str, Json], pointer: str) -> Body | None:
    """Read the request body of an operation; None if it has none or its reference is broken."""
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
    """Read the response for one status."""
    fields, place = context.follow(value, pointer, "A response")
    if place not in context.responses:
        said = context.text(fields, "description", place) or context.text(fields, "summary", place)
        context.responses[place] = Response(
            status=status,
            description=said,
            contents=read_contents(context, fields, place),
            headers=tuple(name for name, _, _ in context.entries(fields, "headers", place)),
            links=tuple(filter(None, (_link(context, *one) for one in context.entries(fields, "links", place)))),
            pointer=place,
        )
    found = context.responses[place]
    said = context.beside(value, pointer) or found.description
    return (
        found
        if (found.status, found.description) == (status, said)
        else replace(found, status=status, description=said)
    )


def _link(context: Context, name: str, value: Json, pointer: str) -> str:
    """Return a link as a call, whose arguments are expressions over the response; empty if it names no operation."""
    fields, place = context.follow(value, pointer, f"The link `{name}`")
    target = context.text(fields, "operationId", place) or context.text(fields, "operationRef", place)
    given, _ = context.mapping(fields, "parameters", place)
    arguments = {**given, **({"body": fields["requestBody"]} if "requestBody" in fields else {})}
    shown = (f"{key} = {one if isinstance(one, str) else json.dumps(one)}" for key, one in arguments.items())
    return f"{target}({', '.join(shown)})" if target else ""
