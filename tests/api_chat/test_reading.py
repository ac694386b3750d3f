"""What is understood of a request in the OpenAI wire format, and what is refused."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from thresher.agent import Decision
from thresher.api.chat.bodies import ChatBody
from thresher.api.chat.requests import CompletionCall, read_call
from thresher.api.errors import param_of
from thresher.core import problem_of
from thresher.llm import Function, FunctionCall, Message

THREAD = "0b6f7e9e-1f5c-4a7b-9a53-3f6f2f1f0c11"
OTHER = "0b6f7e9e-1f5c-4a7b-9a53-3f6f2f1f0c12"
TOOL = {"type": "function", "function": {"name": "roll", "parameters": {"type": "object"}}}


def asked(headers: tuple[str, ...] = (), **fields: Any) -> CompletionCall:
    """Read a request that says hello, with these fields besides."""
    body = {"messages": [{"role": "user", "content": "hello"}]} | fields
    return read_call(ChatBody.model_validate(body), headers)


def refused(headers: tuple[str, ...] = (), **fields: Any) -> str | None:
    """The field for which a request is refused."""
    with pytest.raises((ValidationError, RequestValidationError)) as caught:
        asked(headers, **fields)
    location = caught.value.errors()[0]["loc"]
    return param_of(location if location[0] == "body" else ("body", *location))


def test_messages_are_read_as_they_are_said() -> None:
    """Parts become one text, a developer speaks as the system, calls and their answers keep their ids."""
    call = {"id": "c1", "type": "function", "function": {"name": "roll", "arguments": '{"n": 2}'}}
    given = [
        {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
        {"role": "user", "content": "Roll two dice.", "name": "ada"},
        {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
    ]

    assert asked(messages=given).call.messages == (
        Message("system", "Be brief."),
        Message("user", "Roll two dice."),
        Message("assistant", "", (FunctionCall("c1", "roll", '{"n": 2}'),)),
        Message("tool", "7", answers="c1"),
    )


def test_a_bare_request_is_a_call_without_a_thread() -> None:
    """With the caller's own model; whole, not streamed."""
    got = asked()

    assert (got.model, got.stream, got.usage) == ("thresher", False, False)
    assert (got.call.thread, got.call.functions, got.call.choice) == (None, (), "auto")
    assert (got.call.settings, got.call.decisions, got.call.passed) == ({}, (), {})


@pytest.mark.parametrize(
    ("headers", "metadata"),
    [((THREAD,), None), ((), {"thread_id": THREAD}), ((THREAD.upper(),), {"thread_id": THREAD}), ((" ", THREAD), {})],
    ids=["header", "metadata", "both", "beside an empty one"],
)
def test_a_thread_is_named_in_one_of_two_places(headers: tuple[str, ...], metadata: dict[str, str] | None) -> None:
    """Or in both, alike."""
    assert asked(headers, metadata=metadata).call.thread == UUID(THREAD)


@pytest.mark.parametrize(
    ("headers", "metadata", "param"),
    [
        ((THREAD,), {"thread_id": OTHER}, "metadata.thread_id"),
        ((THREAD, OTHER), None, "X-Thresher-Thread"),
        ((), {"thread_id": 7}, "metadata.thread_id"),
        ((), {"thread_id": "mine"}, "metadata.thread_id"),
        (("mine",), None, "X-Thresher-Thread"),
    ],
    ids=["two places", "two headers", "number", "no id", "no id in the header"],
)
def test_a_thread_that_is_not_clear_is_refused(
    headers: tuple[str, ...], metadata: dict[str, Any] | None, param: str
) -> None:
    """An answer must not go into the wrong conversation; the place that is wrong is named."""
    assert refused(headers, metadata=metadata) == param


def test_settings_come_from_the_wire_and_from_ours() -> None:
    """A field of the wire wins; `max_completion_tokens` is the later name of `max_tokens`."""
    own = {"settings": {"temperature": 1, "top_k": 3, "model": "small"}}
    got = asked(model="large", temperature=0.5, max_tokens=7, max_completion_tokens=9, thresher=own)
    named = asked(model="thresher", thresher=own)

    assert got.call.settings == {"temperature": 0.5, "top_k": 3, "model": "large", "max_tokens": 9}
    assert got.model == "large"
    assert named.call.settings == {"temperature": 1.0, "top_k": 3, "model": "small"}


