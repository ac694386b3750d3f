"""The official client against the product: the calls that its documentation shows, as it shows them."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import uuid4

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from tests.api.serving import Served
from tests.api_chat.conftest import heard
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer, text_of
from tests.support.waiting import eventually
from thresher.api.application import BODY_LIMIT
from thresher.api.chat import turns

ROLL: Any = {
    "type": "function",
    "function": {
        "name": "roll",
        "description": "Roll a die.",
        "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}, "required": ["sides"]},
    },
}


def says(text: str) -> Any:
    """A message of the user."""
    return [{"role": "user", "content": text}]


async def test_a_completion_is_created(sdk: AsyncOpenAI) -> None:
    """With text, reason, usage, and what only Thresher tells."""
    answer = await sdk.chat.completions.create(model="thresher", messages=says("say Hello Ada."))

    (choice,) = answer.choices
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "Hello Ada.", "stop")
    assert (answer.object, answer.model) == ("chat.completion", "thresher")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    told: Any = answer.model_extra
    assert (told["thresher"]["model"], told["thresher"]["finish"]) == ("obedient", "stop")
    assert told["thresher"]["trace_id"] == answer._request_id


async def test_a_completion_is_streamed(sdk: AsyncOpenAI) -> None:
    """Word by word; the last chunk says why it ended and what the turn was."""
    stream = await sdk.chat.completions.create(model="thresher", messages=says("say Hello dear Ada."), stream=True)
    chunks = [chunk async for chunk in stream]

    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello dear Ada."
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert {chunk.id for chunk in chunks} == {chunks[0].id}
    told: Any = chunks[-1].model_extra
    assert told["thresher"]["calls"] == 1
    assert all(chunk.usage is None for chunk in chunks)


async def test_usage_is_streamed_where_it_is_wanted(sdk: AsyncOpenAI) -> None:
    """In a last chunk without choices."""
    stream = await sdk.chat.completions.create(
        model="thresher", messages=says("say x"), stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]

    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens > 0


async def test_the_stream_helper_puts_the_answer_together(sdk: AsyncOpenAI) -> None:
    """Its events and its final completion."""
    async with sdk.chat.completions.stream(model="thresher", messages=says("say Hello dear Ada.")) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_completion()

    assert kinds[0] == "chunk"
    assert "content.delta" in kinds
    assert kinds[-1] == "content.done"
    assert final.choices[0].message.content == "Hello dear Ada."


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kept", [False, True], ids=["stateless", "thread"])
async def test_a_tool_of_the_client_goes_round(sdk: AsyncOpenAI, streamed: bool, kept: bool) -> None:
    """The model calls it, the client runs it and sends the result, the model goes on."""
    thread = {"x-thresher-thread": str(uuid4())} if kept else {}
    messages = says("call roll")
    asked: dict[str, Any] = {"model": "thresher", "tools": [ROLL], "extra_headers": thread}
    if streamed:
        async with sdk.chat.completions.stream(messages=messages, **asked) as stream:
            answer: Any = await stream.get_final_completion()
    else:
        answer = await sdk.chat.completions.create(messages=messages, **asked)
    (choice,) = answer.choices
    (call,) = choice.message.tool_calls
    result = {"role": "tool", "tool_call_id": call.id, "content": "four"}
    messages = [result] if kept else [*messages, choice.message.model_dump(exclude_none=True), result]
    final = await sdk.chat.completions.create(messages=messages, **asked)

    assert choice.finish_reason == "tool_calls"
    assert (call.type, call.function.name, call.function.arguments) == ("function", "roll", '{"sides": 6}')
    assert final.choices[0].message.content == "The tool says four."


async def test_two_tools_are_called_at_once(sdk: AsyncOpenAI) -> None:
    """Each with an id of its own, streamed with its place."""
    other: Any = {"type": "function", "function": {"name": "toss", "parameters": {"type": "object"}}}
    stream = await sdk.chat.completions.create(
        model="thresher", messages=says("call roll toss"), tools=[ROLL, other], stream=True
    )
    calls = [call async for chunk in stream for call in chunk.choices[0].delta.tool_calls or []]

    assert [(call.index, call.function and call.function.name) for call in calls] == [(0, "roll"), (1, "toss")]
    assert len({call.id for call in calls}) == 2


async def test_a_choice_of_tool_reaches_the_model(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """By name, or that there must be none."""
    for choice in ({"type": "function", "function": {"name": "roll"}}, "none", "required"):
        await sdk.chat.completions.create(
            model="thresher",
            messages=says("say x"),
            tools=[ROLL],
            tool_choice=choice,  # pyright: ignore[reportArgumentType] - as a test says it
        )

    assert [body.get("tool_choice") for body in llm.requests] == [
        {"type": "function", "function": {"name": "roll"}},
        "none",
        "required",
    ]


class Person(BaseModel):
    """What an answer is read into."""

    name: str
    age: int


async def test_an_answer_is_parsed(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """The form goes to the model as it stands, and its words are read into a record."""
    answer = await sdk.chat.completions.parse(
        model="thresher", messages=says('say {"name": "Ada", "age": 36}'), response_format=Person
    )

    assert answer.choices[0].message.parsed == Person(name="Ada", age=36)
    assert llm.requests[-1]["response_format"]["json_schema"]["name"] == "Person"


async def test_a_call_is_parsed(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """With a tool made of a record."""
    llm.model = lambda _: Said(calls=(("Person", {"name": "Ada", "age": 36}),))
    answer = await sdk.chat.completions.parse(
        model="thresher", messages=says("call Person"), tools=[openai.pydantic_function_tool(Person)]
    )

    (call,) = answer.choices[0].message.tool_calls or []
    assert call.function.parsed_arguments == Person(name="Ada", age=36)


async def test_what_the_model_alone_knows_is_passed_on(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """Sampling, stops, seeds; a limit has its later name too."""
    await sdk.chat.completions.create(
        model="thresher",
        messages=says("say x"),
        temperature=0.3,
        top_p=0.9,
        seed=7,
        stop=["END"],
        presence_penalty=0.1,
        max_completion_tokens=50,
        user="ada",
        store=False,
        metadata={"topic": "greeting"},
    )

    sent = llm.requests[-1]
    assert {name: sent[name] for name in ("temperature", "top_p", "seed", "stop", "presence_penalty")} == {
        "temperature": 0.3,
        "top_p": 0.9,
        "seed": 7,
        "stop": ["END"],
        "presence_penalty": 0.1,
    }
    assert sent["max_tokens"] == 50
    assert not {"user", "store", "metadata"} & set(sent)


async def test_parts_and_developers_are_understood(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """A content of parts is their text; a developer speaks as the system does."""
    messages: Any = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "say "}, {"type": "text", "text": "yes"}]},
    ]
    answer = await sdk.chat.completions.create(model="thresher", messages=messages)

    assert answer.choices[0].message.content == "yes"
    assert any("Be brief." in text_of(one) for one in llm.requests[-1]["messages"] if one["role"] == "system")


async def test_a_thread_is_named_by_header_or_metadata(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """The model then hears what was said before, and of the messages only the last is taken."""
    thread = str(uuid4())
    named = {"x-thresher-thread": thread}
    await sdk.chat.completions.create(model="thresher", messages=says("say first"), extra_headers=named)
    raw = await sdk.chat.completions.with_raw_response.create(
        model="thresher", messages=[*says("never said"), *says("say second")], metadata={"thread_id": thread}
    )

    assert heard(llm.requests[-1]) == ["say first", "first", "say second"]
    assert raw.headers["x-thresher-thread"] == thread
    told: Any = raw.parse().model_extra
    assert told["thresher"]["thread"] == thread


async def test_a_raw_answer_can_be_read(sdk: AsyncOpenAI) -> None:
    """Headers and body, whole and streamed."""
    raw = await sdk.chat.completions.with_raw_response.create(model="thresher", messages=says("say x"))
    asked = sdk.chat.completions.with_streaming_response
    async with asked.create(model="thresher", messages=says("say x"), stream=True) as response:
        lines = [line async for line in response.iter_lines()]

    assert raw.headers["x-request-id"] == raw.request_id
    assert raw.parse().choices[0].message.content == "x"
    assert [line for line in lines if line][-1] == "data: [DONE]"


async def test_models_are_listed_and_looked_up(sdk: AsyncOpenAI) -> None:
    """The caller's own choice, and each by name; one that is not there is an error of its kind."""
    names = [model.id async for model in sdk.models.list()]
    one = await sdk.models.retrieve("default")
    with pytest.raises(openai.NotFoundError) as caught:
        await sdk.models.retrieve("gpt-4o")

    assert names == ["thresher", "default"]
    assert (one.id, one.object) == ("default", "model")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert "thresher" in caught.value.message


