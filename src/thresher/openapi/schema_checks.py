"""Validates values against schemas of descriptions, converted to JSON Schema 2020-12.

A schema may refer to another one twice, and that one to the next: sixty short schemas can demand more work than any
caller can wait for, and a running validator cannot be stopped. So the cost is counted first, once for each pair of
schema and value.

Invariant: pure; a schema is converted with everything that it refers to and without anything malformed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias, cast

import jsonschema_rs

from thresher.openapi.reader.description import Description
from thresher.openapi.reader.references import reference_of
from thresher.openapi.records import Json
from thresher.openapi.schemas import listed, mapped

MOST: Final = 1_000_000
"""Most visits of values by one validation; a validator makes that many in a tenth of a second."""
_PAIRS: Final = 100_000
"""Most pairs that are counted; beyond them counting itself would take too long."""
_SEVERAL: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SAME: Final = ("not", "if", "then", "else")
_EACH: Final = ("additionalProperties", "items", "contains", "unevaluatedProperties", "unevaluatedItems")
_TWICE: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
"""Keywords for which everything beside them is visited once more."""
_HOLDS: Final = frozenset(
    {"$ref", "properties", "patternProperties", "dependentSchemas", "propertyNames", *_SEVERAL, *_SAME, *_EACH}
)
"""Keywords that hold schemas."""

Pair: TypeAlias = tuple[Json, Json]


def _cost(schema: Json, value: Json) -> int:
    """Return the visits needed to validate a value; more than `MOST` if it would take too long.

    Args:
        schema: JSON Schema whose references are `#/$defs/NAME`.
        value: The value.
    """
    try:
        return _Count(mapped(mapped(schema).get("$defs"))).of(schema, value)
    except RecursionError:
        return MOST + 1


class _Count:
    def __init__(self, named: Mapping[str, Json]) -> None:
        self._definitions = named
        self._known: dict[tuple[int, int], int] = {}

    def of(self, schema: Json, value: Json) -> int:
        """Return the visits of a value by one schema; more than `MOST` if it refers to itself or takes too long."""
        key = (id(schema), id(value))
        if key in self._known:
            return self._known[key]
        if len(self._known) > _PAIRS:
            return MOST + 1
        self._known[key] = MOST + 1
        looks = _own(schema, value)
        for inner, part in self._below(mapped(schema), value):
            looks += _own(inner, part) if _HOLDS.isdisjoint(mapped(inner)) else self.of(inner, part)
            if looks > MOST:
                return looks
        self._known[key] = looks = 2 * looks if _TWICE & mapped(schema).keys() else looks
        return looks

    def _below(self, fields: Mapping[str, Json], value: Json) -> Iterator[Pair]:
        """Yield the schemas that a schema holds, each with the part of the value that it applies to."""
        ref = fields.get("$ref")
        if isinstance(ref, str):
            yield self._definitions.get(ref.rpartition("/")[2]), value
        for keyword in _SEVERAL:
            branches = listed(fields.get(keyword))
            parts = listed(value) if keyword == "prefixItems" else [value] * len(branches)
            yield from zip(branches, parts, strict=False)
        yield from ((fields[keyword], value) for keyword in _SAME if keyword in fields)
        yield from ((inner, value) for inner in mapped(fields.get("dependentSchemas")).values())
        yield from _named_parts(fields, value)
        within = listed(value) or list(mapped(value).values())
        yield from ((fields[keyword], part) for keyword in _EACH if keyword in fields for part in within)
        if "propertyNames" in fields:
            yield from ((fields["propertyNames"], name) for name in mapped(value))


def _named_parts(fields: Mapping[str, Json], value: Json) -> Iterator[Pair]:
    """Yield the properties of a value with the schemas that apply to them."""
    properties, patterns = mapped(fields.get("properties")), mapped(fields.get("patternProperties"))
    for name, part in mapped(value).items():
        if name in properties:
            yield properties[name], part
        yield from ((inner, part) for inner in patterns.values())


def _own(schema: Json, value: Json) -> int:
    """Return the visits of a schema's own keywords: one, plus those for listed names and values and for uniqueness."""
    fields = mapped(schema)
    looks = 1 + len(listed(fields.get("required"))) if "required" in fields else 1
    if "enum" in fields:
        looks += len(listed(fields["enum"])) // 8
    if "uniqueItems" in fields:
        looks += len(listed(value))
    return looks


Direction: TypeAlias = Literal["request", "response"]

_MOST: Final = 2_000
"""Most schemas converted along with one; the rest accept anything."""
_LARGEST: Final = 100_000
"""Most nested schemas in all of them together; the rest accept anything."""
_LOOKS: Final = 5_000
"""Visits up to which all errors are collected; above, only the first, since each error copies its part of the value."""
_EXPLAINED: Final = 20_000
"""Visits up to which the first error is told: one of alternatives holds the errors of all, and takes their time."""
_TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_HELD_BACK: Final[Mapping[Direction, str]] = {"request": "readOnly", "response": "writeOnly"}


