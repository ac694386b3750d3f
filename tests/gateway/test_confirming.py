"""A person's yes, asked for by code of a pack during a call, with real clients of both eras."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from mcp import MCPError

from tests.gateway.packing import call, text, with_packs, write_pack
from tests.gateway.talking import connect, served
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database

CODE = """
from fastmcp.tools import tool
from thresher.packs import current

@tool
async def ship_it(thing: str, questions: int = 1) -> str:
    said = [await current().confirm(f"Ship {thing}{number or ''}?") for number in range(questions)]
    return f"{thing} {said}"
"""


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> AsyncIterator[Services]:
    """Services with one pack, whose tool asks before it does something."""
    write_pack(tmp_path / "packs", "ship", code=CODE)
    quiet = settings.model_copy(update={"rules_first": "off"})
    async with with_packs(database, tenant, quiet, encoder, tmp_path / "packs") as services:
        yield services


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


async def shipped(services: Services, mode: str, handler: Any, **arguments: Any) -> str:
    """What the tool answers to a client with such a person behind it."""
    arguments = {"thing": "nails", **arguments}
    async with Client(build_gateway(services), mode=mode, elicitation_handler=handler) as client:  # type: ignore[arg-type]
        return text(await call(client, "call_tool_write", name="ship_ship_it", arguments=arguments))


@pytest.mark.parametrize(("action", "yes"), [("accept", True), ("decline", False), ("cancel", False)])
async def test_a_person_says_yes_or_no(services: Services, mode: str, action: Any, yes: bool) -> None:
    """He reads the question as it was written, once."""
    heard: list[str] = []

    async def handler(message: str, *_: Any) -> ElicitResult[Any]:
        heard.append(message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    answer = await shipped(services, mode, handler)

    assert heard == ["Ship nails?"]
    assert answer == f"nails [{yes}]"


async def test_a_client_without_a_person_says_nothing(services: Services, mode: str) -> None:
    """Neither yes nor no, and no call hangs."""
    assert await shipped(services, mode, None) == "nails [None]"


async def test_a_client_that_fails_says_nothing(services: Services) -> None:
    """An error of its own is no answer."""

    async def handler(*_: Any) -> Any:
        raise MCPError(code=-1, message="There is no screen.")

    assert await shipped(services, "legacy", handler) == "nails [None]"


async def test_who_does_not_answer_in_time_did_not_say_yes(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call goes on."""
    monkeypatch.setattr("thresher.gateway.confirmation.SECONDS", 0.2)

    async def handler(*_: Any) -> Any:
        await asyncio.Event().wait()

    assert await shipped(services, "legacy", handler) == "nails [False]"


async def test_a_yes_is_for_its_own_call(services: Services, mode: str) -> None:
    """Over HTTP, with several calls of two people under way at once."""

    async def says(user: str, url: str) -> list[str]:
        async def handler(message: str, *_: Any) -> ElicitResult[Any]:
            return ElicitResult(action="accept" if user in message and "2" in message else "decline", content={})

        async with connect(url, mode, user, elicitation_handler=handler) as client:
            calls = (
                call(client, "call_tool_write", name="ship_ship_it", arguments={"thing": f"{user}{number}"})
                for number in range(4)
            )
            return [text(answer) for answer in await asyncio.gather(*calls)]

    async with asyncio.timeout(60), served(services) as url:
        hers, his = await asyncio.gather(says("ann", url), says("bob", url))

    assert hers == [f"ann{number} [{number == 2}]" for number in range(4)]
    assert his == [f"bob{number} [{number == 2}]" for number in range(4)]


async def test_each_question_has_its_own_answer(services: Services, mode: str) -> None:
    """One after the other, each once."""
    heard: list[str] = []

    async def handler(message: str, *_: Any) -> ElicitResult[Any]:
        heard.append(message)
        return ElicitResult(action="decline" if "1" in message else "accept", content={})

    answer = await shipped(services, mode, handler, questions=3)

    assert heard == ["Ship nails?", "Ship nails1?", "Ship nails2?"]
    assert answer == "nails [True, False, True]"
