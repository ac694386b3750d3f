"""Threads of conversations: what is stored, what a broken turn leaves, forks, retention of a growing history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import pytest
from langchain_core.tracers.langchain import wait_for_all_tracers

from tests.agent_chat.conftest import Body, Talk, answered, called, last, new_thread, search, texts
from tests.fakes.chat_answers import Said
from thresher.agent import ChatCall, Decision, Delta, Event, Step
from thresher.core import Conflict, InvalidInput, ModelError, NotFound
from thresher.llm import Message

NOW = {"LANGSMITH_TRACING": "true", "LANGCHAIN_TRACING_V2": "true", "LANGSMITH_API_KEY": "x"}
ONCE = {"LANGCHAIN_TRACING": "true", "LANGCHAIN_HANDLER": "langchain"}
"""What turns LangChain's tracing on, by its library of today and by its first one."""


async def rows(talk: Talk, statement: bytes) -> list[tuple[object, ...]]:
    """What a statement says in the tenant."""
    return await talk.services.database.once(talk.caller.tenant, lambda driver: driver.execute(statement))


async def test_no_text_of_a_document_is_in_what_is_kept_of_the_state(library: Talk) -> None:
    """Passages stand in the artifact that people read, and nowhere else."""
    thread = new_thread()
    library.model.answers = [search("parental leave"), "Sixteen [1].", search("kiln heat"), "Hot [1]."]

    await library.say("How long is leave?", thread)
    await library.say("How hot is a kiln?", thread)

    blobs = await rows(library, b"select data from checkpoint_blob union all select data from checkpoint_write")
    assert blobs
    assert not any(b"asked eight weeks" in row[0] or b"weeks before it begins" in row[0] for row in blobs)
    kept = await rows(library, b"select content from artifact where kind = 'documents'")
    assert any("weeks before it begins" in str(row[0]) for row in kept)


async def test_what_is_stored_of_a_turn_does_not_grow_with_the_turns_before(library: Talk) -> None:
    """The twelfth turn writes about as many bytes as the second."""
    thread = new_thread()
    library.model.answers = [f"Answer number {n}, of a few words that say little." for n in range(13)]
    sizes = list[int]()

    for n in range(12):
        await library.say(f"Question number {n}, which asks for little.", thread)
        total = await rows(
            library,
            b"select (select coalesce(sum(length(data)), 0) from checkpoint_blob)"
            b" + (select coalesce(sum(length(data)), 0) from checkpoint_write)",
        )
        sizes.append(int(str(total[0][0])))

    assert sizes[11] - sizes[10] < 2 * (sizes[2] - sizes[1])


async def test_a_turn_that_was_cancelled_leaves_a_thread_that_goes_on(shop: Talk) -> None:
    """A client that stops listening ends it; the next message is answered, and no call is left open."""
    thread = new_thread()
    call = Said(calls=(("sql_query", {"connection": "shop", "sql": "SELECT 1 AS one"}),))
    shop.model.answers = [call, "Fine."]
    events = shop.conversations.talk(shop.caller, ChatCall((Message("user", "How many?"),), thread))

    first = await anext(events)
    await events.aclose()
    told = await shop.say("And now?", thread)

    assert first is not None
    assert told.text == "Fine."
    assert called(shop.prompts_sent[-1]) == answered(shop.prompts_sent[-1])
    assert "How many?" in texts(shop.prompts_sent[-1])


async def test_a_second_message_while_one_is_answered_is_refused(talk: Talk) -> None:
    """A thread has one turn at a time."""
    thread = new_thread()
    talk.server.mode = "slow"
    first = asyncio.create_task(talk.say("Slowly", thread))
    await asyncio.to_thread(talk.server.reached.wait, 20)

    with pytest.raises(Conflict, match="is being answered"):
        await talk.say("Me too", thread)

    talk.server.release.set()
    await first


async def test_a_thread_is_its_owners(talk: Talk) -> None:
    """Another user learns nothing of it, by no verb."""
    thread = new_thread()
    await talk.say("Mine", thread)
    other = replace(talk.caller, user="other")

    with pytest.raises(NotFound):
        await talk.conversations.history(other, thread)
    with pytest.raises(NotFound):
        await talk.conversations.pending(other, thread)
    with pytest.raises(NotFound):
        _ = [one async for one in talk.conversations.talk(other, ChatCall((Message("user", "hi"),), thread))]


