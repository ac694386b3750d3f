"""Lines and columns of the parts of a description."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.openapi import Description, SourceLocation, read_description
from thresher.openapi.pointers import join

YAML = """# A comment
openapi: 3.0.3
paths:
  /a/{b}:
    get: &get
      summary: "é"
      tags: [x, {y: z}]
  ~c: {get: *get}
x-base: &base
  k: 1
x-more:
  <<: *base
  l:
  - m
  -
    n: 2
"""
JSON = """{
  "openapi": "3.0.3", "paths": {"/a/{b}": {
      "get": {"summary": "\\u00e9 { [ \\"", "tags": ["x", {"y": []}]}}},
  "last": 1
}"""
KEYS = st.text(min_size=0, max_size=5)


@pytest.mark.parametrize(
    ("pointer", "line", "column"),
    [
        ("", 2, 1),
        ("/paths", 3, 1),
        ("/paths/~1a~1{b}", 4, 3),
        ("/paths/~1a~1{b}/get/summary", 6, 7),
        ("/paths/~1a~1{b}/get/tags/1", 7, 17),
        ("/paths/~1a~1{b}/get/tags/1/y", 7, 18),
        ("/paths/~0c/get/summary", 6, 7),
        ("/x-more/k", 10, 3),
        ("/x-more/l/0", 14, 5),
        ("/x-more/l/1/n", 16, 5),
        ("/paths/~1a~1{b}/get/nowhere/at/all", 5, 5),
        ("/nowhere", 2, 1),
    ],
)
def test_a_part_of_yaml_has_a_place(pointer: str, line: int, column: int) -> None:
    """Aliases and merged keys lead to their targets; an absent part has its parent's position."""
    assert read_description(YAML.encode()).place(pointer) == SourceLocation(pointer, line, column)


@pytest.mark.parametrize(
    ("pointer", "line", "column"),
    [
        ("", 1, 1),
        ("/paths", 2, 23),
        ("/paths/~1a~1{b}/get", 3, 7),
        ("/paths/~1a~1{b}/get/tags/1/y", 3, 58),
        ("/paths/~1a~1{b}/get/tags/7", 3, 43),
        ("/last", 4, 3),
        ("/openapi/deeper", 2, 3),
    ],
)
def test_a_part_of_json_has_a_place(pointer: str, line: int, column: int) -> None:
    """Whatever its texts contain."""
    assert read_description(JSON.encode()).place(pointer) == SourceLocation(pointer, line, column)


def test_only_line_feeds_begin_lines() -> None:
    """As in an editor, whatever YAML considers a line break."""
    text = 'openapi: 3.0.3\r\nx: "a\u2028b\x85c"\r\nlast: \U0001f600\r\n'

    assert read_description(text.encode()).place("/last") == SourceLocation("/last", 3, 1)


def _reached(description: Description, value: object, pointer: str) -> None:
    """Check that each key is at its reported position."""
    lines = description.text.split("\n")
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        place = description.place(join(pointer, key))
        there = lines[place.line - 1][place.column - 1 :]
        expected = json.dumps(key) if isinstance(value, dict) else json.dumps(each)[0]
        assert there.startswith(expected)
        _reached(description, each, place.pointer)


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from([None, 1]),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_each_key_stands_where_its_place_says(value: object, indent: int | None) -> None:
    """For any JSON, on one line or several."""
    text = json.dumps({"openapi": "3.0.3", "x": value}, indent=indent)
    description = read_description(text.encode())

    _reached(description, json.loads(text), "")
