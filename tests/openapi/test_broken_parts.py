"""Reading raises nothing and keeps the rest, whatever a description contains anywhere."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.openapi.documents import document, swagger
from thresher.core import InvalidInput
from thresher.openapi import Description, DescriptionLimits, read_description, tips_of

NODE = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}, "leaf": {"$ref": "#leaf"}}}
SIGNED = {"security": [{"key": ["read"]}], "tags": [{"name": "pets", "description": "Animals"}]}
NEW = document(
    {
        "/pets/{id}": {
            "$ref": "#/components/pathItems/Pet",
            "parameters": [
                {"name": "id", "in": "path", "schema": {"type": "string"}},
                {"$ref": "#/components/parameters/Limit"},
            ],
            "post": {
                "operationId": "addPet",
                "tags": ["pets"],
                "requestBody": {"$ref": "#/components/requestBodies/Pet"},
                "responses": {
                    "200": {
                        "description": "Fine",
                        "headers": {"Link": {}},
                        "content": {"a/b": {"schema": NODE, "examples": {"x": {"value": 1}}}},
                    },
                    "202": {"$ref": "#/components/responses/Begun"},
                },
                "servers": [{"url": "https://{site}", "variables": {"site": {"default": "x"}}}],
            },
        }
    },
    "3.2.0",
    **SIGNED,
    webhooks={"born": {"post": {"responses": {}}}},
    components={
        "schemas": {"Node": {**NODE, "$defs": {"leaf": {"$anchor": "leaf"}}}},
        "parameters": {"Limit": {"name": "limit", "in": "query", "content": {"a/b": {"schema": {}}}}},
        "responses": {"Begun": {"description": "Begun"}},
        "requestBodies": {"Pet": {"required": True, "content": {"multipart/form-data": {"schema": NODE}}}},
        "pathItems": {"Pet": {"additionalOperations": {"COPY": {"responses": {}}}}},
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
)
OLD = swagger(
    {
        "/pets": {
            "parameters": [{"$ref": "#/parameters/Limit"}],
            "post": {
                "consumes": ["a/b"],
                "parameters": [{"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}}],
                "responses": {
                    "200": {"description": "Fine", "schema": {}, "examples": {"a/b": {}}, "headers": {"X": {}}}
                },
            },
            "put": {"parameters": [{"name": "photo", "in": "formData", "type": "file"}], "responses": {}},
        }
    },
    **SIGNED,
    host="example.com",
    schemes=["https"],
    parameters={"Limit": {"name": "limit", "in": "query", "type": "integer"}},
    definitions={"Pet": {"properties": {"pet": {"$ref": "#/definitions/Pet"}}}},
    securityDefinitions={"key": {"type": "basic"}},
)
ODD: list[Any] = [None, [None, {}], {"": {"": [1]}}, {"$ref": "#"}, {"$ref": ["#"]}]


def _sites(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each part of a document except the document itself."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        yield (*path, key)
        yield from _sites(each, (*path, key))


def _broken(content: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return a copy with another value at the end of this path."""
    changed = copy.deepcopy(content)
    holder: Any = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def _used(description: Description) -> None:
    """Use everything that a description offers."""
    tips = [tips_of(each, description) for each in description.operations]
    said = (description.operations, description.problems, description.servers, description.security_schemes, tips)
    assert str(said).encode()
    assert all(each.place.line > 0 for each in description.problems)
    assert all(isinstance(each.digest, str) and each.method.isupper() for each in description.operations)


def _used_or_refused(data: bytes) -> InvalidInput | None:
    """Use the description made from these bytes, or return why there is none."""
    try:
        description = read_description(data)
    except InvalidInput as refusal:
        return refusal
    _used(description)
    return None


@pytest.mark.parametrize("content", [NEW, OLD], ids=["3.2", "2.0"])
@pytest.mark.parametrize("value", ODD, ids=str)
def test_any_part_may_be_anything(content: dict[str, Any], value: Any) -> None:
    """Each part is replaced in turn; only the version is required."""
    for path in _sites(content):
        if path not in {("openapi",), ("swagger",)}:
            _used(read_description(json.dumps(_broken(content, path, value)).encode()))


@given(
    st.sampled_from([(content, path) for content in (NEW, OLD) for path in _sites(content)]),
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats()
        | st.integers()
        | st.text(max_size=4)
        | st.sampled_from(["#", "#leaf", "#/paths", "x.yaml"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["$ref", "$id", "$anchor", "in", "name", "get", "schema", "type", "x-a", ""]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=6,
    ),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_json_may_stand_anywhere(site: tuple[dict[str, Any], tuple[Any, ...]], value: Any) -> None:
    """The description is refused as a whole, with a reason, or read in part."""
    content, path = site

    refusal = _used_or_refused(json.dumps(_broken(content, path, value)).encode())

    assert refusal is None or (path[0] in {"openapi", "swagger"} and refusal.hint)


@given(st.binary(max_size=60), st.sampled_from([b"", b"openapi: 3.0.3\n", b'{"openapi": "3.0.3", ', b"\xff\xfe", b"{"]))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_octets_are_read_or_refused(octets: bytes, head: bytes) -> None:
    """There is no third outcome."""
    refusal = _used_or_refused(head + octets)

    assert refusal is None or refusal.message


@given(st.text(alphabet=" \t\n-:?*&!|>'\"{}[],#%@`<~ax1", max_size=40))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_yaml_is_read_or_refused(text: str) -> None:
    """With random anchors, tags, merges and complex keys."""
    refusal = _used_or_refused(f"openapi: 3.0.3\npaths: {{}}\n{text}".encode())

    assert refusal is None or refusal.message


@pytest.mark.parametrize("shared", ["parameters", "security", "responses"])
def test_many_operations_that_share_many_parts_are_refused(shared: str) -> None:
    """A part that is written once and counts for each operation would fill the memory."""
    item: dict[str, Any] = {"get": {"responses": {}}}
    whole: dict[str, Any] = {"openapi": "3.0.3", "info": {}, "x-item": item}
    if shared == "parameters":
        item["parameters"] = [{"name": f"p{number}", "in": "query"} for number in range(100)]
    elif shared == "responses":
        item["get"]["responses"] = {str(200 + number): {"description": "x"} for number in range(100)}
    else:
        whole["security"] = [{f"s{number}": []} for number in range(100)]
    whole["paths"] = {f"/{number}": {"$ref": "#/x-item"} for number in range(100)}

    with pytest.raises(InvalidInput, match="more than 9,000"):
        read_description(json.dumps(whole).encode(), limits=DescriptionLimits(parts=9_000))


@pytest.mark.parametrize(
    "servers",
    [
        {"servers": [{"url": "https://{a}/", "variables": {"a": {"default": "{b}"}, "b": {"default": "x"}}}]},
        {"servers": [{"url": "https://" + "{a}" * 100, "variables": {"a": {"default": "y" * 1_000}}}]},
    ],
    ids=["nested", "long"],
)
def test_variables_of_a_server_are_put_in_once_and_only_where_an_address_stays_one(servers: dict[str, Any]) -> None:
    """Three variables that refer to each other would expand to gigabytes."""
    description = read_description(json.dumps({"openapi": "3.0.3", "info": {}, "paths": {}, **servers}).encode())

    assert all(len(each) < 500 and "{" in each for each in description.servers)
