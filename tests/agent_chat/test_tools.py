"""Tools in a conversation: what is offered, what waits for a person, long results, failures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent_chat.conftest import Body, Talk, answered, called, last, names, new_thread, search, texts
from tests.fakes.chat_answers import Said
from thresher.agent.exchange import Decision
from thresher.core import Conflict, InvalidInput
from thresher.llm import Function, Message

DOCUMENTS = {"search_documents", "list_repositories"}
SQL = {"query_database_schema", "sql_query", "sql_connection_list"}
ROWS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, 'row ' || i AS said FROM n"
)


def query(sql: str, **more: Any) -> Said:
    """The model asks the database."""
    return Said(calls=(("sql_query", {"connection": "shop", "sql": sql, **more}),))


@pytest.mark.parametrize("documents", [True, False], ids=["documents", "no documents"])
@pytest.mark.parametrize("sql", [True, False], ids=["sql", "no sql"])
async def test_what_is_offered_follows_what_is_switched_on(shop: Talk, documents: bool, sql: bool) -> None:
    """The four cases of documents and SQL: the tools of each, and the prompt `basic` only where there is none."""
    switched = {"documents": documents, "sql": sql, "packs": False, "servers": False}

    told = await shop.say("Hello", settings=switched)

    sent = shop.prompts_sent[0]
    wanted = (DOCUMENTS if documents else set()) | (SQL if sql else set())
    assert set(names(sent)) - {"read_result"} == wanted == set(told.report.tools_offered) - {"read_result"}
    assert ("You have no tools here" in texts(sent)) == (not wanted)
    assert ("Documents that can be searched" in texts(sent)) == documents
    assert ("Databases that can be asked" in texts(sent)) == sql


async def test_internal_tools_are_never_offered(shop: Talk) -> None:
    """Grading, rephrasing and choosing tables are asked for by us alone."""
    shop.model.answers = [search("leave"), "Sixteen weeks [1]."]

    await shop.say("How long is leave?", new_thread())

    offered = {name for body in shop.server.requests for name in names(body)}
    assert offered & {"grade", "rephrase", "select_tables", "table_selection"} == set()


async def test_a_long_result_is_moved_out_and_read_on_by_its_cursor(shop: Talk) -> None:
    """Its beginning stays; a later turn goes on with the stored result, and its pages leave the prompt again."""
    thread = new_thread()

    def follow(body: Body) -> Said:
        cursor = texts(body).split("cursor ")[1].split("]")[0]
        return Said(calls=(("read_result", {"cursor": cursor}),))

    shop.model.answers = [query(ROWS, max_rows=1000), "Nine hundred rows.", follow, "It goes on.", "Bye."]

    first = await shop.say("List the numbers", thread)
    second = await shop.say("And what comes then?", thread)
    await shop.say("Thanks", thread)

    _, short, _, read, after = shop.prompts_sent
    assert "moved out" in [one.state for one in first.report.tools_called]
    assert len(last(short)) < 3_000
    assert "row 3" in last(short)
    assert "row 100" in last(read)
    assert second.text == "It goes on."
    assert "row 100" not in texts(after)
    assert "The same cursor gives it again" in texts(after)
    assert called(after) == answered(after)


async def test_a_call_that_may_write_waits_for_a_person(shop: Talk) -> None:
    """It is not run before; then with what the person made of it; and what waits can be asked for."""
    thread = new_thread()
    shop.model.answers = [query("SELECT 1 AS one"), "One."]

    asked = await shop.say("How many?", thread, settings={"approval": "all"})
    waiting = await shop.conversations.pending(shop.caller, thread)
    told = await shop.say(
        thread=thread, decisions=(Decision(waiting[0].id, True, {"connection": "shop", "sql": "SELECT 2 AS two"}),)
    )

    assert asked.report.finish == "approval"
    assert asked.text == asked.report.text == "(Waits for your approval: sql_query)"
    assert asked.report.approvals == waiting
    assert waiting[0].tool == "sql_query"
    assert waiting[0].arguments["sql"] == "SELECT 1 AS one"
    assert "two" in last(shop.prompts_sent[1])
    assert "changed the arguments" in last(shop.prompts_sent[1])
    assert told.text == "One."
    assert await shop.conversations.pending(shop.caller, thread) == ()


async def test_an_approval_after_documents_reads_them_again(shop: Talk) -> None:
    """A turn that had searched waits for a person, and goes on with its passages in another process."""
    thread = new_thread()
    both = Said(
        calls=(
            ("search_documents", {"query": "parental leave"}),
            ("sql_query", {"connection": "shop", "sql": "SELECT 1 AS one"}),
        )
    )
    shop.model.answers = [both, "Sixteen weeks [1]."]

    await shop.say("How long is leave?", thread, settings={"approval": "all"})
    waiting = await shop.conversations.pending(shop.caller, thread)
    told = await shop.say(thread=thread, decisions=(Decision(waiting[0].id, True),))

    assert "sixteen weeks" in last(shop.prompts_sent[1])
    assert shop.model.inside == ["grade"]
    assert [one.path for one in told.report.citations] == ["leave.md"]
    assert called(shop.prompts_sent[1]) == answered(shop.prompts_sent[1])


async def test_declining_is_said_to_the_model(shop: Talk) -> None:
    """The call is answered with it, and not run."""
    thread = new_thread()
    shop.model.answers = [query("SELECT 1 AS one"), "As you wish."]

    await shop.say("How many?", thread, settings={"approval": "all"})
    waiting = await shop.conversations.pending(shop.caller, thread)
    told = await shop.say(thread=thread, decisions=(Decision(waiting[0].id, False, reason="too dear"),))

    assert "Declined by the person" in last(shop.prompts_sent[1])
    assert "too dear" in last(shop.prompts_sent[1])
    assert [one.state for one in told.report.tools_called] == ["declined"]


async def test_a_new_message_declines_what_waits(shop: Talk) -> None:
    """The conversation goes on, and the call is answered as never run."""
    thread = new_thread()
    shop.model.answers = [query("SELECT 1 AS one"), "Fine."]

    await shop.say("How many?", thread, settings={"approval": "all"})
    told = await shop.say("Never mind", thread)

    sent = shop.prompts_sent[1]
    assert told.text == "Fine."
    assert called(sent) == answered(sent)
    assert "went on without approving" in texts(sent)
    with pytest.raises(Conflict, match="Nothing waits"):
        await shop.say(thread=thread, decisions=(Decision("call_0", True),))


async def test_a_new_message_declines_nothing_that_did_not_wait(shop: Talk) -> None:
    """A search beside the call that waits was run: it is not said to be declined."""
    thread = new_thread()
    both = Said(calls=(*search("parental leave").calls, *query("SELECT 1 AS one").calls))
    shop.model.answers = [both, "Fine.", "Bye."]

    await shop.say("How long is leave?", thread, settings={"approval": "all"})
    await shop.say("Never mind", thread)
    await shop.say("Bye", thread)

    for sent in shop.prompts_sent[1:]:
        told = {one["tool_call_id"]: one["content"] for one in sent["messages"] if one["role"] == "tool"}
        assert [("went on without" in text) for text in told.values()] == [False, True]
        assert called(sent) == answered(sent)


async def test_decisions_are_about_all_that_waits_and_nothing_else(shop: Talk) -> None:
    """One that is unknown or missing is refused, and what waits waits on."""
    thread = new_thread()
    shop.model.answers = [query("SELECT 1 AS one"), "One."]
    await shop.say("How many?", thread, settings={"approval": "all"})

    with pytest.raises(InvalidInput, match="No call 'other' waits"):
        await shop.say(thread=thread, decisions=(Decision("other", True),))

    assert len(await shop.conversations.pending(shop.caller, thread)) == 1


async def test_without_a_thread_nothing_can_wait(shop: Talk) -> None:
    """The call is declined and the model told why."""
    shop.model.answers = [query("SELECT 1 AS one"), "I may not."]

    told = await shop.say("How many?", settings={"approval": "all"})

    assert told.report.finish == "stop"
    assert "cannot wait" in last(shop.prompts_sent[1])


async def test_after_a_failure_intent_is_detected_again_once(shop: Talk) -> None:
    """The turn goes on with what that found, and says so; a second failure is the model's to explain."""
    shop.model.answers = [query("SELECT nonsense"), query("SELECT nonsense"), "It does not work."]

    told = await shop.say("How many orders?", new_thread())

    assert told.report.retried.startswith("sql_query:")
    assert told.text == "It does not work."
    assert [one.state for one in told.report.tools_called] == ["failed", "failed"]


