"""The conversation that a pack's tool is called in, with real clients of both eras."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from fastmcp import Client

from tests.fakes.chat_server import ChatServer
from tests.gateway.packing import call, text, with_packs, write_pack
from tests.gateway.talking import connect, served
from tests.gateway.test_streams import Wire
from tests.support import eventually
from tests.support.inside import open_inside
from thresher.core import Caller, Settings, Talk, Tenant, talking_in
from thresher.embedding import Encoder
from thresher.gateway import build_gateway, serve_stream_session
from thresher.llm import OpenAIChat
from thresher.services import Services
from thresher.store import Database

CODE = """
from __future__ import annotations
from fastmcp import Context
from fastmcp.tools import tool
from thresher.core import acting_caller
from thresher.llm import ChatRequest, Message
from thresher.packs import Thread

@tool(annotations={"readOnlyHint": True})
def where(thread: Thread, note: str = "") -> dict:
    return {
        "id": thread.id and str(thread.id),
        "title": thread.title,
        "top_k": thread.settings.get("top_k"),
        "connection": thread.connection,
        "model": thread.model_name,
        "note": note,
    }

@tool(annotations={"readOnlyHint": True})
async def also(ctx: Context, *, thread: Thread = None) -> str:
    return f"{thread.title} of {acting_caller().user}"

@tool(annotations={"readOnlyHint": True})
async def ask(thread: Thread, question: str) -> str:
    if thread.model is None:
        return "no model"
    return (await thread.model.complete(ChatRequest((Message("user", question),)))).text
"""
NOWHERE = {"id": None, "title": "", "top_k": None, "connection": "", "model": "", "note": ""}
FORGED = {"thresher/thread": {"id": str(uuid4()), "title": "forged", "model": "", "settings": {"top_k": 1}}}


@pytest.fixture(autouse=True)
def _a_pack_that_is_slow_to_load_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine too, its tools are there with the first request."""
    monkeypatch.setattr("thresher.gateway.packs.tools.QUICK_SECONDS", 20.0)


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> AsyncIterator[Services]:
    """Services with one pack, whose tools want to know where they are called."""
    write_pack(tmp_path / "packs", "ship", code=CODE)
    quiet = settings.model_copy(update={"rules_first": "off"})
    async with with_packs(database, tenant, quiet, encoder, tmp_path / "packs") as services:
        yield services


