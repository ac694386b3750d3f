"""Patches of descriptions: what they fix, what they leave alone, and their two forms."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jsonpath_rfc9535
import pytest

from thresher.openapi import (
    Description,
    Edit,
    Material,
    Patch,
    find_problems,
    make_patch,
    read_description,
    suggest_edits,
)
from thresher.openapi.patching import applied, contract, objection

SHOP = """\
openapi: 3.0.3
info: {title: Shop, version: '1', contact: {name: We}}
servers: [{url: https://shop.example.net}]
tags: [{name: orders}]
paths:
  /orders:
    get:
      tags: [orders]
      operationId: listOrders
      summary: Orders
      parameters:
      - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 50}}
      - {$ref: '#/components/parameters/verbose'}
      responses:
        '200':
          description: OK
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Order'}}
        4XX: {$ref: '#/components/responses/Bad'}
  /orders/{order_id}:
    get:
      tags: [orders]
      operationId: getOrder
      summary: Details
      description: Details
      parameters:
      - {name: order_id, in: path, required: true, description: Order id, schema: {type: string}}
      - {$ref: '#/components/parameters/verbose'}
      responses:
        '200':
          description: OK
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Order'}
              example: '{"id": "o1", "description": "two cups", "state": "sent"}'
        4XX: {$ref: '#/components/responses/Bad'}
  /customers/{id}:
    get:
      tags: [orders]
      operationId: getCustomer
      summary: Details
      description: Returns a customer with name and address.
      parameters: [{name: id, in: path, required: true, description: Number of the card., schema: {type: string}}]
      responses:
        '200': {description: OK}
        4XX: {$ref: '#/components/responses/Bad'}
components:
  parameters:
    verbose: {name: include_lines, in: query, schema: {type: boolean, default: false}}
  responses:
    Bad:
      description: What was wrong.
      content: {application/json: {schema: {type: object, properties: {message: {type: string}}}}}
  schemas:
    Order:
      type: object
      required: [id]
      properties:
        id: {type: string}
        description: {type: string, default: none}
        state: {type: string, enum: [new, sent]}
"""


@pytest.fixture(scope="module")
def shop() -> Description:
    """A shop whose description leaves much out."""
    return read_description(SHOP.encode(), name="shop.yaml")


@pytest.fixture(scope="module")
def patch(shop: Description) -> Patch:
    """The patch that the rules suggest."""
    return make_patch(shop, suggest_edits(shop, find_problems(shop)))


def values(patch: Patch) -> dict[str, Any]:
    """Values by pointer."""
    return {edit.pointer: edit.value for edit in patch.edits}


def test_texts_say_what_the_description_knows(patch: Patch) -> None:
    """Descriptions, summaries and parameters are worded from paths, types, responses and names."""
    said = values(patch)

    text = said["/paths/~1orders/get/description"]
    assert text.startswith("List orders.")
    assert "a list of `Order`" in text
    assert "`limit` and `include_lines`" in text
    assert said["/paths/~1orders~1{order_id}/get/summary"] == "Details of an order"
    assert said["/paths/~1orders~1{order_id}/get/parameters/0/description"] == "The ID of the order to get."
    assert said["/paths/~1orders/get/parameters/0/description"] == "The maximum number of results. From 1 to 50."
    assert said["/components/parameters/verbose/description"].startswith("Whether to include lines. `false`")
    assert said["/tags/0/description"] == "Orders: List orders; Details of an order; Details of a customer."


def test_examples_are_mended_as_far_as_they_fail(patch: Patch) -> None:
    """Text that holds JSON is parsed; a missing example is generated and valid."""
    said = values(patch)

    mended = said["/paths/~1orders~1{order_id}/get/responses/200/content/application~1json/example"]
    assert mended == {"id": "o1", "description": "two cups", "state": "sent"}
    made = said["/paths/~1orders/get/responses/200/content/application~1json/example"]
    assert made[0]["state"] in {"new", "sent"}


def test_what_is_referred_to_is_mended_once(patch: Patch) -> None:
    """A parameter of two operations is described where it is defined."""
    assert [edit.pointer for edit in patch.edits if "verbose" in edit.pointer] == [
        "/components/parameters/verbose/description"
    ]


def test_a_patch_keeps_its_promises(shop: Description, patch: Patch) -> None:
    """The patched file is readable, has the same contract, fewer findings and no new ones, and a higher score."""
    after = read_description(patched(SHOP, patch).encode())

    assert after.root == applied(shop.root, patch.edits)
    assert contract(after.root) == contract(shop.root)
    found = {(each.rule, each.place.pointer) for each in find_problems(after)}
    before = {(each.rule, each.place.pointer) for each in find_problems(shop)}
    assert found < before
    assert before - found == {(each.rule, each.place.pointer) for each in patch.mended}
    assert patch.after.value > patch.before.value


def patched(text: str, patch: Patch, name: str = "shop.yaml") -> str:
    """Return the result of `git apply` for a text and the diff."""
    folder = Path(tempfile.mkdtemp())
    (folder / name).write_text(text, newline="")
    subprocess.run(["git", "apply"], cwd=folder, input=patch.diff.encode(), check=True)
    made = (folder / name).read_bytes().decode()
    shutil.rmtree(folder)
    return made


def test_the_overlay_says_the_same_to_another_reader(shop: Description, patch: Patch) -> None:
    """Applied by RFC 9535 paths and Overlay 1.0's merge, it gives the document of the diff."""
    document = json.loads(json.dumps(shop.root))
    for action in patch.overlay["actions"]:
        for node in jsonpath_rfc9535.find(action["target"], document):
            if action.get("remove"):
                holder = document
                for key in node.location[:-1]:
                    holder = holder[key]
                del holder[node.location[-1]]
            else:
                merge(node.value, action["update"])

    assert document == applied(shop.root, patch.edits)
    assert patch.overlay["overlay"] == "1.0.0"
    assert set(patch.overlay["info"]) == {"title", "version"}


