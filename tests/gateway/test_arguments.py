"""What clients send as the arguments of our own tools: everything, nothing, or under another name."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from mcp_types import CallToolResult

from tests.gateway.talking import text
from tests.support.product import CATALOGUE, opened
from thresher.calling import SCHEMAS
from thresher.calling.arguments import own_arguments
from thresher.core import InvalidInput, Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.knowledge.intents import Sources
from thresher.packs import BUILT_IN
from thresher.store import Database

EMPTY: dict[str, Any] = {"null": None, "text": "", "list": []}
"""How clients that have to send every argument say that there is none."""
GIVEN = {
    "prompt": "open the mail", "message": "send an email", "names": ["mail_send_email"], "query": "leave",
    "connection": "shop", "sql": "SELECT 1", "table": "orders", "repository": "handbook", "path": "leave.md",
    "provider": "tracker", "source": "/nowhere", "sources": ["/nowhere"], "url": "sqlite:////nowhere.db",
    "name": "other", "new_name": "another", "active": "shop", "workspace": "shop", "change_id": "none",
    "content": "bGVhdmU=", "cursor": "none", "code": "1", "run": "none",
}  # fmt: skip
"""What a tool requires, by the argument's name."""


@pytest.fixture
async def client(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> AsyncIterator[Client[Any]]:
    """A client of a gateway that has tools of every kind, those for administration too."""
    all_tools = settings.model_copy(
        update={"admin_tools": True, "rules_first": "off", "expose": "own", "run_code": "on"}
    )
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    async with opened(database, tenant, all_tools, encoder, Sources(built_in=BUILT_IN)) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        await services.databases.add_connection(services.caller, "shop", f"sqlite:///{path}")
        await services.databases.refresh_schema(services.caller, "shop")
        async with Client(build_gateway(services)) as client:
            yield client


def called(tool: Any, empty: Any) -> dict[str, Any]:
    """Every argument of a tool: what it requires with a value, all others empty."""
    required = tool.input_schema.get("required", ())
    properties = tool.input_schema["properties"]
    return {name: GIVEN[name] if name in required else empty for name in properties}


def refuses_arguments(answer: CallToolResult) -> bool:
    """Whether a call failed because of the form of its arguments."""
    signs = ("Arguments do not fit", "has no argument", "validation error", "Something went wrong", "internal")
    return bool(answer.is_error) and any(sign in text(answer) for sign in signs)


@pytest.mark.parametrize("how", EMPTY)
async def test_a_client_may_send_every_argument(client: Client[Any], how: str) -> None:
    """As in OpenAI's strict mode: of every tool of ours, what is empty counts as left out."""
    tools = sorted(await client.list_tools(), key=lambda tool: tool.name.startswith("remove"))
    answers = {tool.name: await client.call_tool_mcp(tool.name, called(tool, EMPTY[how])) for tool in tools}

    assert set(SCHEMAS) < set(answers)
    assert len(answers) > 40
    assert {name: text(answer) for name, answer in answers.items() if refuses_arguments(answer)} == {}


async def test_a_client_may_send_nothing(client: Client[Any]) -> None:
    """A tool that requires nothing answers; any other names what it requires."""
    tools = await client.list_tools()
    answers = {tool.name: text(await client.call_tool_mcp(tool.name, {})) for tool in tools}

    for tool in tools:
        required = tool.input_schema.get("required", ())
        assert not required or any(f"'{name}' is a required" in answers[tool.name] for name in required), tool.name
        assert required or "Arguments do not fit" not in answers[tool.name]


@pytest.mark.parametrize("arguments", [{}, {"queries": [], "message": ""}, {"queries": None, "message": None}])
async def test_a_search_for_nothing_teaches(client: Client[Any], arguments: dict[str, Any]) -> None:
    """It is an answer, not an error: what to give, and what there is to find."""
    answer = await client.call_tool_mcp("find_tools", arguments)

    assert not answer.is_error
    assert 'Give queries, one short action phrase per step, such as ["list open issues"]' in text(answer)
    assert "tools (" in text(answer)
    assert answer.structured_content["tools"] == []


async def test_queries_and_a_message_go_together(client: Client[Any]) -> None:
    """The queries are searched, and counted as the client counts them; the message is their context."""
    queries = ["convert a time", "send an email"]
    answer = await client.call_tool_mcp(
        "find_tools", {"queries": queries, "message": "mail Ann when it is noon in Tokyo"}
    )
    tools = {tool["name"]: tool for tool in answer.structured_content["tools"]}

    assert not answer.is_error
    assert (tools["time_convert_time"]["query"], tools["mail_send_email"]["query"]) == (0, 1)


@pytest.mark.parametrize("name", ["query", "question", "prompt", "message"])
async def test_a_question_has_many_names(client: Client[Any], name: str) -> None:
    """Each tool documents one, and takes any."""
    found = await client.call_tool_mcp("find_tools", {name: "send an email"})
    prompt = await client.call_tool_mcp("process_prompt", {name: "thanks a lot"})
    context = await client.call_tool_mcp("get_context", {name: "thanks a lot"})
    schema = await client.call_tool_mcp("query_database_schema", {"connection": "shop", name: "orders"})
    passages = await client.call_tool_mcp("search_documents", {name: "leave"})
    endpoints = await client.call_tool_mcp(
        "call_tool", {"name": "search_api_docs", "arguments": {name: "add a watcher"}}
    )

    assert found.structured_content["tools"][0]["name"] == "mail_send_email"
    assert text(prompt) == "PASS_THROUGH"
    assert not any(refuses_arguments(answer) for answer in (context, schema, passages, endpoints))


NULLABLE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "comment": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "kinds": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer"},
    },
    "required": ["name"],
}


