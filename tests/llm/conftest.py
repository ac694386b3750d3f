from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from tests.fakes.chat_server import ChatServer
from thresher.llm import OpenAIChat

KEY = "sk-very-secret-key-of-a-model"

Open = Callable[..., OpenAIChat]


@pytest.fixture
def service() -> Iterator[ChatServer]:
    """A fake chat service that runs."""
    server = ChatServer()
    yield server
    server.stop()


@pytest.fixture
def pauses() -> list[float]:
    """How long the client wanted to wait between tries."""
    return []


@pytest.fixture
async def connect(service: ChatServer, pauses: list[float]) -> AsyncIterator[Open]:
    """Opens chats on the fake service and closes them after the test; their pauses take no time."""
    opened: list[OpenAIChat] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    def opener(url: str = service.url, **options: Any) -> OpenAIChat:
        options = {"key": SecretStr(KEY), "seconds": 10.0, "pause": pause} | options
        opened.append(OpenAIChat(url, "fake", **options))
        return opened[-1]

    yield opener
    for chat in opened:
        await chat.close()
