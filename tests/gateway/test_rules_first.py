"""The first call of a pack's tool is answered with the pack's rules, as clients of both eras see it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.gateway.packing import RULES, TOOLS, call, changed, text, with_packs, write_pack
from tests.gateway.talking import connect, served
from tests.support.product import ListedServer, listed
from thresher.calling import RULES_META, Calling
from thresher.calling.rules_first import RulesFirst
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the packs lie."""
    place = tmp_path / "packs"
    place.mkdir()
    return place


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path, tmp_path: Path
) -> AsyncIterator[Services]:
    """Services with one live server, `box`, and a pack over it."""
    write_pack(folder, "box", servers="box")
    async with with_packs(database, tenant, settings, encoder, folder) as services:
        server = ListedServer.at(tmp_path, "box", listed("open_box"), listed("close_box"))
        await services.tools.add_server(services.caller, server.config)
        await services.tools.refresh(services.caller, "box")
        yield services


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, services: Services) -> AsyncIterator[Client[Any]]:
    """A client over HTTP, of each era."""
    async with served(services) as url, connect(url, request.param) as client:
        yield client


async def test_the_first_call_is_answered_with_the_rules(client: Client[Any], services: Services) -> None:
    """Once, as an error, since it was not run; the same call again is run, and so are the pack's other tools."""
    first = await call(client, "call_tool_write", name="box_open_box", arguments={})
    again = await call(client, "call_tool_write", name="box_open_box", arguments={})
    other = await call(client, "box_close_box")
    await services.intents.settle()
    await services.tools.settle()
    stats = await services.tools.stats(services.caller)

    assert first.is_error
    assert text(first).startswith("'box_open_box' was NOT run yet. It belongs to the pack 'box'")
    assert RULES in text(first)
    assert (first.meta or {})[RULES_META] == ["box"]
    assert not again.is_error
    assert not other.is_error
    assert stats.error_rate == 0


async def test_rules_come_before_arguments_are_looked_at(client: Client[Any]) -> None:
    """A model that gets them wrong is told how to get them right; a name that nobody has is told at once."""
    unknown = await call(client, "call_tool_write", name="box_open_bax", arguments={})
    wrong_way = await call(client, "call_tool", name="box_open_box", arguments={})
    first = await call(client, "call_tool_write", name="box_open_box", arguments={"nothing": "fits"})

    assert "There is no tool" in text(unknown)
    assert "call_tool_write" in text(wrong_way)
    assert RULES in text(first)


async def test_whoever_has_been_given_the_rules_is_not_held_up(services: Services, folder: Path) -> None:
    """By a prompt, by the resource, or by process_prompt, which marks them as this test does."""
    for name in ("a", "b", "c"):
        write_pack(folder, name, tools="box_open_box")
    write_pack(folder, "box", servers="nothing")
    await changed(services)
    for given in ("prompt", "resource", "mark"):
        async with served(services) as url, connect(url, "legacy") as client:
            if given == "prompt":
                await client.get_prompt("a")
            elif given == "resource":
                await client.read_resource("skill://b/SKILL.md")
            else:
                services.intents.mark_given(services.caller, ["c"])
            assert not (await call(client, "box_open_box")).is_error, given


async def test_another_session_is_held_up_too(services: Services) -> None:
    """Its model has not read the rules."""
    async with served(services) as url:
        async with connect(url, "legacy") as client:
            await call(client, "box_open_box")
            assert not (await call(client, "box_open_box")).is_error
        async with connect(url, "legacy") as client:
            assert RULES in text(await call(client, "box_open_box"))


