"""Turns that nobody listens to: they go on, can be watched and stopped from anywhere, and say why they failed."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent_chat.conftest import Talk, new_thread, search
from tests.support.waiting import eventually
from thresher.agent.exchange import ChatCall, TurnProgress
from thresher.core import Conflict, InvalidInput, NotFound
from thresher.llm import Message


def call(text: str, thread: object) -> ChatCall:
    """A message in a thread."""
    return ChatCall((Message("user", text),), thread)  # type: ignore[arg-type]


async def ended(talk: Talk, thread: object) -> TurnProgress:
    """Wait until a thread's turn has ended; returns how far it came."""

    async def found() -> TurnProgress | None:
        progress = await talk.conversations.progress(talk.caller, thread)  # type: ignore[arg-type]
        return None if progress.is_running else progress

    return await eventually(found)  # type: ignore[return-value]  # true when it returns


async def writing(talk: Talk, thread: object) -> TurnProgress:
    """Wait until a thread's answer has words; returns how far it is."""

    async def found() -> TurnProgress | None:
        progress = await talk.conversations.progress(talk.caller, thread)  # type: ignore[arg-type]
        return progress if progress.text else None

    return await eventually(found)  # type: ignore[return-value]  # true when it returns


async def test_a_turn_goes_on_when_its_caller_does_not_wait(talk: Talk) -> None:
    """`begin` returns at once; the words so far are seen while they are written, and the answer is in the thread."""
    thread = new_thread()
    talk.server.mode, talk.model.answers = "trickle", ["One two three."]

    await talk.conversations.begin(talk.caller, call("Count.", thread))
    seen = await writing(talk, thread)
    talk.server.release.set()
    await ended(talk, thread)

    entries = await talk.conversations.history(talk.caller, thread)
    assert (seen.is_running, seen.text) == (True, "One")
    assert seen.answers == entries[0].id
    assert entries[-1].text == "One two three."


async def test_what_cannot_be_begun_is_refused_at_once(talk: Talk) -> None:
    """An empty message, a thread that is being answered, and another user's thread."""
    thread = new_thread()
    talk.server.mode = "slow"
    await talk.conversations.begin(talk.caller, call("Wait.", thread))

    with pytest.raises(InvalidInput):
        await talk.conversations.begin(talk.caller, call(" ", new_thread()))
    with pytest.raises(Conflict):
        await talk.conversations.begin(talk.caller, call("And this?", thread))
    for asked in (talk.conversations.progress, talk.conversations.stop):
        with pytest.raises(NotFound):
            await asked(talk.caller, new_thread())

    talk.server.release.set()
    await ended(talk, thread)


async def test_a_turn_without_an_answer_says_why(talk: Talk) -> None:
    """The reason is stored with the message, and goes when it is answered after all."""
    thread = new_thread()
    talk.server.mode = "500"
    await talk.conversations.begin(talk.caller, call("Hello?", thread))

    failed = await ended(talk, thread)
    entries = await talk.conversations.history(talk.caller, thread)
    talk.server.mode, talk.model.answers = "good", ["Hello."]
    await talk.say("Hello?", thread)
    after = await ended(talk, thread)

    assert "500" in failed.failure
    assert failed.answers == entries[-1].id
    assert [one.kind for one in entries] == ["user"]
    assert after.failure == ""
    assert [one.text for one in await talk.conversations.history(talk.caller, thread)] == ["Hello?", "Hello."]


async def test_a_turn_is_stopped_from_outside(talk: Talk) -> None:
    """The thread is free at once; who listens is told, the model's service is left, and the words stay."""
    thread = new_thread()
    talk.server.mode, talk.model.answers = "trickle", ["One two three."]
    listening = asyncio.create_task(talk.say("Count.", thread))
    await eventually(talk.server.reached.is_set)
    await writing(talk, thread)

    await talk.conversations.stop(talk.caller, thread)

    assert not (await talk.conversations.progress(talk.caller, thread)).is_running
    with pytest.raises(Conflict, match="stopped"):
        await listening
    await eventually(talk.server.gone.is_set)
    entries = await talk.conversations.history(talk.caller, thread)
    assert [(one.text, one.cut) for one in entries] == [("Count.", False), ("One", True)]


async def test_turns_end_with_the_process(talk: Talk) -> None:
    """Closing cancels them, keeps their words, and frees their threads."""
    thread = new_thread()
    talk.server.mode, talk.model.answers = "trickle", ["One two three."]
    await talk.conversations.begin(talk.caller, call("Count.", thread))
    await eventually(talk.server.reached.is_set)

    await talk.conversations.close()

    progress = await talk.conversations.progress(talk.caller, thread)
    assert not progress.is_running
    await eventually(talk.server.gone.is_set)


async def test_a_report_says_what_the_prompt_consisted_of(library: Talk) -> None:
    """Each part has its tokens; passages are no part of the next turn's history."""
    thread = new_thread()
    library.model.answers = [search("paid leave"), "Sixteen weeks [1].", "You are welcome."]

    first = (await library.say("How long is parental leave?", thread)).report.prompt
    second = (await library.say("Thank you.", thread)).report.prompt

    assert first is not None
    assert second is not None
    assert min(first.instructions, first.tools, first.passages, first.turn) > 0
    assert (first.history, second.passages) == (0, 0)
    assert 0 < second.history < first.passages
    assert 0 < second.turn < 20
