"""Listings that are broken in part, and what a server has beside tools."""

from __future__ import annotations

import pytest
from mcp_types import CompleteRequestParams, CompletionArgument, PromptReference

from tests.upstream.conftest import stdio_server
from thresher.core import UpstreamRefused
from thresher.upstream import Upstreams
from thresher.upstream.listing import schema_problem


async def test_an_invalid_definition_is_left_out_and_named(upstreams: Upstreams) -> None:
    """The rest of the listing stands."""
    listing = await upstreams.list_tools(stdio_server("partly_invalid"))

    assert [tool.name for tool in listing.tools] == ["echo"]
    missing, bad, number, array = listing.problems
    assert missing == "The tool 'broken' is left out: inputSchema is missing."
    assert bad == "The tool 'bad' is left out: inputSchema.properties.a.type: 'strang' is not a type."
    assert number == "A tool is left out: it is not an object."
    assert array == "The tool 'list' is left out: inputSchema must be an object."


async def test_a_definition_that_no_model_could_be_shown_is_left_out(upstreams: Upstreams) -> None:
    """Reading and scanning it would delay all other callers."""
    listing = await upstreams.list_tools(stdio_server("large"))

    assert [tool.name for tool in listing.tools] == ["echo"]
    assert listing.problems == ("The tool 'two' is left out: its definition has 298 KiB; 256 KiB are allowed.",)


@pytest.mark.parametrize(("mode", "protocol"), [("whole", "2025-11-25"), ("modern", "2026-07-28")])
async def test_resources_templates_and_prompts_are_listed_as_the_server_defines_them(
    upstreams: Upstreams, mode: str, protocol: str
) -> None:
    """One without a name is left out, and named."""
    listing = await upstreams.list_tools(stdio_server(mode))

    assert listing.protocol == protocol
    assert listing.resources == ({"uri": "memo://one", "name": "one"},)
    assert listing.templates == ({"uriTemplate": "memo://{name}", "name": "any"},)
    assert listing.prompts == ({"name": "greet", "arguments": [{"name": "who", "required": True}]},)
    assert listing.problems == ("The resource 'memo://two' is left out: name is missing.",)
    assert listing.capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert len(listing.tools) == 6


async def test_what_a_listing_may_be_kept_for_is_handed_on(upstreams: Upstreams) -> None:
    """Only revision 2026-07-28 reports it."""
    modern, older = [await upstreams.list_tools(stdio_server(mode, name=mode)) for mode in ("modern", "whole")]

    assert (modern.ttl_ms, modern.cache_scope) == (5000, "private")
    assert (older.ttl_ms, older.cache_scope) == (None, "")


async def test_a_failed_list_of_resources_spoils_no_tool(upstreams: Upstreams) -> None:
    """It is partial, and says why."""
    listing = await upstreams.list_tools(stdio_server("spoiled"))

    assert len(listing.tools) == 6
    assert listing.partial == {"resources", "templates", "prompts"}
    assert any("the disk is full" in problem for problem in listing.problems)


async def test_a_server_without_resources_is_not_asked_for_any(upstreams: Upstreams) -> None:
    """Its capabilities show what it has."""
    listing = await upstreams.list_tools(stdio_server())

    assert (listing.resources, listing.prompts, listing.partial, listing.problems) == ((), (), frozenset(), ())


@pytest.mark.parametrize("mode", ["whole", "modern"])
async def test_resources_are_read_prompts_filled_in_and_arguments_completed(upstreams: Upstreams, mode: str) -> None:
    """In both eras."""
    config = stdio_server(mode)

    resource = await upstreams.read_resource(config, "memo://one")
    prompt = await upstreams.get_prompt(config, "greet", {"who": "Ann"})
    argument = CompletionArgument(name="who", value="Ann")
    completion = await upstreams.complete(
        config, CompleteRequestParams(ref=PromptReference(name="greet"), argument=argument)
    )

    assert resource.contents[0].model_dump()["text"] == "body"
    assert (resource.ttl_ms, resource.cache_scope) == ((5000, "private") if mode == "modern" else (0, "private"))
    assert prompt.messages[0].content.model_dump()["text"] == "Greet Ann."
    assert completion.completion.values == ["Anne"]


async def test_what_a_server_does_not_have_is_refused_in_its_words(upstreams: Upstreams) -> None:
    """With the code that it gave."""
    with pytest.raises(UpstreamRefused, match=r"refused resources/read: Method not found \(code -32601\)"):
        await upstreams.read_resource(stdio_server(), "memo://one")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({}, ""),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": True}}, ""),
        ({"type": "object", "properties": {"a": {"items": [{"type": "string"}]}}, "$defs": {"x": {}}}, ""),
        ({"type": "array"}, "its type is 'array'"),
        ({"properties": []}, "properties: it is not an object"),
        ({"properties": {"a": 1}}, "properties.a: it is not a schema"),
        ({"required": "a"}, "required: it is not a list of names"),
        ({"properties": {"a": {"enum": "x"}}}, "enum: it is not a list"),
        ({"properties": {"a": {"anyOf": {}}}}, "anyOf: it is not a list"),
        ({"properties": {"a": {"items": 3}}}, "items: it is not a schema"),
        ({"properties": {"a": {"type": {}}}}, "is not a type"),
    ],
)
def test_a_schema_is_checked_in_its_structure(schema: dict[str, object], problem: str) -> None:
    """Schemas that a model's provider would refuse are found; merely unusual ones are not."""
    found = schema_problem(schema)

    assert problem in found
    assert bool(found) == bool(problem)


def test_a_schema_without_end_is_a_problem_and_no_crash() -> None:
    """However deep."""
    schema: dict[str, object] = {}
    for _ in range(500):
        schema = {"properties": {"a": schema}}

    assert "nested too deeply" in schema_problem(schema)
