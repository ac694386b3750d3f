"""Turns of a conversation: what the model is shown, what stays, what people see."""

from __future__ import annotations

from tests.agent_chat.conftest import Talk, answered, called, last, names, new_thread, search, texts
from tests.fakes.chat_answers import Said


async def test_a_question_without_tools_is_answered_by_the_model_alone(talk: Talk) -> None:
    """Nothing is installed: the prompt `basic`, no tools, one call."""
    talk.model.answers = ["Hello yourself."]

    told = await talk.say("Hello")

    assert told.text == "Hello yourself."
    assert told.report.text == "Hello yourself."
    assert told.report.finish == "stop"
    assert told.report.calls == 1
    assert names(talk.prompts_sent[0]) == []
    assert talk.prompts_sent[0]["messages"][0]["content"].startswith("You answer one person's questions. You have no")


async def test_documents_are_in_the_prompt_of_their_turn_alone(library: Talk) -> None:
    """They stand behind the last message, are cited by number, and the next turn is without a trace of them."""
    thread = new_thread()
    library.model.answers = [search("parental leave"), "Sixteen weeks [1].", "You are welcome."]

    first = await library.say("How long is parental leave?", thread)
    second = await library.say("Thank you", thread)

    asked, given, after = library.prompts_sent
    assert "search_documents" in names(asked)
    assert "sixteen weeks" not in texts(asked)
    assert "sixteen weeks" in last(given)
    assert given["messages"][:-1] == asked["messages"]
    assert "sixteen weeks" not in texts(after)
    assert called(after) == []
    assert answered(after) == []
    assert after["messages"][: len(asked["messages"])] == asked["messages"]
    assert after["tools"] == asked["tools"]
    assert first.report.documents >= 1
    assert first.report.repositories == ("handbook",)
    assert [one.path for one in first.report.citations] == ["leave.md"]
    assert second.report.tokens_saved == first.report.document_tokens


async def test_people_see_for_ever_what_was_found(library: Talk) -> None:
    """The search stays in the history with its passages, marked as internal."""
    thread = new_thread()
    library.model.answers = [search("parental leave"), "Sixteen weeks [1]."]

    await library.say("How long is parental leave?", thread)
    entries = await library.conversations.history(library.caller, thread)

    assert [entry.kind for entry in entries] == ["user", "assistant", "tool", "assistant"]
    assert entries[2].internal
    assert "sixteen weeks" in entries[2].passages[0]["text"]
    assert entries[3].report["documents"] >= 1
    assert entries[3].report["citations"][0]["path"] == "leave.md"


async def test_without_relevant_passages_the_turn_is_as_without_a_search(library: Talk) -> None:
    """The prompt after the search is the one before it, without that tool."""
    library.model.grades = lambda _: False
    library.model.answers = [search("parental leave"), "I do not know."]

    told = await library.say("How long is parental leave?", new_thread())

    asked, again = library.prompts_sent
    assert again["messages"] == asked["messages"]
    assert "search_documents" not in names(again)
    assert told.report.documents == 0
    assert told.text == "I do not know."


async def test_a_mixed_turn_answers_every_call(shop: Talk) -> None:
    """Documents and SQL in one message of the model: both are done, and each call that is shown is answered."""
    both = Said(
        calls=(
            ("search_documents", {"query": "parental leave"}),
            ("sql_query", {"connection": "shop", "sql": "SELECT count(*) AS n FROM orders"}),
        )
    )
    shop.model.answers = [both, "Sixteen weeks [1], no orders."]

    told = await shop.say("How long is leave, and how many orders are there?", new_thread())

    given = shop.prompts_sent[1]
    assert called(given) == answered(given)
    assert len(called(given)) == 1
    assert "sixteen weeks" in last(given)
    done = sorted(one.name for one in told.report.tools_called if one.state == "done")  # they run side by side
    assert done == ["search_documents", "sql_query"]


async def test_a_question_is_rephrased_after_earlier_turns_alone(library: Talk) -> None:
    """The first question is searched as it is; a later one as it was rephrased."""
    thread = new_thread()
    library.model.rephrased = "how are repairs of a bicycle paid"
    library.model.answers = [search("bicycle"), "Lent [1].", search("and repairs?"), "Up to 200 [1]."]

    first = await library.say("Is there a bicycle?", thread)
    second = await library.say("And repairs?", thread)

    assert first.report.rephrased == ""
    assert library.model.inside == ["grade", "rephrase", "grade"]
    assert second.report.rephrased == "how are repairs of a bicycle paid"
