"""Rules terminate quickly, whatever a description contains, and never raise."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.openapi.documents import described, document
from tests.openapi.rule_cases import OWN, SHARED
from thresher.core import InvalidInput
from thresher.openapi import find_problems, score
from thresher.openapi.rules import tree
from thresher.openapi.rules.wording import twins

SECONDS = 10.0
"""For a busy machine; each takes well below one second on its own."""
CASES = [json.dumps(case.content) for case in (*SHARED.values(), *OWN.values())]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["#", "#/paths", "array", "string"]),
    st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers(0, 2)), max_size=3),
    st.dictionaries(
        st.sampled_from(["$ref", "type", "enum", "items", "properties", "example", "schema", "content", "x-a", "0"]),
        st.one_of(
            st.none(), st.integers(0, 2), st.text(max_size=3), st.just({}), st.just(["a"]), st.just("#/components")
        ),
        max_size=3,
    ),
)


def _spots(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in entries:
        yield (*path, key)
        yield from _spots(child, (*path, key))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.sampled_from(CASES), st.data())
def test_any_value_may_stand_anywhere(case: str, data: st.DataObject) -> None:
    """It is reported or not; nothing raises."""
    content = json.loads(case)
    spots = [spot for spot in _spots(content) if spot[0] not in {"openapi", "swagger"}]
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(spots))
        holder = content
        for key in way:
            holder = holder[key] if isinstance(holder, dict | list) and _has(holder, key) else None
        if isinstance(holder, dict | list) and _has(holder, last):
            holder[last] = copy.deepcopy(data.draw(VALUES))  # type: ignore[index] - its kind was looked at

    description = described(content)
    findings = find_problems(description)

    assert 0 < score(findings, description).whole.value <= 100


def _has(holder: Any, key: str | int) -> bool:
    return key in holder if isinstance(holder, dict) else isinstance(key, int) and key < len(holder)


def _chain(length: int) -> dict[str, Any]:
    """Each schema refers to the next twice, so that expanding it doubles each time."""
    schemas: dict[str, Any] = {f"S{length}": {"type": "string"}}
    for number in range(length):
        following = {"$ref": f"#/components/schemas/S{number + 1}"}
        schemas[f"S{number}"] = {"type": "object", "anyOf": [following, following]}
    schemas["S0"]["example"] = schemas[f"S{length - 12}"]["example"] = {}
    return schemas


def _again(depth: int) -> dict[str, Any]:
    """Each schema checks what the one inside it left over."""
    schema: dict[str, Any] = {"properties": {"a": {}}}
    for _ in range(depth):
        schema = {"unevaluatedProperties": False, "allOf": [schema]}
    return {"A": {**schema, "type": "object", "example": {"a": 1}}}


def _wheel(count: int) -> dict[str, Any]:
    """Each schema refers to all others."""
    names = [f"S{number}" for number in range(count)]
    every = {name: {"$ref": f"#/components/schemas/{name}"} for name in names}
    return {name: {"type": "object", "properties": every, "example": {}} for name in names}


def _pattern(pattern: str) -> dict[str, Any]:
    return {"A": {"type": "string", "pattern": pattern, "example": "a" * 5_000 + "!"}}


@pytest.mark.parametrize(
    "schemas",
    [
        _chain(25),
        _again(40),
        _wheel(60),
        _pattern("^(a+)+$"),
        _pattern("^(a|a)*\\1$"),
        _pattern("a{1,1000}{1,1000}{1,1000}"),
        {"A": {"type": "array", "items": {"type": "integer"}, "example": ["x"] * 100_000}},
        {f"S{number}": {"$ref": f"#/components/schemas/S{number + 1}"} for number in range(3_000)},
        {f"S{n}": {"$ref": "#" + f"/components/schemas/S{n + 1}" * 3} for n in range(60)} | {"S60": {}},
        {"A": {"enum": [json.loads("[" * 150 + "]" * 150)] * 2}},
    ],
    ids=[
        "doubling",
        "again",
        "wheel",
        "nested-repeats",
        "backreference",
        "counted",
        "long-example",
        "long-chain",
        "steps",
        "deep",
    ],
)
def test_a_hostile_schema_costs_little(schemas: dict[str, Any]) -> None:
    """What would take too long is skipped."""
    description = described(document(version="3.1.0", components={"schemas": schemas}))
    started = time.process_time()

    find_problems(description)

    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("many", ["the thing with number {} of all", "one thing of all that there are"])
def test_many_like_operations_are_compared_in_time(many: str) -> None:
    """Not every pair is compared, and the evidence names a few."""
    texts = [f"Returns {many.format(number)}" for number in range(2_000)]
    paths = {
        f"/thing{number}": {"get": {"summary": text, "description": text, "responses": {}}}
        for number, text in enumerate(texts)
    }
    description = described(document(paths))
    started = time.process_time()

    findings = find_problems(description, kinds=("clarity",))

    assert time.process_time() - started < SECONDS
    assert len({each.operation for each in findings}) == 2_001
    assert max(len(each.evidence) for each in findings) < 100


def test_a_document_that_is_wrong_everywhere_is_not_told_of_at_length() -> None:
    """Its structure has a limited number of findings."""
    description = described(document({f"/a{number}": {"get": {"x": 1}} for number in range(600)}))

    findings = [each for each in find_problems(description) if each.rule == "oas3-schema"]

    assert 500 <= len(findings) <= 3_000


def test_a_description_of_too_many_parts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hint."""
    monkeypatch.setattr(tree, "NODES", 10)

    with pytest.raises(InvalidInput, match="too many to check") as refused:
        find_problems(described(document({f"/a{number}": {} for number in range(20)})))

    assert "Split it" in refused.value.hint


def test_twins_are_the_same_words_or_nearly_so() -> None:
    """Rare words distinguish texts, frequent ones do not."""
    common = [frozenset({"list", "all", "the", "open", f"thing{number}", f"group{number}"}) for number in range(50)]
    texts = [*common, common[0] | {"list"}, common[1] | {"also"}, frozenset({"list"}), frozenset({"list"})]

    found = {each.place: (each.others, each.count) for each in twins(texts)}

    assert found[0] == ((50,), 1)
    assert found[50] == ((0,), 1)
    assert set(found) <= {0, 1, 50, 51}
