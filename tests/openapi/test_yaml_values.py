"""YAML as used in API descriptions."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.openapi.documents import codes, from_yaml
from thresher.core import InvalidInput
from thresher.openapi import DescriptionLimits, read_description

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029"))
"""PyYAML writes these three raw, as line breaks of YAML 1.1; the reader takes them for spaces, as another test says."""
JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2020-01-01", "2020-01-01"),
        ("yes", "yes"),
        ("off", "off"),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("-1.5e3", -1500.0),
        (".5", 0.5),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 500, "9" * 500),
        ("True", True),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("|\n  a\n  b", "a\nb\n"),
        (">\n  a\n  b", "a b\n"),
    ],
)
def test_a_scalar_means_what_the_core_schema_says(written: str, value: Any) -> None:
    """No dates, no `yes`, no octal by a leading zero, nothing that JSON cannot express."""
    found = from_yaml(f"x: {written}\n").root["x"]

    assert (found, type(found)) == (value, type(value))


def test_keys_are_text_as_written() -> None:
    """A status is a key, not a number; so is `true`."""
    root = from_yaml("x: {200: a, true: b, null: c, 1.0: d, 0x1F: e}\n").root

    assert root["x"] == {"200": "a", "true": "b", "null": "c", "1.0": "d", "0x1F": "e"}


def test_merged_keys_do_not_win_over_own_ones() -> None:
    """Of several merged mappings, the first wins."""
    root = from_yaml("a: &a {k: 1, l: 1}\nb: &b {l: 2, m: 2}\nx: {<<: [*a, *b], k: 0}\ny: {<<: *b}\n").root

    assert (root["x"], root["y"]) == ({"k": 0, "l": 1, "m": 2}, {"l": 2, "m": 2})


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("x: !!python/object/apply:os.system ['true']\n", "tag", 3),
        ("x:\n  !secret y\n", "tag", 4),
        ("x: &a [*a]\n", "circular-alias", 3),
        ("x: *nowhere\n", "unknown-alias", 3),
        ("x: {<<: 5}\n", "bad-merge", 3),
        ("? [a, b]\n: 1\n", "complex-key", 3),
    ],
)
def test_what_yaml_allows_and_json_does_not_is_noted(text: str, code: str, line: int) -> None:
    """Tags are ignored; the rest of the description is read."""
    description = from_yaml(f"{text}paths: {{/a: {{get: {{responses: {{}}}}}}}}\n")

    assert codes(description) == [code]
    assert (description.problems[0].place.line, len(description.operations)) == (line, 1)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "a: &a " + "y" * 100_000 + "\nb: [" + ",".join(["*a"] * 1_000) + "]\n",
        "a: &a {"
        + ",".join(f"k{i}: 1" for i in range(2_000))
        + "}\n"
        + "".join(f"m{i}: {{<<: *a}}\n" for i in range(999)),
    ],
    ids=["lists", "texts", "merges"],
)
def test_aliases_that_expand_without_end_are_refused(text: str) -> None:
    """A few kilobytes cannot become gigabytes."""
    with pytest.raises(InvalidInput, match="aliases expand"):
        from_yaml(text)


def test_aliases_that_nest_too_deeply_are_refused() -> None:
    """Depth counts with aliases expanded."""
    chain = "".join(f"k{i}: &k{i} {'[' * 50}*k{i - 1}{']' * 50}\n" for i in range(1, 9))

    with pytest.raises(InvalidInput, match="200 levels deep"):
        from_yaml(f"k0: &k0 x\n{chain}")


def test_an_alias_is_what_its_anchor_is() -> None:
    """For keys too."""
    root = from_yaml("x: &x {a: [1]}\ny: *x\n&k z: 1\nw: {*k : 2}\n").root

    assert (root["y"], root["w"]) == ({"a": [1]}, {"z": 2})


def test_how_much_aliases_add_is_the_readers_choice() -> None:
    """A lower limit refuses earlier."""
    text = b"openapi: 3.0.3\na: &a abcdefgh\nb: [*a, *a]\n"

    with pytest.raises(InvalidInput, match="more than 20 characters"):
        read_description(text, limits=DescriptionLimits(aliased=20))


@given(JSONISH)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_json_values_come_back_from_yaml(value: Any) -> None:
    """Everything that JSON can express, in block style and in flow style."""
    for flow in (True, False):
        text = yaml.safe_dump({"openapi": "3.0.3", "x": value}, default_flow_style=flow, allow_unicode=True)

        found = read_description(text.encode("utf-8", "surrogatepass")).root["x"]

        assert _comparable(found) == _comparable(value)


def _comparable(value: Any) -> Any:
    """Return the value with the characters replaced that no store accepts."""
    if isinstance(value, str):
        return "".join("\ufffd" if _odd(each) else each for each in value)
    if isinstance(value, dict):
        return {_comparable(key): _comparable(each) for key, each in value.items()}
    return [_comparable(each) for each in value] if isinstance(value, list) else value


def _odd(character: str) -> bool:
    return character == "\0" or "\ud800" <= character <= "\udfff"