async def test_a_fork_has_the_passages_of_the_thread(library: Talk) -> None:
    """They are read in it even when the former thread is gone."""
    thread = new_thread()
    library.model.answers = [search("parental leave"), "Sixteen [1]."]
    await library.say("How long is leave?", thread)

    fork = await library.threads.fork(library.caller, thread)
    await library.conversations.clear(library.caller, thread)
    entries = await library.conversations.history(library.caller, fork.id)

    assert "sixteen weeks" in entries[2].passages[0]["text"]


async def test_a_long_history_is_cut_at_a_turn_and_stays_cut_there(talk: Talk) -> None:
    """Half is let go at once, so that the beginning stays the same for several turns."""
    thread, long = new_thread(), "word " * 120
    talk.model.answers = [f"{long} {n}" for n in range(12)]

    for n in range(12):
        await talk.say(f"{n}: {long}", thread, settings={"history_tokens": 1_500})

    prompts = [body["messages"] for body in talk.prompts_sent]
    begins = [messages[1]["content"][:4] for messages in prompts]
    assert max(len(messages) for messages in prompts) < 2 + 14
    assert all(messages[1]["role"] == "user" for messages in prompts)
    assert len(set(begins)) < 6
    assert last(talk.prompts_sent[-1]).startswith("11:")


async def test_an_empty_message_is_refused_and_nothing_is_kept(talk: Talk) -> None:
    """The error says what to do."""
    with pytest.raises(InvalidInput, match="empty"):
        await talk.say(" \n ", new_thread(), messages=(Message("user", "  "),))
    with pytest.raises(InvalidInput, match="no message"):
        await talk.say(messages=(Message("system", "You are a cat."),))


async def test_a_call_without_a_thread_keeps_nothing(library: Talk) -> None:
    """Its messages are all of the conversation, the client's own instructions too."""
    library.model.answers = [search("parental leave"), "Sixteen [1]."]
    messages = (Message("system", "Speak like a cat."), Message("user", "Hi"), Message("assistant", "Meow"))

    told = await library.say(messages=(*messages, Message("user", "How long is leave?")))

    assert told.report.thread is None
    assert told.report.citations[0].path == "leave.md"
    assert "Speak like a cat." in library.prompts_sent[0]["messages"][0]["content"]
    assert await rows(library, b"select count(*) from thread") == [(0,)]
    assert await rows(library, b"select count(*) from artifact") == [(0,)]


async def test_a_model_that_fails_at_once_is_an_error_and_the_thread_goes_on(talk: Talk) -> None:
    """Nothing was said or done, so the same message may be sent once more, and is in the thread once."""
    thread = new_thread()
    talk.server.mode = "400"

    with pytest.raises(ModelError):
        await talk.say("Hello", thread)
    talk.server.mode = "good"
    talk.model.answers = ["Here again.", "Still."]
    after = await talk.say("Hello", thread)
    await talk.say("More", thread)

    assert after.text == "Here again."
    assert after.report.finish == "stop"
    said = [one.text for one in await talk.conversations.history(talk.caller, thread)]
    assert said == ["Hello", "Here again.", "More", "Still."]


async def test_a_model_that_fails_midway_gives_a_friendly_message_with_a_reference(library: Talk) -> None:
    """The turn ends, the reference is in the log, and the thread goes on: tools were called by then."""
    thread = new_thread()
    library.model.answers = [search("parental leave")]
    library.server.script.extend(["good", "good", "400"])

    told = await library.say("How long is leave?", thread)
    library.model.answers = ["Here again."]
    after = await library.say("Hello?", thread)

    assert told.report.finish == "error"
    assert told.report.trace_id in told.text
    assert (after.text, after.report.finish) == ("Here again.", "stop")


def systems(body: Body) -> str:
    """The system prompt of a request."""
    return str(body["messages"][0]["content"])


