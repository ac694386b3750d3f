"""The fake service streams like real ones: the official client reads it, and it misbehaves as described."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.fakes.chat_server import ChatServer, Said

HELLO: Any = [{"role": "user", "content": "Hello there, who are you?"}]


@pytest.fixture
async def client(service: ChatServer) -> AsyncIterator[openai.AsyncOpenAI]:
    """The official client."""
    async with openai.AsyncOpenAI(base_url=service.url, api_key="sk-x", max_retries=0) as client:
        yield client


async def chunks(client: openai.AsyncOpenAI, **more: Any) -> list[ChatCompletionChunk]:
    """All chunks of a stream."""
    stream = await client.chat.completions.create(model="fake", messages=HELLO, stream=True, **more)
    return [chunk async for chunk in stream]


def text(found: list[ChatCompletionChunk]) -> str:
    """The text of the chunks."""
    return "".join(chunk.choices[0].delta.content or "" for chunk in found if chunk.choices)


async def test_an_answer_comes_word_by_word_with_its_usage_at_the_end(client: openai.AsyncOpenAI) -> None:
    """Where the request asks for usage."""
    found = await chunks(client, stream_options={"include_usage": True})

    assert text(found) == "Hello there, who are you?"
    assert [chunk.choices[0].delta.content for chunk in found[:3]] == ["", "Hello", " there,"]
    assert found[-2].choices[0].finish_reason == "stop"
    assert found[-1].choices == []
    assert (found[-1].usage and found[-1].usage.completion_tokens) == 7


async def test_usage_is_not_told_unasked(client: openai.AsyncOpenAI) -> None:
    """As OpenAI has it."""
    found = await chunks(client)

    assert [chunk.usage for chunk in found if chunk.usage] == []


async def test_calls_come_in_pieces_and_are_numbered(client: openai.AsyncOpenAI, service: ChatServer) -> None:
    """Name first, then its arguments; a later answer's call has another id."""
    service.model = lambda _: Said("Let me look.", (("forecast", {"city": "Rome"}), ("time", {})))
    options: Any = {"model": "fake", "messages": HELLO}

    async with client.chat.completions.stream(**options) as stream:
        await stream.until_done()
        message = (await stream.get_final_completion()).choices[0]
    again = await client.chat.completions.create(**options)

    calls = message.message.tool_calls or []
    assert (message.message.content, message.finish_reason) == ("Let me look.", "tool_calls")
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == [
        ("call_0", "forecast", '{"city": "Rome"}'),
        ("call_1", "time", "{}"),
    ]
    assert [call.id for call in again.choices[0].message.tool_calls or []] == ["call_2", "call_3"]


async def test_words_keep_to_the_pace(client: openai.AsyncOpenAI, service: ChatServer) -> None:
    """Five words at fifty a second, after the time to think."""
    service.tokens_per_second, service.first_token_seconds = 50, 0.05
    started = time.monotonic()

    await chunks(client)

    assert 0.12 < time.monotonic() - started < 2


async def test_a_stamp_says_when_the_first_word_went_out(client: openai.AsyncOpenAI, service: ChatServer) -> None:
    """By the clock that all processes of a machine share."""
    service.stamped, before = True, time.monotonic()

    stamp, _, said = text(await chunks(client)).partition(" ")

    assert before - 0.001 <= float(stamp) <= time.monotonic()
    assert said == "Hello there, who are you?"


async def test_who_leaves_in_the_middle_is_noticed(client: openai.AsyncOpenAI, service: ChatServer) -> None:
    """The service stops working on that request."""
    service.tokens_per_second = 1
    stream = await client.chat.completions.create(model="fake", messages=HELLO, stream=True)
    async for _ in stream:
        break

    await stream.close()

    assert await asyncio.to_thread(service.gone.wait, 10)
    assert (service.left, service.answering) == (1, 0)


@pytest.mark.parametrize("mode", ["slow", "silent", "trickle"])
async def test_who_does_not_wait_is_noticed(client: openai.AsyncOpenAI, service: ChatServer, mode: str) -> None:
    """Before the first byte, before the first word, and after it."""
    service.mode = mode

    with pytest.raises(openai.APITimeoutError):
        await chunks(client, timeout=0.2)

    assert await asyncio.to_thread(service.gone.wait, 10)


async def test_a_stream_breaks_off_in_the_middle(client: openai.AsyncOpenAI, service: ChatServer) -> None:
    """The connection ends without the end of the answer."""
    service.mode = "half"

    with pytest.raises(openai.APIConnectionError):
        await chunks(client)


async def test_an_error_comes_in_the_middle(client: openai.AsyncOpenAI, service: ChatServer) -> None:
    """In the service's words."""
    service.mode = "broken"

    with pytest.raises(openai.APIError, match="no model for you"):
        await chunks(client)


@pytest.mark.parametrize(
    ("mode", "said", "finish"),
    [
        ("cut", "Hello there,", None),
        ("bare", "Hello there, who are you?", None),
        ("mute", " \n", "stop"),
        ("withheld", "", "content_filter"),
        ("pondering", "<think>\nWhat do they", "length"),
        ("thinking", "<think>\nWhat do they want?\n</think>\n\nHello there, who are you?", "stop"),
    ],
)
async def test_what_services_do_differently_is_streamed(
    client: openai.AsyncOpenAI, service: ChatServer, mode: str, said: str, finish: str | None
) -> None:
    """Ends without a reason, thoughts, nothing."""
    service.mode = mode

    found = await chunks(client)

    assert (text(found), next((one.choices[0].finish_reason for one in reversed(found)), None)) == (said, finish)


async def test_many_streams_get_their_own_words(client: openai.AsyncOpenAI, service: ChatServer) -> None:
    """Forty side by side."""
    service.tokens_per_second = 100

    async def one(number: int) -> str:
        messages: Any = [{"role": "user", "content": f"I am number {number}"}]
        stream = await client.chat.completions.create(model="fake", messages=messages, stream=True)
        return text([chunk async for chunk in stream])

    assert await asyncio.gather(*map(one, range(40))) == [f"I am number {number}" for number in range(40)]


async def test_the_service_runs_as_a_program(tmp_path: Any) -> None:
    """It prints its address and ends with its standard input."""
    command = [sys.executable, "-m", "tests.fakes.chat_server", "--text", "as you like", "--tokens-per-second", "200"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin
    assert process.stdout
    url = (await process.stdout.readline()).decode().strip()

    async with openai.AsyncOpenAI(base_url=url, api_key="sk-x", max_retries=0) as client:
        said = text(await chunks(client))
    process.stdin.close()

    assert said == "as you like"
    assert await process.wait() == 0
