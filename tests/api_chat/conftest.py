"""A product behind a real port with a model's service behind it, asked by the official client."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import SecretStr

from tests.api.conftest import own_settings
from tests.api.serving import Served, served
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer, text_of
from tests.support import Databases
from thresher.core import Settings

__all__ = ["own_settings"]


def obedient(body: dict[str, Any]) -> str | Said:
    """A model that says what it is told to, and calls tools of the client where it is told so.

    `say WORDS`, `call NAME...`; a tool's answer is repeated. What else stands in a prompt is none of its business.
    """
    for message in reversed(body["messages"]):
        text = text_of(message)
        verb, _, rest = text.partition(" ")
        if message["role"] == "tool":
            return f"The tool says {text}."
        if message["role"] == "user" and verb == "say":
            return rest
        if message["role"] == "user" and verb == "call":
            return Said(calls=tuple((name, {"sides": 6}) for name in rest.split()))
    return "I was told nothing."


def heard(body: dict[str, Any]) -> list[str]:
    """The conversation that a request holds, without what stands around it."""
    return [text_of(one) for one in body["messages"] if one["role"] != "system" and "# " not in text_of(one)]


@pytest.fixture(scope="module")
def llm() -> Iterator[ChatServer]:
    """The model's service."""
    server = ChatServer(obedient)
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _as_new(llm: ChatServer) -> None:
    """Each test finds the service well."""
    llm.script.clear()
    llm.mode, llm.model, llm.tokens_per_second, llm.first_token_seconds = "good", obedient, 0.0, 0.0
    llm.requests.clear()
    llm.release.clear()
    llm.reached.clear()
    llm.gone.clear()


@pytest.fixture(scope="module")
async def chatting(databases: Databases, open_folder: Path, llm: ChatServer) -> AsyncIterator[Served]:
    """A product with this model, that a module's tests share: no key, no server."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    settings = Settings(
        data_dir=folder,
        allow_root=True,
        database_url=SecretStr(databases.url(name)),
        llm_url=llm.url,
        llm_model="obedient",
    )
    async with served(settings) as product:
        yield product
    await databases.drop(name)


@pytest.fixture
def base_url(chatting: Served) -> str:
    """Where a client of OpenAI's looks for the product."""
    return f"{chatting.web.base_url}/v1".replace("//v1", "/v1")


@pytest.fixture
async def sdk(base_url: str) -> AsyncIterator[AsyncOpenAI]:
    """The official client, as on a machine of one's own: it insists on a key, and `none` stands for none."""
    async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
        yield client