def merge(target: Any, update: Any) -> None:
    """Overlay 1.0's update: mappings are merged, lists concatenated, anything else is replaced."""
    for key, value in update.items():
        if isinstance(target.get(key), dict) and isinstance(value, dict):
            merge(target[key], value)
        elif isinstance(target.get(key), list) and isinstance(value, list):
            target[key] += value
        else:
            target[key] = copy.deepcopy(value)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/paths/~1orders/get/operationId", "x"),
        ("/components/schemas/Order/properties/description", {"type": "integer"}),
        ("/components/schemas/Order/properties/description/default", "x"),
        ("/components/schemas/Order/properties/example", {}),
        ("/components/schemas/Order/description", 5),
        ("/paths/~1nowhere/get/summary", "x"),
        ("/paths/~1orders/get/tags/0/description", "x"),
        ("/servers/0/variables/description", "x"),
        ("/x-mine/description", "x"),
        ("/paths/description", "x"),
        ("", {}),
    ],
)
def test_nothing_but_words_is_set(shop: Description, pointer: str, value: Any) -> None:
    """A name, a default, a part of an extension or a missing place is refused with a reason."""
    edit = Edit(pointer, value, "mine")

    made = make_patch(shop, [edit])

    assert objection(shop.root, edit)
    assert [each for each, _ in made.dropped] == [edit]
    assert (made.edits, made.diff, made.overlay["actions"]) == ((), "", [])


def test_an_edit_that_does_not_mend_is_left_out(shop: Description) -> None:
    """One that leaves its finding, or causes another, is dropped; the others are made."""
    good = Edit(
        "/paths/~1orders/get/description", "Returns the orders of the shop, the newest first.", "operation-description"
    )
    poor = Edit("/paths/~1orders~1{order_id}/get/description", "Short.", "description-short")
    wrong = Edit("/components/schemas/Order/example", {"id": 5}, "response-example")

    made = make_patch(shop, [poor, good, wrong])

    assert made.edits == (good,)
    assert {edit.pointer for edit, _ in made.dropped} == {poor.pointer, wrong.pointer}


