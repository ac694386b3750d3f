"""The HTTP API: the verbs, their errors, and that the description is the truth."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.api.serving import Served, assert_problem
from tests.support import Databases
from tests.support.product import CATALOGUE, ListedServer, listed
from thresher.api.application import BODY_LIMIT


async def test_a_program_finds_what_a_model_needs(product: Served) -> None:
    """Definitions, similarity, what found them and why; and what the answer cost."""
    services = product.app.services
    await services.tools.import_tools(services.caller, CATALOGUE)
    await services.tools.set_tool(services.caller, "mail_send_email", core=True)

    first = (await product.find({"queries": ["show the commit history"]})).json()
    again = (await product.find({"queries": ["show the commit history"]})).json()
    nothing = (await product.find({"message": "thank you so much", "include_core_tools": False})).json()

    best = first["tools"][0]
    assert best["name"] == "git_git_log"
    assert best["server"] == "git"
    assert best["source"] == "hybrid"
    assert best["similarity"] == best["why"]["semantic"]["score"]
    assert best["why"]["semantic"]["rank"] == best["why"]["lexical"]["rank"] == 1
    assert best["inputSchema"]["properties"] == {"repo_path": {"type": "string"}}
    assert best["description"].startswith("Show the commit history")
    core = first["tools"][-1]
    assert (core["name"], core["source"], core["similarity"]) == ("mail_send_email", "core", None)
    assert first["total_searched"] == len(CATALOGUE)
    assert first["duration_ms"] > 0
    assert (first["embedding_generated"], again["embedding_generated"]) == (True, True)
    assert (nothing["abstained"], nothing["tools"]) == (True, [])
    assert (first["degraded"], first["fallback"], first["held_back"]) == ("", False, [])
    assert len(first["trace_id"]) == 16


async def test_a_program_has_servers_listed_again(product: Served, tmp_path: Path) -> None:
    """All, some, or one tool; a server that fails is named and its last list stays."""
    services = product.app.services
    good, bad = ListedServer.at(tmp_path, "good", listed("one")), ListedServer.at(tmp_path, "bad", listed("two"))
    await product.app.indexing
    for server in (good, bad):
        await services.tools.add_server(services.caller, server.config)

    async def refresh(**body: Any) -> Any:
        return (await product.web.post("/v1/tools/refresh", json=body)).json()

    everything = await refresh()
    good.lists(listed("one"), listed("three"))
    bad.breaks()
    some = await refresh(servers=["good", "bad"])
    one = await refresh(tool="good_three")
    both = await product.web.post("/v1/tools/refresh", json={"servers": ["good"], "tool": "good_one"})
    unknown = await product.web.post("/v1/tools/refresh", json={"servers": ["nobody"]})

    assert (everything["embedded"], everything["failures"]) == (2, {})
    assert some["embedded"] == 1
    assert list(some["failures"]) == ["bad"]
    assert one["failures"] == {}
    assert_problem(both, 422, "invalid_input")
    assert_problem(unknown, 404, "not_found")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"queries": ["x"], "querys": 1}, "querys"),
        ({"queries": ["x"], "limit": 0}, "limit"),
        ({"queries": ["x"], "limit": 51}, "limit"),
        ({"queries": ["x"], "budget": 49}, "budget"),
        ({"queries": ["x"], "threshold": 2}, "threshold"),
        ({"queries": [["x"]]}, "queries"),
        ({"message": 7}, "message"),
        ([], "body"),
        ("x", "body"),
    ],
)
async def test_a_body_that_does_not_fit_is_told_where(keyless: Served, body: Any, field: str) -> None:
    """Unknown fields, values out of bounds, wrong types."""
    answer = await keyless.web.post(
        "/v1/tools/find", content=json.dumps(body), headers={"content-type": "application/json"}
    )

    wrong = assert_problem(answer, 422, "invalid_input")["errors"]
    assert any(entry["field"].split(".")[0] == field for entry in wrong), wrong


@pytest.mark.parametrize(
    ("path", "body", "fields"),
    [
        ("open_value_list", {"name": "v", "custom_values": [["a", 1]]}, ["custom_values.0"]),
        ("open_value_list", {"name": "v", "custom_values": [{}]}, ["custom_values.0", "custom_values.0.display"]),
        ("suggest_api_improvements", {"provider": "tmdb", "feedback_type": "nosuch"}, ["feedback_type"]),
        ("open_value_list", {}, ["name"]),
    ],
)
async def test_a_wrong_field_is_named_once_as_the_body_has_it(
    keyless: Served, path: str, body: Any, fields: list[str]
) -> None:
    """Whatever types its value may have; the message says what each of them asks for."""
    answer = await keyless.web.post(f"/v1/{path}", json=body)

    assert [entry["field"] for entry in assert_problem(answer, 422, "invalid_input")["errors"]] == fields


@pytest.mark.parametrize(
    "message",
    ["\ud800 half", "zero \0 byte", "🙂" * 1000, "\u202e reversed"],
    ids=["half", "zero", "emoji", "reversed"],
)
async def test_odd_characters_are_only_characters(keyless: Served, message: str) -> None:
    """Half a surrogate pair, a zero byte: they match nothing, and break nothing."""
    answer = await keyless.web.post(
        "/v1/tools/find", content=json.dumps({"message": message}), headers={"content-type": "application/json"}
    )

    assert answer.status_code == 200


@pytest.mark.parametrize("body", [{}, {"queries": []}, {"message": ""}, {"queries": [], "message": ""}])
async def test_a_search_needs_queries_or_a_message(keyless: Served, body: dict[str, Any]) -> None:
    """The service's own rules are problems too."""
    assert_problem(await keyless.find(body), 422, "invalid_input")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/json"),
        (b"{", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b'{"queries": ["x"]}', "text/plain"),
        (b"[" * 90_000, "application/json"),
        (b'{"queries": NaN}', "application/json"),
        (b"a=b", "application/x-www-form-urlencoded"),
    ],
    ids=["empty", "cut off", "not text", "plain", "deep", "NaN", "form"],
)
async def test_what_is_no_json_is_a_problem(keyless: Served, content: bytes, kind: str) -> None:
    """And nothing worse."""
    answer = await keyless.web.post("/v1/tools/find", content=content, headers={"content-type": kind})

    assert answer.status_code in (400, 422)
    assert_problem(answer, answer.status_code, "invalid_input" if answer.status_code == 422 else "bad_request")


