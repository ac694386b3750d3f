"""A client's own model, asked by code of a pack during a call, with real clients of both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from mcp_types import ErrorData

from tests.gateway.packing import call, text, with_packs, write_pack
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database

CODE = """
from fastmcp.tools import tool
from thresher.llm import ChatRequest, Function, Message
from thresher.packs import current

@tool(annotations={"readOnlyHint": True})
async def ask(question: str, functions: bool = False) -> dict:
    chat = current().chat
    if chat is None:
        return {"name": ""}
    messages = (Message("system", "Be short."), Message("user", question))
    offered = (Function("f"),) if functions else ()
    answer = await chat.complete(ChatRequest(messages, 0.1, 50, offered), seconds=0.5)
    return {"name": chat.name, "text": answer.text, "finish": answer.finish}
"""


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> AsyncIterator[Services]:
    """Services with one pack, whose tool asks the client's model."""
    write_pack(tmp_path / "packs", "ship", code=CODE)
    quiet = settings.model_copy(update={"rules_first": "off"})
    async with with_packs(database, tenant, quiet, encoder, tmp_path / "packs") as services:
        yield services


async def asked(services: Services, handler: Any, mode: str = "legacy", **arguments: Any) -> str:
    """What the tool answers to a client with such a model."""
    arguments = {"question": "Who are you?", **arguments}
    async with Client(build_gateway(services), mode=mode, sampling_handler=handler) as client:  # type: ignore[arg-type]
        return text(await call(client, "call_tool", name="ship_ask", arguments=arguments))


async def test_the_client_s_model_answers(services: Services) -> None:
    """It is given instructions, question, temperature and limit."""
    heard: list[Any] = []

    async def handler(messages: Any, params: Any, context: Any) -> str:
        heard.append((messages[0].content.text, params.system_prompt, params.temperature, params.max_tokens))
        return "A model."

    answer = json.loads(await asked(services, handler))

    assert heard == [("Who are you?", "Be short.", 0.1, 50)]
    assert answer == {"name": "the client's model", "text": "A model.", "finish": "stop"}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_without_a_model_offers_none(services: Services, mode: str) -> None:
    """And is not asked."""
    assert json.loads(await asked(services, None, mode)) == {"name": ""}


async def test_the_stateless_era_offers_none(services: Services) -> None:
    """It has deprecated sampling."""

    async def handler(messages: Any, params: Any, context: Any) -> str:
        return "Never asked."

    assert json.loads(await asked(services, handler, "auto")) == {"name": ""}


async def _silent(messages: Any, params: Any, context: Any) -> str:
    await asyncio.Event().wait()
    return "Too late."


async def _blank(messages: Any, params: Any, context: Any) -> str:
    return "  "


async def _refusing(messages: Any, params: Any, context: Any) -> Any:
    return ErrorData(code=-1, message="The user said no, and much else.")


async def _failing(messages: Any, params: Any, context: Any) -> str:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (_silent, "did not answer within 0.5 s"),
        (_blank, "is empty"),
        (_refusing, "did not ask its model"),
        (_failing, "did not ask its model"),
    ],
)
async def test_a_client_s_model_may_fail(services: Services, handler: Any, words: str) -> None:
    """With an error of ours, in time."""
    assert words in await asked(services, handler)


async def test_functions_are_not_offered_to_it(services: Services) -> None:
    """It would call them behind our back."""
    assert "not offered functions" in await asked(services, _blank, functions=True)