@pytest.fixture(params=["2026-07-28", "legacy"], ids=["stateless", "session"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


def talk(title: str = "Cracked anvils", **settings: Any) -> Talk:
    """A conversation."""
    return Talk(uuid4(), title, {"top_k": 5, "connection": "shop", **settings}, "fake@here")


async def test_a_tool_is_given_the_conversation_that_it_is_called_in(services: Services, mode: str) -> None:
    """Blocking or not, under its own name or by `call_tool`."""
    now = talk()
    with talking_in(now):
        async with open_inside(build_gateway(services), services.caller, mode=mode) as client:
            where = await call(client, "call_tool", name="ship_where", arguments={"note": "n"})
            directly = await call(client, "ship_where")
            also = await call(client, "ship_also")

    told = {"id": str(now.id), "title": now.title, "top_k": 5, "connection": "shop", "model": "fake@here"}
    assert where.structured_content == {**told, "note": "n"}
    assert directly.structured_content == {**told, "note": ""}
    assert text(also) == "Cracked anvils of None"


async def test_outside_of_a_conversation_it_is_given_an_empty_one(services: Services, mode: str) -> None:
    """Whoever calls: the function is the same."""
    async with Client(build_gateway(services), mode=mode) as client:  # type: ignore[arg-type]
        where = await call(client, "ship_where")
        asked = await call(client, "ship_ask", question="Who?")

    assert where.structured_content == NOWHERE
    assert text(asked) == "no model"


async def test_no_schema_shows_it_and_no_caller_sets_it(services: Services, mode: str) -> None:
    """An argument of its name is unknown; `_meta` is not asked."""
    async with served(services) as url, connect(url, mode) as client:
        described = await call(client, "describe_tools", names=["ship_where", "ship_also", "ship_ask"])
        given = {"name": "ship_where", "arguments": {"thread": {"id": str(uuid4())}}}
        refused = [await call(client, "call_tool", **given), await call(client, "ship_where", thread="x")]
        forged = [
            await client.call_tool_mcp("ship_where", {}, meta=FORGED),
            await client.call_tool_mcp("call_tool", {"name": "ship_where"}, meta=FORGED),
        ]

    tools = (described.structured_content or {})["tools"]
    assert len(tools) == 3
    assert "thread" not in json.dumps([tool["inputSchema"] for tool in tools])
    assert all(one.is_error and "has no argument 'thread'" in text(one) for one in refused)
    assert [one.structured_content for one in forged] == [NOWHERE, NOWHERE]


async def test_a_session_inside_belongs_to_one_caller_and_conversation(services: Services, mode: str) -> None:
    """Whichever task sends a request, and whatever conversation that one is in."""
    ann = Caller(services.caller.tenant, "ann")

    async def asked(client: Client[Any]) -> str:
        with talking_in(talk("another")):
            return text(await call(client, "ship_also"))

    elsewhere: asyncio.Queue[Client[Any]] = asyncio.Queue()

    async def work() -> str:
        return await asked(await elsewhere.get())

    other = asyncio.create_task(work())  # before there is a caller or a conversation
    with talking_in(talk("first")):
        async with open_inside(build_gateway(services), ann, mode=mode) as client:
            elsewhere.put_nowait(client)
            answers = [await other, *await asyncio.gather(asked(client), asked(client))]

    assert answers == ["first of ann"] * 3


async def test_conversations_at_once_keep_apart(services: Services, mode: str) -> None:
    """Twenty of them through one gateway, whose blocking functions run in threads."""
    gateway = build_gateway(services)

    async def turn(now: Talk) -> list[object]:
        with talking_in(now):
            async with open_inside(gateway, services.caller, mode=mode) as client:
                answers = [await call(client, "ship_where") for _ in range(3)]
        return [answer.structured_content and answer.structured_content["id"] for answer in answers]

    talks = [talk(str(number)) for number in range(20)]

    async with open_inside(gateway, services.caller, mode=mode):  # the first client to leave would end the gateway
        turns = await asyncio.gather(*map(turn, talks))

    assert turns == [[str(one.id)] * 3 for one in talks]


async def test_clients_from_outside_are_in_no_conversation(services: Services, mode: str) -> None:
    """Not even where their connection is served by tasks that were begun in one."""
    with talking_in(talk()):
        async with served(services) as url:
            with talking_in(None):
                async with connect(url, mode) as client:
                    where = await call(client, "ship_where")

    assert where.structured_content == NOWHERE


async def test_streams_are_in_no_conversation(services: Services) -> None:
    """As over HTTP."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    with talking_in(talk()):
        session = asyncio.create_task(serve_stream_session(build_gateway(services), reader, writer, None))
    wire = Wire(*await asyncio.open_connection(sock=theirs, limit=2**26), session)
    await wire.greet()
    params = {"name": "ship_where", "arguments": {}, "_meta": FORGED}
    answer = await wire.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    await wire.leave()

    assert answer["result"]["structuredContent"] == NOWHERE


async def test_the_model_of_the_conversation_can_be_asked(services: Services) -> None:
    """As any `thresher.llm.Chat`."""
    service = ChatServer(lambda body: "It is " + body["messages"][-1]["content"])
    chat = OpenAIChat(service.url, "fake", key=None, seconds=10.0)
    try:
        with talking_in(Talk(UUID(int=7), model_name=chat.name, model=chat)):
            async with open_inside(build_gateway(services), services.caller) as client:
                answer = await call(client, "ship_ask", question="noon")
    finally:
        await chat.close()
        service.stop()

    assert text(answer) == "It is noon"


async def test_a_thread_with_something_around_it_makes_no_tool(services: Services, tmp_path: Path) -> None:
    """It would stand in the schema; the list of packs says what is wrong, and the pack's other tools are there."""
    odd = "\n@tool\ndef odd(thread: Thread | None = None) -> str:\n    return ''\n"
    write_pack(tmp_path / "packs", "odd", code=CODE + odd)
    await services.intents.reload(services.caller)
    async with Client(build_gateway(services)) as client:
        where = await call(client, "odd_where")

        async def told() -> str:
            packs = await services.intents.packs(services.caller)
            return "".join(problem.message for problem in packs.problems)

        problem = await eventually(told)

    assert where.structured_content == NOWHERE
    assert "'odd' is not a valid tool: TypeError: a thread is given to a parameter" in problem
