"""What a schema asks for: its references followed, its `allOf` put together, its alternatives beside it.

Invariant: pure; every walk ends, whatever refers to what, and a part of a wrong type asks for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from thresher.openapi.description import Description
from thresher.openapi.records import Json
from thresher.openapi.references import reference_of

_PARTS: Final = 200
"""Schemas that one shape is put together from."""
_LARGEST: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives of which one holds.

    Attributes:
        branches: Their schemas.
        property: Name of the property that tells them apart; empty where none is named.
        mapping: Its values, each to the reference or the name of a branch.
    """

    branches: tuple[Json, ...]
    property: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Shape:
    """What a schema asks for.

    Attributes:
        keywords: Those of all its parts, the stricter one of two.
        properties: Likewise; two schemas of one property stand together under `allOf`.
        required: Names of the properties that must be there.
        groups: Alternatives, one of each group holds.
        refs: The references that were followed, the outermost first.
        discriminator: Name of the property that says which of several schemas is meant; empty without.
        mapping: Its values, as of a group.
    """

    keywords: dict[str, Json] = field(default_factory=dict[str, Json])
    properties: dict[str, Json] = field(default_factory=dict[str, Json])
    required: list[str] = field(default_factory=list[str])
    groups: list[Group] = field(default_factory=list[Group])
    refs: dict[str, None] = field(default_factory=dict[str, None])
    discriminator: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def type(self) -> str:
        """The type, or the one that the keywords tell; empty for anything."""
        given = self.keywords.get("type")
        if isinstance(given, list):
            given = next((one for one in cast("list[Json]", given) if one != "null"), "null")
        return given if isinstance(given, str) else self._told()

    def _told(self) -> str:
        if self.properties or self.required or {"additionalProperties", "minProperties"} & self.keywords.keys():
            return "object"
        if {"items", "prefixItems", "minItems"} & self.keywords.keys():
            return "array"
        if {"pattern", "minLength", "maxLength", "format"} & self.keywords.keys():
            return "string"
        return "number" if {"minimum", "maximum", "multipleOf"} & self.keywords.keys() else ""

    @property
    def name(self) -> str:
        """Of the outermost schema that has one; empty without."""
        return name_of(next(iter(self.refs), ""))


def shape_of(description: Description, *schemas: Json, known: Sequence[str] = ()) -> Shape:
    """What some schemas ask for together.

    Args:
        description: Where references lead.
        schemas: All of them hold.
        known: References whose schemas have been put in elsewhere.
    """
    shape = Shape(refs=dict.fromkeys(known))
    left = _PARTS
    waiting = list(reversed(schemas))
    while waiting and left:
        left -= 1
        fields, seen = _followed(description, waiting.pop(), shape)
        if seen:
            continue
        _absorb(shape, fields)
        waiting.extend(reversed(listed(fields.get("allOf"))))
    return shape


def name_of(ref: str) -> str:
    """The name at the end of a reference, such as `Pet` of `#/components/schemas/Pet`."""
    return ref.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")


def mapped(value: Json) -> Mapping[str, Json]:
    """A mapping, or an empty one where it is none."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def listed(value: Json) -> list[Json]:
    """A list, or an empty one where it is none."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def _followed(description: Description, schema: Json, shape: Shape) -> tuple[Mapping[str, Json], bool]:
    """A schema with what its chain of references gives it, and whether one of them has been followed before."""
    found: dict[str, Json] = {}
    for _ in range(_PARTS):
        fields = mapped(schema)
        ref = reference_of(schema)
        found = {**{key: value for key, value in fields.items() if key != "$ref"}, **found}
        if ref is None:
            break
        if ref in shape.refs:
            return {}, True
        shape.refs[ref] = None
        if description.dialect in {"2.0", "3.0"}:
            found = {}
        schema = description.resolve(ref)
    return found, False


def _absorb(shape: Shape, fields: Mapping[str, Json]) -> None:
    for name, schema in mapped(fields.get("properties")).items():
        shape.properties[name] = {"allOf": [shape.properties[name], schema]} if name in shape.properties else schema
    shape.required += [
        name for name in listed(fields.get("required")) if isinstance(name, str) and name not in shape.required
    ]
    _absorb_discriminator(shape, fields)
    for keyword in ("oneOf", "anyOf"):
        if branches := listed(fields.get(keyword)):
            shape.groups.append(Group(tuple(branches), shape.discriminator, shape.mapping))
    for keyword, value in fields.items():
        if keyword not in _STRUCTURE:
            shape.keywords[keyword] = (
                _stricter(keyword, shape.keywords[keyword], value) if (keyword in shape.keywords) else value
            )


_STRUCTURE: Final = frozenset({"properties", "required", "oneOf", "anyOf", "allOf", "discriminator"})


def _absorb_discriminator(shape: Shape, fields: Mapping[str, Json]) -> None:
    told = fields.get("discriminator")
    name = told if isinstance(told, str) else mapped(told).get("propertyName")
    if isinstance(name, str) and name:
        shape.discriminator = name
        pairs = mapped(mapped(told).get("mapping")).items()
        shape.mapping = {value: ref for value, ref in pairs if isinstance(ref, str)}


def _stricter(keyword: str, before: Json, value: Json) -> Json:
    """Of two values of a keyword the one that lets less through."""
    if keyword == "enum":
        return [one for one in listed(before) if one in listed(value)] or before
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (before, value))
    if numbers and keyword in _LARGEST:
        return max(before, value)
    if numbers and keyword in _SMALLEST:
        return min(before, value)
    if keyword == "type":
        return value if (before, value) != ("integer", "number") else before
    return before if keyword in {"example", "examples", "default", "description", "title"} else value
