"""Examples of schemas: they are valid, small and finite."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from thresher.openapi import Description, best_example, checked_example, example_of, read_description

HOSTILE: list[dict[str, Any]] = [
    {"type": "string", "pattern": "^(a+)+$", "minLength": 200},
    {"type": "string", "pattern": "(((("},
    {"type": "string", "pattern": "(?<=x)y(?!z)\\1"},
    {"type": "string", "pattern": "a{2000000000}"},
    {"type": "string", "minLength": 10**12},
    {"type": "array", "minItems": 10**9, "items": {"type": "array", "minItems": 10**9}},
    {"type": "object", "minProperties": 10**9, "required": [1, None, "a"], "properties": 7},
    {"allOf": [{"allOf": [{"allOf": [7, None, "x", []]}]}], "oneOf": {"a": 1}, "type": ["weird", 3]},
    {"type": "integer", "multipleOf": 0, "minimum": "low", "maximum": float("1e308")},
    {"type": "number", "minimum": 10, "maximum": 1, "exclusiveMaximum": 0},
    {"type": "number", "multipleOf": 1e-300, "minimum": 1e300},
    {"type": "integer", "minimum": 10**390, "exclusiveMaximum": -(10**390)},
]


def described(schemas: Mapping[str, Any], version: str = "3.0.3") -> Description:
    """A description with these named schemas."""
    whole: dict[str, Any]
    if version == "2.0":
        whole = {"swagger": "2.0", "info": {}, "paths": {}, "definitions": schemas}
    else:
        whole = {"openapi": version, "info": {}, "paths": {}, "components": {"schemas": schemas}}
    return read_description(json.dumps(whole).encode())


def made(schema: Any, version: str = "3.0.3", **schemas: Any) -> Any:
    """Return the example of a schema, which must be valid."""
    value, holds = checked_example(described(schemas, version), schema)
    assert holds, value
    return value


def ref(name: str) -> dict[str, str]:
    """Return a reference to a named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 30},
        {"type": "string", "maxLength": 2},
        {"type": "string", "pattern": "^[A-Z]{3}-\\d+$"},
        {"type": "string", "pattern": "^(red|green)_[^a-z]*x{2,4}$", "minLength": 8},
        *(
            {"type": "string", "format": name}
            for name in ("date-time", "uuid", "email", "ipv6", "uri", "byte", "made-up")
        ),
        {"type": "integer", "minimum": 7, "exclusiveMinimum": True, "multipleOf": 5},
        {"type": "number", "maximum": -3.5},
        {"type": "number", "exclusiveMinimum": True, "minimum": 0, "maximum": 0.5},
        {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "string", "nullable": True, "enum": ["a", "b"]},
        {"enum": [None, 3]},
        {"type": "object", "properties": {"a": {"type": "boolean"}}, "minProperties": 1},
        {},
    ],
    ids=str,
)
def test_a_value_is_within_what_its_schema_allows(schema: dict[str, Any]) -> None:
    """For lengths, patterns, formats, bounds, steps and numbers of items."""
    value, holds = checked_example(described({}), schema)

    assert holds, value


def test_of_an_object_those_properties_are_shown_that_the_direction_carries() -> None:
    """Read-only properties are not sent, even if required; deprecated ones are shown only if required."""
    schema = {
        "type": "object",
        "required": ["id", "name"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "name": {"type": "string"},
            "secret": {"type": "string", "writeOnly": True},
            "old": {"type": "string", "deprecated": True},
        },
    }
    description = described({})

    sent = example_of(description, schema)
    got = example_of(description, schema, direction="response")

    assert list(sent) == ["name", "secret"]
    assert list(got) == ["id", "name"]


def test_what_the_other_side_fills_is_not_sent() -> None:
    """Even if only the description says so; a name comes before other optional properties."""
    words = ("Read-only.", "Populated by the system.", "Deprecated: use another one.")
    filled = {f"f{number}": {"type": "string", "description": text} for number, text in enumerate(words)}
    others = {f"p{number}": {"type": "string"} for number in range(9)}
    inner = {"type": "object", "properties": {**filled, **others, "name": {"type": "string"}}}

    assert made({"type": "object", "properties": {"metadata": inner}}) == {
        "metadata": {"p0": "p 0", "p1": "p 1", "p2": "p 2", "name": "name"}
    }


def test_a_given_example_is_used_where_it_holds_and_left_out_where_it_does_not() -> None:
    """Each on its own: a wrong one does not affect the others."""
    schema = {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "example": "teal"},
            "count": {"type": "integer", "example": "many"},
        },
    }

    assert made(schema) == {"colour": "teal", "count": 1}


def test_the_example_of_a_body_is_preferred_and_read_from_text() -> None:
    """Text that holds JSON is parsed; an invalid example is replaced."""
    description, schema = described({}), {"type": "object", "properties": {"a": {"type": "integer"}}}

    assert best_example(description, schema, {"a": 5}, direction="request") == {"a": 5}
    assert best_example(description, schema, '{"a": 6}', direction="request") == {"a": 6}
    assert best_example(description, schema, {"a": "x"}, direction="request") == {"a": 1}
    assert best_example(description, None, "as it is", direction="request") == "as it is"


def test_parts_that_all_hold_are_put_together() -> None:
    """References, own keywords and nested parts, with the stricter of two bounds."""
    base = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "size": {"minimum": 5}}}
    schema = {"allOf": [ref("Base"), {"properties": {"size": {"type": "integer", "minimum": 9}}, "required": ["size"]}]}

    assert made(schema, Base=base) == {"kind": "kind", "size": 9}