async def test_a_tool_that_was_not_offered_is_not_called(shop: Talk) -> None:
    """The model is told so, and intent is detected again."""
    shop.model.answers = [Said(calls=(("launch_rocket", {}),)), "There is none."]

    told = await shop.say("Fly", new_thread())

    assert "There is no tool launch_rocket" in last(shop.prompts_sent[1])
    assert told.report.retried.startswith("launch_rocket")


async def test_a_clients_tool_is_handed_to_the_client(shop: Talk) -> None:
    """Ours is run, theirs is not; the answer comes back by the thread, and the model goes on."""
    thread = new_thread()
    weather = (Function("weather", "The weather", {"type": "object", "properties": {"place": {"type": "string"}}}),)
    both = Said(
        calls=(
            ("weather", {"place": "Bern"}),
            ("sql_query", {"connection": "shop", "sql": "SELECT count(*) AS orders FROM orders"}),
        )
    )
    shop.model.answers = [both, "Rain, and no orders."]

    asked = await shop.say("Weather and orders?", thread, functions=weather)
    call = asked.report.client_calls[0]
    told = await shop.say(thread=thread, functions=weather, messages=(Message("tool", "rain", answers=call.id),))

    assert asked.report.finish == "tool_calls"
    assert call.name == "weather"
    assert "Bern" in call.arguments
    sent = shop.prompts_sent[1]
    assert called(sent)
    assert sorted(called(sent)) == sorted(answered(sent))
    assert "rain" in texts(sent)
    assert told.text == "Rain, and no orders."


