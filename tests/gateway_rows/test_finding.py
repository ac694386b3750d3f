"""Rows about finding: short answers, no answer where none fits, any script, and models that forget to search."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from fastmcp import Client

from tests.gateway_rows.gateway import Child, reading, running, text
from thresher.core import Settings
from thresher.embedding import count_tokens

WIDE = {f"parameter_{number}": {"type": "string", "description": "A long story. " * 20} for number in range(20)}


async def test_an_answer_is_short_and_the_schema_comes_on_demand(settings: Settings, tmp_path: Path) -> None:
    """A search answers with a line for a tool, in tokens that are counted; a description has it all."""
    child = Child.at(tmp_path, "box", reading("wide", "Open a box. " + "Much more is to say of it. " * 50, WIDE))
    async with running(settings, child) as gateway:
        found = await gateway.call("find_tools", message="open a box", threshold=0)
        described = await gateway.call("describe_tools", names=["box_wide"])
        counted = await gateway.tools.find_tools(gateway.caller, message="open a box", threshold=0)

    assert count_tokens(text(found)) < 200
    assert "A long story" not in text(found)
    assert "A long story" in text(described)
    assert 0 < counted.tokens_sent < counted.tokens_all / 10


@pytest.mark.parametrize("message", ["Hello!", "Thanks, that was all.", "Who was the first king of Rome?"])
async def test_a_message_that_needs_no_tool_gets_none(settings: Settings, tmp_path: Path, message: str) -> None:
    """The answer says so, in words that let the model go on."""
    child = Child.at(tmp_path, "box", reading("open_box", "Open a box with a key."), reading("fold", "Fold paper."))
    async with running(settings, child) as gateway:
        found = await gateway.call("find_tools", message=message)

    assert (found.structured_content or {})["abstained"] is True
    assert (found.structured_content or {})["tools"] == []
    assert "No tool fits" in text(found)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("天气预报", "box_weather"),
        ("удалить старый файл", "box_remove"),
        ("ترجمة النص", "box_translate"),
        ("メールを送信", "box_mail"),
    ],
)
async def test_a_search_works_in_other_scripts(settings: Settings, tmp_path: Path, message: str, name: str) -> None:
    """Chinese, Russian, Arabic, Japanese: what is described so is found so."""
    child = Child.at(
        tmp_path,
        "box",
        reading("weather", "获取城市的天气预报"),
        reading("remove", "Удалить файл навсегда"),
        reading("translate", "ترجمة النص من لغة إلى أخرى"),
        reading("mail", "メールを送信する"),
        reading("fold", "Fold a sheet of paper."),
    )
    async with running(settings, child) as gateway:
        found = await gateway.call("find_tools", queries=[message], threshold=0)

    assert (found.structured_content or {})["tools"][0]["name"] == name


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_model_is_told_to_search_and_what_there_is(settings: Settings, tmp_path: Path, mode: str) -> None:
    """In the instructions, with the servers' names, and in the search tool's own description."""
    child = Child.at(tmp_path, "warehouse", reading("open_box", "Open a box with a key."))
    async with running(settings, child) as gateway, Client(gateway.url, mode=mode) as client:
        instructions = client.instructions or ""
        find, *_ = await client.list_tools()

    assert "find_tools" in instructions
    assert "warehouse" in instructions
    assert "first" in (find.description or "")


async def test_a_host_can_choose_tools_without_the_model(settings: Settings, tmp_path: Path) -> None:
    """POST /v1/tools/find answers a program with names, schemas and scores."""
    child = Child.at(tmp_path, "box", reading("open_box", "Open a box with a key."))
    async with running(settings, child) as gateway, httpx.AsyncClient(base_url=gateway.address) as host:
        response = await host.post("/v1/tools/find", json={"message": "open a box", "threshold": 0})

    answer = response.json()
    assert response.status_code == 200
    assert answer["tools"][0]["name"] == "box_open_box"
    assert answer["tools"][0]["inputSchema"]["type"] == "object"
    assert answer["tools"][0]["source"] in ("semantic", "lexical", "hybrid")
    assert answer["total_searched"] == 1
