"""Answers as they come, over real HTTP, from a service that does well and badly."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from tests.agent_models.conftest import KEY, Connect, Waits, Watched
from tests.fakes.chat_server import Said
from thresher.agent import AnswerChunk, OpenModel
from thresher.core import Breaker, ModelError, ModelTimeout, Pauses
from thresher.llm import Completion, Function, FunctionCall, Usage

HELLO: Any = [SystemMessage("Be short."), HumanMessage("Hello there, who are you?")]
FORECAST = Function("forecast", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})


async def chunks(model: OpenModel, messages: Any = HELLO, **more: Any) -> list[AnswerChunk]:
    """All of a stream."""
    async with aclosing(model.stream(messages, **more)) as stream:
        return [chunk async for chunk in stream]


async def heard(stream: AsyncGenerator[AnswerChunk], said: list[str]) -> None:
    """Note what is said as it is said."""
    async for chunk in stream:
        said += [chunk.text]


def text(found: list[AnswerChunk]) -> str:
    """What they say."""
    return "".join(chunk.text for chunk in found)


async def test_an_answer_comes_in_pieces_and_the_last_one_tells_the_rest(connect: Connect, fake: Watched) -> None:
    """Its words as the service says them; then why it ended and what it cost."""
    fake.tokens_per_second = 100

    found = await chunks(connect())

    assert text(found) == "Hello there, who are you?"
    assert len(found) == 6
    assert all(chunk == AnswerChunk(chunk.text) for chunk in found[:-1])
    assert found[-1] == AnswerChunk("", (), Usage(10, 7, 5), "stop", "fake")


async def test_the_whole_answer_is_the_sum(connect: Connect, fake: Watched) -> None:
    """Without the white space around it."""
    fake.model = lambda _: "\n Fine. \n"

    assert await connect().complete(HELLO) == Completion("Fine.", "stop", (), Usage(10, 4, 5), "fake")


async def test_a_request_holds_what_was_asked_and_nothing_else(connect: Connect, fake: Watched) -> None:
    """Calls and their answers as the wire has them; the settings' choices, unless the call has its own."""
    call = {"id": "call_9", "name": "forecast", "args": {"city": "Rom"}, "type": "tool_call"}
    messages = [
        *HELLO,
        AIMessage("", tool_calls=[call]),
        ToolMessage("sunny", tool_call_id="call_9", artifact={"a": 1}),
    ]
    model = connect(temperature=0.5, max_tokens=70)

    await chunks(model, messages, functions=[FORECAST], choice="forecast", temperature=0.1)

    body = fake.requests[0]
    assert {name: body[name] for name in body if name != "messages"} == {
        "model": "fake",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.1,
        "max_tokens": 70,
        "tools": [
            {
                "type": "function",
                "function": {"name": "forecast", "description": "The weather.", "parameters": FORECAST.parameters},
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "forecast"}},
    }
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    asked = body["messages"][2]["tool_calls"][0]
    assert body["messages"][2]["content"] is None
    assert (asked["id"], asked["function"]["name"]) == ("call_9", "forecast")
    assert json.loads(asked["function"]["arguments"]) == {"city": "Rom"}
    assert body["messages"][3] == {"role": "tool", "content": "sunny", "tool_call_id": "call_9"}
    assert fake.authorizations == [f"Bearer {KEY}"]


async def test_calls_come_whole_in_the_last_piece(connect: Connect, fake: Watched) -> None:
    """After what is said before them."""
    fake.model = lambda _: Said("Let me look.", (("forecast", {"city": "Rom"}), ("time", {})))

    found = await chunks(connect(), functions=[FORECAST])

    assert text(found) == "Let me look."
    assert (found[-1].finish, found[-1].calls) == (
        "tool_calls",
        (FunctionCall("call_0", "forecast", '{"city": "Rom"}'), FunctionCall("call_1", "time", "{}")),
    )