class SchemaCheck:
    """Validates values against one schema.

    Args:
        description: Resolves references.
        schema: The schema.
        direction: Properties that only the other direction carries are not required.
        strict: Whether those properties are refused, and the formats of OpenAPI are checked.
    """

    def __init__(self, description: Description, schema: Json, direction: Direction, *, strict: bool = False) -> None:
        plain = standalone(description, schema, direction, strict=strict)
        self._schema = plain
        self._validator = _compiled(plain)

    def fails_at(self, value: Json) -> tuple[str | int, ...] | None:
        """Return the deepest place where a value is invalid; None if it is valid or cannot be checked."""
        looks = _cost(self._schema, value)
        if self._validator is None or looks > MOST or self._validator.is_valid(value):
            return None
        if looks > _LOOKS:
            return _first(self._validator, value)
        return max((tuple(error.instance_path) for error in self._validator.iter_errors(value)), key=len, default=None)

    def checks(self, value: Json) -> bool:
        """Return whether a value can be checked: the schema can be compiled, and the work is bounded."""
        return self._validator is not None and _cost(self._schema, value) <= MOST

    def mistypes(self, value: Json) -> bool:
        """Return whether a whole value is of another JSON type than the schema allows, or fits no alternative."""
        if self._validator is None or _cost(self._schema, value) > _EXPLAINED:
            return False
        kinds = jsonschema_rs.ValidationErrorKind
        wrong = (kinds.Type, kinds.AnyOf, kinds.OneOfNotValid)
        return any(not one.instance_path and isinstance(one.kind, wrong) for one in self._validator.iter_errors(value))

    def problems(self, value: Json) -> tuple[tuple[tuple[str | int, ...], str], ...]:
        """Return where a value is invalid, and why; empty if it is valid or cannot be checked."""
        looks = _cost(self._schema, value)
        if self._validator is None or looks > MOST or self._validator.is_valid(value):
            return ()
        if looks <= _LOOKS:
            return tuple((tuple(one.instance_path), _reason(one)) for one in self._validator.iter_errors(value))
        if looks > _EXPLAINED:
            return (((), "does not fit its schema, and is too large to say where: send less"),)
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return ((tuple(error.instance_path), _reason(error)),)
        return ()

    def fits(self, value: Json) -> bool:
        """Return whether a value is valid; a schema that cannot be checked accepts every value."""
        return self._validator is None or _cost(self._schema, value) > MOST or self._validator.is_valid(value)


def _reason(error: jsonschema_rs.ValidationError) -> str:
    """Return why a value is invalid; only properties that the other direction carries have the schema `false`."""
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.FalseSchema):
        return "cannot be given here: it is read-only, or not allowed"
    return error.message


def _first(validator: jsonschema_rs.Draft202012Validator, value: Json) -> tuple[str | int, ...] | None:
    """Return the first place where a value is invalid."""
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return tuple(error.instance_path)
    return None


def standalone(description: Description, schema: Json, direction: Direction, *, strict: bool = False) -> Json:
    """Return a schema with everything that it refers to, as JSON Schema 2020-12; `strict` as for `SchemaCheck`."""
    return _Conversion(description, direction, strict=strict).whole(schema)


def _compiled(schema: Json) -> jsonschema_rs.Draft202012Validator | None:
    """Return a validator, without patterns if one of them is invalid; None if the schema cannot be compiled."""
    for candidate in (schema, _without_patterns(schema)):
        try:
            # Patterns are untrusted, hence an engine that runs in linear time.
            return jsonschema_rs.Draft202012Validator(
                candidate,
                validate_formats=True,
                formats=_FORMATS,
                offline=True,
                pattern_options=jsonschema_rs.RegexOptions(),
            )
        except (ValueError, jsonschema_rs.ReferencingError, RecursionError):
            continue
    return None


def _without_patterns(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_without_patterns(one) for one in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, Json]", schema)
    return {
        key: _without_patterns(value)
        for key, value in fields.items()
        if key not in {"pattern", "patternProperties"} or (isinstance(value, dict) and "type" in value)
    }


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


_BYTES: Final = "thresher-byte"
"""OpenAPI's format `byte` where it is checked: examples in descriptions often do not have it."""
_FORMATS: Final = {_BYTES: _is_base64}
_RANGES: Final[Mapping[str, int]] = {"int32": 31, "int64": 63}
"""Bits of OpenAPI's integers, without the sign."""