def test_an_alternative_is_taken_that_tells_itself_from_the_others() -> None:
    """If the first fits two of them or contains itself, another one is tried."""
    cat = {"type": "object", "properties": {"name": {"type": "string"}}}
    dog = {"type": "object", "required": ["barks"], "properties": {"barks": {"type": "boolean"}}}

    assert made({"oneOf": [cat, dog]}) == {"name": "name"}
    assert made({"oneOf": [dog, cat]}) == {"name": "name"}
    assert made({"anyOf": [ref("Loop"), dog]}, Loop={"allOf": [ref("Loop"), dog]}) == {"barks": True}
    assert made({"anyOf": [{"type": "null"}, {"type": "string"}]}, "3.1.0") == "text"


@pytest.mark.parametrize("version", ["2.0", "3.0.3"])
def test_the_property_that_tells_schemas_apart_names_the_one_that_is_meant(version: str) -> None:
    """By the mapping if there is one, else by the schema's name."""
    place = "#/definitions/" if version == "2.0" else "#/components/schemas/"
    told = "kind" if version == "2.0" else {"propertyName": "kind"}
    schemas = {
        "Pet": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"type": "string"}},
            "discriminator": told,
        },
        "Cat": {"allOf": [{"$ref": f"{place}Pet"}, {"properties": {"purrs": {"type": "boolean"}}}]},
    }

    assert made({"$ref": f"{place}Cat"}, version, **schemas) == {"kind": "Cat", "purrs": True}


def test_a_mapping_names_the_alternative_that_is_taken() -> None:
    """By its value, not the schema's name."""
    schema = {
        "oneOf": [ref("Cat"), ref("Dog")],
        "discriminator": {"propertyName": "kind", "mapping": {"feline": "#/components/schemas/Cat", "dog": "Dog"}},
    }
    fields = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}}

    assert made(schema, Cat=fields, Dog={**fields, "required": ["kind", "x"]}) == {"kind": "feline"}


def test_a_schema_that_holds_itself_is_cut() -> None:
    """A list of itself is empty, an optional property of itself is omitted, and endless demands still give a value."""
    node = {"type": "object", "properties": {"name": {"type": "string"}, "next": ref("Node"), "all": ref("Nodes")}}
    endless = {"type": "object", "required": ["self"], "properties": {"self": ref("Endless")}}
    schemas = {"Node": node, "Nodes": {"type": "array", "items": ref("Node")}, "Endless": endless, "A": ref("A")}
    description = described(schemas)

    assert example_of(description, ref("Node")) == {"name": "name", "all": []}
    assert example_of(description, ref("Endless")) == {}
    assert example_of(description, ref("A")) in ({}, None)


def test_references_that_lead_nowhere_let_anything_through() -> None:
    """The rest of the object is shown."""
    schema = {"type": "object", "properties": {"a": ref("Gone"), "b": {"$ref": "https://example.com/x.json"}}}

    assert set(made(schema)) == {"a", "b"}


def test_what_no_value_can_satisfy_gives_a_value_all_the_same() -> None:
    """And reports that it is not valid."""
    schema: dict[str, Any] = {"required": ["a"], "additionalProperties": False}

    value, holds = checked_example(described({}), schema)

    assert (type(value), holds) == (dict, False)


@pytest.mark.parametrize("schema", HOSTILE, ids=str)
def test_hostile_and_malformed_schemas_cost_little_and_raise_nothing(schema: dict[str, Any]) -> None:
    """Endless patterns, sizes beyond memory, keywords of wrong types."""
    value = example_of(described({}), schema)

    assert len(json.dumps(value)) < 100_000


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [ref("NEXT"), ref("NEXT")]},
        {"oneOf": [ref("NEXT"), {"anyOf": [ref("NEXT"), ref("NEXT")]}]},
        {"type": "object", "required": ["a", "b"], "properties": {"a": ref("NEXT"), "b": ref("NEXT")}},
        {"allOf": [{"properties": {"a": ref("NEXT")}}, {"properties": {"a": ref("NEXT")}}], "required": ["a"]},
        {"type": "array", "minItems": 20, "items": ref("NEXT")},
    ],
    ids=["allOf", "oneOf", "required", "both", "items"],
)
def test_schemas_that_double_at_every_step_are_neither_written_out_nor_checked(schema: dict[str, Any]) -> None:
    """Sixty short schemas would demand more visits than there is time for, and a validator cannot be stopped."""
    text = json.dumps(schema)
    schemas: dict[str, Any] = {f"S{number}": json.loads(text.replace("NEXT", f"S{number + 1}")) for number in range(60)}
    description = described({**schemas, "S60": {"type": "string"}})

    value = best_example(description, ref("S0"), {"a": {"a": {}}}, direction="request")

    assert len(json.dumps(value)) < 100_000


def test_a_wide_and_deep_schema_gives_a_small_example() -> None:
    """Regardless of the number of properties and levels."""
    levels = [{"type": "object", "properties": {f"p{i}": ref(f"L{level}") for i in range(50)}} for level in range(1, 9)]
    schemas: dict[str, Any] = {f"L{number}": schema for number, schema in enumerate([*levels, {"type": "string"}])}

    assert len(json.dumps(made(ref("L0"), "3.0.3", **schemas))) < 20_000
