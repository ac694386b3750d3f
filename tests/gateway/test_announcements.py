"""What a server announces reaches those who listen behind the gateway as it reaches those in front of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.client.subscriptions import PromptsListChanged, ToolsListChanged, listen

from tests.conformance.serving import everything
from tests.gateway.talking import add, connect, served
from thresher.services import Services
from thresher.upstream import ServerConfig


@pytest.mark.parametrize(
    ("kind", "trigger", "announced"),
    [
        ("tools_list_changed", "test_trigger_tool_change", ToolsListChanged()),
        ("prompts_list_changed", "test_trigger_prompt_change", PromptsListChanged()),
    ],
)
async def test_an_announced_change_reaches_an_open_stream(
    services: Services, monkeypatch: pytest.MonkeyPatch, kind: str, trigger: str, announced: Any
) -> None:
    """At once, with nothing looked at in between; a client that lists then finds the change."""
    monkeypatch.setattr("thresher.gateway.subscriptions.LOOK_SECONDS", 3600.0)
    monkeypatch.setattr("thresher.knowledge.tools.catalogue.FRESH_SECONDS", 3600.0)
    async with everything() as upstream:
        await add(services, ServerConfig("all", "http", url=upstream, prefix=False))
        async with served(services, expose="all") as url, connect(url, "auto") as client, asyncio.timeout(20):
            async with listen(client.session, **{kind: True}) as stream:
                await client.call_tool_mcp(trigger, {})
                event = await anext(stream)
            lists = await client.list_tools() if kind.startswith("tools") else await client.list_prompts()

    assert event == announced
    assert "test_added" in [one.name for one in lists]
