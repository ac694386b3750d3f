"""The gateway as an MCP client sees it, in both eras, over real child-process servers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastmcp import Client
from mcp import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult

from tests.support import eventually
from tests.support.product import CATALOGUE, ListedServer, listed
from thresher.calling import meta_tools
from thresher.embedding import count_tokens
from thresher.gateway import build_gateway, http_app
from thresher.gateway.lists import PAGE, page_of
from thresher.gateway.skills import TEMPLATE
from thresher.knowledge.tools import compact
from thresher.services import Services

META = ["process_prompt", "get_context", "find_tools", "describe_tools", "call_tool", "call_tool_write", "read_result"]
NUMBER = {"count": {"type": "integer"}, "flag": {"type": "boolean"}}


@pytest.fixture
async def box(services: Services, tmp_path: Path) -> ListedServer:
    """A live server with three tools, beside the static catalogue."""
    server = ListedServer.at(
        tmp_path,
        "box",
        listed("open_box", "Open a box with a key.", NUMBER, annotations={"readOnlyHint": True, "odd": []}),
        listed("close_box", "Close a box.", outputSchema={"type": "object"}),
        listed("fail_box", "Always fails."),
    )
    await services.tools.import_tools(services.caller, CATALOGUE)
    await services.tools.add_server(services.caller, server.config, trusted=True)
    await services.tools.refresh(services.caller, "box")
    return server


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, services: Services, box: ListedServer) -> AsyncIterator[Client[Any]]:
    """A client of the newest revision, and one of the handshake era."""
    async with Client(build_gateway(services), mode=request.param) as client:
        yield client


async def call(client: Client[Any], name: str, /, **arguments: Any) -> CallToolResult:
    """The answer as it comes over the wire, errors included."""
    return await client.call_tool_mcp(name, arguments)


def text(result: CallToolResult) -> str:
    """The text of an answer."""
    return "".join(block.text for block in result.content if block.type == "text")


async def test_the_list_is_the_meta_tools_and_never_changes(client: Client[Any]) -> None:
    """A search, a description and a call leave it as it was."""
    before = await client.list_tools()
    await call(client, "find_tools", message="open a box")
    await call(client, "describe_tools", names=["box_open_box"])
    await call(client, "call_tool", name="box_open_box", arguments={})
    after = await client.list_tools()

    assert [tool.name for tool in before] == META
    assert before == after


async def test_core_tools_are_listed_under_their_names(client: Client[Any], services: Services) -> None:
    """With the server's own definition, in a stable order."""
    for name in ("time_convert_time", "box_open_box", "box_close_box"):
        await services.tools.set_tool(services.caller, name, core=True)

    tools = await client.list_tools()

    assert [tool.name for tool in tools] == [*META, "box_close_box", "box_open_box", "time_convert_time"]
    assert tools[len(META) + 1].input_schema == {"type": "object", "properties": NUMBER}
    assert (hints := tools[len(META) + 1].annotations)
    assert hints.read_only_hint
    assert tools[len(META)].output_schema == {"type": "object"}


async def test_everything_is_listed_when_asked_for(services: Services, box: ListedServer) -> None:
    """`--expose all` passes the whole catalogue through."""
    async with Client(build_gateway(services, expose="all")) as client:
        tools = await client.list_tools()

    assert len(tools) == len(META) + len(CATALOGUE) + 3
    assert [tool.name for tool in tools[len(META) :]] == sorted(tool.name for tool in tools[len(META) :])


async def test_find_answers_in_lines_and_in_structure(client: Client[Any]) -> None:
    """Name, signature and first sentence as text; probability and reasons in the structure."""
    result = await call(client, "find_tools", queries=["open a box with a key"], threshold=0)

    content = result.structured_content
    assert content is not None
    assert not result.is_error
    assert text(result).startswith("box_open_box(count?: int, flag?: bool) - Open a box with a key\n")
    assert content["tools"][0]["name"] == "box_open_box"
    assert content["tools"][0]["signature"].startswith("(count?: int")
    assert "meaning #1" in content["tools"][0]["why"]
    assert content["searched"] == len(CATALOGUE) + 3


async def test_find_takes_what_clients_really_send(client: Client[Any]) -> None:
    """A single string, JSON text, numbers and switches as strings, null for what is left out."""
    single = await call(client, "find_tools", queries="open a box", threshold="0", limit="2", servers=None)
    several = await call(client, "find_tools", queries='["open a box", "send mail"]', threshold=0, history="hello")

    assert len(single.structured_content["tools"]) == 2  # type: ignore[index]
    assert {tool["query"] for tool in several.structured_content["tools"]} == {0, 1}  # type: ignore[index]


async def test_nothing_fits_is_said_in_so_many_words(client: Client[Any]) -> None:
    """The model is told to try again or to do without."""
    result = await call(client, "find_tools", queries=["zzz"], threshold=1)

    assert text(result).startswith("No tool fits (p=")
    assert result.structured_content["abstained"] is True  # type: ignore[index]