@pytest.mark.parametrize("choice", ["none", "required"])
async def test_a_choice_among_tools_is_passed_on(connect: Connect, fake: Watched, choice: str) -> None:
    """`auto` is what services do anyway."""
    model = connect()
    await chunks(model, functions=[FORECAST], choice=choice)
    await chunks(model, functions=[FORECAST])

    assert fake.requests[0]["tool_choice"] == choice
    assert "tool_choice" not in fake.requests[1]


async def test_nothing_of_the_environment_reaches_a_service(
    connect: Connect, fake: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the libraries would read there: keys, organisations, headers, addresses, other ways to ask."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "ORGANIZATION", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", f"leak-{name}")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "LANGSMITH_GATEWAY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/leak")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leak\nAuthorization: leak")
    monkeypatch.setenv("LC_OUTPUT_VERSION", "v1")

    said = await connect(key=None).complete(HELLO)

    assert said.text == "Hello there, who are you?"
    assert fake.authorizations == [None]
    assert "leak" not in json.dumps([fake.headers, fake.requests])


@pytest.mark.parametrize(
    ("refused", "sent"),
    [
        ("temperature", {"max_tokens": 50}),
        ("max_tokens", {"temperature": 0.1, "max_completion_tokens": 50}),
        ("stream_options", {"temperature": 0.1, "max_tokens": 50}),
        ("tool_choice", {"temperature": 0.1, "max_tokens": 50, "stream_options": {"include_usage": True}}),
    ],
)
async def test_what_a_service_refuses_is_left_out_from_then_on(
    connect: Connect, fake: Watched, refused: str, sent: dict[str, Any]
) -> None:
    """The first answer takes one request more, later ones do not."""
    fake.refuses = {refused: "unsupported_parameter"}
    model = connect(temperature=0.1, max_tokens=50)

    first = await model.complete(HELLO, functions=[FORECAST], choice="required")
    await model.complete(HELLO, functions=[FORECAST], choice="required")

    assert first.text
    assert len(fake.requests) == 3
    assert all(refused not in body for body in fake.requests[1:])
    assert sent.items() <= fake.requests[2].items()


async def test_a_service_that_does_not_stream_is_read_too(connect: Connect, fake: Watched) -> None:
    """Its answer comes as one piece."""
    fake.streams = False
    fake.model = lambda _: Said("Look.", (("forecast", {}),))

    found = await chunks(connect(), functions=[FORECAST])

    assert [chunk.text for chunk in found] == ["Look.", ""]
    assert [call.name for call in found[-1].calls] == ["forecast"]


@pytest.mark.parametrize("mode", ["thinking", "parts", "bare"])
async def test_what_services_do_differently_is_read(connect: Connect, fake: Watched, mode: str) -> None:
    """Thoughts are dropped, parts put together, what is missing is not missed."""
    fake.mode = mode

    found = await chunks(connect())

    assert text(found) == "Hello there, who are you?"
    assert found[-1].finish == "stop"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("spoilt", r"failed \(server_error\)"),
        ("mute", "empty. Ask again"),
        ("withheld", "withheld.* Word the question differently"),
        ("pondering", "limit of its answer.* Ask for a longer answer"),
        ("raw:data: {]\n\n", "cannot be read"),
        ("wrong:[1]", "cannot be read"),
        ('wrong:{"choices": [{"delta": {"content": 7}}]}', "cannot be read"),
        ("huge", "larger than 64 MiB"),
        ("401", "refused the key: HTTP 401 .model_not_found.. Set a new one there"),
        ("403", "refused the key: HTTP 403"),
        ("307", "refused: HTTP 307"),
    ],
    ids=range(11),
)
async def test_what_is_no_answer_is_an_error_in_our_words(
    connect: Connect, fake: Watched, waits: Waits, mode: str, words: str
) -> None:
    """The service's words may quote the request, or hold the key; and it is not asked again."""
    fake.mode = mode

    with pytest.raises(ModelError, match=words) as failed:
        await chunks(connect())

    assert not isinstance(failed.value, ModelTimeout)
    assert "who are you" not in str(failed.value)
    assert "no model for you" not in str(failed.value)
    assert (len(fake.requests), waits.asked) == (1, [])


