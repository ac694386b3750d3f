"""APIs as clients of both eras ask them: listed while there is one, descriptions as data, a budget that holds."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.gateway.packing import call, text
from tests.gateway.talking import connect, served
from tests.knowledge_apis import styled_app
from tests.support.product import opened
from tests.support.tracker import FORGED, TRACKER
from thresher.calling import SCHEMAS
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, count_tokens
from thresher.gateway import build_gateway
from thresher.knowledge.intents import Sources
from thresher.packs import BUILT_IN
from thresher.services import Services
from thresher.store import Database

READING = {
    "search_api_docs", "get_api_endpoint", "list_api_providers", "analyze_api_usage", "suggest_api_improvements",
    "call_api_endpoint",
}  # fmt: skip
CALLING = {"call_api_endpoint_write"}
WRITING = {"add_api", "sync_api", "enable_api", "disable_api", "remove_api"}


@pytest.fixture
def tracker(tmp_path: Path) -> Path:
    """A description in a file."""
    path = tmp_path / "tracker.yaml"
    path.write_text(TRACKER, encoding="utf-8")
    return path


@pytest.fixture
def looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process has changed shows at once, and a busy machine has time to load the packs' code."""
    monkeypatch.setattr("thresher.context.readiness.FRESH_SECONDS", 0.0)
    monkeypatch.setattr("thresher.context.readiness.ASKED_SECONDS", 20.0)
    monkeypatch.setattr("thresher.context.variables.PROVIDER_SECONDS", 20.0)
    monkeypatch.setattr("thresher.gateway.packs.tools.QUICK_SECONDS", 20.0)


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, looked_at_once: None
) -> AsyncIterator[Services]:
    """Services with the packs that come with Thresher."""
    async with opened(database, tenant, settings, encoder, Sources(built_in=BUILT_IN)) as services:
        yield services


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


async def add(services: Services, path: Path, caller: Caller | None = None) -> None:
    """Have the tracker's description read."""
    asking = caller or services.caller
    await services.apis.add(asking, "tracker", [str(path)], display_name="Tracker", aliases=["bugs"])


async def names(client: Client[Any]) -> set[str]:
    """What `tools/list` shows beside the gateway's own tools."""
    return {tool.name for tool in await client.list_tools()} - set(SCHEMAS)


def data(result: Any) -> list[Any]:
    """The lines of an answer that are not ours, read as JSON."""
    lines = text(result).split("\n")
    mark = lines[0].partition(" ")[0]
    return [json.loads(line) for line in lines if not line.startswith(mark)]


async def test_without_an_api_nothing_tells_of_apis(services: Services) -> None:
    """No tool, and none that could be called by name."""
    async with Client(build_gateway(services, expose="own")) as client:
        listed = await names(client)
        called = await call(client, "search_api_docs", query="add a watcher")

    assert listed == set()
    assert "There is no tool 'search_api_docs'" in text(called)


async def test_an_operation_is_found_and_read(services: Services, tracker: Path, mode: str) -> None:
    """On the very first call of a session; no description closes its block, and the record is whole."""
    await add(services, tracker)
    async with Client(build_gateway(services, expose="own"), mode=mode) as client:
        listed = await client.list_tools()
        found = await call(client, "search_api_docs", query="add a watcher to an issue", limit=3)
        best = found.structured_content["endpoints"][0]
        read = await call(client, "get_api_endpoint", endpoint_id=best["id"], budget=1000)
        by_path = await call(client, "get_api_endpoint", provider="bugs", method="post", path="/issues/PAY-1/watchers")
        by_name = await call(client, "get_api_endpoint", operation_id="createIssue")

    assert {tool.name for tool in listed} - set(SCHEMAS) == READING | CALLING
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed if tool.name in READING)
    assert (best["method"], best["path"], best["provider"]) == ("POST", "/issues/{key}/watchers", "tracker")
    assert data(found)[0]["id"] == best["id"]
    assert data(found)[0]["call"] == "POST /issues/{key}/watchers"
    assert FORGED in text(read)
    mark = text(read).partition(" ")[0]
    assert text(read).splitlines()[-1] == f"{mark} end"
    assert mark not in FORGED
    assert count_tokens(text(read)) <= read.structured_content["budget"] == 1000
    assert by_path.structured_content["endpoint"]["id"] == best["id"]
    assert by_name.structured_content["request"]["project"] == "PAY"
    assert set(by_name.structured_content["samples"]) == {"curl", "python"}