@pytest.mark.parametrize("through", ["call_tool", "call_tool_write"])
async def test_our_own_tools_are_called_directly(client: Client[Any], through: str) -> None:
    """A model that wraps one in a call of a tool is not sent to the tool that it has just named."""
    results = [await call(client, through, name=name, arguments={}) for name in META]

    assert all(result.is_error for result in results)
    assert [text(result).partition(".")[0] for result in results] == [
        f"'{name}' is called directly, not through {through}" for name in META
    ]


async def test_describe_gives_schemas_and_near_names(client: Client[Any]) -> None:
    """What a signature does not tell."""
    result = await call(client, "describe_tools", names=["box_open_box", "box_opn_box"])

    assert compact({"type": "object", "properties": NUMBER}) in text(result)
    assert "Unknown: box_opn_box. Near: box_open_box" in text(result)
    assert result.structured_content["tools"][0]["inputSchema"]["properties"] == NUMBER  # type: ignore[index]


async def test_call_passes_the_answer_on_unchanged(client: Client[Any]) -> None:
    """Blocks, structured content, error flag."""
    good = await call(client, "call_tool", name="box_open_box", arguments={"count": 3})
    bad = await call(client, "call_tool_write", name="box_fail_box")

    assert text(good) == '{"count": 3}'
    assert good.structured_content == {"arguments": {"count": 3}}
    assert not good.is_error
    assert bad.is_error
    assert bad.structured_content == {"arguments": {}}


async def test_a_hidden_tool_is_called_by_its_own_name_too(client: Client[Any]) -> None:
    """Not listed, yet callable: some clients call what find_tools named."""
    result = await call(client, "box_open_box", count="3", flag="true")

    assert json.loads(text(result)) == {"count": 3, "flag": True}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("call_tool", {"name": "box_opn_box"}, "There is no tool 'box_opn_box'. Did you mean 'box_open_box'"),
        ("box_opn_box", {}, "There is no tool 'box_opn_box'. Did you mean 'box_open_box'"),
        ("call_tool", {"name": "git_git_log"}, "without a live server"),
        ("call_tool", {"name": "box_open_box", "arguments": {"count": "many"}}, "count: 'many' is not of type"),
        ("call_tool", {"name": "box_open_box", "arguments": "[1"}, "arguments: '[1' is not of type 'object'"),
        ("call_tool", {"name": "box_close_box"}, "Run it with call_tool_write, same arguments"),
        ("call_tool_write", {"name": "box_open_box"}, "'box_open_box' only reads. Run it with call_tool,"),
        ("call_tool", {}, "'name' is a required property"),
        ("find_tools", {"message": "x" * 300_000}, "the limit is 200000"),
        ("find_tools", {"message": "a", "servers": ["bax"]}, "Did you mean 'box'"),
        ("find_tools", {"message": "a", "server": "box"}, "no argument 'server'"),
        ("find_tools", {"message": "a", "limit": 0}, "limit: 0 is less than"),
        ("describe_tools", {"names": []}, "1 to 50"),
    ],
)
async def test_what_is_wrong_is_said_with_a_way_out(
    client: Client[Any], name: str, arguments: dict[str, Any], message: str
) -> None:
    """A tool error with a hint and a trace id, so that the model can mend its call."""
    result = await call(client, name, **arguments)

    assert result.is_error
    assert message in text(result)
    assert "[trace " in text(result)
    assert len(text(result)) < 1000


