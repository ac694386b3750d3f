"""What results have looked like: types and names of fields, never a value."""

from __future__ import annotations

import json

from thresher.programs import merged, shape_of


def test_a_shape_has_types_and_fields() -> None:
    """Of objects in lists, what all of them have is required."""
    value = [{"id": 1, "name": "Ada", "tags": ["x"]}, {"id": 2, "name": None}]
    assert shape_of(value) == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "name": {"anyOf": [{"type": "null"}, {"type": "string"}]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["id", "name"],
        },
    }


def test_no_value_is_in_a_shape_not_even_as_a_key() -> None:
    """Keys that look like data, or are many, make a map."""
    secret = {
        "ada@example.com": {"balance": 10},
        "by_day": {"2026-01-01": 4, "2026-01-02": 5},
        "accounts": {f"acct{n}x{n}": n for n in range(100)},
        "note": "s3cret",
    }
    text = json.dumps([shape_of(secret), shape_of({"by_day": {"2026-01-01": 4}, "note": "s3cret"})])
    for word in ("ada", "example", "2026", "acct", "s3cret", "10"):
        assert word not in text


def test_merging_widens_and_comes_to_rest() -> None:
    """What was seen once stays; the same again changes nothing."""
    first, second = shape_of({"a": 1, "b": "x"}), shape_of({"a": 1.5, "c": [1]})
    both = merged(first, second)
    assert both["required"] == ["a"]
    assert both["properties"]["a"] == {"type": "number"}
    assert merged(both, first) == both
    assert merged(both, second) == both
    assert merged(shape_of("x"), shape_of([1])) == {
        "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]
    }


def test_a_shape_is_bounded() -> None:
    """However deep, long or odd the value."""
    deep: object = 1
    for _ in range(200):
        deep = {"a": [deep]}
    for value in (deep, [[]] * 10**5, {f"k{n}": n for n in range(10**4)}, object()):
        assert len(json.dumps(shape_of(value))) < 5_000
