"""The texts that are searched."""

from __future__ import annotations

import pytest

from thresher.core import Tool
from thresher.knowledge.tools.definitions import cleaned, definition_hash, enrich, slots_of
from thresher.knowledge.tools.indexer import write_of
from thresher.search import Slot, split_name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getUserByID_v2", "get User By ID v 2"),
        ("list-open.issues", "list open issues"),
        ("HTTPServer", "HTTP Server"),
        ("日本語_ツール", "日本語 ツール"),
        ("___", ""),
    ],
)
def test_an_identifier_becomes_words(name: str, words: str) -> None:
    """It is split at case changes, digits and separators."""
    assert split_name(name) == words


def test_a_tool_gives_its_name_a_brief_and_its_full_text() -> None:
    """Server, title, description and parameters are in the full text; enumerations and nested ones in the words."""
    schema = {
        "properties": {
            "mode": {"type": "string", "description": "How", "enum": ["fast", "slow"]},
            "points": {"type": "array", "items": {"properties": {"latitude": {"description": "North"}}}},
            "odd": 7,
        }
    }
    tool = Tool("mapServer", "drawMap", title="Draw a map", description="Draws. Well.", input_schema=schema)

    text = enrich(tool, "Maps for all. And more.")

    assert text.texts[0] == "draw Map"
    named = "map Server. draw Map (Draw a map)"
    assert text.texts[1] == f"{named}: Draws. Parameters: mode, points, latitude, odd Maps for all."
    assert text.texts[2] == f"{named}: Draws. Well. Parameters: mode, points, latitude, odd Maps for all."
    assert {"fast", "slow", "North", "drawMap"} <= set(text.lexical.split())
    assert sum(text.weights) == 1
    assert len(text.weights) == len(text.texts)


def test_a_bare_tool_has_texts_too() -> None:
    """A name alone is enough, even one without letters."""
    assert enrich(Tool("", "___")).texts == ("___", "___:", "___:")


def test_the_same_tool_on_two_servers_has_one_definition_hash_and_two_contents() -> None:
    """The hash identifies duplicates; the texts differ, since they include the server's name."""
    first = write_of(Tool("a", "go", description="Goes."), "")
    second = write_of(Tool("b", "go", description="Goes."), "")

    assert first.definition_hash == second.definition_hash == definition_hash(Tool("c", "go", description="Goes."))
    assert first.content_hash != second.content_hash
    assert first.tokens > 5


def test_what_no_database_can_hold_is_cleaned_away() -> None:
    """NUL characters, lone surrogates, very deep nesting, nameless and duplicate tools."""
    deep: dict[str, object] = {}
    for _ in range(500):
        deep = {"a": deep}
    tools = [
        Tool("s", "a\x00b", description="x\ud800y", input_schema={"k\x00": ["v\x00", 1, None], "deep": deep}),
        Tool("s", "ab", description="second"),
        Tool("s", " "),
        Tool("s", "c", output_schema={"type": "object"}, annotations={"title": "\x00"}),
    ]

    kept = cleaned(tools)

    assert [tool.name for tool in kept] == ["ab", "c"]
    assert kept[0].description == "x?y"
    assert kept[0].input_schema["k"] == ["v", 1, None]
    assert kept[1].annotations == {"title": ""}
    assert write_of(kept[0], "").tokens > 0


def test_what_a_tool_wants_to_be_given_is_read_from_its_schema() -> None:
    """Names, types, descriptions and fixed values of the first level, and what is required."""
    schema = {
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "A city. Such as Berlin."},
            "unit": {"type": ["string", "null"], "enum": ["c", "f"]},
            "days": {"type": "integer"},
        },
    }

    assert slots_of(schema) == (
        Slot("city", "A city. Such as Berlin.", "A city.", "string", required=True),
        Slot("unit", type="string", values=("c", "f")),
        Slot("days", type="integer"),
    )


@pytest.mark.parametrize(
    "schema", [{}, {"properties": None}, {"properties": [1]}, {"required": 3, "properties": {}}, {"required": ["x"]}]
)
def test_a_schema_of_another_form_asks_for_nothing(schema: dict[str, object]) -> None:
    """Servers may send anything."""
    assert slots_of(schema) == ()
