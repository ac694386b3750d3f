"""Packs that are of use only at times: rules, tools and lists follow what their own code says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.gateway.packing import call, text, with_packs, write_pack
from tests.support import eventually
from thresher.context import Situation
from thresher.core import Caller, ConfigurationError, Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.packs import current
from thresher.services import Services
from thresher.store import Database

CODE = """
from pathlib import Path
from fastmcp.tools import tool
from thresher.packs import current

STOCK = Path({stock!r})
LISTED = ("look_up", "restock")
PREFIX = False

async def READY(situation):
    if STOCK.is_dir():
        raise OSError("not a file")
    return STOCK.exists() and current().caller == situation.caller

async def goods(situation):
    return f"{{current().caller.tenant.name}}: {{STOCK.read_text()}}"

VARIABLES = {{"GOODS": goods}}

@tool(annotations={{"readOnlyHint": True}})
def look_up(thing: str) -> str:
    "Look a thing up in the stock of our warehouse."
    return f"{{thing}} for {{current().caller.tenant.name}}"

@tool
async def sell_out() -> str:
    "Sell everything that is in the warehouse."
    STOCK.unlink()
    return "sold out"

@tool(tags={{"admin"}})
async def restock() -> str:
    "Fill the warehouse again."
    STOCK.write_text("nails")
    return "full"
"""
RULES = "Our goods: {{GOODS}}."


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    """The pack is of use while this file is there."""
    return tmp_path / "stock"


@pytest.fixture
def folder(tmp_path: Path, stock: Path) -> Path:
    """A folder with the pack."""
    place = tmp_path / "packs"
    write_pack(place, "store", rules=RULES, code=CODE.format(stock=str(stock)), variables="true", rules_first="write")
    return place


@pytest.fixture
def looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process has changed shows at once."""
    monkeypatch.setattr("thresher.context.readiness.FRESH_SECONDS", 0.0)


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path, looked_at_once: None
) -> AsyncIterator[Services]:
    """Services with that pack."""
    async with with_packs(database, tenant, settings, encoder, folder) as services:
        yield services


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


async def names(client: Client[Any]) -> set[str]:
    """What `tools/list` shows beside the gateway's own tools."""
    shown = {tool.name for tool in await client.list_tools()}
    own = {"process_prompt", "get_context", "find_tools", "describe_tools", "call_tool", "call_tool_write"}
    return shown - own - {"read_result"}


async def test_a_pack_that_is_of_no_use_leaves_no_trace(services: Services, stock: Path, mode: str) -> None:
    """No rules, no note, no tool in a list or a search, no prompt, no resource."""
    await services.intents.prepare(services.caller)
    async with Client(build_gateway(services, expose="own"), mode=mode) as client:
        listed = await names(client)
        prompts = [prompt.name for prompt in await client.list_prompts()]
        resources = await client.list_resources()
        prompt = await call(client, "process_prompt", prompt="store the product")
        found = await call(client, "find_tools", queries=["look a thing up in the stock"])
        called = await call(client, "look_up", thing="nails")

    assert listed == set()
    assert prompts == []
    assert resources == []
    assert text(prompt) == "PASS_THROUGH"
    assert "notes" not in prompt.structured_content
    assert "look_up" not in text(found)
    assert "There is no tool 'look_up'" in text(called)


async def test_a_pack_that_is_of_use_is_listed_found_and_called(services: Services, stock: Path, mode: str) -> None:
    """Under the plain names of its tools; only those that it names stand in the list."""
    stock.write_text("nails")
    async with Client(build_gateway(services, expose="own"), mode=mode) as client:
        listed = await names(client)
        prompts = [prompt.name for prompt in await client.list_prompts()]
        directly = await call(client, "look_up", thing="nails")
        found = await call(client, "find_tools", queries=["look a thing up in the stock"])
        prompt = await call(client, "process_prompt", prompt="store the product")

    tenant = services.caller.tenant.name
    assert listed == {"look_up"}
    assert prompts == ["store"]
    assert text(directly) == f"nails for {tenant}"
    assert "look_up(thing) - " in text(found)
    assert f"Our goods: {tenant}: nails." in text(prompt)


async def test_lists_follow_what_a_pack_is_of_use_for(services: Services, stock: Path) -> None:
    """A session is told when tools come and go; the pack's own writing shows at once, without a look at the clock."""
    told = asyncio.Event()

    async def heard(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    async with Client(build_gateway(services, expose="own"), mode="legacy", message_handler=heard) as client:
        before = await names(client)
        stock.write_text("nails")
        await asyncio.wait_for(told.wait(), 20)
        meanwhile = await names(client)
        held_up = await call(client, "sell_out")
        sold = await call(client, "sell_out")
        after = await names(client)

    assert before == set()
    assert meanwhile == {"look_up"}
    assert "was NOT run yet" in text(held_up)
    assert text(sold) == "sold out"
    assert after == set()


async def test_tools_for_administration_need_the_setting(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path, stock: Path
) -> None:
    """Without it they are not there at all; with it they are called like all others."""
    stock.write_text("nails")
    admin = settings.model_copy(update={"admin_tools": True, "rules_first": "off"})
    async with with_packs(database, tenant, settings, encoder, folder) as plain, Client(build_gateway(plain)) as client:
        refused = await call(client, "restock")
        found = await call(client, "find_tools", queries=["fill the warehouse again"])
    async with (
        with_packs(database, tenant, admin, encoder, folder) as more,
        Client(build_gateway(more, expose="own")) as client,
    ):
        listed = await names(client)
        called = await call(client, "restock")

    assert "There is no tool 'restock'" in text(refused)
    assert "restock" not in text(found)
    assert listed == {"look_up", "restock"}
    assert text(called) == "full"


async def test_a_condition_that_fails_makes_a_pack_unusable_and_stops_nothing(services: Services, stock: Path) -> None:
    """Every request is answered as if the pack were not there."""
    stock.mkdir()
    async with Client(build_gateway(services, expose="own")) as client:
        listed = await names(client)
        prompt = await call(client, "process_prompt", prompt="store the product")

    assert listed == set()
    assert text(prompt) == "PASS_THROUGH"


async def test_who_asks_decides_whether_a_pack_is_of_use(services: Services, stock: Path) -> None:
    """The condition is asked for each caller."""
    asked: list[Caller] = []
    pack = next(iter((await services.intents.packs(services.caller)).active))
    other = Caller(services.caller.tenant, "ann")

    async def only_ann(situation: Situation) -> bool:
        asked.append(situation.caller)
        return situation.caller.user == "ann"

    services.context.readiness.register(pack.digest, only_ann)

    assert await services.context.readiness.unready(services.caller, [pack]) == {"store"}
    assert await services.context.readiness.unready(other, [pack]) == frozenset()
    assert asked == [services.caller, other]


def test_there_is_no_request_outside_of_one() -> None:
    """Code of a pack that asks while it is imported is told what to do."""
    with pytest.raises(ConfigurationError, match="inside the function"):
        current()


async def test_a_prompt_without_a_session_brings_the_tools_of_a_pack_that_has_come_to_be_of_use(
    services: Services, stock: Path
) -> None:
    """A hook and the command line have no session; what they find out is heeded all the same."""
    async with Client(build_gateway(services, expose="own")) as client:
        await client.list_tools()
        before = await services.tools.server_names(services.caller)
        stock.write_text("nails")

        async def offered() -> bool:
            prompt = await services.context.process_prompt(
                services.caller, "look nails up in the store of our warehouse"
            )
            return "look_up" in {tool.name for tool in prompt.tools}

        await eventually(offered)

    assert "store" not in before
