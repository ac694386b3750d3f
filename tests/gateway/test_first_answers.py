"""The first answer of a process about tools, for whatever face: tools of packs are in it, or it says otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.packing import with_packs, write_pack
from tests.support import eventually
from tests.support.product import CATALOGUE
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database

SHIPPING = '''
from fastmcp.tools import tool


@tool
def book_a_container() -> str:
    """Book a container on a ship."""
    return "booked"
'''
ASKING = """
from thresher.packs import current


async def READY(situation):
    return bool(await current().services.tools.list_tools(situation.caller))
"""
WAITING = """
import pathlib
import time

while not pathlib.Path({file!r}).exists():
    time.sleep(0.01)
"""
WISH = ["book a container on a ship"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one pack that has code."""
    write_pack(tmp_path, "ship", code=SHIPPING)
    return tmp_path


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path
) -> AsyncIterator[Services]:
    """Services behind a gateway that no client has used yet."""
    async with with_packs(database, tenant, settings, encoder, folder) as services:
        gateway = build_gateway(services)
        async with gateway._lifespan_manager():
            yield services


async def test_the_very_first_search_finds_the_tools_of_packs(services: Services) -> None:
    """Without a session of MCP before it, as over HTTP or from the command line."""
    found = await services.tools.find_tools(services.caller, queries=WISH)

    assert [tool.name for tool in found.tools] == ["ship_book_a_container"]
    assert found.degraded == ""


async def test_a_new_user_and_a_new_project_find_them_at_once(services: Services) -> None:
    """Each is offered the packs that it sees when it asks for the first time."""
    tenant = services.caller.tenant
    newcomers = (Caller(tenant, "ada"), Caller(tenant, project="/srv/shop"))

    found = [await services.tools.find_tools(one, queries=WISH) for one in newcomers]

    assert [[tool.name for tool in one.tools] for one in found] == [["ship_book_a_container"]] * 2


async def test_the_first_prompt_and_the_first_list_have_them(services: Services) -> None:
    """Every verb that speaks of tools waits for them alike."""
    listed = await services.tools.list_tools(services.caller)
    described = await services.tools.describe_tools(Caller(services.caller.tenant, "ada"), ["ship_book_a_container"])
    resolved = await services.tools.resolve(Caller(services.caller.tenant, "bob"), "ship_book_a_container")

    assert [tool.name for tool in listed] == ["ship_book_a_container"]
    assert described.tools[0].tool.description == "Book a container on a ship."
    assert resolved.config is None


async def test_an_answer_before_the_tools_are_there_says_so(
    services: Services, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack that takes long to load holds nobody up, and is never left out in silence."""
    monkeypatch.setattr("thresher.gateway.packs.tools.PATIENCE", 0.2)
    monkeypatch.setattr("thresher.gateway.packs.tools.QUICK_SECONDS", 0.05)
    write_pack(folder, "slow", code=WAITING.format(file=str(folder / "go")) + SHIPPING.replace("container", "berth"))
    await services.tools.import_tools(services.caller, CATALOGUE)

    early = await services.tools.find_tools(services.caller, queries=["send an email"])
    (folder / "go").touch()

    async def late() -> bool:
        found = await services.tools.find_tools(services.caller, queries=["book a berth"])
        return not found.degraded and "slow_book_a_berth" in [tool.name for tool in found.tools]

    assert "the tools of packs are still being read" in early.degraded
    assert early.tools
    await eventually(late)


async def test_a_condition_may_ask_for_tools(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path
) -> None:
    """It is answered with what is there, and does not wait for itself."""
    write_pack(folder, "ask", code=ASKING + SHIPPING.replace("container", "berth"))
    async with with_packs(database, tenant, settings, encoder, folder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        async with build_gateway(services)._lifespan_manager(), asyncio.timeout(15):
            found = await services.tools.find_tools(services.caller, queries=["book a berth"])

    assert "ask_book_a_berth" in [tool.name for tool in found.tools]


async def test_a_gateway_that_has_ended_offers_nothing(services: Services) -> None:
    """A second one on the same services, such as a tour's, leaves the first one in charge."""
    async with build_gateway(services)._lifespan_manager():
        await services.tools.find_tools(services.caller, queries=WISH)

    found = await services.tools.find_tools(services.caller, queries=WISH)

    assert [tool.name for tool in found.tools] == ["ship_book_a_container"]
