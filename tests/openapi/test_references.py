"""References: followed inside the document, never out of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.openapi.documents import codes, described, document, swagger
from thresher.openapi import MISSING, Description, SourceLocation

NODE = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
PARAMETER = {"name": "limit", "in": "query", "schema": {"type": "integer"}}


def _with_parameter(value: Any, version: str = "3.0.3", **components: Any) -> Description:
    operation = {"parameters": [value], "responses": {"200": {"description": "Fine"}}}
    return described(document({"/pets": {"get": operation}}, version, components=components))


@pytest.mark.parametrize(
    ("ref", "value"),
    [
        ("#/components/schemas/Node", NODE),
        ("/components/schemas/Node", NODE),
        ("#/components/schemas/a~1b%20c", {"type": "string"}),
        ("#/components/schemas/Node/properties/next/properties/next/type", MISSING),
        ("#/components/schemas/Node/properties/next/type", "object"),
        ("#/tags/0/name", "pets"),
        ("#/tags/00/name", MISSING),
        ("#/tags/-1", MISSING),
        ("#/nowhere", MISSING),
        ("other.yaml#/x", MISSING),
        ("#", None),
    ],
)
def test_a_reference_is_resolved_through_references_on_its_way(ref: str, value: Any) -> None:
    """Pointers, escapes, and references on the way."""
    schemas = {"Node": NODE, "a/b c": {"type": "string"}}
    description = described(document(tags=[{"name": "pets"}], components={"schemas": schemas}))

    found = description.resolve(ref)

    assert found == (description.root if ref == "#" else value) or (value is MISSING and found == "object")


def test_what_is_missing_is_false_and_says_so() -> None:
    """It is distinct from null."""
    assert not MISSING
    assert repr(MISSING) == "MISSING"


def test_a_chain_of_references_is_followed_to_its_end() -> None:
    """One step by `resolve`, all of them by `follow`."""
    components = {"schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {"type": "string"}}}
    description = described(document(components=components))

    assert description.resolve("#/components/schemas/A") == {"$ref": "#/components/schemas/B"}
    assert description.follow({"$ref": "#/components/schemas/A"}) == {"type": "string"}
    assert description.follow({"type": "null"}) == {"type": "null"}


@pytest.mark.parametrize(
    ("ref", "code", "said"),
    [
        ("./shared.yaml#/Limit", "remote-ref", "Bundle"),
        ("https://example.com/limit.json", "remote-ref", "not followed"),
        ("file:///etc/passwd", "remote-ref", "not followed"),
        ("http://[", "remote-ref", "not followed"),
        ("#/components/parameters/Nobody", "unresolved-ref", "names nothing"),
        ("#anchor", "unresolved-ref", "names nothing"),
        ("#/components/parameters/Loop", "circular-ref", "only to more references"),
    ],
)
def test_a_reference_that_leads_nowhere_is_noted_and_the_operation_is_kept(ref: str, code: str, said: str) -> None:
    """With the location of the reference and what to do."""
    description = _with_parameter(
        {"$ref": ref},
        parameters={"Loop": {"$ref": "#/components/parameters/Pool"}, "Pool": {"$ref": "#/components/parameters/Loop"}}
        if code == "circular-ref"
        else {},
    )

    problem = description.problems[0]
    assert (problem.code, problem.place.pointer) == (code, "/paths/~1pets/get/parameters/0/$ref")
    assert said in problem.message
    assert [(each.key, each.parameters) for each in description.operations] == [("GET /pets", ())]


def test_schemas_that_hold_themselves_are_no_problem() -> None:
    """Trees and lists are described like that."""
    description = described(document(components={"schemas": {"Node": NODE}}))

    assert description.problems == ()


def test_references_in_examples_are_not_references() -> None:
    """An example may contain anything, and a property may have any name."""
    schema = {
        "example": {"$ref": "#/x"},
        "default": {"$ref": "#/x"},
        "properties": {"example": {"$ref": "#/y"}, "$ref": {"type": "string"}},
    }
    answer = {"content": {"application/json": {"examples": {"a": {"value": {"$ref": "#/x"}}, "b": {"$ref": "#/z"}}}}}
    description = described(document(components={"schemas": {"S": schema}, "responses": {"R": answer}}))

    assert [each.place.pointer for each in description.problems] == [
        "/components/schemas/S/properties/example/$ref",
        "/components/responses/R/content/application~1json/examples/b/$ref",
    ]


@pytest.mark.parametrize(
    "ref",
    ["#Tree", "https://example.com/tree", "https://example.com/tree#Tree", "https://example.com/tree#/properties/kind"],
)
def test_schemas_have_names_of_their_own_from_3_1_on(ref: str) -> None:
    """`$id` and `$anchor`, within this document only."""
    tree = {"$id": "https://example.com/tree", "$anchor": "Tree", "properties": {"kind": {"type": "string"}}}
    components = {"schemas": {"Tree": tree, "User": {"$ref": ref}}}

    new = described(document(version="3.1.0", components=components))
    old = described(document(version="3.0.3", components=components))

    assert (new.problems, len(old.problems)) == ((), 1)
    assert new.follow({"$ref": ref}) in (tree, {"type": "string"})


def test_a_pointer_inside_a_schema_with_an_id_may_start_there() -> None:
    """As JSON Schema defines it."""
    tree = {"$id": "https://example.com/tree", "$defs": {"Leaf": {"type": "string"}}, "items": {"$ref": "#/$defs/Leaf"}}
    description = described(document(version="3.1.0", components={"schemas": {"Tree": tree}}))

    assert description.problems == ()
    assert description.resolve("#/$defs/Leaf") == {"type": "string"}


@pytest.mark.parametrize(("version", "description"), [("3.0.3", "How many"), ("3.1.0", "How many pets")])
def test_a_description_beside_a_reference_wins_from_3_1_on(version: str, description: str) -> None:
    """In 3.0 anything beside a reference is ignored."""
    shared = {**PARAMETER, "description": "How many"}
    value = {"$ref": "#/components/parameters/Limit", "description": "How many pets"}

    operation = _with_parameter(value, version, parameters={"Limit": shared}).operations[0]

    assert operation.parameters[0].description == description


def test_resolving_ends_whatever_references_say() -> None:
    """Chains of thousands, references through each other, references to the whole document."""
    chain = {f"n{i}": {"$ref": f"#/n{i + 1}/x"} for i in range(3_000)}
    knots = {f"k{i}": {"x": {"$ref": f"#/k{i - 1}/x/x/x"}} for i in range(1, 200)}
    loops = {"l": {"$ref": "#/l/l/l/l/l"}, "m": {"$ref": "#"}, "k0": {"x": {"$ref": "#/k0"}}}

    description = described(document({"/a": {"$ref": "#/n0/x"}}, **chain, **knots, **loops))

    assert description.operations == ()
    assert set(codes(description)) <= {"unresolved-ref", "circular-ref", "more-problems"}


def test_swagger_has_its_definitions() -> None:
    """Named schemas of both kinds of documents are found by name."""
    assert described(swagger(definitions={"Pet": {"type": "object"}})).schema("Pet") == {"type": "object"}
    assert described(document(components={"schemas": {"Pet": NODE}})).schema("Pet") == NODE
    assert described(document()).schema("Pet") == {}


def test_a_problem_knows_its_line() -> None:
    """It has line and column of the reference itself."""
    description = _with_parameter({"$ref": "#/nowhere"})

    assert description.problems[0].place == SourceLocation("/paths/~1pets/get/parameters/0/$ref", 12, 7)


def test_threads_may_resolve_at_the_same_moment() -> None:
    """A description is cached and shared; no thread sees another's partial result."""
    schemas = {f"S{i}": {"properties": {"a": {"$ref": f"#/components/schemas/S{i + 1}"}}} for i in range(40)}
    content = document(components={"schemas": {**schemas, "S40": {"type": "string"}}})
    refs = [f"#/components/schemas/S{i}" + "/properties/a" * (40 - i) + "/type" for i in range(39)]

    with ThreadPoolExecutor(8) as threads:
        for _ in range(10):
            description = described(content)
            found = list(threads.map(description.resolve, refs * 4))

            assert set(found) == {"string"}
