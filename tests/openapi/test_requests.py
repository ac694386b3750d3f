"""Requests of calls: servers, Swagger 2.0's formats, names that collide, and what is checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thresher.core import InvalidInput
from thresher.openapi import (
    Description,
    HttpRequest,
    build_request,
    check_arguments,
    next_page,
    read_description,
    server_address,
    servers_of,
)


def described(operation: dict[str, Any], path: str = "/toys", method: str = "get", **more: Any) -> Description:
    """A description with one operation; OpenAPI 3.1 unless it says otherwise."""
    responses = {"responses": {"200": {"description": "Fine"}}}
    document = {
        "info": {"title": "Toys", "version": "1"},
        "paths": {path: {method: {**responses, **operation}}},
        **more,
    }
    return read_description(json.dumps(document if "swagger" in more else {"openapi": "3.1.0", **document}).encode())


def built(description: Description, **arguments: Any) -> HttpRequest:
    """The request of the only operation."""
    (operation,) = description.operations
    checked = check_arguments(description, operation, arguments)
    base = server_address(servers_of(description, operation), variables={}, base_url="https://toys.example")
    return build_request(description, operation, base, checked)


def parameter(name: str, place: str = "query", **more: Any) -> dict[str, Any]:
    """A parameter."""
    return {"name": name, "in": place, "required": place == "path", **more}


@pytest.mark.parametrize(
    ("form", "query"),
    [
        ("csv", "t=a,b%20c"),
        ("ssv", "t=a%20b%20c"),
        ("tsv", "t=a%09b%20c"),
        ("pipes", "t=a%7Cb%20c"),
        ("multi", "t=a&t=b%20c"),
    ],
)
def test_collection_formats_of_swagger(form: str, query: str) -> None:
    """Each of them, in a query."""
    listed = {"type": "array", "items": {"type": "string"}, "collectionFormat": form}
    description = described({"parameters": [parameter("t", **listed)]}, swagger="2.0", host="h.example", basePath="/v1")

    assert built(description, t=["a", "b c"]).url == f"https://h.example/v1/toys?{query}"


def test_form_fields_of_swagger() -> None:
    """`formData` is the body, with its own formats; a file makes it multipart."""
    fields = [
        parameter("name", "formData", type="string"),
        parameter("tags", "formData", type="array", items={"type": "string"}, collectionFormat="multi"),
        parameter("sizes", "formData", type="array", items={"type": "integer"}),
    ]
    plain = described({"parameters": fields}, method="post", swagger="2.0")
    upload = described(
        {"parameters": [*fields, parameter("file", "formData", type="file")]}, method="post", swagger="2.0"
    )
    body = {"name": "a&b", "tags": ["x", "y"], "sizes": [1, 2]}
    form, multipart = built(plain, body=body).body, built(upload, body={**body, "file": {"text": "hi"}}).body

    assert form is not None
    assert form.content == b"name=a%26b&tags=x&tags=y&sizes=1,2"
    assert multipart is not None
    assert [(one.name, one.content) for one in multipart.parts][-1] == ("file", b"hi")


def test_parameters_of_one_name_are_told_apart() -> None:
    """By their place; one that is called as the body is, too."""
    several = [parameter("id", "path"), parameter("id"), parameter("body")]
    content = {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}
    description = described({"parameters": several, "requestBody": content}, "/toys/{id}", "post")
    request = built(description, **{"path.id": "1", "query.id": "2", "query.body": "3", "body": {}})

    assert request.url == "https://toys.example/toys/1?id=2&body=3"
    with pytest.raises(InvalidInput, match="no argument 'id'"):
        built(description, id="1", body={})


@pytest.mark.parametrize("value", [".", "..", "", None])
def test_a_path_never_leads_elsewhere(value: Any) -> None:
    """Not by an empty segment either."""
    with pytest.raises(InvalidInput):
        built(described({"parameters": [parameter("id", "path")]}, "/toys/{id}"), id=value)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "format": "int32"}, 5, 2**31),
        ({"type": "integer", "format": "int64"}, 2**62, 2**63),
        ({"type": "string", "format": "byte"}, "aGk=", "*"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T10:00:00Z", "31.1."),
        ({"type": "string", "format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000", "x"),
        ({"type": "string", "pattern": "^a+$"}, "aa", "b"),
        ({"enum": ["a", "b"]}, "a", "c"),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 2, "uniqueItems": True}, [1, 2], [1, 1]),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, 5, "many"),
    ],
)
def test_values_are_checked(schema: dict[str, Any], good: Any, bad: Any) -> None:
    """Types, formats, bounds, and alternatives."""
    description = described({"parameters": [parameter("v", schema=schema)]})

    assert built(description, v=good).query
    with pytest.raises(InvalidInput, match="was not called: v"):
        built(description, v=bad)


def test_a_required_parameter_takes_its_default() -> None:
    """Others are left to the server."""
    version = {**parameter("v", schema={"type": "string", "default": "2"}), "required": True}
    limit = parameter("limit", schema={"type": "integer", "default": 10})

    assert built(described({"parameters": [version, limit]})).url == "https://toys.example/toys?v=2"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_refused(number: float) -> None:
    """With half a character, and what is nested without end."""
    content = {"content": {"application/json": {"schema": {}}}}
    description = described({"requestBody": content}, method="post")
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for value in (number, "\ud800", deep):
        with pytest.raises(InvalidInput, match="not JSON"):
            built(description, body=value)


def test_variables_of_servers() -> None:
    """Defaults, values that are listed, and others that are refused."""
    region = {"default": "eu", "enum": ["eu", "us"]}
    servers = [
        {"url": "https://{region}.toys.example/v1", "variables": {"region": region}},
        {"url": "/v2", "description": "own"},
    ]
    description = described({}, servers=servers)
    found = servers_of(description, description.operations[0])

    assert server_address(found, variables={}) == "https://eu.toys.example/v1"
    assert server_address(found, variables={"region": "us"}) == "https://us.toys.example/v1"
    assert (
        server_address(found, chosen="own", variables={}, source="http://h.example/docs/api.json")
        == "http://h.example/v2"
    )
    assert server_address(found, chosen="/v2", variables={}, base_url="https://b.example/x") == "https://b.example/x/v2"
    assert server_address(found[::-1], variables={}) == "https://eu.toys.example/v1"
    assert server_address(found[::-1], variables={}, base_url="https://b.example") == "https://b.example/v2"
    for variables in ({"region": "evil.example/#"}, {"regoin": "eu"}):
        with pytest.raises(InvalidInput):
            server_address(found, variables=variables)
    for lost in ("nowhere", "https://h.example/a/%2e%2E/b", "https://user:pw@h.example", "https://h.example/?a=b"):
        with pytest.raises(InvalidInput):
            server_address(found, chosen=lost, variables={})


@pytest.mark.parametrize(
    ("names", "arguments", "body", "expected"),
    [
        (["cursor"], {}, {"items": [1], "meta": {"next_cursor": "c2"}}, {"cursor": "c2"}),
        (["cursor"], {"cursor": "c2"}, {"items": [1], "meta": {"next_cursor": None}}, None),
        (["after", "limit"], {}, {"data": [], "paging": {"next": "/toys?after=x"}}, {"after": "x"}),
        (["page", "per_page"], {"page": 2, "per_page": 2}, [1, 2], {"page": 3}),
        (["page", "per_page"], {"page": 2, "per_page": 2}, [1], None),
        (["offset", "limit"], {"limit": 2}, {"total": 5, "rows": [1, 2]}, {"offset": 2}),
        (["offset", "limit"], {"offset": 4, "limit": 2}, {"total": 5, "rows": [1]}, None),
        (["startAt"], {}, {"isLast": True, "values": [1]}, None),
        (["since"], {}, {"next": "2020"}, None),
    ],
)
def test_the_next_page_is_told_where_it_is_evident(
    names: list[str], arguments: dict[str, Any], body: Any, expected: Any
) -> None:
    """Tokens, links, page numbers and offsets; nothing where the answer does not say that there is more."""
    description = described({"parameters": [parameter(name, schema={}) for name in names]})
    found = next_page(
        description, description.operations[0], arguments, url="https://toys.example/toys", link="", body=body
    )

    assert (None if found is None else dict(found.arguments)) == expected
