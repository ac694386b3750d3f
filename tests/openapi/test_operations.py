"""Operations of OpenAPI 3: what is collected, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.openapi.documents import codes, described, document
from thresher.openapi import MediaType, Operation, Requirement, SecurityScheme, Tag

FINE = {"responses": {"200": {"description": "Fine"}}}


def _operation(fields: dict[str, Any], version: str = "3.0.3", **others: Any) -> Operation:
    return described(document({"/pets": {"post": {**FINE, **fields}}}, version, **others)).operations[0]


def test_what_a_path_says_holds_for_its_operations() -> None:
    """Parameters of the path are merged in, the operation's own win; its texts and servers fill gaps."""
    path = {
        "summary": "Pets",
        "servers": [{"url": "https://pets.example.com"}],
        "parameters": [
            {"name": "id", "in": "path", "schema": {"type": "string"}},
            {"name": "id", "in": "query", "description": "The path's"},
        ],
        "get": {**FINE, "parameters": [{"name": "id", "in": "query", "description": "Its own"}]},
    }

    (operation,) = described(document({"/pets/{id}": path})).operations

    assert [(each.place, each.required, each.description) for each in operation.parameters] == [
        ("path", True, ""),
        ("query", False, "Its own"),
    ]
    assert (operation.key, operation.summary, operation.servers) == (
        "GET /pets/{id}",
        "Pets",
        ("https://pets.example.com",),
    )


def test_operations_come_in_the_order_of_the_document() -> None:
    """Methods too; an unknown method is not an operation."""
    paths = {
        "/b": {"post": FINE, "get": FINE, "x-get": FINE, "GET": FINE},
        "/a": {"delete": FINE},
        "x-c": {"get": FINE},
    }

    operations = described(document(paths)).operations

    assert [each.key for each in operations] == ["POST /b", "GET /b", "DELETE /a"]


@pytest.mark.parametrize(
    ("version", "keys"),
    [("3.0.3", ["GET /pets"]), ("3.1.0", ["GET /pets"]), ("3.2.0", ["GET /pets", "QUERY /pets", "COPY /pets"])],
)
def test_new_methods_belong_to_3_2(version: str, keys: list[str]) -> None:
    """`query`, and any other under `additionalOperations`."""
    path = {"get": FINE, "query": FINE, "additionalOperations": {"COPY": FINE}}

    assert [each.key for each in described(document({"/pets": path}, version)).operations] == keys


def test_webhooks_are_operations_that_the_api_calls() -> None:
    """Their name serves as path."""
    (operation,) = described(document(version="3.1.0", webhooks={"petBorn": {"post": FINE}})).operations

    assert (operation.key, operation.pointer) == ("POST petBorn", "/webhooks/petBorn/post")


def test_a_path_may_be_a_reference_with_more_beside_it() -> None:
    """Each operation has the pointer of its definition."""
    components = {"pathItems": {"Pets": {"summary": "Shared", "get": FINE}}}
    paths = {"/pets": {"$ref": "#/components/pathItems/Pets", "post": FINE}}

    operations = described(document(paths, "3.1.0", components=components)).operations

    assert [(each.key, each.summary, each.pointer) for each in operations] == [
        ("GET /pets", "Shared", "/components/pathItems/Pets/get"),
        ("POST /pets", "Shared", "/paths/~1pets/post"),
    ]


@pytest.mark.parametrize(
    ("own", "top", "security"),
    [
        (None, None, None),
        (None, [{"key": []}], (Requirement((("key", ()),)),)),
        ([], [{"key": []}], ()),
        ([{}], [{"key": []}], (Requirement(),)),
        ([{"key": [], "oauth": ["read", "write"]}], None, (Requirement((("key", ()), ("oauth", ("read", "write")))),)),
    ],
)
def test_ways_to_be_let_in_are_the_operations_or_the_descriptions(own: Any, top: Any, security: Any) -> None:
    """An empty list means that none is needed; without a list there is no requirement."""
    fields = {} if own is None else {"security": own}
    others = {} if top is None else {"security": top}

    assert _operation(fields, **others).security == security


def test_bodies_have_forms_schemas_and_first_examples() -> None:
    """The content's own example wins over its schema's; of several, the first."""
    content = {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/Pet"},
            "examples": {"a": {"value": {"b": 1}}, "c": {}},
        },
        "text/plain": {"schema": {"type": "string", "example": "Rex"}},
        "text/csv": {"schema": {"type": "string", "example": "x"}, "example": "a,b"},
        "image/png": {},
    }
    components = {"schemas": {"Pet": {"type": "object"}}}

    body = _operation({"requestBody": {"required": True, "content": content}}, components=components).body

    assert body is not None
    assert (body.required, body.pointer) == (True, "/paths/~1pets/post/requestBody")
    assert body.contents == (
        MediaType("application/json", {"$ref": "#/components/schemas/Pet"}, {"b": 1}),
        MediaType("text/plain", {"type": "string", "example": "Rex"}, "Rex"),
        MediaType("text/csv", {"type": "string", "example": "x"}, "a,b"),
        MediaType("image/png", None, None),
    )