async def test_the_database_that_is_meant_is_said_to_the_model(shop: Talk) -> None:
    """Where the person has chosen one."""
    await shop.services.chat_settings.put(shop.caller, {"connection": "shop"})

    told = await shop.say("How many orders are there?", new_thread())

    assert "Where no database is named, shop is meant." in texts(shop.prompts_sent[0])
    assert told.report.notes == ()


async def test_a_database_that_was_chosen_and_is_gone_is_noted(shop: Talk) -> None:
    """Also where it was the only one; the turn goes on without."""
    await shop.services.chat_settings.put(shop.caller, {"connection": "shop"})
    once = await shop.say("How many orders are there?", new_thread(), settings={"connection": "nosuch"})
    await shop.services.databases.remove_connection(shop.caller, "shop")
    gone = await shop.say("How many orders are there?", new_thread())
    unasked = await shop.say("How many orders are there?", new_thread(), settings={"sql": False})

    assert any("connection names 'nosuch'" in note for note in once.report.notes)
    assert any("connection names 'shop'" in note for note in gone.report.notes)
    assert unasked.report.notes == ()
    assert not any("is meant" in texts(sent) for sent in shop.prompts_sent)


async def test_an_answer_to_no_open_call_is_refused(talk: Talk) -> None:
    """Its id is named."""
    thread = new_thread()
    await talk.say("Hello", thread)

    with pytest.raises(InvalidInput, match="No call 'call_9' is open"):
        await talk.say(thread=thread, messages=(Message("tool", "rain", answers="call_9"),))


async def test_arguments_that_are_no_json_reach_no_tool(shop: Talk) -> None:
    """The model is told and tries again."""
    shop.model.answers = [Said(calls=(("sql_query", "{broken"),)), "Sorry."]  # pyright: ignore[reportArgumentType]

    told = await shop.say("How many?", new_thread())

    assert "not a JSON object" in last(shop.prompts_sent[1])
    assert told.text == "Sorry."


async def test_the_steps_of_a_turn_end(shop: Talk) -> None:
    """A model that keeps calling is stopped, and its results so far are the answer, marked."""
    shop.model.answers = [query("SELECT 1") for _ in range(40)]

    told = await shop.say("Go on", new_thread(), settings={"recursion": 10})

    assert told.report.finish == "limit"
    assert "steps of this turn are used up" in told.text
    assert any("10 steps" in note for note in told.report.notes)


async def test_a_long_schema_is_cut_to_the_tables_that_the_model_chooses(shop: Talk) -> None:
    """The model is asked for the tables once, and the others are named."""
    shop.model.tables = "orders"
    call = Said(calls=(("query_database_schema", {"connection": "shop", "question": "orders"}),))
    shop.model.answers = [call, "Done."]

    await shop.say("What is in orders?", new_thread(), settings={"result_tokens": 120})

    assert shop.model.inside == ["table_selection"]
    assert "orders" in last(shop.prompts_sent[1])
    assert "Not shown: customers" in texts(shop.prompts_sent[1])


async def test_of_a_flood_of_calls_the_first_are_made(shop: Talk) -> None:
    """The others are answered as not run, and every call is answered."""
    shop.model.answers = [Said(calls=(("sql_query", {"connection": "shop", "sql": "SELECT 1"}),) * 40), "Enough."]

    told = await shop.say("Go on", new_thread())

    sent = shop.prompts_sent[1]
    assert called(sent) == answered(sent)
    assert len(called(sent)) == 40
    assert sum(one.state == "done" for one in told.report.tools_called) == 32
