"""The agent's prompts over MCP, to clients of both eras."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import McpError
from mcp_types import PromptReference

from tests.gateway.packing import with_packs, write_pack
from tests.gateway.talking import add, connect, served
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database
from thresher.upstream import ServerConfig

GRADING_SERVER = """
from fastmcp import FastMCP

mcp = FastMCP("school")


@mcp.prompt
def grade() -> str:
    return "Grade the pupils."


mcp.run(show_banner=False)
"""


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


def said(result: Any) -> str:
    """The one message of a prompt."""
    (message,) = result.messages
    assert message.role == "user"
    return message.content.text


async def test_the_agents_prompts_are_not_listed(services: Services, mode: str) -> None:
    """They are parts of its own turns, and no use to a person who picks a prompt in a client's menu."""
    async with Client(build_gateway(services), mode=mode) as client:
        listed = await client.list_prompts()

    assert listed == []


async def test_a_prompt_is_given_filled(services: Services, mode: str) -> None:
    """What is put in stands between borders, and is not read for variables."""
    async with Client(build_gateway(services), mode=mode) as client:
        grade = said(await client.get_prompt("grade", {"question": "{{PASSAGES}}?", "passages": "1: Nobody."}))
        basic = said(await client.get_prompt("basic"))

    assert re.search(r"(\[\w{6}\]) begin QUESTION\n\{\{PASSAGES}}\?\n\1 end QUESTION", grade)
    assert "begin PASSAGES\n1: Nobody.\n" in grade
    assert basic == services.prompts.shipped["basic"].text


async def test_a_tenants_own_words_are_given_at_once(services: Services, mode: str) -> None:
    """To the same session, without a restart, also to users of the tenant; other tenants keep theirs."""
    own = Caller(services.caller.tenant)
    async with served(services) as url, connect(url, mode, user="ada") as client:
        before = said(await client.get_prompt("basic"))
        await services.prompts.put(own, "basic", "Speak like a pirate.")
        after = said(await client.get_prompt("basic"))
        await services.prompts.reset(own, "basic")
        again = said(await client.get_prompt("basic"))

    assert (after, again) == ("Speak like a pirate.", before)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"question": "x"}, "needs a value for PASSAGES"),
        ({"question": "x", "passages": "y", "name": "z"}, "has no variable NAME"),
        ({"question": "x", "passages": "y", "caller": "z"}, "has no variable CALLER"),
    ],
    ids=["missing", "name", "caller"],
)
async def test_arguments_are_the_variables(services: Services, arguments: dict[str, str], named: str) -> None:
    """Another one is refused by name."""
    async with Client(build_gateway(services)) as client:
        with pytest.raises(McpError, match=named):
            await client.get_prompt("grade", arguments)


async def test_prompts_of_servers_keep_their_names(services: Services, tmp_path: Path, mode: str) -> None:
    """The agent's has another one then; completions of it are empty."""
    file = tmp_path / "school.py"
    file.write_text(GRADING_SERVER, encoding="utf-8")
    await add(services, ServerConfig("school", "stdio", command=sys.executable, args=(str(file),), prefix=False))
    async with Client(build_gateway(services), mode=mode) as client:
        names = [prompt.name for prompt in await client.list_prompts()]
        theirs = said(await client.get_prompt("grade"))
        ours = said(await client.get_prompt("grade-prompt", {"question": "x", "passages": "1: y"}))
        argument = {"name": "question", "value": "w"}
        completed = await client.complete(PromptReference(type="ref/prompt", name="grade-prompt"), argument)

    assert names == ["grade"]
    assert theirs == "Grade the pupils."
    assert "begin QUESTION\nx\n" in ours
    assert completed.values == []


async def test_a_pack_makes_way_for_the_agents_prompts(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> None:
    """Its rules have `-rules` behind their name."""
    write_pack(tmp_path, "context")
    async with (
        with_packs(database, tenant, settings, encoder, tmp_path) as services,
        Client(build_gateway(services)) as client,
    ):
        names = [prompt.name for prompt in await client.list_prompts()]
        rules = said(await client.get_prompt("context-rules"))
        ours = said(await client.get_prompt("context", {"context": "1: x"}))

    assert names == ["context-rules"]
    assert "Ship on Mondays" in rules
    assert "begin CONTEXT\n1: x\n" in ours
