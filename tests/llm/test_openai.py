"""The client of the OpenAI wire format, over real HTTP, with a service that does well and badly."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from tests.fakes.chat_server import ChatServer, Said
from tests.llm.conftest import KEY, Open
from thresher.core import ModelError, ModelTimeout
from thresher.llm import TRIES, ChatRequest, Function, FunctionCall, Message, Usage

HELLO = ChatRequest((Message("system", "Be short."), Message("user", "Hello there, who are you?")), 0.1, 50)


async def test_an_answer_has_its_text_its_reason_and_what_it_cost(connect: Open, service: ChatServer) -> None:
    """As the service reports them."""
    answer = await connect().complete(HELLO)

    assert (answer.text, answer.finish, answer.model) == ("Hello there, who are you?", "stop", "fake")
    assert answer.usage == Usage(prompt=10, completion=7, cached=5)


async def test_what_is_asked_is_sent_as_the_format_says(connect: Open, service: ChatServer) -> None:
    """Model, messages, temperature, limit."""
    await connect().complete(HELLO)

    assert service.requests == [
        {
            "model": "fake",
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "Hello there, who are you?"},
            ],
            "temperature": 0.1,
            "max_tokens": 50,
        }
    ]


async def test_what_is_not_given_is_not_sent(connect: Open, service: ChatServer) -> None:
    """The service has its own temperature and limit."""
    await connect().complete(ChatRequest((Message("user", "x"),)))

    assert set(service.requests[0]) == {"model", "messages"}


async def test_functions_are_offered_called_and_answered(connect: Open, service: ChatServer) -> None:
    """A turn with a tool, from the offer to the result."""
    chat, schema = connect(), {"type": "object", "properties": {"city": {"type": "string"}}}
    service.model = lambda _: Said(calls=(("forecast", {"city": "Rome"}),))
    question = (Message("user", "How is the weather in Rome?"),)
    asked = await chat.complete(ChatRequest(question, functions=(Function("forecast", "The weather.", schema),)))
    service.model = lambda body: f"It is {body['messages'][-1]['content']}."

    told = (*question, Message("assistant", "", asked.calls), Message("tool", "sunny", answers=asked.calls[0].id))
    answer = await chat.complete(ChatRequest(told))

    assert (asked.calls, asked.finish) == ((FunctionCall("call_0", "forecast", '{"city": "Rome"}'),), "tool_calls")
    assert service.requests[0]["tools"][0]["function"]["parameters"] == schema
    assert service.requests[1]["messages"][2]["tool_call_id"] == "call_0"
    assert service.requests[1]["messages"][1]["tool_calls"][0]["function"]["name"] == "forecast"
    assert answer.text == "It is sunny."


async def test_an_answer_at_the_limit_says_so(connect: Open, service: ChatServer) -> None:
    """It ends in the middle of a sentence."""
    service.model = lambda _: "word " * 200

    answer = await connect().complete(HELLO)

    assert (answer.finish, answer.usage.completion) == ("length", 50)


@pytest.mark.parametrize("mode", ["parts", "thinking", "bare"])
async def test_what_services_do_differently_is_understood(connect: Open, service: ChatServer, mode: str) -> None:
    """A text in parts, thoughts before the answer, no usage and no reason."""
    service.mode = mode

    answer = await connect().complete(HELLO)

    assert answer.text == "Hello there, who are you?"


@pytest.mark.parametrize(
    ("refuses", "kept"),
    [({"max_tokens": "unsupported_parameter"}, {"temperature": 0.1, "max_completion_tokens": 50}),
     ({"temperature": "unsupported_value"}, {"max_tokens": 50}),
     ({"max_tokens": "x", "temperature": "y"}, {"max_completion_tokens": 50})],
)  # fmt: skip
async def test_what_a_service_does_not_take_is_left_out_from_then_on(
    connect: Open, service: ChatServer, refuses: dict[str, str], kept: dict[str, object]
) -> None:
    """Models that think take no temperature, OpenAI's later ones another limit; it is learnt once."""
    service.refuses = refuses
    chat = connect()

    await chat.complete(HELLO)
    await chat.complete(HELLO)

    assert len(service.requests) == 2 + len(refuses)
    last = {name: value for name, value in service.requests[-1].items() if name not in ("model", "messages")}
    assert last == kept