def test_two_edits_of_a_place_are_one(shop: Description) -> None:
    """The first counts; the second is named with the reason."""
    first, second = (
        Edit("/info/description", f"What the shop does, {word}.", "info-description") for word in ("a", "b")
    )

    made = make_patch(shop, [first, second])

    assert made.edits == (first,)
    assert made.dropped == ((second, "Another edit sets the same place."),)


def test_the_diff_of_a_file_in_utf_16_is_left_out() -> None:
    """A diff in UTF-8 would not apply to it; the overlay does."""
    shop = read_description(SHOP.encode("utf-16"))

    made = make_patch(shop, [Edit("/info/description", "What the shop sells.", "info-description")])

    assert len(made.edits) == len(made.overlay["actions"]) == 1
    assert made.diff == ""


@pytest.mark.parametrize("form", ["openapi: 3.1.0", "swagger: '2.0'", "openapi: 3.2.0"])
def test_an_empty_description_of_any_version_is_patched(form: str) -> None:
    """Without anything to fix there is no edit and no error."""
    empty = read_description(f"{form}\ninfo: {{title: A, version: '1'}}\npaths: {{}}\n".encode())

    made = make_patch(empty, suggest_edits(empty, find_problems(empty)))

    assert made.after.value >= made.before.value


def test_swagger_gets_its_examples_where_it_has_them() -> None:
    """Version 2.0 keeps a response's example under its media type, a body's in the schema."""
    document = {
        "swagger": "2.0",
        "info": {"title": "A", "version": "1"},
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "paths": {
            "/pets": {
                "post": {
                    "operationId": "addPet",
                    "parameters": [{"in": "body", "name": "body", "schema": {"$ref": "#/definitions/Pet"}}],
                    "responses": {
                        "201": {
                            "description": "Made.",
                            "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
                        }
                    },
                }
            }
        },
        "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
    }
    pets = read_description(json.dumps(document, indent=1).encode())

    said = values(make_patch(pets, suggest_edits(pets, find_problems(pets))))

    assert said["/definitions/Pet/example"] == {"name": "name"}
    assert said["/paths/~1pets/post/responses/201/examples"] == {"application/json": {"n": 1}}
    assert said["/paths/~1pets/post/parameters/0/description"] == "What to send: `Pet`."


MATERIAL = Material(
    [
        "List orders of the shop, page by page. `limit` says how many, at most 50. Fails with 404.",
        "GET /orders",
        "Order",
        "purchases",
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "Lists the orders of the shop.",
        "Returns purchases page by page; `limit` says how many, at most 50.",
        "Which orders to list.",
    ],
)
def test_words_that_the_description_bears_out_are_taken(text: str) -> None:
    """A rewording with the same names and numbers."""
    assert MATERIAL.objection(text, most=200) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Lists the orders, at most 100.",
        "Lists orders; see https://orders.example.",
        "Lists `Invoice` objects of the shop.",
        "Lists orders. Requires admin permission.",
        "Lists the orders; this endpoint is deprecated.",
        "Lists [orders](javascript:x).",
        "Lists orders <b>now</b>.",
        "Lists orders\u200b of the shop.",
        "# Lists orders",
        "Lists `orders of the shop.",
        "Teleports unicorns through glittering wormholes towards distant galaxies.",
        "Перечисляет заказы магазина.",
        "x" * 300,
        "",
    ],
)
def test_words_that_say_more_are_refused(text: str) -> None:
    """A number, address, name, promise, markup or language that the material lacks."""
    assert MATERIAL.objection(text, most=200)


def test_circles_and_broken_references_are_survived() -> None:
    """A description with circular and broken references is patched as far as possible."""
    text = SHOP.replace("{$ref: '#/components/responses/Bad'}", "{$ref: '#/components/responses/None'}").replace(
        "id: {type: string}", "id: {$ref: '#/components/schemas/Order'}", 1
    )
    shop = read_description(text.encode())

    made = make_patch(shop, suggest_edits(shop, find_problems(shop)))

    assert read_description(patched(text, made, "openapi").encode()).root == applied(shop.root, made.edits)
