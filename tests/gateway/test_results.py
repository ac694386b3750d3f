"""Large results of tools, as an MCP client sees them: a part within the budget, and the rest on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from tests.gateway.talking import text
from tests.support.product import ListedServer, listed
from thresher.core import Caller, Tenant
from thresher.embedding import count_tokens
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database

ROWS = [
    {"id": number, "city": f"Town {number}", "country": "NL", "mayor": f"Name {number * 7}", "people": number * 111}
    for number in range(2_000)
]
READS = {"annotations": {"readOnlyHint": True}}


@pytest.fixture
async def box(services: Services, tmp_path: Path) -> ListedServer:
    """A live server whose tools answer with their arguments."""
    tools = (
        listed("list_towns", "Lists towns with mayors.", {"rows": {"type": "array"}}, **READS),
        listed("put_towns", "Writes towns.", {"rows": {"type": "array"}}),
        listed("typed_towns", "Lists.", {"rows": {"type": "array"}}, outputSchema={"type": "object"}, **READS),
        listed("fail_towns", "Fails.", {"rows": {"type": "array"}}, **READS),
    )
    server = ListedServer.at(tmp_path, "box", *tools)
    await services.tools.add_server(services.caller, server.config, trusted=True)
    await services.tools.refresh(services.caller, "box")
    return server


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, services: Services, box: ListedServer) -> AsyncIterator[Client[Any]]:
    """A client of the newest revision, and one of the handshake era."""
    async with Client(build_gateway(services, expose="all"), mode=request.param) as client:
        yield client


def cursor_of(answer: str) -> str:
    """The cursor that an answer names."""
    return answer.partition("read_result, cursor ")[2][:12]


async def called(client: Client[Any], name: str, rows: list[Any], **more: Any) -> Any:
    """The answer of one of the server's tools, called by a meta-tool."""
    door = "call_tool_write" if name == "box_put_towns" else "call_tool"
    given = {"name": name, "arguments": {"rows": rows}, **more}
    return await client.call_tool_mcp(door, given)


async def test_a_result_within_the_budget_is_untouched(client: Client[Any]) -> None:
    """Text and structured content arrive as the server wrote them."""
    answer = await called(client, "box_list_towns", ROWS[:50])

    assert text(answer) == json.dumps({"rows": ROWS[:50]})
    assert answer.structured_content == {"arguments": {"rows": ROWS[:50]}}


async def test_a_larger_one_is_answered_with_what_is_asked(client: Client[Any]) -> None:
    """The part is valid JSON within the budget, says what is left out, and holds the element that answers."""
    answer = await called(client, "box_list_towns", ROWS, focus="Who is the mayor of Town 1234?", budget=500)
    part = json.loads(text(answer))

    assert count_tokens(text(answer)) <= 500
    assert ROWS[1234]["mayor"] in [row.get("mayor") for row in part["parts"].values()]
    assert "2000" in part["shape"]
    assert answer.structured_content["left_out"] == part["left_out"]


async def test_the_rest_is_read_by_the_cursor(client: Client[Any]) -> None:
    """Another question, a pointer, a path, lines and an expression."""
    cursor = cursor_of(text(await called(client, "box_list_towns", ROWS)))

    async def read(**more: Any) -> str:
        return text(await client.call_tool_mcp("read_result", {"cursor": cursor, **more}))

    asked = await read(focus="people of Town 77", budget=400)
    pointed = await read(pointer="/rows/1500/mayor")
    path = await read(pointer="$.rows[*].city", budget=1_000)
    matched = await read(pattern=r'"Town 19\d\d"', budget=1_000)

    assert str(ROWS[77]["people"]) in asked
    assert json.loads(pointed) == ROWS[1500]["mayor"]
    assert count_tokens(path) <= 1_000
    assert json.loads(path)["parts"]
    assert "100 matches" in matched


async def test_the_search_that_found_a_tool_is_its_question(client: Client[Any]) -> None:
    """A model that searches and calls need not say again what it wants to know."""
    await client.call_tool_mcp("find_tools", {"queries": ["list the towns: the mayor of Town 1234"]})
    answer = await called(client, "box_list_towns", ROWS, budget=500)

    assert ROWS[1234]["mayor"] in text(answer)


async def test_all_of_it_can_be_asked_for(client: Client[Any]) -> None:
    """By a budget of 0, and by the `_meta` of a request."""
    whole = await called(client, "box_list_towns", ROWS, budget=0)
    given = {"name": "box_list_towns", "arguments": {"rows": ROWS}}
    meant = await client.call_tool_mcp("call_tool", given, meta={"thresher/result": "whole"})

    assert json.loads(text(whole))["rows"] == ROWS
    assert json.loads(text(meant))["rows"] == ROWS


async def test_a_failure_is_never_cut(client: Client[Any]) -> None:
    """What went wrong may stand anywhere in it."""
    answer = await called(client, "box_fail_towns", ROWS)

    assert answer.is_error
    assert json.loads(text(answer))["rows"] == ROWS


async def test_structured_content_is_no_lie_against_a_schema(client: Client[Any]) -> None:
    """A client that calls the tool itself gets what the schema promises; through a meta-tool the text is the part."""
    await client.list_tools()
    direct = await client.call_tool_mcp("box_typed_towns", {"rows": ROWS})
    through = await called(client, "box_typed_towns", ROWS)

    assert direct.structured_content == {"arguments": {"rows": ROWS}}
    assert count_tokens(text(direct)) <= 8_000
    assert through.structured_content is None
    assert json.loads(text(through))["parts"]


async def test_a_budget_out_of_bounds_runs_nothing(client: Client[Any]) -> None:
    """The error says what may be given."""
    answer = await called(client, "box_put_towns", [], budget=3)

    assert answer.is_error
    assert "3 is not a valid budget" in text(answer)


async def test_what_cannot_be_read_says_why(client: Client[Any]) -> None:
    """A cursor that nobody has, a place that is not there, an expression that runs away."""
    rows = [{"id": 1, "text": "a" * 60_000}]
    cursor = cursor_of(text(await called(client, "box_list_towns", rows, budget=500)))

    async def read(**more: Any) -> str:
        answer = await client.call_tool_mcp("read_result", {"cursor": cursor, **more})
        assert answer.is_error
        return text(answer)

    assert "No result is kept" in await read(cursor="0" * 12)
    assert "rows" in await read(pointer="/row")
    assert "no range of lines" in await read(lines="first")
    assert "not valid" in await read(pattern="(")
    assert "took longer" in await read(pattern="(a|aa)+$|(a+)+b")


async def test_a_result_is_its_callers_alone(
    services: Services, box: ListedServer, database: Database, other_tenant: Tenant
) -> None:
    """Neither another user nor another tenant reads it; it outlives the process, and goes with `purge`."""
    caller = services.caller
    async with Client(build_gateway(services)) as client:
        cursor = cursor_of(text(await called(client, "box_list_towns", ROWS)))
    await services.results.settle()
    theirs = replace(caller, user="someone")
    reads = [services.results.read(one, cursor) for one in (theirs, Caller(other_tenant))]
    refused = await asyncio.gather(*reads, return_exceptions=True)
    mine = await services.results.read(caller, cursor, pointer="/rows/3/city")
    removed = await services.results.purge(caller, 0)
    gone = await asyncio.gather(services.results.read(caller, cursor), return_exceptions=True)

    assert [type(one).__name__ for one in (*refused, *gone)] == ["NotFound"] * 3
    assert mine.text == '"Town 3"'
    assert removed == 1