async def test_a_system_message_is_the_threads_instruction_until_it_is_replaced(talk: Talk) -> None:
    """It is kept, shown, replaced by the next one and taken back by an empty one; each of which is noted."""
    thread = new_thread()
    talk.model.answers = ["Meow.", "Purr.", "Woof.", "Hello."]

    first = await talk.say(messages=(Message("system", "Speak like a cat."), Message("user", "Hi")), thread=thread)
    same = await talk.say("And now?", thread)
    kept = await talk.conversations.instruction(talk.caller, thread)
    other = await talk.say(messages=(Message("system", "Speak like a dog."), Message("user", "Go on")), thread=thread)
    none = await talk.say(messages=(Message("system", " "), Message("user", "And on")), thread=thread)

    prompts = [systems(body) for body in talk.prompts_sent]
    assert ["cat" in one for one in prompts] == [True, True, False, False]
    assert ["dog" in one for one in prompts] == [False, False, True, False]
    assert kept == "Speak like a cat."
    assert await talk.conversations.instruction(talk.caller, thread) == ""
    assert first.report.notes == ("The system message is the thread's instruction from now on.",)
    assert (same.report.notes, len(other.report.notes), len(none.report.notes)) == ((), 1, 1)


async def test_history_that_is_sent_along_begins_an_empty_thread_and_is_noted_in_others(talk: Talk) -> None:
    """What the thread has already needs no word; what it has not is left out, and said."""
    thread = new_thread()
    earlier = (Message("user", "My name is Ada."), Message("assistant", "Hello Ada."))
    talk.model.answers = ["Ada.", "Ada still.", "Who knows."]

    began = await talk.say(messages=(*earlier, Message("user", "Who am I?")), thread=thread)
    known = (*earlier, Message("user", "Who am I?"), Message("assistant", "Ada."), Message("user", "And now?"))
    same = await talk.say(messages=known, thread=thread)
    strange = (Message("user", "Call me Bob."), Message("assistant", "Hello Bob."), Message("user", "Who am I?"))
    left = await talk.say(messages=strange, thread=thread)

    assert "Hello Ada." in texts(talk.prompts_sent[0])
    assert "begins with the 2 earlier messages" in began.report.notes[0]
    assert same.report.notes == ()
    assert "2 earlier messages that were sent along are not in this thread" in left.report.notes[0]
    assert "Bob" not in texts(talk.prompts_sent[2])
    said = [one.text for one in await talk.conversations.history(talk.caller, thread)]
    assert said[:4] == ["My name is Ada.", "Hello Ada.", "Who am I?", "Ada."]


async def test_words_of_an_abandoned_answer_are_kept_and_marked(talk: Talk) -> None:
    """They are shown at once, and are in the conversation from the next turn on."""
    thread = new_thread()
    talk.server.mode = "trickle"
    talk.model.answers = ["Hello Ada and all the others"]
    call = ChatCall((Message("user", "Greet us"),), thread)

    async with aclosing(talk.conversations.talk(talk.caller, call)) as events:
        heard = [event.text async for event in _until_words(events)]
    cut = await talk.conversations.history(talk.caller, thread)
    talk.server.release.set()
    talk.server.mode = "good"
    talk.model.answers = ["Yes."]
    await talk.say("Go on", thread)
    after = await talk.conversations.history(talk.caller, thread)

    assert [(one.kind, one.text, one.cut) for one in cut] == [
        ("user", "Greet us", False),
        ("assistant", heard[0], True),
    ]
    assert [(one.text, one.cut) for one in after] == [
        ("Greet us", False),
        (heard[0], True),
        ("Go on", False),
        ("Yes.", False),
    ]
    assert heard[0] in texts(talk.prompts_sent[-1])


async def _until_words(events: AsyncGenerator[Event]) -> AsyncGenerator[Delta]:
    """The first words of a turn."""
    async for event in events:
        if isinstance(event, Delta):
            yield event
            return


async def test_the_persons_words_are_searched_beside_the_rephrased_question(library: Talk) -> None:
    """Both searches are told, as is what came of them."""
    thread = new_thread()
    library.model.answers = ["Hello.", search("it"), "Sixteen [1]."]
    library.model.rephrased = "How long is parental leave?"

    await library.say("Hello", thread)
    told = await library.say("And how long does the leave for parents last?", thread)

    steps = {one.name: one.data for one in told.events if isinstance(one, Step)}
    queries = ["How long is parental leave?", "it", "And how long does the leave for parents last?"]
    assert steps["search"] == {"queries": queries}
    assert steps["found"]["repositories"] == ["handbook"]
    assert steps["found"]["passages"] >= 1
    assert {"relevant", "left_out"} == set(steps["graded"])
    assert steps["usage"]["prompt"] > 0
    assert [one.name for one in told.report.tools_called].count("search_documents") == 3
    assert told.report.citations[0].path == "leave.md"


