"""What counts as a change of a definition."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from thresher.core import Tool
from thresher.knowledge.tools.definitions import definition_hash, pending_text, tool_of

TOOL = Tool(
    "box",
    "open",
    "Open",
    "Opens a box.",
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": ["x", "y"]}}, "required": ["a", "b"]},
    {"type": "object"},
    {"readOnlyHint": True},
)


def test_the_order_of_keys_and_the_server_are_no_change() -> None:
    """Nor is the order of required parameters."""
    schema = {
        "required": ["b", "a"],
        "properties": {"b": {"enum": ["x", "y"]}, "a": {"type": "string"}},
        "type": "object",
    }

    assert definition_hash(replace(TOOL, server="crate", input_schema=schema)) == definition_hash(TOOL)


@pytest.mark.parametrize(
    "changed",
    [
        replace(TOOL, description="Opens a box!"),
        replace(TOOL, title="Opens"),
        replace(TOOL, name="opens"),
        replace(TOOL, input_schema={**TOOL.input_schema, "required": ["a"]}),
        replace(TOOL, input_schema={**TOOL.input_schema, "properties": {"required": {"enum": ["b", "a"]}}}),
        replace(TOOL, output_schema=None),
        replace(TOOL, annotations={}),
    ],
)
def test_whatever_a_model_reads_is_a_change(changed: Tool) -> None:
    """Including hints: one decides how a tool may be called."""
    assert definition_hash(changed) != definition_hash(TOOL)


def test_a_definition_that_waits_is_kept_whole() -> None:
    """With its hash, by which a decision names it."""
    kept = json.loads(pending_text(TOOL, definition_hash(TOOL)))

    assert tool_of("box", "open", kept) == TOOL
    assert bytes.fromhex(kept["hash"]) == definition_hash(TOOL)
