"""Which parts of a description form the contract with callers, and which only describe it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from thresher.openapi.patching.documents import walked
from thresher.openapi.pointers import join, split, step
from thresher.openapi.records import Edit, Json

Part: TypeAlias = Literal["object", "names", "groups", "data"]
"""An object of the specification, a mapping of objects by name, a mapping of such mappings, or free data."""

WORDS: Final = frozenset({"description", "summary", "example", "examples"})
"""Fields that an edit may set, and the only ones in which descriptions of one contract may differ."""

_NAMES: Final = frozenset(
    re.findall(
        r"\S+",
        """
    properties patternProperties definitions $defs dependentSchemas paths webhooks schemas responses parameters
    headers securitySchemes securityDefinitions requestBodies links pathItems mediaTypes content encoding variables
    additionalOperations
    """,
    )
)
_OBJECTS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    info contact license components tags servers server externalDocs get put post delete options head patch trace
    query requestBody schema items additionalProperties allOf anyOf oneOf not if then else contains propertyNames
    prefixItems additionalItems unevaluatedItems unevaluatedProperties contentSchema flows implicit password
    clientCredentials authorizationCode deviceAuthorization xml discriminator itemSchema itemEncoding prefixEncoding
    """,
    )
)


def contract(root: Json) -> Json:
    """Return the document without the fields that only describe it.

    A property called `description` stays, as does everything in defaults, enumerations and extensions.
    """
    return _bound(root, "object")


def example_place(root: Mapping[str, Json], pointer: str) -> tuple[str, str] | None:
    """Return the pointers of an example's parent and of the example that contains a place.

    Of several examples it is the value of the one concerned. None if the place is not in an example.
    """
    keys = split(pointer)
    for at, key in enumerate(keys):
        if key in {"example", "examples"} and _part(root, keys[:at]) == "object":
            end = at + 1
            if key == "examples" and len(keys) > end:
                end += 2 if keys[end + 1 : end + 2] == ("value",) else 1
            return join("", *keys[:at]), join("", *keys[:end])
    return None


def objection(root: Mapping[str, Json], edit: Edit) -> str:
    """Return why an edit is not allowed or not possible; empty if it is."""
    keys = split(edit.pointer)
    place = example_place(root, edit.pointer)
    if place is not None and place[1] == edit.pointer:
        there, holder = walked(root, keys[:-1])
        return "" if there and isinstance(holder, dict) else "Its parent does not exist or is not a mapping."
    if not keys or keys[-1] not in WORDS or place is not None:
        return "Only descriptions, summaries and examples can be set."
    there, holder = walked(root, keys[:-1])
    if not there or not isinstance(holder, dict):
        return "Its parent does not exist or is not a mapping."
    if _part(root, keys[:-1]) != "object":
        return f"`{keys[-1]}` is part of the contract there, not a text about the API."
    if keys[-1] in {"description", "summary"} and not isinstance(edit.value, str):
        return "Descriptions and summaries must be text."
    return ""


def _bound(value: Json, part: Part) -> Json:
    if part == "data":
        return value
    if isinstance(value, list):
        return [_bound(each, part) for each in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    entries = cast("dict[str, Json]", value)
    return {
        key: _bound(each, _below(part, key, each))
        for key, each in entries.items()
        if part != "object" or key not in WORDS
    }


def _below(part: Part, key: str, value: Json) -> Part:
    """Return what the value of a key is, within a part of this kind."""
    if part == "names":
        return "object"
    if part == "groups":
        return "names"
    if key == "callbacks":
        return "groups"
    if key in _NAMES:
        return "names" if isinstance(value, dict) else "object"
    return "object" if key in _OBJECTS else "data"


def _part(root: Json, keys: tuple[str, ...]) -> Part:
    """Return what the value under these keys is."""
    part: Part = "object"
    value: Json = root
    for key in keys:
        listed = isinstance(value, list)
        value = step(value, key)[1]
        if listed:
            continue
        part = part if part == "data" else _below(part, key, value)
    return part
