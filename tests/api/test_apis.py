"""APIs over a real port: providers, operations, use, findings, problems."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, assert_problem, served
from tests.knowledge_apis import styled_app
from tests.support import Databases
from tests.support.tracker import TRACKER
from thresher.core import Settings
from thresher.embedding import count_tokens


@pytest.fixture(scope="module")
def tracker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A description in a file."""
    path = tmp_path_factory.mktemp("tracker") / "tracker.yaml"
    path.write_text(TRACKER, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path, tracker: Path) -> AsyncIterator[Served]:
    """The product with one API, shared by all tests of this module."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    settings = Settings(
        data_dir=folder, allow_root=True, database_url=SecretStr(databases.url(name)), home_packs="off", workers=0
    )
    async with served(settings) as product:
        body = {"name": "tracker", "sources": [str(tracker)], "display_name": "Tracker", "aliases": ["bugs"]}
        added = await product.web.post("/v1/apis", json=body)
        assert added.status_code == 202, added.text
        yield product
    await databases.drop(name)


async def post(product: Served, verb: str, **body: Any) -> Any:
    """The answer's body."""
    answer = await product.web.post(f"/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_an_api_is_listed_synced_switched_and_removed(product: Served, tracker: Path) -> None:
    """An inactive one is absent from search at once; a name is taken once."""
    body = {"name": "spare", "sources": [str(tracker)]}
    added = await product.web.post("/v1/apis", json=body)
    again = await product.web.post("/v1/apis", json=body)
    off = (await product.web.patch("/v1/apis/spare", json={"active": False})).json()
    hidden = await post(product, "search_api_docs", query="list issues of a project")
    synced = await product.web.post("/v1/apis/spare/sync")
    refused = await product.web.delete("/v1/apis/spare?version=")
    removed = await product.web.delete("/v1/apis/spare")
    gone = await product.web.delete("/v1/apis/spare")
    listed = (await product.web.get("/v1/apis")).json()["providers"]

    assert added.json()["operations"] == 5
    assert_problem(again, 409, "conflict")
    assert off["active"] is False
    assert {one["provider"] for one in hidden["endpoints"]} == {"tracker"}
    assert (synced.status_code, removed.status_code) == (202, 204)
    assert_problem(refused, 422, "invalid_input")
    assert_problem(gone, 404, "not_found")
    assert [(one["name"], one["aliases"]) for one in listed] == [("tracker", ["bugs"])]
    assert listed[0]["versions"][0]["dialect"] == "3.0"
    assert tracker.exists()


async def test_operations_are_found_browsed_and_read(product: Served) -> None:
    """By task, by tag, by id, by a path with values; never over the budget."""
    found = await post(product, "search_api_docs", query="add a watcher to an issue", limit=2)
    tags = await post(product, "search_api_docs", providers=["tracker"])
    tagged = await post(product, "search_api_docs", providers=["tracker"], tags=["Users"])
    read = await post(product, "get_api_endpoint", endpoint_id=found["endpoints"][0]["id"], budget=500)
    by_path = await post(
        product, "get_api_endpoint", provider="tracker", method="POST", path="/issues/PAY-1/watchers", budget=500
    )

    assert found["endpoints"][0]["path"] == "/issues/{key}/watchers"
    assert len(found["endpoints"]) <= 2
    assert {one["tag"] for one in tags["tags"]} == {"Issues", "Users"}
    assert [one["path"] for one in tagged["endpoints"]] == ["/users/{id}"]
    assert tagged["endpoints"][0]["deprecated"]
    assert read["spent"] == count_tokens(read["content"]) <= read["budget"] == 500
    assert by_path["endpoint"]["id"] == read["endpoint"]["id"]


async def test_use_and_findings_are_told(product: Served) -> None:
    """As data, and as a page where that is asked for; a patch has both forms."""
    use = await post(product, "analyze_api_usage", time_range="1d")
    some = await post(product, "suggest_api_improvements", provider="tracker", limit=2, patch="overlay")
    diff = await post(product, "suggest_api_improvements", provider="tracker", patch="diff")
    rest = await post(product, "suggest_api_improvements", provider="tracker", limit=2, cursor=some["cursor"])
    page = await post(product, "suggest_api_improvements", provider="tracker", format="markdown")

    assert use["time_range"] == "1d"
    assert some["markdown"] == ""
    assert len(some["findings"]) == 2 < some["total"]
    assert json.dumps(some["findings"]) != json.dumps(rest["findings"])
    assert some["patch"]["overlay"]["overlay"] == "1.0.0"
    assert diff["patch"]["diff"].startswith("--- ")
    assert some["patch"]["after"]["value"] >= some["patch"]["before"]["value"]
    assert page["markdown"].startswith("# ")


@pytest.mark.parametrize(
    ("verb", "body", "status", "kind"),
    [
        ("apis", {"name": "a b", "sources": ["/x.yaml"]}, 422, "invalid_input"),
        ("apis", {"name": "a", "sources": []}, 422, "invalid_input"),
        ("apis", {"name": "a", "sources": ["/nowhere/x.yaml"]}, 404, "not_found"),
        ("apis", {"name": "a", "sources": ["https://me:secret@example.com/x.yaml"]}, 422, "invalid_input"),
        ("apis/nobody/sync", {}, 404, "not_found"),
        ("search_api_docs", {"query": "x", "limit": 51}, 422, "invalid_input"),
        ("search_api_docs", {"query": "x", "cursor": "y"}, 422, "invalid_cursor"),
        ("search_api_docs", {"query": "x", "providers": ["traker"]}, 404, "not_found"),
        ("search_api_docs", {"query": "x", "who": "me"}, 422, "invalid_input"),
        ("get_api_endpoint", {}, 422, "invalid_input"),
        ("get_api_endpoint", {"endpoint_id": "op_000000000000"}, 404, "not_found"),
        ("get_api_endpoint", {"operation_id": "createIssue", "budget": 0}, 422, "invalid_input"),
        ("analyze_api_usage", {"time_range": "2d"}, 422, "invalid_input"),
        ("analyze_api_usage", {"metrics": ["mood"]}, 422, "invalid_input"),
        ("suggest_api_improvements", {"provider": "nobody"}, 404, "not_found"),
        ("suggest_api_improvements", {"provider": "tracker", "feedback_type": "mood"}, 422, "invalid_input"),
    ],
)
async def test_wrong_requests_are_problems(
    product: Served, verb: str, body: dict[str, Any], status: int, kind: str
) -> None:
    """In words, and never as a traceback; no password comes back."""
    answer = await product.web.post(f"/v1/{verb}", json=body)

    assert_problem(answer, status, kind)
    assert "secret" not in answer.text


async def test_a_key_adds_only_what_was_named_for_it(product: Served, tracker: Path) -> None:
    """And sees no API of another tenant."""
    _, header = await product.key("acme", "ann")
    answer = await product.web.post("/v1/apis", json={"name": "mine", "sources": [str(tracker)]}, headers=header)
    inside = await product.web.post(
        "/v1/apis", json={"name": "mine", "sources": ["http://127.0.0.1:9/x.yaml"]}, headers=header
    )
    listed = await product.web.get("/v1/apis", headers=header)

    assert_problem(answer, 403, "not_allowed")
    assert_problem(inside, 403, "not_allowed")
    assert listed.json() == {"providers": []}


async def test_an_operation_is_called(product: Served, tmp_path: Path) -> None:
    """Once its host is allowed; what is refused, and what the API refuses, is told apart; no secret comes back."""
    async with styled_app.serving() as base:
        source = tmp_path / "styled.json"
        source.write_text(json.dumps({**styled_app.description(), "servers": [{"url": base}]}), encoding="utf-8")
        await product.web.post("/v1/apis", json={"name": "styled", "sources": [str(source)]})
        toy: dict[str, Any] = {"provider": "styled", "method": "GET", "path": "/bearer"}
        unsigned = await product.web.post("/v1/call_api_endpoint", json=toy)
        body = {"secret": styled_app.TOKEN, "scheme": "Bearer"}
        stored = await product.web.put("/v1/apis/styled/credentials", json=body)
        refused = await product.web.post("/v1/call_api_endpoint", json=toy)
        allowed = await product.web.post("/v1/apis/styled/hosts", json={"host": base, "private": True})
        called = await product.web.post("/v1/call_api_endpoint", json=toy)
        wrong = {**toy, "path": "/toys", "arguments": {"limit": 500}}
        invalid = await product.web.post("/v1/call_api_endpoint", json=wrong)
        listed = await product.web.get("/v1/apis/styled/credentials")
        forgotten = await product.web.delete("/v1/apis/styled/credentials?scheme=Bearer")
        closed = await product.web.delete("/v1/apis/styled/hosts", params={"host": base})
        hosts = await product.web.get("/v1/apis/styled/hosts")
        await product.web.delete("/v1/apis/styled")

    assert_problem(unsigned, 403, "not_allowed")
    assert_problem(refused, 403, "not_allowed")
    assert_problem(invalid, 422, "invalid_input")
    assert allowed.json()["host"] == base
    assert (called.json()["status"], called.json()["body"]["admitted"]) == (200, True)
    assert [one["scheme"] for one in listed.json()["credentials"]] == ["Bearer"]
    assert (forgotten.status_code, closed.status_code, hosts.json()) == (204, 204, {"hosts": []})
    assert [one for one in (stored, called, listed) if styled_app.TOKEN in one.text] == []