async def test_a_model_is_chosen_by_name(sdk: AsyncOpenAI) -> None:
    """And the answer names it; one that nobody registered is refused before anything is asked."""
    answer = await sdk.chat.completions.create(model="default", messages=says("say x"))
    with pytest.raises(openai.NotFoundError) as caught:
        await sdk.chat.completions.create(model="gpt-4o", messages=says("say x"), stream=True)

    assert answer.model == "default"
    assert (caught.value.code, caught.value.type) == ("model_not_found", "invalid_request_error")


async def test_a_request_that_does_not_fit_raises_what_the_client_expects(sdk: AsyncOpenAI) -> None:
    """With the field's name."""
    with pytest.raises(openai.BadRequestError) as several:
        await sdk.chat.completions.create(model="thresher", messages=says("x"), n=2)
    part: Any = {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}
    with pytest.raises(openai.BadRequestError) as image:
        await sdk.chat.completions.create(model="thresher", messages=[{"role": "user", "content": [part]}])
    with pytest.raises(openai.BadRequestError) as empty:
        await sdk.chat.completions.create(model="thresher", messages=[])
    with pytest.raises(openai.BadRequestError) as setting:
        await sdk.chat.completions.create(
            model="thresher", messages=says("x"), extra_body={"thresher": {"settings": {"top_k": 0}}}
        )

    params = [one.value.param for one in (several, image, empty, setting)]
    assert params == ["n", "messages[0].content", "messages", "thresher.settings.top_k"]
    assert several.value.type == "invalid_request_error"
    assert several.value.request_id


