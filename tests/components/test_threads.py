"""The conversation that a component's tool is called in, in the whole product, with clients of both eras."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastmcp import Client
from mcp_types import CallToolResult
from pydantic import SecretStr

from tests.components.modules import put
from tests.gateway.talking import connect, served
from tests.support import Databases
from tests.support.inside import open_inside
from thresher.app import App, open_app
from thresher.components import THREAD_META, Auth, look, meta_of, talk_of
from thresher.components.modules import Loaded, load_served
from thresher.core import Settings, Talk, talking_in
from thresher.gateway import build_gateway
from thresher.knowledge.tools import thread_meta
from thresher.upstream import ServerConfig

DECORATED = '''
from __future__ import annotations
from fastmcp.tools import tool
from thresher.components import Thread


@tool(annotations={"readOnlyHint": True})
def where(thread: Thread, note: str = "") -> dict:
    """Where this is."""
    return {
        "id": thread.id and str(thread.id),
        "title": thread.title,
        "top_k": thread.settings.get("top_k"),
        "connection": thread.connection,
        "model": thread.model_name,
        "asked": thread.model is not None,
    }
'''
REGISTERED = '''
from thresher.components import Thread


def register(mcp):
    @mcp.tool(annotations={"readOnlyHint": True})
    async def title(*, thread: Thread) -> str:
        """The title."""
        return thread.title
'''
SPY = """
from fastmcp import Context, FastMCP

server = FastMCP("spy")


@server.tool(annotations={"readOnlyHint": True})
def keys(ctx: Context) -> list[str]:
    return sorted(ctx.request_context.meta or {})


server.run(show_banner=False)
"""
NOWHERE = {"id": None, "title": "", "top_k": None, "connection": "", "model": "", "asked": False}
FORGED = {THREAD_META: {"id": str(uuid4()), "title": "forged", "model": "m", "settings": {"top_k": 1}}}
NOW = Talk(uuid4(), "Cracked anvils", {"top_k": 5, "connection": "shop"}, "fake@here", model=object())


@pytest.fixture(params=["2026-07-28", "legacy"], ids=["stateless", "session"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


@pytest.fixture
async def app(settings: Settings, databases: Databases, tmp_path: Path) -> AsyncIterator[App]:
    """The product with two components and, beside them, a server that a person has added."""
    folder, script = tmp_path / "components", tmp_path / "spy.py"
    put(folder, tools_one=DECORATED, tools_two=REGISTERED)
    script.write_text(SPY)
    name = await databases.create()
    settings.data_dir.mkdir(mode=0o700)
    given = {"database_url": SecretStr(databases.url(name)), "components_dir": folder}
    async with open_app(settings.model_copy(update=given)) as app:
        await app.services.components.load()
        spy = ServerConfig("spy", "stdio", sys.executable, (str(script),))
        await app.services.tools.add_server(app.services.caller, spy)
        await app.services.tools.refresh(app.services.caller, "spy")
        yield app
    await databases.drop(name)


async def call(client: Client[Any], name: str, /, **arguments: Any) -> CallToolResult:
    """The answer of a tool, errors included."""
    return await client.call_tool_mcp(name, arguments)


def text(result: CallToolResult) -> str:
    """The text of an answer."""
    return "".join(block.text for block in result.content if block.type == "text")


async def test_a_tool_is_given_the_conversation_and_other_servers_are_not_told(app: App, mode: str) -> None:
    """The name of its model too, but not the model itself; servers that a person has added hear nothing."""
    gateway = build_gateway(app.services)
    with talking_in(NOW):
        async with open_inside(gateway, app.services.caller, mode=mode) as client:
            where = await call(client, "call_tool", name="where", arguments={"note": "n"})
            title = await call(client, "title")
            spied = await call(client, "spy_keys")
    async with open_inside(gateway, app.services.caller, mode=mode) as client:
        outside = await call(client, "where")

    told = {"id": str(NOW.id), "title": NOW.title, "top_k": 5, "connection": "shop", "model": "fake@here"}
    assert where.structured_content == {**told, "asked": False}
    assert text(title) == "Cracked anvils"
    assert spied.structured_content is not None
    assert THREAD_META not in spied.structured_content["result"]
    assert outside.structured_content == NOWHERE


async def test_no_schema_shows_it_and_no_caller_sets_it(app: App, mode: str) -> None:
    """An argument of its name is unknown, and what a client puts into `_meta` goes nowhere."""
    async with served(app.services) as url, connect(url, mode) as client:
        described = await call(client, "describe_tools", names=["where", "title"])
        refused = [
            await call(client, "call_tool", name="where", arguments={"thread": {"id": str(uuid4())}}),
            await call(client, "title", thread="x"),
        ]
        forged = [
            await client.call_tool_mcp("where", {}, meta=FORGED),
            await client.call_tool_mcp("call_tool", {"name": "where"}, meta=FORGED),
        ]
        spied = await client.call_tool_mcp("spy_keys", {}, meta=FORGED)

    tools = (described.structured_content or {})["tools"]
    assert len(tools) == 2
    assert "thread" not in json.dumps([tool["inputSchema"] for tool in tools])
    assert all(one.is_error and "'thread' was unexpected" in text(one) for one in refused)
    assert [one.structured_content for one in forged] == [NOWHERE, NOWHERE]
    assert spied.structured_content is not None
    assert THREAD_META not in spied.structured_content["result"]


def test_only_the_process_of_components_is_told() -> None:
    """A server of the same name that runs something else is not."""
    ours = ServerConfig("components", "stdio", sys.executable, ("-P", "-m", "thresher.components", "serve", "/x"))
    others = [
        ServerConfig("other", "stdio", sys.executable, ours.args),
        ServerConfig("components", "stdio", "/bin/other", ours.args),
        ServerConfig("components", "stdio", sys.executable, ("-m", "other")),
        ServerConfig("components", "http", url="http://127.0.0.1:9/mcp"),
    ]
    outside = thread_meta(ours)
    with talking_in(NOW):
        inside, elsewhere = thread_meta(ours), [thread_meta(one) for one in others]

    assert outside == {}
    assert list(inside) == [THREAD_META]
    assert elsewhere == [{}] * 4


@pytest.mark.parametrize(
    "talk",
    [Talk(), Talk(settings={"top_k": 3}, model_name="m"), Talk(uuid4(), "Title", {"temperature": None})],
    ids=["none", "not-kept", "kept"],
)
def test_what_is_told_is_heard(talk: Talk) -> None:
    """Through JSON."""
    assert talk_of(json.loads(json.dumps(meta_of(talk)))) == talk


async def test_a_thread_with_something_around_it_leaves_the_module_out(tmp_path: Path) -> None:
    """It would stand in the schema; the report says what is wrong."""
    put(tmp_path, tools_odd=DECORATED.replace("thread: Thread", "thread: Thread | None"), tools_good=REGISTERED)
    loaded = Loaded()
    for name in look(tmp_path).served:
        await load_served(loaded, tmp_path, name, Auth("local"))

    problems = {file.path: file.problem for file in loaded.files}
    assert "a thread is given to a parameter" in problems["tools/odd.py"]
    assert problems["tools/good.py"] == ""