async def test_passages_that_were_graded_out_are_kept_for_people_and_marked(library: Talk) -> None:
    """No model sees them, then or later."""
    thread = new_thread()
    library.model.answers = [search("leave and kilns"), "Sixteen [1]."]
    library.model.grades = lambda line: "Kilns" not in line

    told = await library.say("leave and kilns", thread)
    (found,) = [one for one in await library.conversations.history(library.caller, thread) if one.passages]

    used = {passage["path"] for passage in found.passages if passage["used"]}
    left = [passage for passage in found.passages if not passage["used"]]
    assert ("leave.md" in used, "kiln.md" in used) == (True, False)
    assert {(one["path"], one["number"]) for one in left} == {("kiln.md", 0)}
    assert told.report.documents == len(found.passages) - len(left)
    assert "sixteen weeks" in last(library.prompts_sent[1])
    assert "cools for a whole day" not in last(library.prompts_sent[1])


async def test_a_search_goes_on_without_rephrasing_and_grading_where_the_model_fails_at_them(library: Talk) -> None:
    """The question stays as it was, the passages are all kept, and the report says both."""
    thread = new_thread()
    library.model.answers = ["Hello.", search("parental leave"), "Sixteen [1]."]
    await library.say("Hello", thread)
    library.server.script.extend(["good", "400", "400"])
    told = await library.say("How long is leave?", thread)

    assert told.report.documents >= 1
    assert told.report.rephrased == ""
    assert any("rephrase" in note for note in told.report.notes)
    assert any("grade" in note for note in told.report.notes)


async def test_a_thread_is_called_by_its_first_words(talk: Talk) -> None:
    """Until somebody gives it another title, which stays."""
    thread = new_thread()
    await talk.say("How are kilns\nheated, " + "and " * 40, thread)
    begun = await talk.threads.get(talk.caller, thread)

    await talk.threads.rename(talk.caller, thread, "Kilns")
    await talk.say("Go on", thread)

    assert begun.title.startswith("How are kilns heated, and")
    assert len(begun.title) <= 60
    assert (await talk.threads.get(talk.caller, thread)).title == "Kilns"


async def test_calls_of_one_id_are_told_apart(shop: Talk) -> None:
    """A service may number its calls from 1 in every answer, and a client may repeat them: each is run and answered."""
    thread = new_thread()
    call = Said(calls=(("sql_query", {"connection": "shop", "sql": "SELECT 1 AS one"}),))
    shop.server.counts_anew = True
    shop.model.answers = [call, "One.", call, "One again."]

    await shop.say("How many?", thread)
    told = await shop.say("And now?", thread)

    sent = shop.prompts_sent[-1]
    assert told.text == "One again."
    assert len(set(called(sent))) == 2
    assert called(sent) == answered(sent)


async def test_what_cannot_be_answered_begins_no_thread(talk: Talk) -> None:
    """A refused message leaves nothing behind."""
    for messages in ((Message("user", " "),), (Message("assistant", "Hello"),)):
        with pytest.raises(InvalidInput):
            await talk.say(thread=new_thread(), messages=messages)

    with pytest.raises(NotFound, match="no model"):
        await talk.say("Hello", new_thread(), settings={"model": "nobody"})
    with pytest.raises(NotFound, match="no thread"):
        await talk.say(thread=new_thread(), decisions=(Decision("call_0", approved=True),))

    assert await rows(talk, b"select count(*) from thread") == [(0,)]


@pytest.mark.parametrize("given", [NOW, ONCE], ids=["now", "once"])
async def test_environment_variables_send_conversations_nowhere(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    """LangChain's own tracing, today's or its first one, is switched off, even if it is on for other programs."""
    reached = list[str]()

    async def took(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append("connection")
        writer.close()

    server = await asyncio.start_server(took, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name, value in (given | {"LANGSMITH_ENDPOINT": address, "LANGCHAIN_ENDPOINT": address}).items():
        monkeypatch.setenv(name, value)

    told = await talk.say("Hello", new_thread())
    await asyncio.to_thread(wait_for_all_tracers)

    assert told.report.finish == "stop"
    assert reached == []
    server.close()