async def test_an_unforeseen_error_tells_the_trace_id_alone(
    client: Client[Any], services: Services, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No internals reach the client; the log holds them under the same id."""
    monkeypatch.setattr(services.upstreams, "call_tool", None)

    with caplog.at_level(logging.ERROR, logger="thresher.gateway"):
        result = await call(client, "call_tool", name="box_open_box")

    assert result.is_error
    assert "Something went wrong inside Thresher" in text(result)
    assert "NoneType" not in text(result)
    assert any(record.exc_info for record in caplog.records)


async def test_a_listing_that_cannot_be_read_fails_and_is_never_empty(
    client: Client[Any], services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client must not believe that all tools are gone."""
    monkeypatch.setattr("thresher.gateway.packs.tools.PATIENCE", 0.1)
    monkeypatch.setattr(services.tools, "_catalogues", None)

    with pytest.raises(Exception, match="trace"):
        await client.list_tools()


async def test_instructions_name_the_servers_and_say_what_to_do_first(client: Client[Any]) -> None:
    """Models forget to search unless they are told."""
    instructions = client.instructions

    assert instructions
    assert "11 tools" in instructions
    assert "box" in instructions
    assert instructions.index("call process_prompt first") < instructions.index("call find_tools with")


async def test_the_definitions_cost_little(services: Services) -> None:
    """Every client pays for them in every request."""
    listed_tools = meta_tools(services.settings)

    cost = sum(
        count_tokens(compact({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}))
        for tool in listed_tools
    )

    assert cost < 650
    for tool in listed_tools:
        assert tool.annotations is not None
        assert tool.input_schema["type"] == "object"
        assert tool.name.startswith(("call_tool", "read_result")) or tool.output_schema is not None


async def test_over_http_a_client_works_and_a_foreign_host_is_refused(services: Services, box: ListedServer) -> None:
    """Streamable HTTP on loopback; DNS rebinding gets no answer."""
    app = http_app(build_gateway(services))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    async with Client(url) as client:
        result = await call(client, "call_tool", name="box_open_box", arguments={"count": 1})
    async with httpx.AsyncClient() as browser:
        evil = await browser.post(url, headers={"Host": "evil.example"}, json={})
        foreign = await browser.post(url, headers={"Origin": "https://evil.example"}, json={})
    server.should_exit = True
    await serving

    assert text(result) == '{"count": 1}'
    assert evil.status_code in (403, 421)
    assert foreign.status_code == 403


async def test_a_claim_to_only_read_is_not_passed_on_for_a_server_that_is_not_trusted(
    client: Client[Any], services: Services
) -> None:
    """Neither `call_tool` nor a listed annotation vouches for it; the answer says what to do."""
    await services.tools.set_tool(services.caller, "box_open_box", core=True)
    await services.tools.set_server_trusted(services.caller, "box", False)

    refused = await call(client, "call_tool", name="box_open_box", arguments={})
    done = await call(client, "call_tool_write", name="box_open_box", arguments={})
    (opened,) = [tool for tool in await client.list_tools() if tool.name == "box_open_box"]

    assert refused.is_error
    assert "nobody has marked it as trusted" in text(refused)
    assert "call_tool_write" in text(refused)
    assert not done.is_error
    assert not (opened.annotations and opened.annotations.read_only_hint)


async def test_a_cursor_of_another_list_is_refused(client: Client[Any]) -> None:
    """As invalid parameters, with our code and hint."""
    _, cursor = page_of("prompts", [TEMPLATE] * (PAGE + 1), None)

    for ask in (client.list_tools_mcp, client.list_resources_mcp):
        with pytest.raises(MCPError) as refused:
            await ask(cursor=cursor)
        assert refused.value.error.code == INVALID_PARAMS
        assert refused.value.error.data["code"] == "invalid_cursor"
    assert (await client.list_prompts_mcp(cursor=cursor)).next_cursor is None


@pytest.fixture
async def yard(services: Services, box: ListedServer, tmp_path: Path) -> None:
    """A server of many tools that write, require nothing, and say much."""
    jobs = ("rake_leaves", "mow_lawn", "trim_hedge", "water_beds", "sweep_path", "clear_gutter", "prune_roses")
    told = "{} in the whole yard, from the gate up to the shed, and bring the rest to the heap behind it."
    taken = {name: {"type": "array", "items": {"type": "string"}} for name in ("helpers", "places", "tools_taken")}
    tools = [listed(job, told.format(job.replace("_", " ").capitalize()), taken) for job in jobs]
    server = ListedServer.at(tmp_path, "yard", *tools)
    await services.tools.add_server(services.caller, server.config, trusted=True)
    await services.tools.refresh(services.caller, "yard")


@pytest.mark.usefixtures("yard")
async def test_a_writing_tool_listed_by_name_only_answers_its_first_call_with_its_signature(
    client: Client[Any],
) -> None:
    """A guess changes nothing; the second call runs, also after another search, and so does one after a description."""
    offer = {"message": "tidy up the yard", "budget": 100}
    found = await call(client, "find_tools", **offer)
    bare = [tool["name"] for tool in found.structured_content["tools"] if "signature" not in tool]  # type: ignore[index]
    named, other = [name for name in bare if name.startswith("yard_")][:2]
    first = await call(client, "call_tool_write", name=named)
    await call(client, "find_tools", **offer)
    again = await call(client, "call_tool_write", name=named)
    await call(client, "describe_tools", names=[other])
    described = await call(client, "call_tool_write", name=other)

    assert first.is_error
    assert f"'{named}' may change something and was listed by name only; it was not run. It is {named}(" in text(first)
    assert again.structured_content == described.structured_content == {"arguments": {}}


@pytest.mark.usefixtures("yard")
async def test_calls_sent_together_are_all_answered_with_the_signature(client: Client[Any]) -> None:
    """The second of them was sent before anybody had read it."""
    found = await call(client, "find_tools", message="tidy up the yard", budget=100)
    bare = [tool["name"] for tool in found.structured_content["tools"] if "signature" not in tool]  # type: ignore[index]
    named = next(name for name in bare if name.startswith("yard_"))
    together = await asyncio.gather(*(call(client, "call_tool_write", name=named) for _ in range(3)))
    later = await call(client, "call_tool_write", name=named)

    assert all(answer.is_error for answer in together)
    assert later.structured_content == {"arguments": {}}