async def test_what_does_not_fit_is_an_error_that_helps(services: Services, tracker: Path) -> None:
    """With the nearest name, or what must be given; however long or strange it is, never a failure inside."""
    await add(services, tracker)
    odd = ["zero \0 byte", "half \ud800", "x" * 20_000]
    async with Client(build_gateway(services, expose="own")) as client:
        unnamed = await call(client, "get_api_endpoint")
        unknown = await call(client, "get_api_endpoint", operation_id="createIsue")
        provider = await call(client, "search_api_docs", query="x", providers=["traker"])
        cursor = await call(client, "search_api_docs", query="issues", cursor="nonsense")
        limit = await call(client, "search_api_docs", query="issues", limit=51)
        span = await call(client, "analyze_api_usage", time_range="2d")
        answers = [await call(client, "search_api_docs", query=text) for text in odd]
        answers += [await call(client, "search_api_docs", providers=["tracker"], tags=[text]) for text in odd]
        answers += [await call(client, "get_api_endpoint", operation_id=text) for text in odd]
        answers += [await call(client, "get_api_endpoint", method="GET", path=f"/{text}") for text in odd]
        answers += [await call(client, "analyze_api_usage", provider=text) for text in odd]
        answers += [await call(client, "suggest_api_improvements", endpoint_id=text) for text in odd]

    assert all(one.is_error for one in (unnamed, unknown, provider, cursor, limit, span))
    assert "createIssue" in text(unknown)
    assert "tracker" in text(provider)
    assert [text(one)[:200] for one in answers if "of the pack 'apis' failed" in text(one)] == []


async def test_providers_tags_and_use_are_told(services: Services, tracker: Path) -> None:
    """An empty query with a provider browses; a tag leads to its operations; use is what was asked, and no more."""
    await add(services, tracker)
    async with Client(build_gateway(services, expose="own")) as client:
        before = await call(client, "analyze_api_usage")
        found = await call(client, "search_api_docs", query="add a watcher to an issue")
        await call(client, "get_api_endpoint", endpoint_id=found.structured_content["endpoints"][0]["id"])
        await services.apis.settle()
        after = await call(client, "analyze_api_usage", provider="tracker", time_range="1d")
        providers = await call(client, "list_api_providers")
        tags = await call(client, "search_api_docs", providers=["tracker"])
        tagged = await call(client, "search_api_docs", providers=["tracker"], tags=["Users"])

    (one,) = providers.structured_content["providers"]
    assert (one["name"], one["operations"], one["active"]) == ("tracker", 5, True)
    assert data(providers)[0]["aliases"] == ["bugs"]
    assert {line["tag"] for line in data(tags)} == {"Issues", "Users"}
    assert [line["call"] for line in data(tagged)] == ["GET /users/{id}"]
    assert before.structured_content["searches"] == 0
    assert before.structured_content["read_rate"] is None
    assert "no data" in text(before)
    assert (after.structured_content["searches"], after.structured_content["reads"]) == (1, 1)
    assert after.structured_content["read_rate"] == 1.0


async def test_a_description_is_judged_and_mended(services: Services, tracker: Path) -> None:
    """Findings with their lines, in both formats; a patch in the form that was asked for."""
    await add(services, tracker)
    async with Client(build_gateway(services, expose="own")) as client:
        plain = await call(client, "suggest_api_improvements", provider="tracker", format="json", limit=5)
        page = await call(client, "suggest_api_improvements", provider="tracker", feedback_type="clarity")
        patch = await call(client, "suggest_api_improvements", provider="tracker", patch="diff")

    record = plain.structured_content
    assert 0 <= record["score"]["value"] <= 100
    assert [line["rule"] for line in data(plain)[1:]] == [one["rule"] for one in record["findings"]]
    assert all(one["place"]["line"] > 0 for one in record["findings"])
    assert {one["kind"] for one in page.structured_content["findings"]} == {"clarity"}
    assert "#" in text(page)
    assert patch.structured_content["patch"]["overlay"] == {}
    assert "+++" in patch.structured_content["patch"]["diff"]
    assert patch.structured_content["patch"]["after"]["value"] >= patch.structured_content["patch"]["before"]["value"]


async def test_rules_name_the_apis(services: Services, tracker: Path) -> None:
    """Where a message asks for an operation."""
    await add(services, tracker)
    await services.intents.prepare(services.caller)
    async with Client(build_gateway(services, expose="own")) as client:
        prompt = await call(client, "process_prompt", prompt="which endpoint of the tracker API creates an issue")

    assert "search_api_docs" in text(prompt)
    assert "tracker" in text(prompt)
    assert "API_PROVIDERS" not in text(prompt)


