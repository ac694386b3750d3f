"""How an operation becomes a tool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.demo.bookshop import bookshop
from thresher.core import Tool
from thresher.demo.catalogue import Shape, operations, to_tool
from thresher.demo.catalogue.openapi import MAX_DESCRIPTION, MAX_PROPERTIES, plain_text, shorten, tool_name


def converted() -> dict[str, Tool]:
    """All tools of the bookshop, by name."""
    description = bookshop()
    shape = Shape(description["components"], frozenset({"trace"}))
    return {tool.name: tool for tool in (to_tool("bookshop", entry, shape) for entry in operations(description))}


def single(operation: dict[str, Any], components: dict[str, Any] | None = None) -> Tool:
    """The tool of one operation."""
    description = {"paths": {"/x": {"post": operation}}}
    return to_tool("x", next(operations(description)), Shape(components or {}))


def body(schema: dict[str, Any]) -> dict[str, Any]:
    """An operation that takes one JSON body."""
    return {"operationId": "x", "requestBody": {"content": {"application/json": {"schema": schema}}}}


def test_deprecated_operations_are_left_out() -> None:
    """A withdrawn operation is not a tool."""
    assert set(converted()) == {"books_list", "DeleteBook", "post_orders", "setNotes", "staff"}


def test_parameters_become_properties_without_headers_and_shared_ones() -> None:
    """Path and query parameters stay; headers and omitted names go; references are followed."""
    schema = converted()["books_list"].input_schema

    assert schema == {
        "type": "object",
        "properties": {"genre": {"type": "string", "description": "Kind.", "enum": ["novel", "poetry"]}},
    }


def test_a_parameter_of_the_path_belongs_to_each_operation() -> None:
    """Parameters declared once at the path are required of the operation too."""
    schema = converted()["DeleteBook"].input_schema

    assert schema == {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def test_fields_of_the_body_join_the_schema() -> None:
    """AllOf is merged, read-only fields go, null branches go, recursion ends."""
    schema = converted()["post_orders"].input_schema

    assert schema["required"] == ["lines"]
    assert list(schema["properties"]) == ["gift", "lines", "to"] or set(schema["properties"]) == {"gift", "lines", "to"}
    assert schema["properties"]["to"] == {"type": "string", "maxLength": 9}
    assert schema["properties"]["lines"]["items"]["properties"]["book"] == {"type": "integer"}


def test_a_body_that_is_no_object_becomes_one_property() -> None:
    """An array body is passed as `body`."""
    schema = converted()["setNotes"].input_schema

    assert schema["properties"] == {"body": {"type": "array", "items": {"type": "string"}}}
    assert schema["required"] == ["body"]


@pytest.mark.parametrize(
    ("name", "hints"),
    [("books_list", {"readOnlyHint": True}), ("DeleteBook", {"destructiveHint": True}), ("post_orders", {})],
)
def test_hints_follow_the_method(name: str, hints: dict[str, bool]) -> None:
    """GET reads, DELETE destroys, the rest says nothing."""
    assert converted()[name].annotations == hints


def test_descriptions_join_summary_and_text() -> None:
    """Markup goes; a summary that only repeats the operation's id goes too."""
    tools = converted()

    assert tools["books_list"].description == "List books. Lists the books on sale."
    assert tools["DeleteBook"].description == "Deletes it."


def test_required_properties_survive_the_limit() -> None:
    """An object with too many fields keeps the required ones and the first others."""
    fields = {f"f{number}": {"type": "string"} for number in range(60)}

    schema = single(body({"properties": fields, "required": ["f59"]})).input_schema

    assert len(schema["properties"]) == MAX_PROPERTIES
    assert "f59" in schema["properties"]
    assert "f0" in schema["properties"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/components/schemas/Nowhere"},
        {"$ref": "elsewhere.json"},
        {"$ref": "#/components/schemas/Loop"},
        {"oneOf": []},
        {"type": []},
        {"properties": {"x": "text"}},
    ],
)
def test_broken_schemas_give_a_tool_all_the_same(schema: dict[str, Any]) -> None:
    """A dangling or circular reference costs the field, not the build."""
    loop = {"schemas": {"Loop": {"$ref": "#/components/schemas/Loop"}}}

    tool = single(body(schema), loop)

    assert tool.input_schema["type"] == "object"


@pytest.mark.parametrize("paths", [{}, {"/x": {}}, {"/x": {"get": "text"}}, {"/x": {"trace": {}}}])
def test_a_description_without_operations_gives_none(paths: dict[str, Any]) -> None:
    """Empty path items are no operations."""
    assert list(operations({"paths": paths})) == []


def test_text_loses_its_marks() -> None:
    """Headings, links, tags and emphasis go; the words stay."""
    text = "# Title\nSee [the page](https://x.example) for **more** <br/>  words ."

    assert plain_text(text) == "See the page for more words."


@given(st.text(max_size=900), st.integers(min_value=20, max_value=MAX_DESCRIPTION))
def test_shortened_text_keeps_its_limit(text: str, most: int) -> None:
    """Whatever the text, the result is not longer than asked."""
    assert len(shorten(text, most)) <= most


def test_text_is_cut_after_a_sentence() -> None:
    """Whole sentences stay; a first sentence that is too long is cut after a word."""
    assert shorten("One. Two three four five.", 12) == "One."
    assert shorten("one two three four five six", 12) == "one two…"


@given(st.text(max_size=200))
def test_names_hold_only_what_mcp_allows(text: str) -> None:
    """Letters, digits, underscore and hyphen, at most 64."""
    name = tool_name(text)

    assert len(name) <= 64
    assert all(character.isascii() and (character.isalnum() or character in "_-") for character in name)
