"""Answers in the OpenAI wire format, whole and in chunks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from thresher.agent import ChatCall, Citation, ClientCall, Delta, Event, Step, TurnReport
from thresher.api.chat.answers import Writer
from thresher.api.chat.requests import CompletionCall
from thresher.llm import Usage

REPORT = TurnReport(text="Hello Ada.", model="qwen3", trace_id="t", usage=Usage(10, 3, 4), calls=1)


def asked(*, usage: bool = False) -> CompletionCall:
    """A streamed request."""
    return CompletionCall(ChatCall(), "thresher", stream=True, usage=usage)


def frames(written: bytes) -> list[Any]:
    """What a reader of server-sent events gets; comments stand as texts."""
    assert written.endswith(b"\n\n")
    parts = written.decode().removesuffix("\n\n").split("\n\n")
    assert all("\n" not in part for part in parts)
    return [part if part.startswith((":", "data: [")) else json.loads(part.removeprefix("data: ")) for part in parts]


def streamed(*events: Event, usage: bool = False) -> list[Any]:
    """The frames of a turn."""
    writer = Writer(asked(usage=usage))
    return frames(writer.begin() + writer.write(events))


def test_a_stream_begins_with_who_speaks_and_ends_with_why() -> None:
    """Every chunk names the same answer; the last one has what the turn took."""
    first, *said, last, done = streamed(Delta("Hello "), Step("search", "2 repositories"), Delta("Ada."), REPORT)

    assert first["choices"] == [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
    assert [one["choices"][0]["delta"] for one in said] == [{"content": "Hello "}, {}, {"content": "Ada."}]
    assert said[1]["thresher"] == {"step": {"name": "search", "detail": "2 repositories"}}
    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert (last["thresher"]["model"], last["thresher"]["trace_id"], last["thresher"]["finish"]) == (
        "qwen3",
        "t",
        "stop",
    )
    assert not {"text", "client_calls"} & set(last["thresher"])
    assert done == "data: [DONE]"
    named = {(one["id"], one["object"], one["created"], one["model"]) for one in (first, said[0], last)}
    assert [name[1::2] for name in named] == [("chat.completion.chunk", "thresher")]
    assert "usage" not in first


def test_pieces_that_come_together_are_one_chunk() -> None:
    """A reader that is slow gets fewer and longer ones."""
    writer = Writer(asked())

    (only,) = frames(writer.write([Delta(letter) for letter in "Hello"]))

    assert only["choices"][0]["delta"] == {"content": "Hello"}


@pytest.mark.parametrize("text", ['"\\', "a\nb\r\n\r\nc", "data: x\n\n", "\u2028\u0085 🙂", "\ud83d", "\0"], ids=repr)
def test_a_text_cannot_break_its_frame(text: str) -> None:
    """Whatever a model says is one line; half of a character becomes a question mark."""
    (only,) = frames(Writer(asked()).write([Delta(text)]))

    assert only["choices"][0]["delta"]["content"] == text.encode("utf-8", "replace").decode()


def test_a_step_is_data_and_cannot_break_its_line() -> None:
    """Its detail may be other people's words; programs read its counts and names beside it."""
    (only,) = frames(Writer(asked()).write([Step("tool", "x\n\ndata: {}\r\n", {"passages": 2, "of": ["\n\n"]})]))

    step = {"name": "tool", "detail": "x\n\ndata: {}\r\n", "passages": 2, "of": ["\n\n"]}
    assert only["thresher"] == {"step": step}
    assert only["choices"] == [{"index": 0, "delta": {}, "finish_reason": None}]


def test_usage_comes_in_a_chunk_of_its_own_where_it_was_asked_for() -> None:
    """Without choices; the chunks before it have none."""
    first, *_, last, usage, _ = streamed(Delta("x"), REPORT, usage=True)

    assert first["usage"] is last["usage"] is None
    assert usage["choices"] == []
    assert usage["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 4},
    }


def test_calls_for_the_client_are_streamed_whole() -> None:
    """Before the chunk that says so."""
    calls = (ClientCall("c1", "roll", '{"n": 2}'), ClientCall("c2", "roll", "{}"))
    *_, told, last, _ = streamed(replace(REPORT, text="", finish="tool_calls", client_calls=calls))

    assert told["choices"][0]["delta"]["tool_calls"] == [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "roll", "arguments": '{"n": 2}'}},
        {"index": 1, "id": "c2", "type": "function", "function": {"name": "roll", "arguments": "{}"}},
    ]
    assert last["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("finish", ["approval", "limit", "error"])
def test_an_end_that_the_wire_does_not_know_is_a_stop(finish: Any) -> None:
    """The object `thresher` says it exactly; a text that was never streamed is said at the end."""
    _, text, last, _ = streamed(replace(REPORT, finish=finish))

    assert text["choices"][0]["delta"]["content"] == "Hello Ada."
    assert (last["choices"][0]["finish_reason"], last["thresher"]["finish"]) == ("stop", finish)


def test_the_whole_answer_says_what_the_stream_adds_up_to() -> None:
    """Text, calls, usage and the object `thresher`, at the top."""
    thread = UUID(int=7)
    cited = Citation(1, "docs", "a.md", (1, 2), ("Setup",))
    answer = Writer(asked()).whole(replace(REPORT, thread=thread, citations=(cited,)))

    (choice,) = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": "Hello Ada.", "refusal": None}
    assert (choice["finish_reason"], answer["object"], answer["usage"]["total_tokens"]) == (
        "stop",
        "chat.completion",
        13,
    )
    assert answer["thresher"]["thread"] == str(thread)
    assert answer["thresher"]["citations"] == [
        {"number": 1, "repository": "docs", "path": "a.md", "lines": [1, 2], "heading": ["Setup"], "artifact": ""}
    ]


def test_an_answer_that_only_calls_has_no_content() -> None:
    """As OpenAI has it: null, not an empty text."""
    calls = (ClientCall("c1", "roll", "{}"),)

    message = Writer(asked()).whole(replace(REPORT, text="", finish="tool_calls", client_calls=calls))["choices"][0][
        "message"
    ]

    assert message["content"] is None
    assert message["tool_calls"][0]["id"] == "c1"