class _Conversion:
    def __init__(self, description: Description, direction: Direction, *, strict: bool = False) -> None:
        self._description = description
        self._strict = strict
        self._flag = _HELD_BACK[direction]
        self._old = description.dialect in {"2.0", "3.0"}
        self._names: dict[str, str] = {}
        self._left = _LARGEST

    def whole(self, schema: Json) -> Json:
        converted = self._convert(schema)
        definitions: dict[str, Json] = {}
        while len(definitions) < len(self._names):
            for ref, name in list(self._names.items())[len(definitions) :]:
                definitions[name] = self._convert(self._description.resolve(ref))
        if isinstance(converted, bool) or not definitions:
            return converted
        return {**mapped(converted), "$defs": definitions}

    def _convert(self, schema: Json) -> Json:
        if isinstance(schema, bool):
            return schema
        self._left -= 1
        if self._left < 0:
            return {}
        fields = mapped(schema)
        if (ref := reference_of(schema)) is not None:
            if not self._description.resolve(ref) and self._description.resolve(ref) is not False:
                return {}
            room = ref in self._names or len(self._names) < _MOST
            here: dict[str, Json] = {"$ref": f"#/$defs/{self._name_of(ref)}"} if room else {}
            return here if self._old else {**self._keywords(fields), **here}
        return self._keywords(fields)

    def _name_of(self, ref: str) -> str:
        return self._names.setdefault(ref, f"s{len(self._names)}")

    def _keywords(self, fields: Mapping[str, Json]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for key, value in fields.items():
            convert = _KEYWORDS.get(key)
            if convert is not None and (converted := convert(self, value)) is not None:
                found[key] = converted
        self._require(fields, found)
        if self._old:
            _renew(fields, found)
        if self._strict:
            self._tighten(fields, found)
        return found

    def _tighten(self, fields: Mapping[str, Json], found: dict[str, Json]) -> None:
        """Refuse the properties of the other direction, and check the formats of OpenAPI."""
        held = [name for name, each in mapped(fields.get("properties")).items() if self._held_back(each)]
        if held:
            found["properties"] = {**found["properties"], **dict.fromkeys(held, False)}
        form, types = found.get("format"), found.get("type")
        if isinstance(form, str) and form in _RANGES and "integer" in (listed(types) or [types]):
            most = 1 << _RANGES[form]
            ends = {"minimum": -most, "maximum": most - 1}
            found.setdefault("allOf", []).append(ends)
        elif form == "byte":
            found["format"] = _BYTES

    def _require(self, fields: Mapping[str, Json], found: dict[str, Json]) -> None:
        """Require only the properties that this direction carries."""
        properties = mapped(fields.get("properties"))
        names = [name for name in listed(fields.get("required")) if isinstance(name, str)]
        asked = [name for name in dict.fromkeys(names) if not self._held_back(properties.get(name))]
        if asked:
            found["required"] = asked

    def _held_back(self, schema: Json) -> bool:
        fields = mapped(self._description.follow(schema))
        return bool(mapped(schema).get(self._flag) or fields.get(self._flag)) or any(
            mapped(part).get(self._flag) is True for part in listed(fields.get("allOf"))
        )

    def one(self, value: Json) -> Json | None:
        """Convert a keyword that holds a schema."""
        return self._convert(value) if isinstance(value, (dict, bool)) else None

    def several(self, value: Json) -> Json | None:
        """Convert a keyword that holds a list of schemas."""
        return [self._convert(one) for one in listed(value)] or None

    def named(self, value: Json) -> Json | None:
        """Convert a keyword that holds schemas by name."""
        return {name: self._convert(one) for name, one in mapped(value).items()} if isinstance(value, dict) else None


def _renew(fields: Mapping[str, Json], found: dict[str, Json]) -> None:
    """Translate keywords of OpenAPI 3.0 and Swagger 2.0 to JSON Schema 2020-12."""
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if fields.get(flag) is True and bound in found:
            found[flag] = found.pop(bound)
    if fields.get("nullable") is not True and fields.get("x-nullable") is not True:
        return
    if isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
    if "enum" in found and None not in found["enum"]:
        found["enum"] = [*found["enum"], None]


def _number(_: _Conversion, value: Json) -> Json | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _factor(_: _Conversion, value: Json) -> Json | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _count(_: _Conversion, value: Json) -> Json | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(_: _Conversion, value: Json) -> Json | None:
    return value if isinstance(value, str) else None


def _type(_: _Conversion, value: Json) -> Json | None:
    if isinstance(value, str):
        return value if value in _TYPES else None
    several = list(dict.fromkeys(one for one in listed(value) if isinstance(one, str) and one in _TYPES))
    return several or None


def _values(_: _Conversion, value: Json) -> Json | None:
    return listed(value) or None


def _whether(_: _Conversion, value: Json) -> Json | None:
    return value if isinstance(value, bool) else None


_KEYWORDS: Final[Mapping[str, Callable[[_Conversion, Json], Json | None]]] = {
    "type": _type,
    "enum": _values,
    "const": lambda _, value: value,
    "format": _text,
    "pattern": _text,
    "uniqueItems": _whether,
    "multipleOf": _factor,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _Conversion.several),
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _Conversion.named),
    **dict.fromkeys(
        ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"), _Conversion.one
    ),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), _Conversion.one),
}
