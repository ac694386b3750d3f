"""Streams as services write them, cut anywhere: what is said, what is called, what is only thought."""

from __future__ import annotations

import json
from typing import Any

import pytest

from thresher.agent.models.reading import AnswerReader, CallPieces, SpokenText
from thresher.core import ModelError
from thresher.llm import FunctionCall, RequestLost


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One event."""
    said = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return b"data: " + json.dumps(said, ensure_ascii=False).encode() + b"\n\n"


def piece(index: int | None, number: str | None = None, name: str | None = None, arguments: Any = "") -> dict[str, Any]:
    """A piece of a call."""
    told = {"index": index, "id": number, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in told.items() if value is not None}


WHOLE = (
    b": a comment\n\n"
    + event({"role": "assistant", "content": ""}, model="m")
    + event({"content": "Grüße "})
    + b"event: message\r\ndata:"
    + event({"content": "😀!"})[5:-2]
    + b"\r\n\r\n"
    + event({"tool_calls": [piece(0, "a", "f", '{"x":')]})
    + event({"tool_calls": [piece(0, arguments=' "ü"}')]})
    + event({}, "tool_calls")
    + b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, len(WHOLE)])
def test_a_stream_says_the_same_however_it_is_cut(size: int) -> None:
    """In the middle of characters, lines and events."""
    reading = AnswerReader("")

    said = "".join(reading.feed(WHOLE[start : start + size]) for start in range(0, len(WHOLE), size))
    last = reading.end()[-1]

    assert said == "Grüße 😀!"
    assert last.calls == (FunctionCall("a", "f", '{"x": "ü"}'),)
    assert (last.finish, last.model) == ("tool_calls", "m")
    assert last.usage is not None
    assert (last.usage.prompt, last.usage.completion) == (3, 2)
    assert reading.done


@pytest.mark.parametrize(
    ("texts", "said"),
    [(("a\ud83d", "\ude00 ok"), "a😀 ok"), (("a\ud83d", " ok"), "a\ufffd ok"), (("a\ud83d",), "a\ufffd")],
    ids=["two halves", "a half", "at the end"],
)
def test_halves_of_a_surrogate_pair_are_joined_or_replaced(texts: tuple[str, ...], said: str) -> None:
    """A service in JavaScript cuts between them; an answer must be UTF-8."""
    reading = AnswerReader("")
    events = b"".join(
        b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n" for text in texts
    )

    begun = "".join(reading.feed(line + b"\n") for line in (events + event({}, "stop")).split(b"\n"))
    whole = begun + "".join(chunk.text for chunk in reading.end())

    assert whole == said


def test_halves_of_a_pair_in_arguments_are_joined() -> None:
    """They come in pieces too."""
    reading = AnswerReader("")
    pieces = [piece(0, "a", "f", '{"x": "\ud83d'), piece(0, arguments='\ude00"}')]

    for one in pieces:
        said = {"choices": [{"delta": {"tool_calls": [one]}}]}
        reading.feed(b"data: " + json.dumps(said).encode() + b"\n\n")
    reading.feed(event({}, "tool_calls"))

    assert [call.arguments for call in reading.end()[-1].calls] == ['{"x": "😀"}']


def test_an_answer_of_too_many_calls_is_refused() -> None:
    """A model that repeats itself would fill the conversation with them."""
    reading = AnswerReader("")
    calls = [piece(number, f"c{number}", "f", "{}") for number in range(129)]
    reading.feed(event({"tool_calls": calls[:128]}))

    with pytest.raises(ModelError, match="more than 128 tools"):
        reading.feed(event({"tool_calls": calls[128:]}))


def test_a_stream_may_lack_its_last_line_end() -> None:
    """And the mark of its end."""
    reading = AnswerReader("")
    said = reading.feed(event({"content": "Yes"}) + event({"content": "!"}, "stop").rstrip())

    text, last = reading.end()

    assert (said + text.text, last.finish) == ("Yes!", "stop")


def test_a_stream_that_ends_without_a_reason_or_a_mark_broke_off() -> None:
    """Whatever it has said."""
    reading = AnswerReader("")
    reading.feed(event({"content": "Ye"}))

    with pytest.raises(RequestLost):
        reading.end()


def test_a_limit_stays_a_limit_also_with_calls() -> None:
    """Their arguments may be cut; any other reason is that of the calls."""
    for reason, finish in (("length", "length"), ("stop", "tool_calls"), ("odd", "tool_calls")):
        reading = AnswerReader("")
        reading.feed(event({"tool_calls": [piece(0, "a", "f", "{")]}, reason))
        assert reading.end()[-1].finish == finish


def test_a_line_without_an_end_is_not_waited_for() -> None:
    """It would fill the memory."""
    reading = AnswerReader("")
    reading.feed(bytes(8 << 20))

    with pytest.raises(ModelError, match="larger than 8 MiB"):
        reading.feed(b"x")


@pytest.mark.parametrize("name", ["content", "reasoning_content", "reasoning"])
def test_an_answer_has_begun_with_its_first_word_or_thought(name: str) -> None:
    """Not with the role, which some services send at once."""
    reading = AnswerReader("")
    reading.feed(event({"role": "assistant", "content": ""}))
    before = reading.begun
    reading.feed(event({name: "Hm"}))

    assert (before, reading.begun) == (False, True)


def test_a_call_without_a_name_is_none() -> None:
    """It could not be made."""
    reading = AnswerReader("")
    reading.feed(event({"tool_calls": [piece(0, "a")]}, "tool_calls"))

    with pytest.raises(ModelError, match="cannot be read"):
        reading.end()


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        (
            [piece(0, "a", "f", "{"), piece(1, "b", "g", "{"), piece(0, None, None, "}"), piece(1, None, None, "}")],
            "a b",
        ),
        ([piece(None, "a", "f", "{}"), piece(None, "b", "g", "{}")], "a b"),
        ([piece(0, "a", "f", "{}"), piece(0, "b", "g", "{}")], "a b"),
        ([piece(None, "a", "f", "{"), piece(None, None, None, "}"), piece(None, "b", "g", {})], "a b"),
        ([piece(0, "a", "f"), piece(0, "a", None, "{}"), piece(1, "b", "g")], "a b"),
    ],
    ids=["by index", "no index", "one index", "by turns", "id again"],
)
def test_calls_are_told_apart_as_services_do(pieces: list[dict[str, Any]], wanted: str) -> None:
    """By index, by id, or by the order in which they come."""
    calls = CallPieces()
    calls.feed(pieces)

    assert [(call.id, call.name, call.arguments) for call in calls.whole()] == [
        (number, name, "{}") for number, name in zip(wanted.split(), "fg", strict=True)
    ]


def test_every_call_has_an_id_of_its_own() -> None:
    """Where the service names none, or one twice: each has to be answered."""
    calls = CallPieces()
    calls.feed([piece(0, None, "f"), piece(1, "x", "g"), piece(2, "x", "h")])

    found = [call.id for call in calls.whole()]

    assert found[1] == "x"
    assert len(set(found)) == 3
    assert all(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>\nWhat?\n</think>\n\nHello <think>", "Hello <think>"),
        ("\n <thinking>x</thinking> Hi", "Hi"),
        ("\n\nHello", "Hello"),
        ("<thin ice>", "<thin ice>"),
        ("<thi", "<thi"),
        ("<think>for ever", ""),
        ("a </think> b", "a </think> b"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 5, 99])
def test_thoughts_are_dropped_however_they_are_cut(text: str, said: str, size: int) -> None:
    """Only those at the beginning; nothing else is lost."""
    spoken = SpokenText()

    heard = "".join(spoken.feed(text[start : start + size]) for start in range(0, len(text), size))

    assert heard + spoken.rest() == said