async def test_a_body_is_bounded(keyless: Served) -> None:
    """By what it says, and by what it is; a long message still fits."""
    long = await keyless.find({"message": "x " * 50_000})
    too_long = await keyless.find({"message": "x " * (BODY_LIMIT // 2 + 1)})

    async def endless() -> Any:
        for _ in range(BODY_LIMIT // 65536 + 2):
            yield b" " * 65536

    unannounced = await keyless.web.post(
        "/v1/tools/find", content=endless(), headers={"content-type": "application/json"}
    )

    crowded = [
        await keyless.web.post("/v1/tools/find", content=content, headers={"content-type": "application/json"})
        for content in (b'{"queries": [' + b"[]," * 600_000 + b"1]}", b'{"servers": [' + b"[[[]]]," * 400_000 + b"1]}")
    ]

    assert long.status_code == 200
    for one in crowded:
        assert_problem(one, 413, "too_large")
    assert_problem(too_long, 413, "too_large")
    assert_problem(unannounced, 413, "too_large")


async def test_what_is_not_there_is_a_problem_too(keyless: Served) -> None:
    """Unknown paths and methods, on every face of programs; what is left is of people and gets a page."""
    for path in ("/v1", "/v1/tools", "/v1/tools/find/x", "/v1/docs", "/mcp/x", "/.well-known/x"):
        assert_problem(await keyless.web.get(path), 404, "not_found")
    method = await keyless.web.get("/v1/tools/find")
    page = await keyless.web.get("/redoc")

    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert_problem(method, 405, "method_not_allowed")
    assert method.headers["allow"] == "POST"


async def test_many_ask_at_once(keyless: Served) -> None:
    """Each gets an answer with a trace id of its own."""
    answers = await asyncio.gather(*(keyless.find() for _ in range(50)))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["trace_id"] for answer in answers}) == 50


async def test_readiness_says_why_not(own_settings: Any, databases: Databases) -> None:
    """A database that went away; health says that the process lives all the same."""
    from tests.api.serving import served

    async with served(own_settings) as product:
        before = await product.web.get("/readyz")
        url = own_settings.database_url.get_secret_value()
        name = next(part for part in url.replace("?", "/").split("/") if part.startswith("test_"))
        await databases.drop(name)
        product.app.services.database  # noqa: B018 - still open, and of no use
        health = await product.web.get("/healthz")
        async with asyncio.timeout(20):
            while (after := await product.web.get("/readyz")).status_code == 200:
                await asyncio.sleep(0.05)

    assert (before.status_code, before.json()["status"], before.json()["reasons"]) == (200, "ready", [])
    assert (health.status_code, health.text) == (200, "ok\n")
    assert after.status_code == 503
    assert after.json()["status"] == "not ready"
    assert "database" in after.json()["reasons"][0]
    assert url not in after.text
    assert sys.executable not in after.text


def _resolved(schema: Any, document: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "components": document["components"]}


API_PARTS = ("", "/schedule", "/sync", "/hosts", "/credentials")


async def test_the_description_is_what_is_served(product: Served) -> None:
    """Each answer, good or bad, fits its schema in /v1/openapi.json; no path is served that it leaves out."""
    document = (await product.web.get("/v1/openapi.json")).json()
    services = product.app.services
    await services.tools.import_tools(services.caller, CATALOGUE)
    asked = [
        ("post", "/v1/tools/find", {"queries": ["show the commit history"]}),
        ("post", "/v1/tools/find", {"limit": 99}),
        ("post", "/v1/tools/find", {"queries": ["x"], "servers": ["nobody"]}),
        ("get", "/v1/tools/health", None),
        ("get", "/v1/tools/learning", None),
        ("get", "/v1/tools/learning/replay", None),
        ("delete", "/v1/tools/learning?names=mail_send_email", None),
        ("delete", "/v1/tools/learning?names=nothing", None),
        ("delete", "/v1/tools/learning", None),
        ("get", "/v1/tools/health?server=nobody", None),
        ("post", "/v1/tools/refresh", {}),
        ("post", "/v1/tools/refresh", {"tool": "nothing"}),
        ("get", "/v1/intents", None),
        ("get", "/v1/intents/stats", None),
        ("get", "/v1/intents/stats?days=0", None),
        ("post", "/v1/intents/explain", {"message": "which tool can send an email?"}),
        ("post", "/v1/intents/explain", {}),
        ("post", "/v1/process_prompt", {"prompt": "which tool can send an email?"}),
        ("post", "/v1/context", {"message": "which tool can send an email?"}),
        ("get", "/readyz", None),
        ("get", "/v1/repositories", None),
        ("post", "/v1/repositories", {"name": "a/b", "source": "nowhere"}),
        ("post", "/v1/retrieve_document", {"query": "x", "repository": "nobody"}),
        ("post", "/v1/search_documents", {"query": "x"}),
        ("post", "/v1/read_document", {}),
        ("get", "/v1/jobs", None),
        ("get", "/v1/apis", None),
        ("post", "/v1/apis", {"name": "shop", "sources": []}),
        ("post", "/v1/get_api_endpoint", {"endpoint_id": "op_000000000000"}),
        ("post", "/v1/analyze_api_usage", {}),
        ("get", "/v1/solutions", None),
        ("post", "/v1/solutions", {"path": "/nowhere"}),
        ("post", "/v1/get_solution_context", None),
        ("post", "/v1/open_relation", {"name": "orders_to_customers"}),
        ("post", "/v1/list_value_lists", {"scope": "everywhere"}),
        ("post", "/v1/ai/query", {"query": "which tool can send an email?"}),
        ("post", "/v1/ai/query", {"query": "x", "session_id": "nobody-has-this"}),
        ("post", "/v1/ai/query", {}),
        ("get", "/v1/prompts", None),
        ("get", "/v1/settings", None),
        ("get", "/v1/settings/models", None),
        ("get", "/v1/audit", None),
        ("get", "/v1/audit/verification", None),
        ("get", "/v1/audit?who=ada", None),
        ("get", "/v1/threads", None),
        ("get", "/v1/models", None),
        ("post", "/v1/chat/completions", {"messages": [{"role": "user", "content": "which tool sends an email?"}]}),
        ("post", "/v1/threads", {"title": "x" * 201}),
    ]
    for method, path, body in asked:
        answer = await product.web.request(method, path, json=body)
        described = document["paths"][path.partition("?")[0]][method]["responses"][str(answer.status_code)]["content"]
        schema = described[answer.headers["content-type"]]["schema"]
        Draft202012Validator(_resolved(schema, document)).validate(answer.json())

    posted = {
        "/v1/tools/find",
        "/v1/tools/refresh",
        "/v1/intents/explain",
        "/v1/process_prompt",
        "/v1/context",
        "/v1/context/explain",
    }
    posted |= {"/v1/ai/query"}
    consents = {
        "/v1/tools/consents",
        "/v1/tools/consents/{tool}",
        "/v1/tools/words",
        "/v1/tools/rewrites",
        "/v1/tools/questions",
    }
    documents = {
        "/v1/retrieve_document",
        "/v1/retrieve_documents",
        "/v1/search_documents",
        "/v1/read_document",
        "/v1/repositories",
    }
    documents |= {
        f"/v1/repositories/{{name}}{verb}"
        for verb in ("", "/skipped", "/refresh", "/guide", "/files", "/schedule", "/webhook")
    }
    jobs = {"/v1/jobs", "/v1/jobs/{job}", "/v1/jobs/{job}/cancel"}
    told = {
        "/v1/read_result",
        "/v1/intents",
        "/v1/intents/stats",
        "/v1/audit",
        "/v1/audit/verification",
        "/healthz",
        "/readyz",
        "/v1/tools/health",
        "/v1/tools/training",
        "/v1/tools/categories",
        "/v1/tools/categories/{category}",
        "/v1/tools/learning",
        "/v1/tools/learning/replay",
        *(f"/v1/insight/{what}" for what in ("usage", "unanswered", "intents", "calls", "attention")),
        *(f"/v1/cases{what}" for what in ("", "/{case}", "/import", "/runs", "/runs/last")),
    }
    databases = {
        "/v1/connections",
        *(f"/v1/connections/{{name}}{verb}" for verb in ("", "/test", "/refresh", "/schema")),
    }
    databases |= {f"/v1/sql_{verb}" for verb in ("query", "explain", "table_info", "list_tables", "session_info")}
    databases |= {f"/v1/{verb}" for verb in ("query_database_schema", "get_table_columns", "search_schema")}
    databases |= {"/v1/find_relations"}
    verbs = (
        "search_api_docs",
        "get_api_endpoint",
        "call_api_endpoint",
        "analyze_api_usage",
        "suggest_api_improvements",
    )
    apis = {f"/v1/{verb}" for verb in (*verbs, "apis", *(f"apis/{{name}}{one}" for one in API_PARTS))}
    solutions = {"/v1/solutions", *(f"/v1/solutions/{{name}}{verb}" for verb in ("", "/backups", "/undo"))}
    solutions |= {f"/v1/{verb}_solution_context" for verb in ("get", "set")}
    for one, several in (("relation", "relations"), ("value_list", "value_lists")):
        solutions |= {f"/v1/{verb}_{one}" for verb in ("open", "update", "rename")}
        solutions |= {f"/v1/{verb}_{several}" for verb in ("delete", "list")}
    prompts = {"/v1/prompts", *(f"/v1/prompts/{{name}}{verb}" for verb in ("", "/versions", "/diff"))}
    threads = {"/v1/threads", *(f"/v1/threads/{{thread}}{verb}" for verb in ("", "/fork", "/states"))}
    chat = {"/v1/chat/completions", "/v1/models", "/v1/models/{model}"}
    chat |= {f"/v1/chat/{kept}/{{thread}}" for kept in ("history", "approvals")}
    models = {f"/v1/settings{verb}" for verb in ("", "/models", "/models/{name}", "/models/{name}/check")}
    agent = prompts | threads | chat | models
    assert set(document["paths"]) == posted | documents | databases | apis | solutions | jobs | told | agent | consents
    assert document["openapi"].startswith("3.1")
    for path in posted:
        operation = document["paths"][path]["post"]
        assert operation["summary"]
        assert operation["description"]
        assert operation["security"]
        assert set(operation["responses"]) == {"200", "401", "403", "404", "413", "421", "422", "500", "503"}
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name