async def test_a_refusal_that_only_quotes_a_field_changes_nothing(connect: Open, service: ChatServer) -> None:
    """The next request is asked as before."""
    service.script.extend(["400:temperature", "400:temperature"])
    chat = connect()

    with pytest.raises(ModelError, match="HTTP 400"):
        await chat.complete(HELLO)
    await chat.complete(HELLO)

    assert service.requests[-1]["temperature"] == 0.1


@pytest.mark.parametrize("failure", ["429", "500", "503", "529", "drop", "half"])
async def test_a_passing_failure_is_tried_again(
    connect: Open, service: ChatServer, pauses: list[float], failure: str
) -> None:
    """With growing pauses."""
    service.script.extend([failure, failure])

    answer = await connect().complete(HELLO)

    assert answer.text
    assert pauses == [0.5, 1.0]


async def test_the_server_may_say_when_to_come_back(connect: Open, service: ChatServer, pauses: list[float]) -> None:
    """Where that is early enough."""
    service.script.append("429:7")

    await connect().complete(HELLO)

    assert pauses == [7.0]


async def test_nobody_waits_for_a_server_that_is_busy_for_too_long(
    connect: Open, service: ChatServer, pauses: list[float]
) -> None:
    """The answer would come after the time that the caller has."""
    service.mode = "429:60"

    with pytest.raises(ModelError, match="is busy: HTTP 429"):
        await connect().complete(HELLO)

    assert (pauses, len(service.requests)) == ([], 1)


async def test_a_lasting_failure_ends_after_the_last_try(connect: Open, service: ChatServer) -> None:
    """With the status and what to check."""
    service.mode = "500"

    with pytest.raises(ModelError, match=r"HTTP 500.*THRESHER_LLM_URL"):
        await connect().complete(HELLO)
    assert len(service.requests) == TRIES


@pytest.mark.parametrize("status", ["400", "401", "404", "307"])
async def test_a_refusal_is_not_tried_again(connect: Open, service: ChatServer, status: str) -> None:
    """It would be refused again; a redirect would carry the key elsewhere. Only its code is repeated, no words."""
    service.mode = status

    with pytest.raises(ModelError, match=rf"refused( the key)?: HTTP {status} \(model_not_found\)") as refused:
        await connect().complete(HELLO)

    assert len(service.requests) == 1
    assert "who are you" not in str(refused.value)


@pytest.mark.parametrize(
    "mode",
    [
        "raw:<html>not JSON</html>",
        "raw:",
        "raw:\xff\xfe",
        "wrong:[]",
        "wrong:null",
        "wrong:{}",
        'wrong:{"choices": []}',
        'wrong:{"choices": 7}',
        'wrong:{"choices": [{"message": null}]}',
        'wrong:{"choices": [{"message": {"content": 7}}]}',
        'wrong:{"choices": [{"message": {"content": [7]}}]}',
        'wrong:{"choices": [{"message": {"content": {"text": "x"}}}]}',
        'wrong:{"choices": [{"message": {"content": [{"type": "text", "text": 7}]}}]}',
        'wrong:{"choices": [{"message": {"tool_calls": [{"function": {"name": 3}}]}}]}',
        'wrong:{"choices": [{"message": {"content": "x"}, "finish_reason": {}}]}',
        "raw:" + "[" * 100_000,
    ],
    ids=range(16),
)
async def test_an_answer_that_is_none_is_an_error(connect: Open, service: ChatServer, mode: str) -> None:
    """Never half an answer, and never another kind of error."""
    service.mode = mode

    with pytest.raises(ModelError, match="cannot be read"):
        await connect().complete(HELLO)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("spoilt", r"service failed \(server_error\)"),
        ("withheld", "withheld"),
        ("mute", "empty"),
        ("pondering", "limit of its answer"),
        ("huge", "larger than 8 MiB"),
    ],
)
async def test_an_answer_that_says_nothing_is_an_error(
    connect: Open, service: ChatServer, mode: str, words: str
) -> None:
    """With the reason."""
    service.mode = mode

    with pytest.raises(ModelError, match=words):
        await connect().complete(HELLO)


