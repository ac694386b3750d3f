"""What prompts cost, and what is found in them that should not be there."""

from __future__ import annotations

from typing import Any

import pytest

from thresher.evaluation.chat_figures import (
    PromptCost,
    SentPrompt,
    called_before,
    costs,
    probes,
    stale_documents,
    unanswered_calls,
    visible_tools,
)

SYSTEM = {"role": "system", "content": "Be brief."}
PASSAGE = "The pump stops when the valve closes. " * 20


def user(text: str) -> dict[str, Any]:
    """A person's message."""
    return {"role": "user", "content": text}


def said(text: str, *calls: tuple[str, str]) -> dict[str, Any]:
    """A model's message; calls are id and name."""
    made = [{"id": name, "type": "function", "function": {"name": tool, "arguments": "{}"}} for name, tool in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def answer(call: str, text: str = "done") -> dict[str, Any]:
    """A tool's message."""
    return {"role": "tool", "tool_call_id": call, "content": text}


def offered(name: str) -> dict[str, Any]:
    """A tool as a request offers it."""
    return {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": {}}}


def test_a_prompt_that_goes_on_with_an_earlier_one_costs_its_new_part_in_full() -> None:
    """And a tenth of the rest."""
    first, second = (
        SentPrompt(0, [SYSTEM, user("one two three")]),
        SentPrompt(1, [SYSTEM, user("one two three"), said("four")]),
    )

    found = costs([first, second])

    assert found[0].cached == 0
    assert found[1].cached == found[0].tokens
    assert found[1].weighted == pytest.approx(found[1].tokens - 0.9 * found[0].tokens)


def test_other_tools_at_the_beginning_spoil_the_cache() -> None:
    """They come before all messages."""
    long = [SYSTEM, user("word " * 500)]

    found = costs([SentPrompt(0, long, [offered("a")]), SentPrompt(1, long, [offered("b")])])

    assert found[1].cached < 20


def test_the_cache_knows_every_earlier_prompt_not_the_last_alone() -> None:
    """A question of another kind is in between."""
    whole = SentPrompt(0, [SYSTEM, user("word " * 500)])

    found = costs([whole, SentPrompt(0, [user("Is this relevant?")]), whole])

    assert found[2].cached == found[2].tokens == found[0].tokens


def test_a_text_in_parts_counts_like_a_text() -> None:
    """Both are one content."""
    parts = {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}

    assert costs([SentPrompt(0, [parts])]) == costs([SentPrompt(0, [user("one two")])]) == [PromptCost(6, 0)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"Passages: {PASSAGE}", 1),
        (f"Passages: {PASSAGE[:200]}", 1),
        (f"Passages: {PASSAGE[-130:]}", 1),
        ("The pump stops.", 0),
    ],
    ids=["whole", "beginning", "end", "a few words"],
)
def test_a_passage_of_an_earlier_turn_is_known_by_a_piece_of_it(text: str, count: int) -> None:
    """In any message but the model's."""
    assert stale_documents([SentPrompt(1, [user(text), answer("x", "no")])], [[PASSAGE], []]) == count


def test_a_passage_that_was_found_again_is_not_stale() -> None:
    """Nor one in the turn that found it, nor what only a later turn finds."""
    prompts = [SentPrompt(turn, [user(PASSAGE)]) for turn in range(3)]

    assert stale_documents(prompts, [[PASSAGE], [PASSAGE], []]) == 1
    assert stale_documents(prompts[:1], [[], [PASSAGE]]) == 0


def test_what_the_model_has_quoted_is_not_stale() -> None:
    """Its answers stay, and are read again to put the next question into words."""
    quoted = f"It says: {PASSAGE}"
    prompts = [SentPrompt(1, [user("Why?"), said(quoted)]), SentPrompt(1, [user(f"History: {quoted}")])]

    assert stale_documents(prompts, [[PASSAGE], []]) == 0


def test_a_short_passage_is_looked_for_whole() -> None:
    """And an empty one not at all."""
    assert (probes(" a line \n"), probes("  ")) == (["a line"], [])


@pytest.mark.parametrize(
    ("messages", "count"),
    [
        ([said("", ("1", "a"), ("2", "b")), answer("2"), answer("1"), user("go on")], 0),
        ([said("", ("1", "a"), ("2", "b")), answer("1"), user("go on")], 1),
        ([said("", ("1", "a")), user("go on"), answer("1")], 1),
        ([user("x"), said("", ("1", "a"))], 1),
        ([said("", ("1", "a")), answer("1"), said("", ("1", "a")), said("so")], 1),
    ],
    ids=["answered", "one is missing", "too late", "at the end", "an id used twice"],
)
def test_every_call_wants_its_answer_right_behind(messages: list[dict[str, Any]], count: int) -> None:
    """Services refuse a request otherwise."""
    assert unanswered_calls([SentPrompt(0, messages)]) == count


def test_internal_tools_are_seen_wherever_they_are_named() -> None:
    """Offered, called, answered; each time."""
    prompt = SentPrompt(
        0, [said("", ("1", "grade")), {**answer("1"), "name": "grade"}], [offered("grade"), offered("sum")]
    )

    assert visible_tools([prompt, prompt], ["grade", "rephrase"]) == 6
    assert called_before([prompt], "grade") == 1