async def test_calls_made_together_are_all_held_up(client: Client[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model has read nothing when it sends several: the rules come once, and nothing is run."""
    monkeypatch.setattr(
        "thresher.calling.rules_first.GATHER_SECONDS", 1.5
    )  # on a machine that is busy with other tests
    answers = await asyncio.gather(*(call(client, "box_open_box") for _ in range(3)), call(client, "box_close_box"))
    after = await call(client, "box_open_box")

    assert all(answer.is_error for answer in answers)
    assert sum(RULES in text(answer) for answer in answers) == 1
    assert sum("in the answer to another call" in text(answer) for answer in answers) == 3
    assert not after.is_error


async def test_a_first_call_that_is_cancelled_takes_the_rules_from_nobody(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one is answered with them."""
    monkeypatch.setattr("thresher.calling.rules_first.GATHER_SECONDS", 3600)
    guard = RulesFirst(services.intents, services.context)
    packs = await services.intents.packs(services.caller)
    resolved = await services.tools.resolve(services.caller, "box_open_box")
    first = asyncio.create_task(guard.look(services.caller, packs, "box_open_box", resolved))
    await asyncio.sleep(0)
    first.cancel()
    monkeypatch.setattr("thresher.calling.rules_first.GATHER_SECONDS", 0)
    second = await guard.look(services.caller, packs, "box_open_box", resolved)

    assert second is not None
    assert RULES in str(second)


async def test_only_those_who_see_the_pack_are_held_up(services: Services, tmp_path: Path) -> None:
    """A pack of a project holds up no call from elsewhere, and one that is not trusted none at all."""
    project = tmp_path / "project"
    write_pack(project / ".agents" / "skills", "strict", tools="box_open_box", rules="Never on Sundays.")
    here = replace(services, caller=replace(services.caller, project=str(project)))
    services.intents.mark_given(services.caller, ["box"])
    services.intents.mark_given(here.caller, ["box"])
    async with Client(build_gateway(here)) as client, Client(build_gateway(services)) as elsewhere:
        untrusted = await call(client, "box_open_box")
        held = (await here.intents.packs(here.caller)).inert[0].pack
        await here.intents.trust(here.caller, "strict", held.digest)
        other = await call(elsewhere, "box_open_box")
        trusted = await call(client, "box_open_box")

    assert not untrusted.is_error
    assert not other.is_error
    assert "Never on Sundays." in text(trusted)


async def test_it_can_be_switched_off(services: Services) -> None:
    """By a setting; what is called is recorded all the same."""
    settings, audit = services.settings.model_copy(update={"rules_first": "off"}), services.audit
    calling = Calling(
        settings, services.tools, services.intents, services.context, services.upstreams, audit, services.results
    )
    quiet = replace(services, settings=settings, calling=calling)
    async with Client(build_gateway(quiet)) as client:
        assert not (await call(client, "box_open_box")).is_error


async def test_a_pack_s_own_tools_are_held_up_by_it_alone(services: Services, folder: Path) -> None:
    """Whoever claims a tool most narrowly: its own code before a name, a name before a server."""
    write_pack(folder, "ship", rules="The ship's rules.", code=TOOLS)
    write_pack(folder, "claims", rules="Another's rules.", tools="ship_releases box_open_box")
    await changed(services)
    async with Client(build_gateway(services)) as client:
        own = await call(client, "ship_releases", product="Anvil")
        named = await call(client, "box_open_box")
        served_by = await call(client, "box_close_box")

    assert "The ship's rules." in text(own)
    assert "Another's rules." in text(named)
    assert RULES in text(served_by)


async def test_variables_of_code_stand_in_the_rules(services: Services, folder: Path) -> None:
    """A pack's code can give its rules values; the line of one that fails is left out, and nothing ends."""
    code = (
        "import sys\nasync def port(situation):\n    return 'P' + situation.caller.tenant.name\n"
        "VARIABLES = {'PORT': port, 'GONE': lambda situation: sys.exit(), 'lower': port}\n" + TOOLS
    )
    write_pack(folder, "ship", rules="To {{PORT}}.\nNot to {{GONE}}.", code=code, variables="true")
    await changed(services)
    async with Client(build_gateway(services)) as client:
        await call(client, "find_tools", queries=["ship"])
        first = await call(client, "ship_releases", product="Anvil")
        packs = await services.intents.packs(services.caller)

    assert f"To P{services.caller.tenant.name}." in text(first)
    assert "Not to" not in text(first)
    assert any("'lower'" in problem.message for problem in packs.problems)


async def test_a_call_pays_next_to_nothing(services: Services) -> None:
    """Far below a tenth of a millisecond, once the rules have been given."""
    guard = RulesFirst(services.intents, services.context)
    services.intents.mark_given(services.caller, ["box"])
    packs = await services.intents.packs(services.caller)
    resolved = await services.tools.resolve(services.caller, "box_open_box")

    taken: list[float] = []
    for _ in range(10):
        started = time.thread_time()
        for _ in range(100):
            assert await guard.look(services.caller, packs, "box_open_box", resolved) is None
        taken.append((time.thread_time() - started) / 100)

    assert min(taken) < 0.000_1
