"""Arguments that clients send as strings, and those that do not fit."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.calling.arguments import check, coerce
from thresher.core import InvalidInput


def schema(**properties: Any) -> dict[str, Any]:
    """An object schema with these properties."""
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("kind", "sent", "meant"),
    [
        ("boolean", "true", True),
        ("boolean", " False ", False),
        ("integer", "5", 5),
        ("integer", "-3", -3),
        ("integer", "5.0", 5.0),
        ("number", "1.5", 1.5),
        ("array", '["a", "b"]', ["a", "b"]),
        ("object", '{"a": 1}', {"a": 1}),
        (["integer", "null"], "7", 7),
    ],
)
def test_a_string_becomes_what_the_schema_asks_for(kind: Any, sent: str, meant: Any) -> None:
    """Clients that send every argument as a string are understood."""
    assert coerce({"x": sent}, schema(x={"type": kind})) == {"x": meant}


@pytest.mark.parametrize(
    ("kind", "sent"),
    [("integer", "five"), ("boolean", "yes"), ("integer", "5.5"), ("number", "NaN"), ("array", "[1"), ("object", "[]")],
)
def test_a_string_that_stands_for_nothing_else_stays(kind: str, sent: str) -> None:
    """Nothing is guessed; the check then refuses it."""
    arguments = coerce({"x": sent}, schema(x={"type": kind}))

    with pytest.raises(InvalidInput, match="x:"):
        check(arguments, schema(x={"type": kind}), lambda: "tool(x)")
    assert arguments == {"x": sent}


def test_a_string_is_left_alone_where_strings_are_allowed() -> None:
    """`"5"` stays text for a parameter that takes text, alone or among other types."""
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]}

    arguments = coerce({"a": "5", "b": "5", "c": "true"}, schema(a={"type": "string"}, b=either, c={}))

    assert arguments == {"a": "5", "b": "5", "c": "true"}


def test_nested_values_and_references_are_followed() -> None:
    """Objects in arrays, and `$ref` inside the schema, are fitted at any depth."""
    whole = schema(items={"type": "array", "items": {"$ref": "#/$defs/line"}}, deep={"$ref": "#/$defs/line"})
    whole["$defs"] = {"line": schema(count={"anyOf": [{"type": "integer"}, {"type": "null"}]})}

    arguments = coerce({"items": '[{"count": "2"}]', "deep": {"count": "3"}}, whole)

    assert arguments == {"items": [{"count": 2}], "deep": {"count": 3}}


def test_null_for_an_optional_argument_is_left_out() -> None:
    """Null means "not given" unless the schema allows null or needs the argument."""
    nullable = {"type": ["string", "null"]}
    whole = schema(a={"type": "integer"}, b=nullable, c={"type": "integer"}, d={"enum": [1, None]}, e={"enum": [1]})
    whole["required"] = ["c"]

    arguments = coerce({"a": None, "b": None, "c": None, "d": None, "e": None, "z": None}, whole)

    assert arguments == {"b": None, "c": None, "d": None, "z": None}


def test_an_empty_text_or_list_for_an_optional_argument_of_another_type_is_left_out() -> None:
    """What strict mode sends for an argument that is not given; where it is a value, it stays."""
    number, text, texts = {"type": "integer"}, {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    whole = schema(a=number, b=text, c=texts, d=number, e=text, f=number)
    whole["required"] = ["d"]

    arguments = coerce({"a": "", "b": "", "c": [], "d": "", "e": [], "f": 0, "z": ""}, whole)

    assert arguments == {"b": "", "c": [], "d": "", "f": 0, "z": ""}


def test_the_error_names_the_argument_and_shows_the_right_form() -> None:
    """The model can mend its call from the message alone."""
    whole = {**schema(limit={"type": "integer"}), "required": ["limit"]}

    with pytest.raises(InvalidInput) as refused:
        check({"limit": "many"}, whole, lambda: "log(limit: int)")

    assert "limit: 'many' is not of type 'integer'" in refused.value.message
    assert "log(limit: int)" in refused.value.hint


def test_a_huge_wrong_value_makes_a_short_message() -> None:
    """A megabyte of nonsense is not sent back."""
    with pytest.raises(InvalidInput) as refused:
        check({"x": "y" * 1_000_000}, schema(x={"type": "integer"}), lambda: "tool(x)")

    assert len(refused.value.message) < 500


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "nonsense"},
        {"type": "object", "properties": {"x": {"$ref": "https://example.invalid/schema"}}},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}},
        {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}},
        {"type": "object", "properties": {"x": {"pattern": "(["}}},
        {"type": "object", "properties": 7, "required": 3},
        {"type": "object", "properties": {"x": True}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
        {"type": "object", "properties": {"x": {"anyOf": 3}}},
        {"type": "object", "properties": {"x": {"allOf": [None]}}},
    ],
)
def test_a_broken_schema_stops_no_call(broken: dict[str, Any]) -> None:
    """The server's own check decides; nothing is fetched over the network."""
    arguments = coerce({"x": "1"}, broken)

    check(arguments, broken, lambda: "tool(x)")

    assert arguments == {"x": "1"}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "items", "x", "$ref"]), inner),
    max_leaves=12,
)


