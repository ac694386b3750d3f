"""Reads what a description says of itself as a whole: its servers, its tags, and how callers prove who they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from thresher.openapi.context import Context
from thresher.openapi.records import Json, Requirement, SecurityScheme, Tag

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_LONGEST: Final = 2_000
"""Characters of an address whose parts are put together; what is longer is a trick."""


def read_servers(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[str, ...]:
    """Base addresses, with the defaults of their variables put in."""
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
    """An address with defaults in the places of its variables, each once; as it is where that is beyond any address."""
    places = _VARIABLE.findall(url)
    if len(url) + sum(len(defaults.get(name, "")) for name in places) > _LONGEST:
        return url
    return _VARIABLE.sub(lambda found: defaults.get(found[1]) or found[0], url)


def _swagger_servers(context: Context, fields: Mapping[str, Json], pointer: str) -> tuple[str, ...]:
    """The addresses that Swagger's `schemes`, `host` and `basePath` make."""
    base = context.text(fields, "basePath", pointer).rstrip("/")
    host = context.text(fields, "host", pointer)
    if not host:
        return (base,) if base else ()
    if len(host) + len(base) > _LONGEST:
        return ()
    schemes = dict.fromkeys(context.texts(fields, "schemes", pointer)) or ("https",)
    return tuple(f"{scheme}://{host}{base}" for scheme in schemes)


def read_tags(context: Context) -> tuple[Tag, ...]:
    """The groups that the description explains, each once."""
    tags: dict[str, Tag] = {}
    for each, place in context.items(context.root, "tags", ""):
        fields, place = context.follow(each, place, "A tag")
        name = context.text(fields, "name", place)
        said = context.text(fields, "description", place) or context.text(fields, "summary", place)
        if name:
            tags.setdefault(name, Tag(name, said))
    return tuple(tags.values())


def read_schemes(context: Context) -> Mapping[str, SecurityScheme]:
    """The ways to prove who one is, by name."""
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
    """The ways to be let in, any of which is enough; None where nothing is said."""
    listed = tuple(_requirement(context, each, place) for each, place in context.items(fields, "security", pointer))
    return listed if isinstance(fields.get("security"), list) else None


def _requirement(context: Context, value: Json, pointer: str) -> Requirement:
    fields, place = context.follow(value, pointer, "A security requirement")
    return Requirement(
        tuple((name, context.texts(fields, name, place)) for name in fields if not name.startswith("x-"))
    )
