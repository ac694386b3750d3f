"""What `tools/list` shows: seven tools, however much there is behind them, and more for clients that ask for more."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.gateway.talking import text
from tests.support.product import CATALOGUE, opened
from thresher.calling import SCHEMAS
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, count_tokens
from thresher.gateway import build_gateway
from thresher.knowledge.intents import Sources
from thresher.packs import BUILT_IN
from thresher.services import Services
from thresher.store import Database

META = [name for name in SCHEMAS if not name.startswith("run_code")]
"""Our own tools without those that a setting switches on."""


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Services]:
    """Services with the packs that come with Thresher, and a catalogue of other servers' tools."""
    monkeypatch.setattr("thresher.context.readiness.FRESH_SECONDS", 0.0)
    async with opened(database, tenant, settings, encoder, Sources(built_in=BUILT_IN)) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        yield services


@pytest.fixture
async def shop(services: Services, tmp_path: Path) -> None:
    """A database that was opened."""
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.close()
    await services.databases.add_connection(services.caller, "shop", f"sqlite:///{path}")
    await services.databases.refresh_schema(services.caller, "shop")


async def names(client: Client[Any]) -> list[str]:
    """What `tools/list` shows."""
    return [tool.name for tool in await client.list_tools()]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.usefixtures("shop")
async def test_seven_tools_stay_seven(services: Services, mode: str) -> None:
    """A database adds ten tools, which are found, described and called; a client that remembers a name may use it."""
    sql = {"connection": "shop", "sql": "SELECT count(*) FROM orders"}
    async with Client(build_gateway(services), mode=mode) as client:
        listed = await client.list_tools()
        found = await client.call_tool_mcp("find_tools", {"queries": ["run a SQL query on a database"]})
        described = await client.call_tool_mcp("describe_tools", {"names": ["sql_query"]})
        called = await client.call_tool_mcp("call_tool", {"name": "sql_query", "arguments": sql})
        direct = await client.call_tool_mcp("sql_query", sql)
        again = await client.list_tools()

    assert [tool.name for tool in listed] == META
    assert listed == again
    assert sum(count_tokens(tool.model_dump_json(exclude_none=True, by_alias=True)) for tool in listed) < 1_450
    assert "sql_query" in [tool["name"] for tool in found.structured_content["tools"]]
    assert described.structured_content["tools"][0]["inputSchema"]["required"] == ["connection", "sql"]
    assert called.structured_content["rows"] == direct.structured_content["rows"] == [[0]]


@pytest.mark.usefixtures("shop")
async def test_a_client_may_see_more(services: Services) -> None:
    """`own` shows what packs want to show, `all` every tool of every server; a client's own wish counts before ours."""
    gateway, caller = build_gateway(services, expose="all"), services.caller
    async with Client(build_gateway(services, expose="own")) as client:
        own = await names(client)
        inside = [one.name for one in await services.calling.listed(caller, "own")]
    async with Client(gateway) as client:
        whole = await names(client)

    assert len(own) == len(META) + 9
    assert "sql_query" in own
    assert "sql_table_info" not in own
    assert set(own) < set(whole)
    assert {f"{tool.server}_{tool.name}" for tool in CATALOGUE} < set(whole)
    assert [*META, *inside] == own


@pytest.mark.usefixtures("shop")
async def test_an_alias_is_called_and_never_listed(services: Services) -> None:
    """`sql_table_info` finds `get_table_columns`; no list and no search shows it as a tool of its own."""
    about = {"connection": "shop", "table": "orders"}
    gateway, wish = build_gateway(services, expose="all"), ["sql_table_info", "columns and types of one table"]
    async with Client(gateway) as client:
        listed = await names(client)
        found = await client.call_tool_mcp("find_tools", {"queries": wish, "limit": 10})
        described = await client.call_tool_mcp("describe_tools", {"names": ["sql_table_info"]})
        called = await client.call_tool_mcp("call_tool", {"name": "sql_table_info", "arguments": about})
        direct = await client.call_tool_mcp("sql_table_info", about)
    catalogue = await services.tools.list_tools(services.caller)

    assert "get_table_columns" in listed
    assert "sql_table_info" not in {*listed, *(tool.name for tool in catalogue)}
    assert "sql_table_info" not in [tool["name"] for tool in found.structured_content["tools"]]
    assert [tool["name"] for tool in described.structured_content["tools"]] == ["get_table_columns"]
    assert called.structured_content == direct.structured_content
    assert [column["name"] for column in direct.structured_content["columns"]] == ["id"]


async def test_a_setting_says_what_is_shown(services: Services) -> None:
    """`THRESHER_EXPOSE` is what holds where no client says otherwise."""
    shown = replace(services, settings=services.settings.model_copy(update={"expose": "all"}))
    async with Client(build_gateway(shown)) as client:
        listed = await names(client)

    assert len(listed) == len(META) + len(CATALOGUE)


async def test_a_database_that_was_never_opened_offers_nothing(services: Services, tmp_path: Path) -> None:
    """Its tools could do nothing; they come once its schema was read."""
    path = tmp_path / "later.sqlite"
    await services.databases.add_connection(services.caller, "later", f"sqlite:///{path}")
    async with Client(build_gateway(services, expose="own")) as client:
        before = await names(client)
        called = await client.call_tool_mcp("sql_connection_list", {})
        sqlite3.connect(path).close()
        path.touch()
        await services.databases.refresh_schema(services.caller, "later")
        after = await names(client)

    assert before == META
    assert "There is no tool 'sql_connection_list'" in text(called)
    assert "sql_query" in after


async def test_the_instructions_lead_to_what_is_not_listed(services: Services) -> None:
    """A model that sees seven tools is told that there are others, and how to reach them."""
    async with Client(build_gateway(services), mode="legacy") as client:
        told = client.initialize_result.instructions or ""  # type: ignore[union-attr]

    assert f"Thresher holds {len(CATALOGUE)} tools" in told
    assert "call find_tools" in told
    assert "call_tool_write" in told


def test_two_clients_of_one_user_are_one_caller(tenant: Tenant) -> None:
    """How much a client sees in its list is not who it is."""
    assert Caller(tenant, expose="own") == Caller(tenant, expose="all")