@given(arguments=st.dictionaries(st.sampled_from(["x", "y"]), anything), entry=anything)
def test_no_schema_and_no_arguments_break_it(arguments: dict[str, Any], entry: Any) -> None:
    """Foreign schemas may hold anything at all."""
    whole = schema(x=entry, y={"type": "integer"})

    fitted = coerce(arguments, whole)

    assert set(fitted) <= set(arguments)


@given(
    value=st.integers() | st.booleans() | st.lists(st.integers(), min_size=1) | st.text(),
    kind=st.sampled_from(["string"]),
)
def test_what_fits_is_never_changed(value: Any, kind: str) -> None:
    """Only strings where no string is allowed are read anew."""
    whole = schema(x={"type": kind})

    assert coerce({"x": value}, whole) == {"x": value}


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "string", "pattern": "^(a+)+$"},
        {"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        {"type": "object", "propertyNames": {"pattern": "^(a+)+$"}},
        {"type": "object", "patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False},
    ],
)
def test_no_regular_expression_of_a_server_is_run(entry: dict[str, Any]) -> None:
    """One that backtracks would hold everybody up for ever; the server checks by it itself."""
    text = "a" * 60 + "!"
    value = text if entry["type"] == "string" else {text: 1}

    check({"x": value}, schema(x=entry), str)


@pytest.mark.parametrize("draft", ["http://json-schema.org/draft-07/schema#", ""])
def test_a_schema_that_asks_for_endless_work_is_left_to_its_server(draft: str) -> None:
    """Alternatives of alternatives, each named twice: two to the thirtieth of them."""
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(30)}
    endless = schema(x={"$ref": "#/$defs/l0"}) | {"$schema": draft, "$defs": levels | {"l30": {"type": "integer"}}}

    check({"x": "no"}, endless, str)

    assert coerce({"x": "5"}, endless) == {"x": 5}


def test_a_long_value_is_not_quoted_once_for_each_of_many_alternatives() -> None:
    """Each would hold it whole: gigabytes."""
    many = schema(x={"anyOf": [{"type": "integer"}] * 2_000})
    tracemalloc.start()
    check({"x": "\n" * 1_000_000}, many, str)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 100_000_000


def test_many_short_errors_are_bounded_too() -> None:
    """A thousand objects that each lack twenty thousand names."""
    wanting = schema(x={"type": "array", "items": {"required": [f"r{n}" for n in range(20_000)]}})

    began = time.process_time()
    check({"x": [{}] * 1_000}, wanting, str)

    assert time.process_time() - began < 5


def test_many_values_against_many_alternatives_are_left_to_the_server() -> None:
    """Twenty-five million comparisons are too many to make a string a number."""
    many = schema(x={"type": "array", "items": {"anyOf": [{"type": "integer"} for _ in range(5_000)]}})

    began = time.process_time()
    fitted = coerce({"x": ["5"] * 5_000}, many)

    assert fitted == {"x": ["5"] * 5_000}
    assert time.process_time() - began < 5


LONG_TYPES = {"type": [f"t{n}" for n in range(20_000)]}
LONG_PATH = {"$ref": f"#/{'d/' * 20_000}"}
LONG_NEEDS = {"properties": {"a": {}}, "required": [f"r{n}" for n in range(20_000)]}


@pytest.mark.parametrize("entry", [LONG_TYPES, LONG_PATH, LONG_NEEDS], ids=["types", "path", "required"])
def test_a_long_list_in_a_schema_is_read_a_bounded_number_of_times(entry: dict[str, Any]) -> None:
    """Each of twenty thousand values would read it again."""
    values: list[Any] = [{} if entry is LONG_NEEDS else "x"] * 20_000

    began = time.process_time()
    fitted = coerce({"x": values}, schema(x={"type": "array", "items": entry}))

    assert fitted == {"x": values}
    assert time.process_time() - began < 2


def test_a_schema_that_names_itself_has_an_end() -> None:
    """As trees do."""
    tree = schema(x={"$ref": "#/$defs/t"}) | {"$defs": {"t": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "integer"}]}}}

    assert coerce({"x": "5"}, tree) == {"x": 5}
