"""Tips derived from facts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.openapi.documents import described, document
from thresher.openapi import tips_of

SAFE = "Safe: it changes nothing."


def _tips(method: str, fields: dict[str, Any], **others: Any) -> tuple[str, ...]:
    description = described(document({"/pets": {method: {"responses": {}, **fields}}}, "3.1.0", **others))
    return tips_of(description.operations[0], description)


def _query(*names: str) -> dict[str, Any]:
    return {"parameters": [{"name": name, "in": "query"} for name in names]}


def _answer(schema: dict[str, Any]) -> dict[str, Any]:
    return {"responses": {"200": {"description": "Fine", "content": {"application/json": {"schema": schema}}}}}


@pytest.mark.parametrize(
    ("method", "fields", "tips"),
    [
        ("get", {}, (SAFE,)),
        ("put", {}, ("Idempotent: sending it again does no more.",)),
        ("post", {}, ()),
        ("post", {"deprecated": True}, ("Deprecated.",)),
        (
            "post",
            {"parameters": [{"name": "Idempotency-Key", "in": "header"}]},
            ("Idempotent with the header Idempotency-Key.",),
        ),
        ("get", _query("page", "per_page"), (SAFE, "Paginated: page, per_page.")),
        ("get", _query("startAt", "maxResults"), (SAFE, "Paginated: startAt, maxResults.")),
        ("get", _query("page[cursor]", "page[limit]"), (SAFE, "Paginated: page[cursor], page[limit].")),
        ("get", _query("limit"), (SAFE, "Limited: limit.")),
        ("get", _query("start", "end"), (SAFE,)),
        ("get", _query("after", "first"), (SAFE, "Paginated: after, first.")),
        (
            "get",
            {"responses": {"200": {"description": "Fine", "headers": {"link": {}}}}},
            (SAFE, "Paginated: the Link header of its answer leads to the next page."),
        ),
        (
            "get",
            _answer({"properties": {"nextPageToken": {}}}),
            (SAFE, "Paginated: nextPageToken in its answer leads on."),
        ),
        (
            "get",
            _answer({"allOf": [{"properties": {"meta": {"properties": {"next_cursor": {}}}}}]}),
            (SAFE, "Paginated: meta.next_cursor in its answer leads on."),
        ),
        ("post", _answer({"properties": {"next": {}}}), ()),
        ("post", {"security": []}, ("Needs no sign-in.",)),
        ("post", {"security": [{}]}, ("Needs no sign-in.",)),
        (
            "post",
            {"security": [{"key": []}, {"app": ["read", "write"]}]},
            ("Needs scope read, write (app), or sign-in by key.",),
        ),
        ("post", {"security": [{"key": [], "user": []}]}, ("Needs sign-in by key and sign-in by user.",)),
        ("post", {"security": [{"key": []}, {}]}, ("Needs sign-in by key. It also answers without.",)),
        (
            "post",
            {"responses": {"202": {"description": "Begun", "headers": {"Operation-Location": {}}}}},
            ("May answer 202: the work goes on after the answer. Operation-Location says where to ask.",),
        ),
        ("post", {"responses": {"429": {"description": "Later"}}}, ("Limits how often it may be called (429).",)),
        ("post", _query("dryRun"), ("Can be tried without effect: dryRun.",)),
        ("get", _query("dryRun"), (SAFE,)),
    ],
)
def test_tips_are_facts(method: str, fields: dict[str, Any], tips: tuple[str, ...]) -> None:
    """From methods, parameters, responses and security schemes."""
    assert _tips(method, fields) == tips


@pytest.mark.parametrize(
    ("media", "schema", "uploads"),
    [
        ("multipart/form-data", {"properties": {"file": {"type": "string", "format": "binary"}}}, True),
        ("multipart/form-data", {"properties": {"files": {"items": {"$ref": "#/components/schemas/File"}}}}, True),
        ("multipart/form-data", {"properties": {"file": {"$ref": "#/components/schemas/File"}}}, True),
        ("multipart/form-data", {"properties": {"name": {"type": "string"}}}, False),
        ("multipart/form-data", {}, True),
        ("application/octet-stream", {}, True),
        ("image/png", {}, True),
        ("application/json", {}, False),
    ],
)
def test_a_file_is_uploaded(media: str, schema: dict[str, Any], uploads: bool) -> None:
    """If a body says so."""
    components = {"schemas": {"File": {"type": "string", "contentMediaType": "image/png"}}}

    tips = _tips("post", {"requestBody": {"content": {media: {"schema": schema}}}}, components=components)

    assert tips == ((f"Uploads a file as {media}.",) if uploads else ())


def test_a_webhook_is_not_called() -> None:
    """The API calls it."""
    description = described(document(version="3.1.0", webhooks={"petBorn": {"post": {"responses": {}}}}))

    assert tips_of(description.operations[0], description) == ("The API sends this to you; you do not call it.",)


def test_names_of_others_stay_on_one_line() -> None:
    """And are shortened."""
    tips = _tips("post", {"security": [{"a\nb" + "c" * 200: []}]})

    assert tips == (f"Needs sign-in by a b{'c' * 76}….",)


def test_schemas_that_hold_themselves_end() -> None:
    """A cycle is walked only a few times."""
    components = {"schemas": {"A": {"allOf": [{"$ref": "#/components/schemas/A"}] * 3}}}

    assert _tips("get", _answer({"$ref": "#/components/schemas/A"}), components=components) == (SAFE,)