@pytest.mark.parametrize(
    ("arguments", "fitted"),
    [
        ({"name": "a", "comment": "", "limit": ""}, {"name": "a", "comment": ""}),
        ({"name": "a", "comment": "", "kinds": [], "limit": None}, {"name": "a"}),
        ({"name": "a", "comment": None}, {"name": "a"}),
        ({"name": "a", "kinds": "x", "limit": "3"}, {"name": "a", "kinds": ["x"], "limit": 3}),
        ({"name": "a", "other": None}, {"name": "a"}),
        ({"name": ""}, {"name": ""}),
    ],
    ids=["a value", "strict", "null", "coerced", "unknown", "required"],
)
def test_an_empty_text_is_a_value_only_where_null_would_have_been_possible(
    arguments: dict[str, Any], fitted: dict[str, Any]
) -> None:
    """A comment can be emptied by a client that sends what it means; one that sends everything empties nothing."""
    assert own_arguments("put", arguments, NULLABLE, str) == fitted


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "a", "coment": "x"}, "put has no argument 'coment'"),
        ({"name": "a", "query": "x"}, "put has no argument 'query'"),
        ({"name": None}, "'name' is a required property"),
    ],
)
def test_what_does_not_fit_is_named(arguments: dict[str, Any], said: str) -> None:
    """With what the tool takes."""
    with pytest.raises(InvalidInput, match=said):
        own_arguments("put", arguments, NULLABLE, str)


DATASOURCES: dict[str, Any] = {
    "type": "object",
    "properties": {"primary_datasource": {"type": "string"}, "connection": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("arguments", "fitted"),
    [
        ({"primaryDataSource": "a/b"}, {"primary_datasource": "a/b"}),
        ({"primary_data_source": "a/b", "serverName": "crm"}, {"primary_datasource": "a/b", "connection": "crm"}),
        ({"connection": "ours", "serverName": "theirs"}, {"connection": "ours"}),
    ],
)
def test_a_name_may_be_written_otherwise(arguments: dict[str, Any], fitted: dict[str, Any]) -> None:
    """As other tools for Servoy write it; the documented name wins."""
    assert own_arguments("put", arguments, DATASOURCES, str) == fitted


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("find_tools", {"queries": ["x"] * 25_000, "limit": "x"}),
        ("find_tools", {"queries": ["x"] * 25_000, "message": {}}),
        ("describe_tools", {"names": [*["sql_query"] * 25_000, 1]}),
    ],
)
def test_too_many_values_are_refused(name: str, arguments: dict[str, Any]) -> None:
    """No other check follows that of our own tools."""
    with pytest.raises(InvalidInput, match=r"too many values in (queries|names)"):
        own_arguments(name, arguments, SCHEMAS[name], lambda: name)
