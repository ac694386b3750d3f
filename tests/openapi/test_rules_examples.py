"""Examples against schemas: which are valid, and at which place an invalid one is reported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.openapi.documents import described, document, swagger
from thresher.openapi import find_problems
from thresher.openapi.rules.formats import FORMATS

HOME = "/components/schemas/A/example"
PAIR = {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}
EITHER = {"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"], "properties": {"b": {"type": "string"}}}]}
OTHER = {"$ref": "#/components/schemas/B"}
SIDES = {
    "type": "object",
    "required": ["id", "word"],
    "properties": {"id": {"type": "integer", "readOnly": True}, "word": {"type": "string", "writeOnly": True}},
}


def _found(content: dict[str, Any], kind: str = "schema") -> list[str]:
    rule = f"oas{'2' if 'swagger' in content else '3'}-valid-{kind}-example"
    return sorted(each.place.pointer for each in find_problems(described(content)) if each.rule == rule)


@pytest.mark.parametrize(
    ("schema", "example", "places"),
    [
        (PAIR, {"a": "x", "b": 1}, []),
        (PAIR, {"a": 1, "b": "x"}, ["/a"]),
        (PAIR, {"a": 1}, [""]),
        (PAIR, "x", [""]),
        ({"type": "string", "enum": ["a"], "minLength": 2}, 3, [""]),
        ({"additionalProperties": False, "properties": {"a": {"type": "string"}}}, {"a": 1, "c": 1}, [""]),
        ({"type": "array", "items": PAIR}, [{"a": "x", "b": 1}, {"a": "x", "b": "y"}, {}], ["/1/b"]),
        ({"type": "array", "uniqueItems": True, "items": {"type": "string"}}, ["a", "a", 1], ["/2"]),
        ({"type": "array", "uniqueItems": True, "items": {"type": "string"}}, ["a", "a"], [""]),
        ({"type": "array", "maxItems": 1, "items": {"type": "string"}}, ["a", 3], [""]),
        ({"type": "object", **EITHER}, {"b": 1}, [""]),
        ({"type": "object", "properties": {"x": EITHER}}, {"x": {"a": 1, "b": 1}}, ["/x/b"]),
        ({"oneOf": [{"type": "string"}, {"minLength": 1}], "type": "string"}, "x", [""]),
        ({"type": "string", "nullable": True}, None, []),
        ({"allOf": [{"type": "string"}], "nullable": True, "properties": {}}, "x", [""]),
        ({"type": "integer", "format": "int32"}, 2**31, [""]),
        ({"type": "integer", "format": "int64"}, 2**31, []),
        ({"type": "string", "format": "unheard-of"}, "x", []),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, 1, [""]),
        ({"type": "strin"}, "x", [""]),
        ({"type": "string", "pattern": "^[\\w-.]+$"}, "a-b", []),
        ({"type": "string", "pattern": "("}, "a", [""]),
        ({"type": "object", "properties": {"default": OTHER}}, {"default": "x"}, ["/default"]),
        ({"not": {"type": "string"}, "properties": {}}, "x", [""]),
    ],
)  # fmt: skip
def test_an_example_is_wrong_where_spectral_says_so(schema: dict[str, Any], example: Any, places: list[str]) -> None:
    """At the first error that a validator finds, and at those of alternatives."""
    schemas = {"A": {**schema, "example": example}, "B": {"type": "integer"}}

    assert _found(document(components={"schemas": schemas})) == [HOME + place for place in places]


@pytest.mark.parametrize(
    ("schema", "example", "places"),
    [
        ({"type": ["string", "null"]}, None, []),
        ({"type": "number", "exclusiveMinimum": 1}, 1, [""]),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["a", "b"], ["/1"]),
        ({"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, [""]),
        ({"type": "string", "const": "a"}, "b", [""]),
    ],
)
def test_newer_versions_know_newer_keywords(schema: dict[str, Any], example: Any, places: list[str]) -> None:
    """Those of JSON Schema 2020-12."""
    content = document(version="3.1.0", components={"schemas": {"A": {**schema, "example": example}}})

    assert _found(content) == [HOME + place for place in places]


def test_what_only_the_other_side_sends_may_be_absent() -> None:
    """A request may lack read-only properties, a response write-only ones, a parameter neither."""
    media = {
        "application/json": {
            "schema": SIDES,
            "examples": {"id": {"value": {"id": 1}}, "word": {"value": {"word": "x"}}},
        }
    }
    operation = {"requestBody": {"content": media}, "responses": {"200": {"description": "Fine", "content": media}}}
    headers = {"X": {"schema": SIDES, "example": {"id": 1}}}

    found = _found(document({"/a": {"post": operation}}, components={"headers": headers}), "media")

    assert found == [
        "/components/headers/X/example",
        "/paths/~1a/post/requestBody/content/application~1json/examples/id/value",
        "/paths/~1a/post/responses/200/content/application~1json/examples/word/value",
    ]  # fmt: skip


def test_a_schema_that_reaches_itself_is_not_checked_against() -> None:
    """Nor is one that refers to something absent."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}, "example": 3}
    lost = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Nobody"}}, "example": 3}

    assert _found(document(components={"schemas": {"Node": node, "Lost": lost}})) == []


def test_an_example_elsewhere_is_wrong_where_it_stands() -> None:
    """A named example of the components is reported there, whatever refers to it."""
    media = {"application/json": {"schema": PAIR, "examples": {"x": {"$ref": "#/components/examples/X"}}}}
    operation = {"responses": {"200": {"description": "Fine", "content": media}}}

    found = _found(document({"/a": {"get": operation}}, components={"examples": {"X": {"value": {}}}}), "media")

    assert found == ["/components/examples/X/value"]


def test_swagger_has_schemas_in_parameters() -> None:
    """Their `required` is not a list and causes no error."""
    parameter = {"in": "query", "name": "a", "type": "integer", "required": True, "default": "x", "x-example": 3}

    found = _found(swagger({"/a": {"get": {"parameters": [parameter], "responses": {}}}}))

    assert found == ["/paths/~1a/get/parameters/0/default"]


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "23:59:60Z", "24:00:00Z"),
        ("date-time", "2024-02-29t10:00:00+01:00", "2024-02-29"),
        ("duration", "P3DT4H", "P"),
        ("email", "joe@pets.test", "joe@pets"),
        ("hostname", "pets.test", "-pets.test"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "1"),
        ("uri", "https://pets.test/a?b#c", "/a"),
        ("uri-reference", "/a?b", "a b"),
        ("url", "https://pets.test:80/a", "https://10.0.0.1/"),
        ("uri-template", "/a/{id}{?b,c*}", "/a/{"),
        ("uuid", "0b0f8f5e-8a3c-4b6f-9d51-2f3c1d0a9e77", "0b0f8f5e"),
        ("json-pointer", "/a~1b/0", "a"),
        ("relative-json-pointer", "1/a", "/a"),
        ("byte", "YQ==", "Y"),
        ("regex", "^a+$", "("),
    ],
)
def test_a_format_is_checked(form: str, good: str, bad: str) -> None:
    """As strictly as by Spectral."""
    assert FORMATS[form](good)
    assert not FORMATS[form](bad)
