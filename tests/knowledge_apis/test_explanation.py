"""An endpoint within a token budget: what comes first, what is named if it does not fit, and never too much."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.core import InvalidInput, Why
from thresher.embedding import count_tokens
from thresher.knowledge.apis.explanation import explain_endpoint
from thresher.knowledge.apis.models import EndpointAnswer, FoundEndpoint
from thresher.openapi import Description, read_description

ENDPOINT = FoundEndpoint(
    id="op_0123456789ab",
    title="Place an order",
    description="",
    provider="shop",
    version="v1",
    method="POST",
    path="/orders",
    operation_id="placeOrder",
    tags=(),
    deprecated=False,
    relevance=1.0,
    why=Why("core"),
    tips=("Needs scope write.",),
)


def described(**more: Any) -> Description:
    """A description with one operation that has everything."""
    many = {f"Part{number}": {"type": "object", "properties": {"a": {"type": "string"}}} for number in range(60)}
    refs = {f"part{number}": {"$ref": f"#/components/schemas/Part{number}"} for number in range(60)}
    order = {
        "type": "object",
        "required": ["item"],
        "properties": {"item": {"type": "string", "description": "What is wanted."}, "note": {"type": "string"}},
    }
    operation: dict[str, Any] = {
        "operationId": "placeOrder",
        "summary": "Place an order",
        "description": "Places an order.\n\n# Not a heading of ours\n\n```\nnot a fence of ours\n"
        + "More words. " * 200,
        "parameters": [
            {
                "name": "shop",
                "in": "query",
                "required": True,
                "schema": {"type": "string"},
                "description": "Which one.",
            },
            {"name": "dry", "in": "query", "schema": {"type": "boolean"}},
            *({"name": f"old{number}", "in": "query", "deprecated": True, "schema": {}} for number in range(30)),
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}},
        },
        "responses": {
            "201": {
                "description": "Placed.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Placed"}}},
            },
            "400": {"description": "It is none."},
            "409": {"description": "It was placed before."},
        },
        "security": [{"key": []}],
    }
    whole: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {},
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/orders": {"post": operation | more}},
        "components": {
            "schemas": {"Order": order, "Placed": {"type": "object", "properties": refs}, "Unused": order, **many},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
    }
    return read_description(json.dumps(whole).encode())


WHOLE = described()


def explained(budget: int, description: Description = WHOLE) -> EndpointAnswer:
    """The only operation, explained."""
    return explain_endpoint(description, description.operations[0], ENDPOINT, budget=budget)


@given(budget=st.integers(1, 8_000))
@settings(max_examples=25, deadline=None)
def test_the_content_never_costs_more_than_the_budget(budget: int) -> None:
    """However small the budget is, the content is not empty."""
    answer = explained(budget)

    assert answer.spent == count_tokens(answer.content) <= budget
    assert answer.content


@given(text=st.text(max_size=300), budget=st.integers(1, 600))
@settings(max_examples=25, deadline=None)
def test_any_text_of_a_description_keeps_to_the_budget(text: str, budget: int) -> None:
    """Emoji, combining marks, and characters that no token holds."""
    answer = explained(budget, described(description=text, operationId=text, responses={"200": {"description": text}}))

    assert count_tokens(answer.content) <= budget


def test_a_large_budget_shows_everything_once() -> None:
    """The items appear in reading order, and nothing is left out."""
    answer = explained(20_000)

    headings = [line for line in answer.content.splitlines() if line.startswith("## ")]
    assert [heading.split(" (")[0] for heading in headings] == [
        *("## Sign-in", "## Parameters", "## Request body", "## Responses", "## Errors", "## curl", "## Python"),
        *("## Schemas", "## More of its description"),
    ]
    assert answer.left_out == ()
    assert answer.request == {"item": "item", "note": "note"}
    assert [one["name"] for one in answer.parameters][:2] == ["shop", "dry"]
    assert [one["status"] for one in answer.responses] == ["201", "400", "409"]
    assert answer.auth == ("an API key in the header X-Key",)
    assert set(answer.samples) == {"curl", "python"}
    assert "Part59" in answer.schemas
    assert "Unused" not in answer.schemas


def test_a_response_names_the_operations_that_go_on_from_it() -> None:
    """As calls, with where their arguments come from."""
    links = {
        "Read": {"operationId": "getOrder", "parameters": {"id": "$response.body#/id", "full": True}},
        "Pay": {"operationRef": "#/paths/~1pay/post", "requestBody": "$response.body"},
        "Lost": {"description": "It names no operation."},
    }
    answer = explained(20_000, described(responses={"201": {"description": "Placed.", "links": links}}))

    told = ["getOrder(id = $response.body#/id, full = true)", "#/paths/~1pay/post(body = $response.body)"]
    assert answer.responses[0]["links"] == told
    assert f"- 201: Placed.; then {' or '.join(told)}" in answer.content


def test_a_small_budget_shows_what_must_be_sent_and_names_the_rest() -> None:
    """The content also says how to get the rest."""
    answer = explained(260)

    assert "- shop* (query, string): Which one." in answer.content
    assert '{"item": "item", "note": "note"}' in answer.content
    assert "## Sign-in" in answer.content
    assert "## Python" not in answer.content
    named = "; ".join(answer.left_out)
    assert "optional parameters: dry, old0" in named
    assert "and 21 more" in named
    assert "a sample in python" in named
    assert "ask again with a larger budget, such as 520" in answer.left_out[-1]
    assert "larger budget" in answer.content


def test_a_large_example_makes_room_for_a_smaller_one() -> None:
    """The large example neither takes all the room nor is left out."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    large = {"application/json": {"schema": schema, "example": {"a": 1, "b": ["word"] * 500}}}

    small = explained(400, described(requestBody={"content": large}))
    whole = explained(8_000, described(requestBody={"content": large}))

    assert small.request == {"a": 1}
    assert whole.request["b"][0] == "word"