@pytest.mark.parametrize("mode", ["drop", "408", "409", "425", "429", "500", "502", "503", "529"])
async def test_what_may_pass_is_tried_again_before_the_first_word(
    connect: Connect, fake: Watched, waits: Waits, mode: str
) -> None:
    """Three times in all; the pause doubles."""
    fake.script.extend([mode, mode])

    assert (await connect().complete(HELLO)).text
    assert waits.asked == [0.5, 1.0]


async def test_after_three_tries_it_is_an_error(connect: Connect, fake: Watched, waits: Waits) -> None:
    """Which says what went wrong the last time."""
    fake.mode = "503"

    with pytest.raises(ModelError, match="HTTP 503") as failed:
        await connect().complete(HELLO)

    assert failed.value.hint == "Look at it."
    assert (len(fake.requests), waits.asked) == (3, [0.5, 1.0])


async def test_a_service_says_how_long_to_wait(connect: Connect, fake: Watched, waits: Waits) -> None:
    """It is not waited for longer than there is time."""
    fake.script.extend(["429:2", "429:60"])

    with pytest.raises(ModelError, match=r"is busy: HTTP 429\. Try again in a while, or take another model"):
        await connect().complete(HELLO)

    assert waits.asked == [2.0]


@pytest.mark.parametrize(
    ("mode", "words"), [("half", "off its answer. Ask"), ("cut", "off its answer. Ask"), ("broken", "server_error")]
)
async def test_nothing_is_asked_twice_after_the_first_word(
    connect: Connect, fake: Watched, mode: str, words: str
) -> None:
    """What was said stays said, and then comes the error."""
    fake.mode = mode
    said: list[str] = []

    with pytest.raises(ModelError, match=words):
        await heard(connect().stream(HELLO), said)

    assert "".join(said) == "Hello there,"
    assert len(fake.requests) == 1


@pytest.mark.parametrize("mode", ["slow", "silent"])
async def test_an_answer_has_to_begin_in_time(connect: Connect, fake: Watched, mode: str) -> None:
    """Whether nothing comes at all, or nothing that says anything; the connection is closed."""
    fake.mode = mode

    with pytest.raises(ModelTimeout, match=r"begin to answer within 0\.2 s"):
        await chunks(connect(), first_seconds=0.2)

    assert await asyncio.to_thread(fake.gone.wait, 10)


async def test_an_answer_has_to_end_in_time(connect: Connect, fake: Watched) -> None:
    """What was said until then was said; the connection is closed."""
    fake.mode = "trickle"
    said: list[str] = []

    with pytest.raises(ModelTimeout, match=r"within 1 s"):
        await heard(connect().stream(HELLO, seconds=1.0), said)

    assert said == ["Hello"]
    assert await asyncio.to_thread(fake.gone.wait, 10)


async def test_leaving_ends_the_answer(connect: Connect, fake: Watched) -> None:
    """At once, and the service notices."""
    fake.tokens_per_second = 1
    async with aclosing(connect().stream(HELLO)) as stream:
        await anext(stream)

    assert await asyncio.to_thread(fake.gone.wait, 10)
    assert fake.left == 1


@pytest.mark.parametrize("mode", ["slow", "good"])
async def test_a_cancelled_caller_ends_the_answer(connect: Connect, fake: Watched, mode: str) -> None:
    """Before the first word, and between two; the model serves the next one."""
    fake.script.append(mode)
    fake.tokens_per_second = 0.5
    model, begun = connect(), asyncio.Event()

    async def listen() -> None:
        async for _ in model.stream(HELLO):
            begun.set()

    work = asyncio.create_task(listen())
    assert await (asyncio.to_thread(fake.reached.wait, 10) if mode == "slow" else begun.wait())
    work.cancel()

    with pytest.raises(asyncio.CancelledError):
        await work
    assert await asyncio.to_thread(fake.gone.wait, 10)
    fake.tokens_per_second = 0
    assert (await model.complete(HELLO)).text


