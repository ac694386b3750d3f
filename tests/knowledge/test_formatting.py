"""One line for a model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Tool, first_sentence
from thresher.knowledge.tools import compact, definition_text, line
from thresher.knowledge.tools.definitions import signature, type_name


def test_a_line_holds_signature_and_first_sentence() -> None:
    """Required parameters first, optional ones with a question mark."""
    schema = {
        "type": "object",
        "properties": {"max_count": {"type": "integer"}, "repo_path": {"type": "string"}},
        "required": ["repo_path"],
    }
    tool = Tool("git", "git_log", description="Shows the commit logs. And more.", input_schema=schema)

    assert line("git_git_log", tool) == "git_git_log(repo_path: string, max_count?: int) - Shows the commit logs."


def test_a_tool_without_words_is_its_signature() -> None:
    """Nothing is invented."""
    assert line("a_b", Tool("a", "b")) == "a_b()"


def test_many_optional_parameters_are_counted_not_listed() -> None:
    """The model learns that there are more."""
    properties = {f"p{number}": {"type": "string"} for number in range(30)}

    text = signature({"properties": properties})

    assert text.endswith("+27 optional)")


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "boolean"}, "bool"),
        ({"type": "array", "items": {"type": "integer"}}, "int[]"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": ["string", "number"]}}, "(string|number)[]"),
        ({"enum": ["a", "b"]}, '"a"|"b"'),
        ({"type": "string", "enum": [f"value{n}" for n in range(40)]}, "string"),
        ({"type": ["string", "null"]}, "string"),
        ({"type": ["null"]}, "null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "int"),
        ({"oneOf": [{"enum": ["x" * 30]}, {"enum": ["y" * 30]}]}, "any"),
        ({"$ref": "#/$defs/a"}, "object"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_types_have_short_names(schema: object, name: str) -> None:
    """They are short and correct."""
    assert type_name(schema) == name


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Does it. Then more.", "Does it."),
        ("Does it\n\nArgs:\n  x", "Does it"),
        ("**Bold** `code`\n- item", "Bold code"),
        ("搜索。更多 内容", "搜索。更多 内容"),
        ("", ""),
    ],
)
def test_the_first_sentence_is_taken_without_markup(text: str, first: str) -> None:
    """Markdown costs tokens and adds nothing."""
    assert first_sentence(text) == first


def test_a_long_sentence_is_cut_at_a_word() -> None:
    """The cut is visible."""
    cut = first_sentence("word " * 100)

    assert len(cut) <= 120
    assert cut.endswith("word…")


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "items", "enum", "anyOf", "properties", "required"]), inner)
    ),
)


@given(st.dictionaries(st.sampled_from(["properties", "required", "x"]), anything), st.text(max_size=400))
def test_a_line_never_breaks_and_stays_short(schema: dict[str, Any], description: str) -> None:
    """Whatever a server lists."""
    text = line("server_tool", Tool("server", "tool", description=description, input_schema=schema))

    assert len(text) <= 440
    assert "\n" not in text


def test_a_definition_is_written_without_white_space() -> None:
    """The basis is the cheapest form that a client could send."""
    assert definition_text("a", Tool("s", "a", description="é")) == '{"name":"a","description":"é","inputSchema":{}}'
    assert compact({"a": float("nan")}) == '{"a":null}'