def test_text_of_a_description_stays_in_its_place() -> None:
    """A heading or fence in them ends nothing of ours, and every fence is closed."""
    answer = explained(8_000)

    lines = answer.content.splitlines()
    assert "# Not a heading of ours" not in lines
    assert "> # Not a heading of ours" in lines
    assert sum(line.startswith("```") for line in lines) % 2 == 0


@pytest.mark.parametrize(
    "unseen", ["\x1b[31m", "\x7f", "\u202e", "\u2028", "\u200b", "\u00ad", "\U000e0041"], ids=ascii
)
def test_invisible_characters_are_escaped(unseen: str) -> None:
    """A terminal would obey them, and a model would read what no person sees."""
    text = f"a{unseen}b"
    body = {"content": {"application/json": {"example": {text: text}}}}
    answer = explained(8_000, described(description=text, operationId=text, requestBody=body))

    assert unseen[0] not in answer.content


def test_a_value_with_backticks_is_fenced_by_more_of_them() -> None:
    """An example cannot end its own block."""
    body = {"content": {"text/plain": {"example": "```\n# Owned\n````"}}}

    content = explained(4_000, described(requestBody=body)).content

    assert '"```\\n# Owned\\n````"' in content
    assert "`````json" in content


def test_an_operation_that_says_nothing_is_still_explained() -> None:
    """Method, path and address remain."""
    description = read_description(b'{"openapi": "3.0.0", "info": {}, "paths": {"/a": {"get": {}}}}')

    answer = explain_endpoint(description, description.operations[0], ENDPOINT)

    assert "curl --url https://api.example.com/a" in answer.content
    assert "Base: https://api.example.com (a placeholder: the description names no server)" in answer.content
    assert answer.auth == ("The description does not say how a caller proves who it is.",)


@pytest.mark.parametrize("budget", [0, -1, 100_001])
def test_a_budget_out_of_bounds_is_refused(budget: int) -> None:
    """The error names the bounds."""
    with pytest.raises(InvalidInput, match="1 to 100,000"):
        explained(budget)
