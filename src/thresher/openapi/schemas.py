"""Schemas as a caller sees them: combined, as short lines, and what they reach.

Invariant: pure; every walk ends, a part of a wrong type demands nothing, and text of others stays on one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from thresher.core import one_line
from thresher.openapi.reader.description import Description
from thresher.openapi.reader.references import reference_of
from thresher.openapi.records import Json

_PARTS: Final = 200
"""Most schemas that one shape combines."""
_LARGEST: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_SMALLEST: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives of which one applies.

    Attributes:
        branches: Their schemas.
        property: Name of the discriminator property; may be empty.
        mapping: Its values, each with the reference or name of a branch.
    """

    branches: tuple[Json, ...]
    property: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class SchemaShape:
    """Everything that a schema demands, references followed and `allOf` combined.

    Attributes:
        keywords: Those of all its parts; of two values the stricter one.
        properties: Those of all its parts; two schemas of one property are joined by `allOf`.
        required: Names of the required properties.
        groups: Groups of alternatives.
        refs: The references that were followed, outermost first.
        discriminator: Name of the discriminator property; may be empty.
        mapping: Its values, as for a group.
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
        """The declared type, or the one that the keywords imply; empty if any type is allowed."""
        given = self.keywords.get("type")
        if isinstance(given, list):
            given = next((one for one in cast("list[Json]", given) if one != "null"), "null")
        return given if isinstance(given, str) else self._implied_type()

    def _implied_type(self) -> str:
        if self.properties or self.required or {"additionalProperties", "minProperties"} & self.keywords.keys():
            return "object"
        if {"items", "prefixItems", "minItems"} & self.keywords.keys():
            return "array"
        if {"pattern", "minLength", "maxLength", "format"} & self.keywords.keys():
            return "string"
        return "number" if {"minimum", "maximum", "multipleOf"} & self.keywords.keys() else ""

    @property
    def name(self) -> str:
        """Name of the outermost named schema; may be empty."""
        return name_of(next(iter(self.refs), ""))


def shape_of(description: Description, *schemas: Json, known: Sequence[str] = ()) -> SchemaShape:
    """Combine schemas that all apply.

    Args:
        description: Resolves references.
        schemas: The schemas.
        known: References whose schemas are already included elsewhere.
    """
    shape = SchemaShape(refs=dict.fromkeys(known))
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
    """Return the last segment of a reference, such as `Pet` of `#/components/schemas/Pet`."""
    return ref.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")


def mapped(value: Json) -> Mapping[str, Json]:
    """Return the value if it is a mapping, else an empty one."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def listed(value: Json) -> list[Json]:
    """Return the value if it is a list, else an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def _followed(description: Description, schema: Json, shape: SchemaShape) -> tuple[Mapping[str, Json], bool]:
    """Return a schema merged along its chain of references, and whether one of them was followed before."""
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


def _absorb(shape: SchemaShape, fields: Mapping[str, Json]) -> None:
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


def _absorb_discriminator(shape: SchemaShape, fields: Mapping[str, Json]) -> None:
    told = fields.get("discriminator")
    name = told if isinstance(told, str) else mapped(told).get("propertyName")
    if isinstance(name, str) and name:
        shape.discriminator = name
        pairs = mapped(mapped(told).get("mapping")).items()
        shape.mapping = {value: ref for value, ref in pairs if isinstance(ref, str)}


def _stricter(keyword: str, before: Json, value: Json) -> Json:
    """Return the stricter of two values of a keyword."""
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


_VALUES: Final = 12
"""Most enumeration values shown."""
_NAME: Final = 80
_SAID: Final = 120
_DEEP: Final = 3
"""Most levels of nested types."""
_BOUNDS: Final = (
    ("minLength", "min length"),
    ("maxLength", "max length"),
    ("minimum", "min"),
    ("maximum", "max"),
    ("minItems", "min items"),
    ("maxItems", "max items"),
    ("pattern", "pattern"),
    ("default", "default"),
)


def type_of(description: Description, schema: Json, *, level: int = 0) -> str:
    """Return a schema in a few words, such as `array of Pet`, `string (date-time)` or `one of "a", "b"`."""
    shape = shape_of(description, schema)
    if (ref := reference_of(schema)) is not None and not _is_simple(shape):
        return one_line(name_of(ref), _NAME)
    if "const" in shape.keywords:
        return _value(shape.keywords["const"])
    if values := listed(shape.keywords.get("enum")):
        return _enumeration(values)
    if shape.groups and level < _DEEP:
        return _alternatives(description, shape, level)
    return _plain(description, shape, level)


def _is_simple(shape: SchemaShape) -> bool:
    """Return whether a few words say everything about a schema."""
    return not shape.groups and shape.type in {"string", "integer", "number", "boolean"}


def is_simple(description: Description, schema: Json) -> bool:
    """Return whether `type_of` says everything about a schema, so that it needs no lines of its own."""
    return _is_simple(shape_of(description, schema))


def _plain(description: Description, shape: SchemaShape, level: int) -> str:
    kind = shape.type
    if kind == "array":
        items = shape.keywords.get("items", {})
        return f"array of {type_of(description, items, level=level + 1) if level < _DEEP else 'any'}"
    if kind == "object":
        named = next(iter(shape.refs), "")
        free = shape.keywords.get("additionalProperties")
        if not shape.properties and isinstance(free, dict) and level < _DEEP:
            return f"map of {type_of(description, free, level=level + 1)}"
        return one_line(name_of(named), _NAME) if named else "object"
    form = shape.keywords.get("format")
    return f"{one_line(kind, _NAME) or 'any'} ({one_line(form, _NAME)})" if isinstance(form, str) else kind or "any"


def _alternatives(description: Description, shape: SchemaShape, level: int) -> str:
    branches = [branch for group in shape.groups for branch in group.branches]
    named = dict.fromkeys(type_of(description, branch, level=level + 1) for branch in branches[: 2 * _VALUES])
    shown = list(named)[:_VALUES]
    return " or ".join(shown) + (f" or {len(named) - _VALUES} more" if len(named) > _VALUES else "")


def _enumeration(values: list[Json]) -> str:
    more = f" and {len(values) - _VALUES} more" if len(values) > _VALUES else ""
    return f"one of {', '.join(_value(one) for one in values[:_VALUES])}{more}"


def bounds_of(description: Description, schema: Json) -> str:
    """Return the bounds of a schema besides its type, such as `max 100, default 50`; may be empty."""
    shape = shape_of(description, schema)
    found = [
        f"{words} {_value(shape.keywords[key])}"
        for key, words in _BOUNDS
        if isinstance(shape.keywords.get(key), (str, int, float)) and shape.keywords[key] != ""
    ]
    flags = [words for key, words in _FLAGS if shape.keywords.get(key) is True]
    return ", ".join([*found, *flags])


_FLAGS: Final = (
    ("readOnly", "read only"),
    ("writeOnly", "write only"),
    ("deprecated", "deprecated"),
    ("nullable", "or null"),
)


def lines_of(description: Description, schema: Json) -> Iterator[str]:
    """Yield a schema as lines: its type, or one line for each property."""
    shape = shape_of(description, schema)
    if not shape.properties:
        said = _dashed(shape.keywords.get("description"))
        yield f"{type_of(description, schema)}{_bracketed(bounds_of(description, schema))}{said}"
        return
    for name, inner in shape.properties.items():
        must = "*" if name in shape.required else ""
        said = _dashed(_description_of(description, inner))
        bounds = _bracketed(bounds_of(description, inner))
        yield f"{one_line(name, _NAME)}{must}: {type_of(description, inner)}{bounds}{said}"
    for group in shape.groups:
        yield f"and one of: {_alternatives(description, SchemaShape(groups=[group]), 0)}"


def _description_of(description: Description, schema: Json) -> Json:
    """Return the description given where a property is defined; a referenced schema keeps its own."""
    own = mapped(schema).get("description")
    if own is not None or reference_of(schema) is not None:
        return own
    return shape_of(description, schema).keywords.get("description")


def _bracketed(text: str) -> str:
    return f" [{text}]" if text else ""


def _dashed(text: Json) -> str:
    line = one_line(text, _SAID) if isinstance(text, str) else ""
    return f" - {line}" if line else ""


def _value(value: Json) -> str:
    return one_line(json.dumps(cast("object", value), default=str, ensure_ascii=False), _NAME)


_MOST: Final = 400
_SEARCHED: Final = 200_000
"""Most values searched for references."""
_LONGEST: Final = 160
"""Longest description inside a schema, in characters."""
_LEFT_OUT: Final = frozenset(
    {"example", "examples", "xml", "externalDocs", "x-examples", "x-enum-varnames", "x-enum-descriptions", "title"}
)


def schemas_reached(description: Description, schemas: Iterable[Json]) -> tuple[str, ...]:
    """Return references to the named schemas that these schemas lead to, nearest first."""
    found: dict[str, None] = {}
    level = [ref for schema in schemas for ref in references_in(schema)]
    while level and len(found) < _MOST:
        new = [ref for ref in dict.fromkeys(level) if ref not in found]
        found |= dict.fromkeys(new[: _MOST - len(found)])
        level = [inner for ref in new if len(found) < _MOST for inner in references_in(description.resolve(ref))]
    return tuple(ref for ref in found if description.resolve(ref))


def references_in(value: Json) -> Iterator[str]:
    """Yield the references in a schema, level by level."""
    level: list[Json] = [value]
    left = _SEARCHED
    while level and left > 0:
        following: list[Json] = []
        for one in level:
            left -= 1
            if (ref := reference_of(one)) is not None:
                yield ref
            if isinstance(one, dict):
                following += [inner for key, inner in mapped(one).items() if key not in _LEFT_OUT]
            elif isinstance(one, list):
                following += cast("list[Json]", one)
        level = following


def brief_schema(schema: Json) -> Json:
    """Return a schema without examples and with shortened descriptions."""
    if isinstance(schema, list):
        return [brief_schema(one) for one in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _short(value) if key == "description" else _inner(key, value)
        for key, value in mapped(schema).items()
        if key == "$ref" or not (key in _LEFT_OUT or key.startswith("x-"))
    }


def _inner(key: str, value: Json) -> Json:
    """Shorten the value of a keyword; property names are not keywords."""
    if key in {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}:
        return {name: brief_schema(one) for name, one in mapped(value).items()}
    return value if key in {"enum", "const", "default", "required"} else brief_schema(value)


def _short(value: Json) -> Json:
    if not isinstance(value, str):
        return brief_schema(value)
    line = " ".join(value[: 4 * _LONGEST].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
