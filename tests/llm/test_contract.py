"""The contract of chat services: the fake one, and a real one if LLM_URL, LLM_MODEL and LLM_KEY name it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from tests.fakes.chat_server import ChatServer, Said
from thresher.core import ModelTimeout, load_settings
from thresher.llm import Chat, ChatRequest, Function, Message, open_chat

REAL = ("LLM_URL", "LLM_MODEL", "LLM_KEY")
CITY = Function(
    "forecast", "Tells the weather of a city.", {"type": "object", "properties": {"city": {"type": "string"}}}
)


@pytest.fixture(params=["fake", *(["real"] if os.environ.get("LLM_URL") else [])])
async def chat(request: pytest.FixtureRequest, service: ChatServer) -> AsyncIterator[Chat]:
    """Each service in turn, opened as the product does."""
    url, model, key = (os.environ.get(name, "") for name in REAL)
    if request.param == "fake":
        url, model, key = service.url, "fake", ""
    chat = open_chat(
        load_settings(llm_url=url, llm_model=model, llm_key=SecretStr(key) if key else None, llm_seconds=60)
    )
    assert chat is not None
    yield chat
    await chat.close()


def asked(text: str, most: int | None = 200, *functions: Function) -> ChatRequest:
    """A question."""
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), 0.1, most, functions)


async def test_an_answer_is_a_text_and_has_a_cost(chat: Chat) -> None:
    """With the reason why it ends."""
    answer = await chat.complete(asked("Say exactly: the sky is blue"))

    assert "sky is blue" in answer.text.lower()
    assert answer.finish == "stop"
    assert answer.usage.prompt > 0
    assert answer.usage.completion > 0


async def test_the_limit_holds_and_is_told(chat: Chat) -> None:
    """An answer that was cut off is marked."""
    answer = await chat.complete(asked("Write out: " + "one two three four five six seven eight nine ten " * 20, 16))

    assert answer.finish == "length"
    assert answer.usage.completion <= 16


async def test_a_function_is_called_with_arguments(chat: Chat, service: ChatServer) -> None:
    """Where the question asks for it."""
    service.model = lambda _: Said(calls=(("forecast", {"city": "Rome"}),))

    answer = await chat.complete(asked("Call forecast for the city Rome.", 500, CITY))

    assert (answer.calls[0].name, answer.finish) == ("forecast", "tool_calls")
    assert "Rome" in answer.calls[0].arguments
    assert answer.calls[0].id


async def test_several_at_once_get_their_own_answers(chat: Chat) -> None:
    """In any order."""
    answers = await asyncio.gather(*(chat.complete(asked(f"Say exactly: number {number}")) for number in range(4)))

    assert [str(number) in answer.text for number, answer in enumerate(answers)] == [True] * 4


async def test_nobody_waits_longer_than_he_says(chat: Chat, service: ChatServer) -> None:
    """No service answers in no time."""
    service.mode = "slow"

    with pytest.raises(ModelTimeout):
        await chat.complete(asked("Say something long."), seconds=0.01)