def test_forms_of_newer_versions_are_read() -> None:
    """Boolean schemas of 3.1, streams and summaries of 3.2."""
    content = {
        "application/jsonl": {"itemSchema": {"type": "integer"}},
        "a/b": {"schema": True},
        "c/d": {"schema": False},
    }

    (response,) = _operation({"responses": {"2XX": {"summary": "Numbers", "content": content}}}, "3.2.0").responses

    assert (response.status, response.description) == ("2XX", "Numbers")
    assert [each.schema for each in response.contents] == [
        {"type": "array", "items": {"type": "integer"}},
        {},
        {"not": {}},
    ]


def test_responses_are_shared_by_reference_but_keep_their_status() -> None:
    """And have the names of their headers."""
    gone = {"description": "Gone", "headers": {"Retry-After": {"schema": {"type": "integer"}}}}
    responses = {"404": {"$ref": "#/components/responses/Gone"}, "410": {"$ref": "#/components/responses/Gone"}}

    operation = _operation({"responses": responses}, components={"responses": {"Gone": gone}})

    assert [(each.status, each.description, each.headers) for each in operation.responses] == [
        ("404", "Gone", ("Retry-After",)),
        ("410", "Gone", ("Retry-After",)),
    ]


def test_parameters_may_have_content_instead_of_a_schema() -> None:
    """The content's schema and example become the parameter's."""
    parameter = {
        "name": "filter",
        "in": "query",
        "content": {"application/json": {"schema": {"type": "object"}, "example": {"a": 1}}},
    }

    (found,) = _operation({"parameters": [parameter]}).parameters

    assert (found.schema, found.example) == ({"type": "object"}, {"a": 1})


def test_the_whole_description_says_who_it_is() -> None:
    """Title, version, servers with defaults of their variables, tags, security schemes."""
    description = described(
        document(
            info={"title": "Pets", "version": 2.1, "description": "All about pets."},
            servers=[
                {"url": "https://{site}/v1", "variables": {"site": {"default": "pets.example.com"}}},
                {"url": "/x/{y}"},
            ],
            tags=[{"name": "pets", "description": "Animals"}, {"name": "pets"}, {"name": "people"}],
            components={
                "securitySchemes": {
                    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                    "token": {"type": "http", "scheme": "Bearer"},
                }
            },
        )
    )

    assert (description.title, description.declared, description.summary) == ("Pets", "2.1", "All about pets.")
    assert description.servers == ("https://pets.example.com/v1", "/x/{y}")
    assert description.tags == (Tag("pets", "Animals"), Tag("people"))
    assert description.security_schemes == {
        "key": SecurityScheme("key", "apiKey", place="header", key="X-Key"),
        "token": SecurityScheme("token", "http", scheme="bearer"),
    }


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        (
            {"parameters": [None, {"name": "a"}, {"in": "query"}, {"name": "b", "in": "nowhere"}]},
            ["wrong-type"] + ["bad-parameter"] * 3,
        ),
        ({"parameters": {"name": "a"}}, ["wrong-type"]),
        ({"summary": ["a"], "tags": ["x", {}], "deprecated": "yes"}, ["wrong-type"] * 3),
        ({"requestBody": []}, ["wrong-type"]),
        ({"responses": None}, []),
        ({"responses": {"200": None, "404": 5}}, ["wrong-type"] * 2),
        ({"security": {"key": []}}, ["wrong-type"]),
    ],
)
def test_a_broken_part_is_noted_and_the_operation_is_kept(fields: dict[str, Any], problems: list[str]) -> None:
    """Each with its location; nothing else is lost."""
    description = described(document({"/pets": {"post": {**FINE, **fields, "operationId": "addPet"}}}))

    assert codes(description) == problems
    assert all(each.place.pointer.startswith("/paths/~1pets/post/") for each in description.problems)
    assert [each.operation_id for each in description.operations] == ["addPet"]


def test_answers_that_are_not_described_are_noted_where_they_must_be() -> None:
    """From 3.1 on they are optional."""
    assert codes(described(document({"/pets": {"get": {"summary": "Pets"}}}))) == ["no-responses"]
    assert codes(described(document({"/pets": {"get": {"summary": "Pets"}}}, "3.1.0"))) == []


def test_an_operation_that_stands_twice_is_kept_once() -> None:
    """Its key must be unique."""
    path = {"get": FINE, "additionalOperations": {"get": FINE}}
    description = described(document({"/pets": path}, "3.2.0"))

    assert ([each.key for each in description.operations], codes(description)) == (
        ["GET /pets"],
        ["duplicate-operation"],
    )


def test_a_path_that_is_too_long_to_name_an_operation_is_left_out() -> None:
    """Counted in octets; the others stay, and the problem does not repeat it."""
    longest = "/" + "a" * 1_999
    description = described(document({"/" + "{é}" * 501: {"get": FINE}, longest: {"get": FINE}}, "3.1.0"))

    assert [each.path for each in description.operations] == [longest]
    assert codes(description) == ["long-path"]
    assert len(description.problems[0].message) < 200


def test_an_empty_operation_is_one() -> None:
    """It has no fields, but it can be called."""
    description = described(
        document({"/pets": {"get": {}, "post": None, "put": [], "head": {"$ref": "#/no"}}}, "3.1.0")
    )

    assert [each.key for each in description.operations] == ["GET /pets"]
    assert codes(description) == ["wrong-type", "wrong-type", "unresolved-ref"]