async def test_a_model_that_keeps_failing_is_left_alone(connect: Connect, fake: Watched) -> None:
    """The next one who asks is told at once, and for how long; then one may try, and all may if that goes well."""
    now = 100.0
    breaker = Breaker(Pauses(failures=2, pause=10.0), clock=lambda: now, chance=lambda: 1.0)
    model = connect(breaker=breaker)
    fake.mode = "503"
    for _ in range(2):
        with pytest.raises(ModelError, match="HTTP 503"):
            await model.complete(HELLO)

    with pytest.raises(ModelError, match=r"failed 2 times in a row and is left alone for 10 s more.*HTTP 503"):
        await model.complete(HELLO)
    assert len(fake.requests) == 6

    now, fake.mode = 111.0, "good"
    assert (await model.complete(HELLO)).text
    assert breaker.failures == 0


async def test_a_pause_that_is_nearly_over_takes_a_second_more(connect: Connect, fake: Watched) -> None:
    """No message says to wait for 0 s."""
    now = 100.0
    breaker = Breaker(Pauses(failures=1, pause=10.0), clock=lambda: now, chance=lambda: 1.0)
    model = connect(breaker=breaker)
    fake.mode = "drop"
    with pytest.raises(ModelError, match=r"did not answer: it broke off\. Look"):
        await model.complete(HELLO)

    now = 109.9

    with pytest.raises(ModelError, match=r"for 1 s more; the last time: it broke off\. Wait"):
        await model.complete(HELLO)


async def test_a_callers_own_short_time_is_not_held_against_a_service(connect: Connect, fake: Watched) -> None:
    """It has to have had ten seconds."""
    breaker = Breaker(Pauses(failures=1))
    model = connect(breaker=breaker)
    fake.script.append("slow")

    with pytest.raises(ModelTimeout):
        await model.complete(HELLO, seconds=0.1)

    assert breaker.failures == 0
    assert (await model.complete(HELLO)).text


async def test_without_a_key_a_service_that_wants_one_says_so(connect: Connect, fake: Watched) -> None:
    """It cannot have refused one."""
    fake.mode = "401"

    with pytest.raises(ModelError, match=r"wants a key: HTTP 401.*Set it there"):
        await connect(key=None).complete(HELLO)


async def test_time_that_runs_out_and_broken_answers_count_as_failures(connect: Connect, fake: Watched) -> None:
    """Refusals do not: the service lives, and waiting would not help."""
    breaker = Breaker(Pauses(failures=9))
    model = connect(breaker=breaker, fair=0.9)
    fake.script.extend(["slow", "half", "401"])

    for _ in range(3):
        with pytest.raises(ModelError):
            await model.complete(HELLO, first_seconds=1.0)

    assert breaker.failures == 2


async def test_a_connection_serves_again(connect: Connect, fake: Watched) -> None:
    """One for answers that come after one another."""
    model = connect()
    for _ in range(3):
        await model.complete(HELLO)

    assert fake.connections == 1


async def test_many_at_once_get_their_own_answers(connect: Connect, fake: Watched) -> None:
    """Two hundred side by side, paced."""
    fake.tokens_per_second = 100
    model = connect()

    answers = await asyncio.gather(*(model.complete([HumanMessage(f"I am number {n}")]) for n in range(200)))

    assert [answer.text for answer in answers] == [f"I am number {n}" for n in range(200)]


async def test_logs_hold_neither_key_nor_words(
    connect: Connect, fake: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even where everything is logged."""
    caplog.set_level(logging.DEBUG)
    fake.script.extend(["503", "good"])

    await connect().complete(HELLO)

    assert "model_retry" in caplog.text
    assert KEY not in caplog.text
    assert "who are you" not in caplog.text
