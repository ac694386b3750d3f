"""Resources, templates and prompts of upstream servers, as clients of both eras see them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import McpError
from mcp_types import PromptReference, ResourceTemplateReference

from tests.gateway.talking import add_talking, call, connect, served, text
from tests.support.product import CATALOGUE
from thresher.services import Services


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


@pytest.fixture
async def client(services: Services, mode: str) -> AsyncIterator[Client[Any]]:
    """A client of a gateway with one server behind it."""
    await add_talking(services, "legacy")
    async with served(services) as url, connect(url, mode) as client:
        yield client


async def test_resources_are_listed_and_read_under_addresses_of_their_own(client: Client[Any]) -> None:
    """The address leads back to the server, whether it was listed or made from a template."""
    listed = await client.list_resources()
    templates = await client.list_resource_templates()
    read = await client.read_resource("thresher://talk/memo://a")
    made = await client.read_resource("thresher://talk/memo://anything")

    assert [resource.uri for resource in listed] == ["thresher://talk/memo://b", "thresher://talk/memo://a"]
    assert templates[0].uri_template == "thresher://talk/memo://{name}"
    assert read[0].text == "text of memo://a"  # type: ignore[union-attr]
    assert read[0].uri == "thresher://talk/memo://a"
    assert made[0].text == "text of memo://anything"  # type: ignore[union-attr]


async def test_prompts_are_prefixed_and_filled_in(client: Client[Any]) -> None:
    """As tools are."""
    listed = await client.list_prompts()
    filled = await client.get_prompt("talk_greet", {"name": "Ann"})

    assert [prompt.name for prompt in listed] == ["talk_greet"]
    assert filled.messages[0].content.text == "Hello Ann"  # type: ignore[union-attr]


async def test_completions_come_from_the_server(client: Client[Any]) -> None:
    """For prompts and for templates, under its own names for them."""
    argument = {"name": "name", "value": "A"}
    prompt = await client.complete(PromptReference(type="ref/prompt", name="talk_greet"), argument)
    uri = "thresher://talk/memo://{name}"
    template = await client.complete(ResourceTemplateReference(type="ref/resource", uri=uri), argument)

    assert prompt.values == ["greet Ax"]
    assert template.values == ["memo://{name} Ax"]


@pytest.mark.parametrize("uri", ["memo://a", "thresher://tolk/memo://a", "thresher://x"])
async def test_an_address_that_leads_nowhere_is_refused_with_a_way_out(client: Client[Any], uri: str) -> None:
    """And a prompt that nobody has, with names near it."""
    with pytest.raises(McpError, match=r"There is no resource .* See resources/list"):
        await client.read_resource(uri)
    with pytest.raises(McpError, match="Did you mean 'talk_greet'"):
        await client.get_prompt("talk_gret")


async def test_blocks_pass_and_links_lead_back(client: Client[Any]) -> None:
    """Images and embedded resources come as they are; a link can be read."""
    answer = await call(client, "rich")
    image, link, embedded = answer.content

    assert image.type == "image"
    assert link.uri == "thresher://talk/memo://a"  # type: ignore[union-attr]
    assert embedded.resource.uri == "memo://a"  # type: ignore[union-attr]
    assert answer.structured_content == {"kind": "rich"}


async def test_without_a_prefix_everything_goes_out_as_it_is(services: Services, mode: str) -> None:
    """As if the client were connected to the server itself."""
    await services.tools.import_tools(services.caller, CATALOGUE)
    await add_talking(services, "legacy", prefix=False)
    async with served(services, expose="all") as url, connect(url, mode) as client:
        tools = [tool.name for tool in await client.list_tools()]
        resources = [resource.uri for resource in await client.list_resources()]
        prompts = [prompt.name for prompt in await client.list_prompts()]
        read = await client.read_resource("memo://z")
        unlisted = await client.read_resource("other://z")
        answer = await client.call_tool_mcp("rich", {})

    assert {"pay", "talk", "rich", "git_git_log"} <= set(tools)
    assert resources == ["memo://b", "memo://a"]
    assert prompts == ["greet"]
    assert read[0].uri == "memo://z"
    assert unlisted[0].uri == "other://z"
    assert answer.content[1].uri == "memo://a"  # type: ignore[union-attr]


async def test_a_session_hears_of_a_resource_that_it_subscribed_to(services: Services) -> None:
    """Under the address that it subscribed to, until it unsubscribes."""
    await add_talking(services, "legacy")
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def told(message: Any) -> None:
        if message.method == "notifications/resources/updated":
            heard.put_nowait(str(message.params.uri))

    async with served(services) as url, connect(url, "legacy", message_handler=told) as client:
        await client.session.subscribe_resource("thresher://talk/memo://a")
        answer = await call(client, "touch")
        async with asyncio.timeout(20):
            first = await heard.get()
        await client.session.unsubscribe_resource("thresher://talk/memo://a")

    assert text(answer) == "touched"
    assert first == "thresher://talk/memo://a"


async def test_a_connection_follows_a_bounded_number_of_resources(services: Services) -> None:
    """So one client leaves room for the others; what it ends makes room again, and what fails takes none."""
    await add_talking(services, "legacy")

    async with served(services) as url, connect(url, "legacy") as client:
        with pytest.raises(McpError):
            await client.session.subscribe_resource("nobody://has/this")
        for number in range(100):
            await client.session.subscribe_resource(f"thresher://talk/memo://{number}")
        with pytest.raises(McpError, match="follows up to 100 resources"):
            await client.session.subscribe_resource("thresher://talk/memo://more")
        await client.session.unsubscribe_resource("thresher://talk/memo://7")
        await client.session.subscribe_resource("thresher://talk/memo://more")
        with pytest.raises(McpError, match="follows up to 100 resources"):
            await client.session.subscribe_resource("thresher://talk/memo://again")


async def test_a_session_hears_that_its_lists_have_changed(services: Services) -> None:
    """When a tool becomes a core tool, the list of tools changes, and no other."""
    await services.tools.import_tools(services.caller, CATALOGUE)
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def told(message: Any) -> None:
        heard.put_nowait(message.method)

    async with served(services) as url, connect(url, "legacy", message_handler=told) as client:
        await client.list_tools()
        await services.tools.set_tool(services.caller, "git_git_log", core=True)
        async with asyncio.timeout(20):
            first = await heard.get()

    assert first == "notifications/tools/list_changed"
    assert heard.empty()