async def test_each_caller_has_his_own_apis(services: Services, tracker: Path) -> None:
    """One API, two callers: one sees the tools and the operations, the other none of it."""
    ann = Caller(services.caller.tenant, "ann")
    await add(services, tracker, ann)
    async with (
        served(services, expose="own") as url,
        connect(url, "auto", "ann") as hers,
        connect(url, "auto", "bob") as his,
    ):
        listed = await names(hers), await names(his)
        answers = [await call(client, "search_api_docs", query="list issues") for client in (hers, his)]

    assert listed == (READING | CALLING, set())
    assert [answer.is_error for answer in answers] == [False, True]


async def test_apis_are_managed_over_mcp_only_where_that_was_allowed(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tracker: Path, looked_at_once: None
) -> None:
    """Then even without an API, so that a client can add the first one; a disabled one is absent at once."""
    admin = settings.model_copy(update={"admin_tools": True, "rules_first": "off"})
    sources = Sources(built_in=BUILT_IN)
    async with (
        opened(database, tenant, admin, encoder, sources) as services,
        Client(build_gateway(services, expose="own")) as client,
    ):
        listed = await names(client)
        empty = await call(client, "list_api_providers")
        wrong = await call(client, "add_api", name="tracker", sources=[str(tracker.with_name("absent.yaml"))])
        kept = await call(client, "add_api", name="tracker", sources=[str(tracker)])
        off = await call(client, "disable_api", provider="tracker")
        hidden = await call(client, "search_api_docs", query="list issues")
        on = await call(client, "enable_api", provider="tracker")
        found = await call(client, "search_api_docs", query="list issues")
        synced = await call(client, "sync_api", provider="tracker")
        gone = await call(client, "remove_api", provider="tracker")

    assert listed >= READING | WRITING
    assert "thresher apis add" in text(empty)
    assert wrong.is_error
    assert kept.structured_content["operations"] == 5
    assert [one.structured_content["active"] for one in (off, on)] == [False, True]
    assert hidden.structured_content["endpoints"] == []
    assert found.structured_content["endpoints"][0]["path"] == "/issues"
    assert synced.structured_content["name"] == "tracker"
    assert gone.structured_content == {"removed": "tracker"}


async def test_operations_are_called_as_their_methods_allow(services: Services, tmp_path: Path) -> None:
    """One that reads by `call_tool`, one that writes by `call_tool_write`, after the rules; refusals name the way."""
    caller = services.caller
    async with styled_app.serving() as base, Client(build_gateway(services)) as client:
        source = tmp_path / "styled.json"
        source.write_text(json.dumps({**styled_app.description(), "servers": [{"url": base}]}), encoding="utf-8")
        await services.apis.add(caller, "styled", [str(source)])
        services.context.readiness.look_again()
        read: dict[str, Any] = {"provider": "styled", "method": "GET", "path": "/toys", "arguments": {"limit": 3}}
        write: dict[str, Any] = {**read, "method": "POST", "arguments": {"body": {"name": "ball"}}}
        closed = await call(client, "call_tool", name="call_api_endpoint", arguments=read)
        await services.apis.access.allow_host(caller, "styled", base, private=True)
        answers = [
            await call(client, meta, name=name, arguments=arguments)
            for meta, name, arguments in (
                ("call_tool", "call_api_endpoint", read),
                ("call_tool", "call_api_endpoint", write),
                ("call_tool", "call_api_endpoint_write", write),
                ("call_tool_write", "call_api_endpoint_write", write),
                ("call_tool_write", "call_api_endpoint_write", write),
                ("call_tool_write", "call_api_endpoint_write", read),
                (
                    "call_tool",
                    "call_api_endpoint",
                    {**read, "path": "/failing", "arguments": {"times": 99, "status": 404}},
                ),
            )
        ]

    assert f"thresher apis hosts allow styled {base} --private" in text(closed)
    assert [one.is_error for one in answers] == [False, True, True, True, False, True, True]
    assert [one.structured_content["status"] for one in (answers[0], answers[4], answers[6])] == [200, 201, 404]
    assert "call_api_endpoint_write" in text(answers[1])
    assert "call_tool_write" in text(answers[2])
    assert "was NOT run yet" in text(answers[3])
    assert "only reads" in text(answers[5])
