"""What an operation reaches, and its digest."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.openapi.documents import described, document
from thresher.openapi import DescriptionLimits, Operation, read_description


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _document() -> dict[str, Any]:
    """GET reaches Pet, Owner and Address, which refer to each other; POST reaches only Toy."""
    answer = {"description": "Fine", "content": {"application/json": {"schema": _ref("Pet")}}}
    return document(
        {
            "/pets": {
                "parameters": [{"$ref": "#/components/parameters/Limit"}],
                "get": {"responses": {"200": answer}, "x-internal": 1},
                "post": {"requestBody": {"content": {"a/b": {"schema": _ref("Toy")}}}, "responses": {}},
            }
        },
        security=[{"key": []}],
        components={
            "parameters": {"Limit": {"name": "limit", "in": "query"}},
            "schemas": {
                "Pet": {"properties": {"owner": _ref("Owner")}},
                "Owner": {"properties": {"pets": {"items": _ref("Pet")}, "address": _ref("Address")}},
                "Address": {"properties": {"street": {"type": "string"}}},
                "Toy": {
                    "oneOf": [_ref("Ball")],
                    "discriminator": {"propertyName": "t", "mapping": {"b": "#/components/schemas/Bone"}},
                },
                "Ball": {},
                "Bone": {},
                "Lonely": {},
            },
        },
    )


def _operations(content: dict[str, Any]) -> tuple[Operation, Operation]:
    first, second = described(content).operations
    return first, second


def test_schemas_are_named_nearest_first() -> None:
    """Through cycles and through a discriminator's mapping."""
    get, post = _operations(_document())

    assert (get.schemas, post.schemas) == (("Pet", "Owner", "Address"), ("Toy", "Ball", "Bone"))


@pytest.mark.parametrize(
    ("change", "get", "post"),
    [
        (lambda d: d["components"]["schemas"]["Address"]["properties"].update(city={}), True, False),
        (lambda d: d["components"]["schemas"]["Pet"].update(description="An animal"), True, False),
        (lambda d: d["components"]["schemas"]["Bone"].update(description="To chew"), False, True),
        (lambda d: d["components"]["schemas"]["Lonely"].update(description="Unused"), False, False),
        (lambda d: d["components"]["parameters"]["Limit"].update(description="How many"), True, True),
        (lambda d: d["paths"]["/pets"]["get"].update(summary="Pets"), True, False),
        (lambda d: d["paths"]["/pets"]["get"].update({"x-internal": 2}), False, False),
        (lambda d: d.update(security=[]), True, True),
        (lambda d: d["info"].update(title="Animals"), False, False),
        (lambda d: d["paths"].update({"/first": {}}), False, False),
    ],
    ids=[
        "a schema far away",
        "a schema in a cycle",
        "a schema by a mapping",
        "an unused schema",
        "a parameter of the path",
        "a text",
        "an extension",
        "what lets callers in",
        "the title",
        "another path",
    ],
)
def test_a_digest_changes_only_with_what_the_operation_says(
    change: Callable[[dict[str, Any]], None], get: bool, post: bool
) -> None:
    """With the operation itself and everything that it reaches."""
    before, after = _document(), copy.deepcopy(_document())
    change(after)

    changed = [old.digest != new.digest for old, new in zip(_operations(before), _operations(after), strict=True)]

    assert changed == [get, post]


def test_the_order_of_keys_is_no_change() -> None:
    """Neither is the format of the description."""
    turned = json.loads(json.dumps(_document(), sort_keys=True))

    assert [each.digest for each in _operations(turned)] == [each.digest for each in _operations(_document())]


def test_only_the_nearest_of_many_schemas_are_named() -> None:
    """A bound keeps descriptions small whose schemas all refer to each other; the digest covers all of them."""
    content = _document()
    far = copy.deepcopy(content)
    far["components"]["schemas"]["Address"]["description"] = "Where"
    limits = DescriptionLimits(reached=2)

    near, changed = (
        read_description(json.dumps(each).encode(), limits=limits).operations[0] for each in (content, far)
    )

    assert near.schemas == ("Pet", "Owner")
    assert near.digest != changed.digest


def test_many_operations_over_schemas_that_all_hold_each_other_are_read() -> None:
    """Each schema is hashed once."""
    count = 500
    schemas = {
        f"S{i}": {"properties": {"a": _ref(f"S{(i + 1) % count}"), "b": _ref(f"S{i * 7 % count}")}}
        for i in range(count)
    }
    paths = {
        f"/p{i}": {"get": {"responses": {"200": {"content": {"a/b": {"schema": _ref(f"S{i % count}")}}}}}}
        for i in range(1_500)
    }

    operations = described(document(paths, components={"schemas": schemas})).operations

    assert len({each.digest for each in operations}) == 1_500