@pytest.mark.parametrize("mode", ["slow", "trickle"])
async def test_nobody_waits_longer_than_he_says(connect: Open, service: ChatServer, mode: str) -> None:
    """For the first byte, or for the rest."""
    service.mode = mode

    with pytest.raises(ModelTimeout, match=r"within 0\.2 s"):
        await connect().complete(HELLO, seconds=0.2)


async def test_nobody_listening_is_an_error_with_a_hint(connect: Open, service: ChatServer) -> None:
    """The service is down."""
    service.stop()

    with pytest.raises(ModelError, match=r"nothing answers at 127\.0\.0\.1:\d+\. Is it running\?.*THRESHER_LLM_URL"):
        await connect().complete(HELLO)


async def test_the_key_is_sent_and_shown_nowhere(
    connect: Open, service: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in an error, a log line, or a repr; nor is what was asked."""
    caplog.set_level(logging.DEBUG, "thresher")
    service.script.extend(["500", "401"])
    chat = connect()

    with pytest.raises(ModelError) as caught:
        await chat.complete(HELLO)

    assert service.authorizations[0] == f"Bearer {KEY}"
    shown = f"{caught.value!r} {caught.value} {chat!r} {chat.name} {vars(chat)!r} {caplog.text}"
    assert KEY not in shown
    assert "who are you" not in shown


async def test_without_a_key_no_header_is_sent(connect: Open, service: ChatServer) -> None:
    """Self-hosted services need none."""
    await connect(key=None).complete(HELLO)

    assert service.authorizations == [None]


async def test_the_query_of_an_address_stays(connect: Open, service: ChatServer) -> None:
    """Some services want their version there."""
    chat = connect(service.url + "/?api-version=2026-01-01")

    assert (await chat.complete(HELLO)).text
    assert chat.name.startswith("fake@127.0.0.1:")


async def test_any_text_can_be_asked(connect: Open, service: ChatServer) -> None:
    """Lone surrogates, NUL, other scripts."""
    answer = await connect().complete(ChatRequest((Message("user", "a\0b \ud800 日本 🎉"),)))

    assert json.loads(json.dumps(answer.text)) == "a\0b ? 日本 🎉"


async def test_closing_ends_a_request_in_flight(connect: Open, service: ChatServer) -> None:
    """The caller gets an error and does not wait for the service."""
    service.mode = "slow"
    chat = connect()
    work = asyncio.create_task(chat.complete(HELLO))
    assert await asyncio.to_thread(service.reached.wait, 10)

    await chat.close()

    with pytest.raises(ModelError, match="closed"):
        await work
    with pytest.raises(ModelError, match="closed"):
        await chat.complete(HELLO)


async def test_a_cancelled_caller_stays_cancelled(connect: Open, service: ChatServer) -> None:
    """And the model serves the next one."""
    service.script.append("slow")
    chat = connect()
    work = asyncio.create_task(chat.complete(HELLO))
    assert await asyncio.to_thread(service.reached.wait, 10)
    work.cancel()

    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await chat.complete(HELLO)).text


async def test_many_at_once_get_their_own_answers(connect: Open, service: ChatServer) -> None:
    """Forty side by side."""
    chat = connect()

    answers = await asyncio.gather(
        *(chat.complete(ChatRequest((Message("user", f"number {number}"),))) for number in range(40))
    )

    assert [answer.text for answer in answers] == [f"number {number}" for number in range(40)]
