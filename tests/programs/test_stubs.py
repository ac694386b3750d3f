"""Tools written as Python functions."""

from __future__ import annotations

import ast

import pytest

from thresher.core import Tool
from thresher.programs import parameters, python_name, stub


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("git_log", "git_log"),
        ("my-server_read.file", "my_server_read_file"),
        ("3d", "_3d"),
        ("class", "class_"),
        ("", "_"),
    ],
)
def test_a_name_is_an_identifier(name: str, written: str) -> None:
    """Whatever a server calls its tools."""
    assert python_name(name) == written
    assert python_name(name).isidentifier()


def test_a_tool_is_a_typed_function() -> None:
    """Required parameters first, defaults as they are, objects as classes, the result by its schema."""
    tool = Tool(
        "shop",
        "orders",
        description="Orders of a customer. Newest first.",
        input_schema={
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "default": 10},
                "customer": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "state": {"enum": ["open", "paid"]},
                "range": {
                    "type": "object",
                    "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
                    "required": ["from"],
                },
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["customer"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "result": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
            },
            "x-fastmcp-wrap-result": True,
        },
    )
    text = stub("shop_orders", tool)
    assert parameters(tool.input_schema)[0] == "customer"
    assert "customer: str | int, limit: int = 10, state: Literal['open', 'paid'] | None = None" in text
    assert "ShopOrdersRange = TypedDict('ShopOrdersRange', {'from': str, 'to': NotRequired[str]})" in text
    assert "tags: list[str] | None = None) -> list[ShopOrdersResult]:" in text
    assert '"""Orders of a customer."""' in text
    ast.parse(text)


def test_what_results_have_looked_like_stands_in_for_an_output_schema() -> None:
    """Marked as seen, and only where nothing is promised."""
    seen = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    plain = Tool("a", "b", description="Does it.")
    promised = Tool("a", "b", description="Does it.", output_schema={"type": "object"})
    assert "-> AB_Result" not in stub("a_b", plain)
    assert "-> ABResult:  # the shape that results have had; not promised" in stub("a_b", plain, seen)
    assert "-> dict[str, Any]:" in stub("a_b", promised, seen)


def test_hostile_and_endless_schemas_are_bounded() -> None:
    """A schema that refers to itself, a broken reference, thousands of fields, quotes in the description."""
    endless = {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}, "gone": {"$ref": "#/$defs/none"}},
        "$defs": {"node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}}},
    }
    deep: dict[str, object] = {"type": "string"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"x": deep}}
    wide = {f"p{n}": {"type": "object", "properties": {"x": {"type": "string"}}} for n in range(300)}
    for schema in (endless, deep, {"type": "object", "properties": wide}, {"type": "object", "properties": 3}):
        text = stub("t", Tool("s", "t", description='"""\nimport os\\', input_schema=schema))
        ast.parse(text)
        assert len(text) < 30_000