async def test_other_refusals_raise_what_the_client_expects(sdk: AsyncOpenAI) -> None:
    """A path, a body, a key, an origin."""
    with pytest.raises(openai.NotFoundError):
        await sdk.get("/chat/nowhere", cast_to=object)
    with pytest.raises(openai.APIStatusError) as long:
        await sdk.chat.completions.create(model="thresher", messages=says("x" * (BODY_LIMIT + 1)))
    with pytest.raises(openai.AuthenticationError) as key:
        await sdk.with_options(api_key="sk-nobody").models.list()
    with pytest.raises(openai.PermissionDeniedError) as origin:
        await sdk.with_options(default_headers={"origin": "https://evil.example"}).models.list()

    assert (long.value.status_code, long.value.code) == (413, "too_large")
    assert (key.value.code, key.value.type) == ("invalid_api_key", "invalid_request_error")
    assert (origin.value.code, origin.value.type) == ("foreign_origin", "permission_error")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"7", b"[" * 50_000, b"\xff", b'{"messages": NaN}'], ids=lambda one: str(one[:3])
)
async def test_what_is_no_request_is_a_bad_one(chatting: Served, content: bytes) -> None:
    """However broken."""
    answer = await chatting.web.post(
        "/v1/chat/completions", content=content, headers={"content-type": "application/json"}
    )

    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


