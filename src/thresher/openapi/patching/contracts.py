"""What of a description binds those who call the API, and what only speaks about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from thresher.openapi.patching.documents import walked
from thresher.openapi.pointers import join, split, step
from thresher.openapi.records import Edit, Json

Part: TypeAlias = Literal["object", "names", "groups", "data"]
"""An object of the specification; names of such objects; names of those; what the specification does not look into."""

WORDS: Final = frozenset({"description", "summary", "example", "examples"})
"""What an edit may set, and all that two descriptions of one contract may differ in."""

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
    """The document without descriptions, summaries and examples, as far as they are such.

    A property that is called `description` stays, and so does what stands in defaults, enumerations and extensions.
    """
    return _bound(root, "object")


def example_place(root: Mapping[str, Json], pointer: str) -> tuple[str, str] | None:
    """The pointer of what holds the example that a place belongs to, and the example's own.

    Of several examples the own pointer leads to the value of the one that is meant. None where the place belongs to no
    example.
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
    """Why an edit would touch more than words, or cannot be made; empty where it may."""
    keys = split(edit.pointer)
    place = example_place(root, edit.pointer)
    if place is not None and place[1] == edit.pointer:
        there, holder = walked(root, keys[:-1])
        return "" if there and isinstance(holder, dict) else "What should hold it is not there, or is no mapping."
    if not keys or keys[-1] not in WORDS or place is not None:
        return "Only descriptions, summaries and examples are set."
    there, holder = walked(root, keys[:-1])
    if not there or not isinstance(holder, dict):
        return "What should hold it is not there, or is no mapping."
    if _part(root, keys[:-1]) != "object":
        return f"There `{keys[-1]}` is a name or a value that clients get, no word about the API."
    if keys[-1] in {"description", "summary"} and not isinstance(edit.value, str):
        return "A description and a summary are texts."
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
    """What a key's value is, in a part of this kind."""
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
    """What the value at the end of these keys is."""
    part: Part = "object"
    value: Json = root
    for key in keys:
        listed = isinstance(value, list)
        value = step(value, key)[1]
        if listed:
            continue
        part = part if part == "data" else _below(part, key, value)
    return part
