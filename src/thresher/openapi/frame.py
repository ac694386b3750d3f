"""Reads what a description says of itself as a whole: its servers, its tags, and how callers prove who they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from thresher.openapi.context import Context
from thresher.openapi.pointers import join
from thresher.openapi.records import Json, Requirement, SecurityScheme, Tag


def read_servers(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[str, ...]:
    """Base addresses, with the defaults of their variables put in."""
    if context.dialect == "2.0":
        return _swagger_servers(context, fields, pointer)
    servers: list[str] = []
    place = join(pointer, "servers")
    for index, each in enumerate(context.items(fields.get("servers"), place, "servers")):
        server = context.mapping(each, join(place, index), "A server")
        url = context.text(server.get("url"), join(place, index, "url"), "A server's address")
        variables = context.entries(server.get("variables"), join(place, index, "variables"), "A server's variables")
        for name, variable, where in variables:
            default = context.text(context.mapping(variable, where, "A variable").get("default"), where, "A default")
            url = url.replace(f"{{{name}}}", default) if default else url
        servers.append(url)
    return tuple(dict.fromkeys(url for url in servers if url))


def _swagger_servers(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[str, ...]:
    """The addresses that Swagger's `schemes`, `host` and `basePath` make."""
    base = context.text(fields.get("basePath"), join(pointer, "basePath"), "basePath").rstrip("/")
    host = context.text(fields.get("host"), join(pointer, "host"), "host")
    if not host:
        return (base,) if base else ()
    schemes = context.texts(fields.get("schemes"), join(pointer, "schemes"), "schemes") or ("https",)
    return tuple(f"{scheme}://{host}{base}" for scheme in schemes)


def read_tags(context: Context) -> tuple[Tag, ...]:
    """The groups that the description explains, each once."""
    tags: dict[str, Tag] = {}
    for index, each in enumerate(context.items(context.root.get("tags"), "/tags", "tags")):
        place = join("/tags", index)
        fields = context.mapping(each, place, "A tag")
        name = context.text(fields.get("name"), join(place, "name"), "A tag's name")
        said = fields.get("description") or fields.get("summary")
        if name:
            tags.setdefault(name, Tag(name, context.text(said, join(place, "description"), "A description")))
    return tuple(tags.values())


def read_schemes(context: Context) -> Mapping[str, SecurityScheme]:
    """The ways to prove who one is, by name."""
    pointer = "/securityDefinitions" if context.dialect == "2.0" else "/components/securitySchemes"
    found, _ = context.references.at(pointer)
    return {
        name: _scheme(context, name, each, place)
        for name, each, place in context.entries(found or None, pointer, "Security schemes")
    }


def _scheme(context: Context, name: str, value: Json, pointer: str) -> SecurityScheme:
    fields, place = context.follow(value, pointer, "A security scheme")
    said = {
        key: context.text(fields.get(key), join(place, key), f"A scheme's {key}")
        for key in ("type", "scheme", "in", "name", "description")
    }
    basic = said["type"] == "basic"
    return SecurityScheme(
        name=name,
        type="http" if basic else said["type"],
        scheme="basic" if basic else said["scheme"].lower(),
        place=said["in"],
        key=said["name"],
        description=said["description"],
    )


def read_security(context: Context, value: Json, pointer: str) -> tuple[Requirement, ...] | None:
    """The ways to be let in, any of which is enough; None where nothing is said."""
    if not isinstance(value, list):
        context.items(value, pointer, "security")
        return None
    listed = cast("list[Json]", value)
    return tuple(_requirement(context, each, join(pointer, i)) for i, each in enumerate(listed))


def _requirement(context: Context, value: Json, pointer: str) -> Requirement:
    entries = context.entries(value, pointer, "A security requirement")
    return Requirement(tuple((name, context.texts(scopes, place, "Scopes")) for name, scopes, place in entries))