def test_tools_of_the_client_are_read() -> None:
    """And which one has to be called."""
    chosen = {"type": "function", "function": {"name": "roll"}}

    assert asked(tools=[TOOL]).call.functions == (Function("roll", "", {"type": "object"}),)
    assert [asked(tools=[TOOL], tool_choice=one).call.choice for one in ("none", "required", None, chosen)] == [
        "none",
        "required",
        "auto",
        "roll",
    ]


@pytest.mark.parametrize(
    "field",
    [{"functions": []}, {"functions": None}, {"logprobs": False}, {"top_logprobs": 0}],
    ids=["no functions", "null", "no logprobs", "none of them"],
)
def test_a_field_that_asks_for_nothing_is_passed_over(field: dict[str, Any]) -> None:
    """Though what it could ask for is not supported."""
    assert asked(**field).call.functions == ()


def test_decisions_come_with_a_thread_and_need_no_message() -> None:
    """Each with what the person changed, or why not."""
    approvals = [{"id": "a", "approved": True, "arguments": {"n": 1}}, {"id": "b", "approved": False, "reason": "no"}]
    got = asked((THREAD,), messages=[], thresher={"approvals": approvals})

    assert got.call.decisions == (Decision("a", True, {"n": 1}), Decision("b", False, reason="no"))
    assert refused(thresher={"approvals": approvals}) == "thresher.approvals"


def test_what_only_the_model_knows_is_passed_on() -> None:
    """As it stands; a form that is plain text is none."""
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}, "strict": True}}
    got = asked(stop=["\n"], seed=7, top_p=1, response_format=form, parallel_tool_calls=False)

    assert got.call.passed == {
        "stop": ["\n"],
        "seed": 7,
        "top_p": 1,
        "response_format": form,
        "parallel_tool_calls": False,
    }
    assert asked(response_format={"type": "text"}).call.passed == {}


def test_what_changes_nothing_is_passed_over() -> None:
    """Whoever sends it."""
    fields = {"user": "ada", "store": True, "service_tier": "auto", "n": 1, "modalities": ["text"], "logprobs": False}

    assert asked(**fields, unheard_of={"of": 1}).call == asked().call


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "messages[0].content",
        ),
        ({"messages": [{"role": "tool", "content": "7"}]}, "messages[0].tool_call_id"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": []}, "stream_options"),
        ({"model": 7}, "model"),
        ({"n": 2}, "n"),
        ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"function_call": "auto"}, "function_call"),
        ({"logprobs": True}, "logprobs"),
        ({"web_search_options": {"search_context_size": "low"}}, "web_search_options"),
        ({"tools": [{"type": "custom", "custom": {"name": "x"}}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"tools": [TOOL, TOOL]}, "tools[1].function.name"),
        ({"tools": [TOOL] * 129}, "tools"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}, "tools": [TOOL]}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": "roll"}, "tools": [TOOL]}, "tool_choice"),
        ({"metadata": "x"}, "metadata"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"thresher": {"setting": {}}}, "thresher.setting"),
        ({"thresher": {"settings": {"top_k": 0}}}, "thresher.settings.top_k"),
        ({"thresher": {"settings": {"top": 1}}}, "thresher.settings.top"),
        ({"thresher": {"approvals": [{"id": "a", "approved": "yes"}]}}, "thresher.approvals[0].approved"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_kept_is_refused_by_its_name(fields: dict[str, Any], param: str) -> None:
    """Before anything is asked of a model."""
    assert refused(**fields) == param


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"messages": []}, "A conversation has a message at least"),
        (
            {"messages": [{"role": "system", "content": "x" * 400_001}]},
            "A message has 400,000 characters at most, this one 400,001",
        ),
        ({"n": 2}, "One answer is made at a time: leave it out, or send 1"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "A part is of type 'image_url', and only texts are accepted",
        ),
        ({"metadata": {"thread_id": "x"}}, "'x' is not a valid thread id: send a UUID"),
        ({"audio": {"voice": "ash"}}, "It is not supported: leave it out"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_says_what_is_wrong(fields: dict[str, Any], problem: str) -> None:
    """In our words, for every way in which a body is refused."""
    with pytest.raises((ValidationError, RequestValidationError)) as caught:
        asked(**fields)

    assert problem_of(caught.value.errors()[0]).startswith(problem)
