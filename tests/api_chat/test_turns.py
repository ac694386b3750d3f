"""One request's answer: the order of its bytes, its silences, its errors, and its end when nobody reads it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from tests.api.serving import on_port
from thresher.agent import ChatCall, Delta, Event, Step, TurnReport
from thresher.api.chat import turns
from thresher.api.chat.requests import CompletionCall
from thresher.api.chat.turns import TurnResponse
from thresher.core import Conflict, ThresherError

THREAD = UUID(int=7)
PATH = "/v1/chat/completions"

Events = AsyncGenerator[Event]


@asynccontextmanager
async def answering(events: Callable[[], Events], *, stream: bool = True) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a port on which every request is this turn."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await TurnResponse(events(), CompletionCall(ChatCall(thread=THREAD), "thresher", stream, usage=False))(
            scope, receive, send
        )

    async with on_port(application) as web:
        yield web


def chunks(text: str) -> list[Any]:
    """The data of a stream; comments as they stand."""
    return [part if part.startswith((":", "data: [")) else json.loads(part.split("data: ")[1]) for part in parts(text)]


def parts(text: str) -> list[str]:
    """The events of a stream."""
    assert text.endswith("\n\n")
    return text.removesuffix("\n\n").split("\n\n")


async def greeting() -> Events:
    """A turn that goes well."""
    yield Step("search")
    yield Delta("Hello")
    yield TurnReport(text="Hello")


async def test_a_stream_says_how_it_is_to_be_read() -> None:
    """No proxy holds it back, and the request and its thread are named before the first word."""
    async with answering(greeting) as web:
        answer = await web.post(PATH)

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-cache", "no")
    assert answer.headers["x-thresher-thread"] == str(THREAD)
    assert len(answer.headers["x-request-id"]) == 16
    role, *_, done = chunks(answer.text)
    assert role["choices"][0]["delta"]["role"] == "assistant"
    assert done == "data: [DONE]"


async def test_a_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first event too; the answer is none the worse."""
    monkeypatch.setattr(turns, "BEAT_SECONDS", 0.01)
    goes_on = [asyncio.Event(), asyncio.Event()]

    async def slow() -> Events:
        await goes_on[0].wait()
        yield Delta("Hello")
        await goes_on[1].wait()
        yield TurnReport(text="Hello")

    async with answering(slow) as web, web.stream("POST", PATH) as answer:
        seen = ""
        async for text in answer.aiter_text():
            seen += text
            if ": still here" in seen:
                goes_on[0].set()
            if ": still here" in seen.partition("Hello")[2]:
                goes_on[1].set()

    said = [one["choices"][0]["delta"].get("content") for one in chunks(seen) if isinstance(one, dict)]
    assert said == ["", "Hello", None]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_whoever_goes_away_ends_the_turn(stream: bool) -> None:
    """At once, not with the next word."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless() -> Events:
        try:
            yield Delta("Hello")
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with answering(endless, stream=stream) as web:
        asking = asyncio.create_task(web.post(PATH))
        await begun.wait()
        asking.cancel()
        async with asyncio.timeout(10):
            await ended.wait()


async def failing(error: Exception, *before: Event) -> Events:
    """A turn that tells this, and fails."""
    for event in before:
        yield event
    raise error


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(Conflict("Busy.", hint="Wait."), 409, "conflict"), (ValueError("secret"), 500, "internal")],
    ids=["foreseen", "unforeseen"],
)
async def test_an_error_before_the_first_byte_is_an_answer(
    stream: bool, error: Exception, status: int, code: str
) -> None:
    """With its status, and without what nobody shall read."""
    async with answering(lambda: failing(error), stream=stream) as web:
        answer = await web.post(PATH)

    told = answer.json()["error"]
    assert (answer.status_code, told["code"], told["param"]) == (status, code, None)
    assert (told["message"] == "Busy. Wait.") is isinstance(error, ThresherError)
    assert "secret" not in answer.text
    assert ("x-should-retry" in answer.headers) is (status == 500)
    assert (answer.headers["x-request-id"] in answer.text) is (status == 500)


@pytest.mark.parametrize("error", [Conflict("Gone."), ValueError("secret")], ids=["foreseen", "unforeseen"])
async def test_an_error_later_is_an_event_and_the_end(error: Exception) -> None:
    """What was said before it stands; there is no `[DONE]`."""
    async with answering(lambda: failing(error, Delta("Hello"))) as web:
        answer = await web.post(PATH)

    *_, said, last = parts(answer.text)
    assert "Hello" in said
    assert last.startswith("event: error\ndata: ")
    assert json.loads(last.split("data: ")[1])["error"]["message"]
    assert "secret" not in answer.text


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_a_turn_without_an_end_is_an_error(stream: bool) -> None:
    """Nobody takes half an answer for a whole one."""

    async def half() -> Events:
        yield Delta("Hello")

    async with answering(half, stream=stream) as web:
        answer = await web.post(PATH)

    assert "server_error" in answer.text
    assert "[DONE]" not in answer.text


async def test_a_slow_reader_gets_longer_pieces_and_all_of_them() -> None:
    """What waits together goes together; nothing is lost or turned around."""
    words = [f"{number} " for number in range(5_000)]

    async def quick() -> Events:
        for word in words:
            yield Delta(word)
        yield TurnReport(text="".join(words))

    async with answering(quick) as web:
        answer = await web.post(PATH)

    said = [one["choices"][0]["delta"].get("content") or "" for one in chunks(answer.text) if isinstance(one, dict)]
    assert "".join(said) == "".join(words)
    assert len(said) < len(words)