async def test_a_thread_that_is_busy_is_a_conflict(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """At once; the turn under way goes on."""
    llm.mode = "slow"
    thread = {"x-thresher-thread": str(uuid4())}
    first = asyncio.create_task(
        sdk.chat.completions.create(model="thresher", messages=says("say first"), extra_headers=thread)
    )
    await asyncio.to_thread(llm.reached.wait, 20)
    with pytest.raises(openai.ConflictError) as caught:
        await sdk.chat.completions.create(model="thresher", messages=says("say x"), extra_headers=thread, stream=True)
    llm.release.set()

    assert caught.value.code == "conflict"
    assert (await first).choices[0].message.content == "first"


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_client_that_does_not_wait_ends_the_turn(sdk: AsyncOpenAI, llm: ChatServer, streamed: bool) -> None:
    """The model's service sees its connection closed."""
    llm.mode = "slow"
    call = asyncio.create_task(sdk.chat.completions.create(model="thresher", messages=says("say x"), stream=streamed))
    assert await asyncio.to_thread(llm.reached.wait, 20)

    call.cancel()

    assert await asyncio.to_thread(llm.gone.wait, 20)


async def test_leaving_a_stream_ends_the_turn(
    sdk: AsyncOpenAI, llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before the first word; the thread can go on."""
    monkeypatch.setattr(turns, "BEAT_SECONDS", 0.2)
    thread = {"x-thresher-thread": str(uuid4())}
    llm.mode = "silent"
    async with asyncio.timeout(30):
        stream = await sdk.chat.completions.create(
            model="thresher", messages=says("say first"), stream=True, extra_headers=thread
        )
        await eventually(lambda: llm.requests)
        await stream.close()
        assert await asyncio.to_thread(llm.gone.wait, 20)
    llm.mode = "good"
    again = await sdk.with_options(max_retries=5).chat.completions.create(
        model="thresher", messages=says("say second"), extra_headers=thread
    )

    assert again.choices[0].message.content == "second"


async def test_leaving_in_the_middle_of_a_stream_frees_the_thread_at_once(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """After the first word, with nothing else on its way: the model's service sees its connection closed."""
    thread = {"x-thresher-thread": str(uuid4())}
    llm.mode = "trickle"
    async with asyncio.timeout(30):
        stream = await sdk.chat.completions.create(
            model="thresher", messages=says("say first and more"), stream=True, extra_headers=thread
        )
        assert await anext(chunk.choices[0].delta.content async for chunk in stream if chunk.choices[0].delta.content)
        await stream.close()
        llm.mode, left = "good", time.monotonic()
        assert await asyncio.to_thread(llm.gone.wait, 20)

        async def answered() -> str | None:
            try:
                again = await sdk.chat.completions.create(
                    model="thresher", messages=says("say second"), extra_headers=thread
                )
            except openai.ConflictError:
                return None
            return again.choices[0].message.content

        assert await eventually(answered) == "second"
    assert time.monotonic() - left < turns.BEAT_SECONDS  # which finds it at the latest


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("mode", "status"), [("400", 502), ("429", 429)])
async def test_a_model_that_fails_at_once_is_an_error_status(
    sdk: AsyncOpenAI, llm: ChatServer, monkeypatch: pytest.MonkeyPatch, mode: str, status: int, streamed: bool
) -> None:
    """Also of a stream, whose first byte has not been sent by then."""
    monkeypatch.setattr("thresher.agent.models.requests.TRIES", 1)
    llm.mode = mode
    with pytest.raises(openai.APIStatusError) as refused:
        await sdk.chat.completions.create(model="thresher", messages=says("say x"), stream=streamed)

    assert refused.value.status_code == status
    assert "chat model" in refused.value.message


async def test_steps_are_chunks_that_the_client_passes_over(sdk: AsyncOpenAI, llm: ChatServer) -> None:
    """They say nothing, and hold the step as data; the last one before the end is what the model took."""
    stream = await sdk.chat.completions.create(model="thresher", messages=says("say Hello"), stream=True)
    chunks = [chunk async for chunk in stream]

    steps: list[Any] = [(chunk.model_extra or {}).get("thresher", {}).get("step") for chunk in chunks]
    usage = next(step for step in steps if step is not None and step["name"] == "usage")
    assert (usage["calls"], usage["prompt"] > 0) == (1, True)
    assert all(chunk.choices for chunk in chunks)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello"


async def test_words_that_were_sent_before_the_client_left_are_kept(
    sdk: AsyncOpenAI, llm: ChatServer, chatting: Served
) -> None:
    """Marked as cut off, in the history of the thread; its instruction is shown beside it."""
    thread, messages = str(uuid4()), [{"role": "developer", "content": "Be brief."}, *says("say first and more")]
    llm.mode = "trickle"
    stream = await sdk.chat.completions.create(
        model="thresher", messages=messages, stream=True, extra_headers={"x-thresher-thread": thread}
    )
    heard = await anext(chunk.choices[0].delta.content async for chunk in stream if chunk.choices[0].delta.content)
    await stream.close()
    assert await asyncio.to_thread(llm.gone.wait, 20)

    async def kept() -> Any:
        history = (await chatting.web.get(f"/v1/chat/history/{thread}")).json()
        return history if len(history["messages"]) > 1 else None

    history = await eventually(kept)
    assert [(one["text"], one["cut"]) for one in history["messages"]] == [("say first and more", False), (heard, True)]
    assert history["instruction"] == "Be brief."


async def test_a_blocking_client_is_served(base_url: str) -> None:
    """Whole, streamed, retried where the client says so."""

    def talk() -> tuple[str, str]:
        with OpenAI(base_url=base_url, api_key="none") as client:
            whole = client.chat.completions.create(model="thresher", messages=says("say one"))
            stream = client.chat.completions.create(model="thresher", messages=says("say two words"), stream=True)
            return str(whole.choices[0].message.content), "".join(
                chunk.choices[0].delta.content or "" for chunk in stream
            )

    assert await asyncio.to_thread(talk) == ("one", "two words")


async def test_many_streams_are_answered_at_once(sdk: AsyncOpenAI) -> None:
    """Each its own."""

    async def talk(number: int) -> str:
        stream = await sdk.chat.completions.create(
            model="thresher", messages=says(f"say answer {number} of many"), stream=True
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    answers = await asyncio.gather(*map(talk, range(40)))

    assert answers == [f"answer {number} of many" for number in range(40)]
