"""Swagger 2.0, read into the records of OpenAPI 3."""

from __future__ import annotations

from typing import Any

import pytest

from tests.openapi.documents import codes, described, swagger
from thresher.openapi import MediaType, Operation, Requirement, SecurityScheme

FINE = {"responses": {"200": {"description": "Fine"}}}
PET = {"name": "pet", "in": "body", "required": True, "description": "A pet", "schema": {"$ref": "#/definitions/Pet"}}


def _operation(fields: dict[str, Any], **others: Any) -> Operation:
    return described(swagger({"/pets": {"post": {**FINE, **fields}}}, definitions={"Pet": {}}, **others)).operations[0]


@pytest.mark.parametrize(
    ("own", "top", "media"),
    [
        ({}, {}, ["application/json"]),
        ({}, {"consumes": ["text/plain", "a/b"]}, ["text/plain", "a/b"]),
        ({"consumes": ["c/d"]}, {"consumes": ["text/plain"]}, ["c/d"]),
    ],
)
def test_a_body_parameter_becomes_the_body(own: dict[str, Any], top: dict[str, Any], media: list[str]) -> None:
    """In each media type of `consumes`; JSON if there is none."""
    operation = _operation({**own, "parameters": [PET]}, **top)

    assert operation.parameters == ()
    assert operation.body is not None
    assert (operation.body.required, operation.body.description) == (True, "A pet")
    assert operation.body.contents == tuple(MediaType(each, {"$ref": "#/definitions/Pet"}) for each in media)
    assert operation.body.pointer == "/paths/~1pets/post/parameters/0"


@pytest.mark.parametrize(
    ("kind", "consumes", "media"),
    [
        ("string", [], "application/x-www-form-urlencoded"),
        ("file", [], "multipart/form-data"),
        ("string", ["multipart/form-data"], "multipart/form-data"),
        ("string", ["application/json"], "application/x-www-form-urlencoded"),
    ],
)
def test_fields_of_a_form_become_one_body(kind: str, consumes: list[str], media: str) -> None:
    """An object whose properties are the fields; a file is binary."""
    fields = [
        {"name": "photo", "in": "formData", "type": kind, "required": True, "description": "Of the pet"},
        {"name": "tags", "in": "formData", "type": "array", "items": {"type": "string"}, "collectionFormat": "csv"},
    ]

    body = _operation({"parameters": fields, "consumes": consumes}).body

    assert body is not None
    photo = {"type": "string", "format": "binary"} if kind == "file" else {"type": "string"}
    assert body.contents == (
        MediaType(
            media,
            {
                "type": "object",
                "properties": {
                    "photo": {**photo, "description": "Of the pet"},
                    "tags": {"type": "array", "items": {"type": "string"}, "collectionFormat": "csv"},
                },
                "required": ["photo"],
            },
        ),
    )


def test_keywords_of_a_parameter_become_its_schema() -> None:
    """All that do not describe the parameter itself."""
    parameter = {"name": "age", "in": "query", "type": "integer", "minimum": 0, "default": 1, "x-example": 3}

    (found,) = _operation({"parameters": [{"$ref": "#/parameters/Age"}]}, parameters={"Age": parameter}).parameters

    assert (found.schema, found.example) == ({"type": "integer", "minimum": 0, "default": 1}, 3)
    assert found.pointer == "/parameters/Age"


def test_answers_are_in_the_forms_that_are_produced() -> None:
    """With the example of each; a media type that only an example has counts too."""
    schema = {"type": "array", "example": ["Rex"]}
    answer = {"description": "Pets", "schema": schema, "examples": {"text/csv": "Rex"}, "headers": {"Link": {}}}

    (response,) = _operation({"responses": {"200": answer}}, produces=["application/json"]).responses

    assert response.headers == ("Link",)
    assert response.contents == (
        MediaType("application/json", schema, ["Rex"]),
        MediaType("text/csv", schema, "Rex"),
    )


@pytest.mark.parametrize(
    ("fields", "servers"),
    [
        ({}, ()),
        ({"basePath": "/v1/"}, ("/v1",)),
        ({"host": "pets.example.com"}, ("https://pets.example.com",)),
        ({"host": "a", "basePath": "/b", "schemes": ["https", "http"]}, ("https://a/b", "http://a/b")),
    ],
)
def test_addresses_are_put_together(fields: dict[str, Any], servers: tuple[str, ...]) -> None:
    """From schemes, host and base path."""
    assert described(swagger(**fields)).servers == servers


def test_basic_is_a_kind_of_http() -> None:
    """Security schemes have the names that OpenAPI 3 gave them."""
    description = described(
        swagger(
            {"/pets": {"get": FINE}},
            securityDefinitions={"me": {"type": "basic"}, "app": {"type": "oauth2", "scopes": {"read": "Read"}}},
            security=[{"app": ["read"]}],
        )
    )

    assert description.security_schemes["me"] == SecurityScheme("me", "http", scheme="basic")
    assert description.operations[0].security == (Requirement((("app", ("read",)),)),)


def test_broken_parts_are_noted() -> None:
    """A parameter in a location that Swagger lacks, a malformed body."""
    fields = {
        "parameters": [{"name": "a", "in": "cookie"}, {"name": "b", "in": "body", "schema": 5}],
        "consumes": "a/b",
    }

    description = described(swagger({"/pets": {"post": {**FINE, **fields}}}))

    assert codes(description) == ["bad-parameter", "wrong-type", "wrong-type"]
    assert len(description.operations) == 1
