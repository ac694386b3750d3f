"""`process_prompt` and `get_context` as MCP clients see them, in both eras."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from mcp_types import CallToolResult

from tests.knowledge_intents.packs import write_pack
from tests.support.product import CATALOGUE, opened
from thresher.core import Settings, Tenant, dumps
from thresher.embedding import Encoder, count_tokens
from thresher.gateway import build_gateway
from thresher.knowledge.intents import Sources
from thresher.services import Services
from thresher.store import Database

LOG = ("show the git log", "what was committed last week", "list the last commits", "who did this", "git history")
MAIL = ("send a mail to ana", "write an email to the team", "mail the report", "email her", "send the mail now")


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> AsyncIterator[Services]:
    """Services with two packs and a catalogue."""
    shelf = tmp_path / "shelf"
    write_pack(shelf, "history", LOG, rules="Never rewrite history.", metadata=["servers: git"])
    write_pack(shelf, "mail", MAIL, rules="Ask before you send.", metadata=["tools: mail_send_email"])
    sources = Sources(configured=(shelf,), home=tmp_path / "home")
    async with opened(database, tenant, settings, encoder, sources) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        await services.intents.prepare(services.caller)
        yield services


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, services: Services) -> AsyncIterator[Client[Any]]:
    """A client of the newest revision, and one of the handshake era."""
    async with Client(build_gateway(services), mode=request.param) as client:
        yield client


async def call(client: Client[Any], name: str, /, **arguments: Any) -> CallToolResult:
    """The answer as it comes over the wire, errors included."""
    return await client.call_tool_mcp(name, arguments)


def text(result: CallToolResult) -> str:
    """The text of an answer."""
    return "".join(block.text for block in result.content if block.type == "text")


async def test_a_prompt_gets_the_rules_and_tools_of_its_pack(client: Client[Any]) -> None:
    """In text and as data, the request at its end."""
    result = await call(client, "process_prompt", prompt="show the git log of last week")

    said, data = text(result), result.structured_content
    assert data is not None
    assert "Never rewrite history." in said
    assert "Ask before you send." not in said
    assert "!git_git_log(" in said
    assert said.splitlines()[-2] == data["request"] == "show the git log of last week"
    assert [rules["pack"] for rules in data["rules"]] == ["history"]
    assert data["context"]["servers"] == ["git"]
    assert {tool["name"] for tool in data["tools"]} <= {"git_git_log", "git_git_diff"}


async def test_nothing_that_fits_passes_through(client: Client[Any]) -> None:
    """One word, exactly, and the data say the same."""
    result = await call(client, "process_prompt", prompt="good morning, how are you?")

    assert text(result) == "PASS_THROUGH"
    assert result.structured_content is not None
    assert (result.structured_content["result"], result.structured_content["pass_through"]) == ("PASS_THROUGH", True)


async def test_two_tasks_get_the_rules_of_both_packs(client: Client[Any]) -> None:
    """`queries` names the tasks; a tool that a pack names is there too."""
    result = await call(
        client, "process_prompt", prompt="log and mail", queries=["show the git log", "send an email to the team"]
    )

    assert result.structured_content is not None
    assert {rules["pack"] for rules in result.structured_content["rules"]} == {"history", "mail"}
    assert "mail_send_email" in {tool["name"] for tool in result.structured_content["tools"]}


async def test_a_context_stays_inside_its_budget_in_both_forms(client: Client[Any]) -> None:
    """The text, and the data as JSON."""
    result = await call(client, "get_context", message="show the git log", budget=400)

    assert result.structured_content is not None
    assert count_tokens(text(result)) <= 400
    assert count_tokens(dumps(result.structured_content)) == result.structured_content["spent"] <= 400
    assert count_tokens(json.dumps(result.structured_content)) <= 400


async def test_the_cursor_brings_what_was_left_out(client: Client[Any]) -> None:
    """Nothing is lost to a small budget."""
    first = (await call(client, "get_context", message="show the git log", budget=10_000)).structured_content
    assert first is not None
    everything = {rules["pack"] for rules in first["rules"]} | {tool["name"] for tool in first["tools"]}

    seen: set[str] = set()
    cursor: dict[str, str] = {}
    while True:
        result = await call(client, "get_context", message="show the git log", budget=300, **cursor)
        part = result.structured_content
        assert part is not None, text(result)
        seen |= {rules["pack"] for rules in part["rules"]} | {tool["name"] for tool in part["tools"]}
        if "next" not in part:
            break
        cursor = {"cursor": part["next"]}

    assert seen == everything


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("process_prompt", {}, "prompt"),
        ("process_prompt", {"prompt": "  "}, "prompt is empty"),
        ("process_prompt", {"prompt": "x" * 1_048_576}, "prompt has 1048576 characters; the limit is 200000"),
        ("process_prompt", {"prompt": "x", "history": [1, {"a": 2}]}, "history"),
        ("process_prompt", {"prompt": "x", "message": "y"}, "process_prompt has no argument 'message'"),
        ("get_context", {"message": ""}, "message is empty"),
        ("get_context", {"message": "show the git log", "budget": 0}, "1 to 1,000,000"),
        ("get_context", {"message": "show the git log", "budget": -5}, "1 to 1,000,000"),
        ("get_context", {"message": "show the git log", "budget": 10**30}, "1 to 1,000,000"),
        ("get_context", {"message": "show the git log", "budget": 9}, "gives something."),
        ("get_context", {"message": "show the git log", "cursor": "nonsense"}, "cursor is not valid"),
        ("get_context", {"message": "show the git log", "cursor": "01.123456"}, "belongs to another list or question"),
    ],
)
async def test_bad_arguments_are_tool_errors_that_say_what_to_do(
    client: Client[Any], name: str, arguments: dict[str, Any], said: str
) -> None:
    """The model reads what is wrong and can try again."""
    result = await call(client, name, **arguments)

    assert result.is_error
    assert said in text(result)
    assert "Traceback" not in text(result)
