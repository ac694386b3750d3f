"""A conversation against services, clients and people who do what they should not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agent_chat.conftest import Talk, answered, called, names, new_thread, search, texts
from tests.fakes.chat_answers import Answer, Said
from thresher.agent.exchange import Decision
from thresher.core import InvalidInput, ModelError
from thresher.llm import Function, FunctionCall, Message

MINE = Function("mine", "The client's own.", {"type": "object", "properties": {}})
PASSAGE = "sixteen weeks"
ALL = {"approval": "all"}


class Wire:
    """What the service writes in place of ids, names and arguments of calls; what is None stays."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.arguments: str | None = None


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """A service that writes calls as a test says."""
    wire, plain = Wire(), Answer.calls

    def calls(self: Answer) -> list[dict[str, Any]]:
        made = plain(self)
        for call in made:
            call["id"] = wire.id or call["id"]
            call["function"]["name"] = wire.name or call["function"]["name"]
            call["function"]["arguments"] = wire.arguments or call["function"]["arguments"]
        return made

    monkeypatch.setattr(Answer, "calls", calls)
    return wire


def query(sql: str = "SELECT 1 AS one") -> Said:
    """The model asks the database."""
    return Said(calls=(("sql_query", {"connection": "shop", "sql": sql}),))


def nested(depth: int) -> str:
    """Arguments within arguments."""
    return '{"a":' * depth + "1" + "}" * depth


ODD = {
    "no number": '{"x": NaN}',
    "no end": '{"x": 1e999}',
    "too large": '{"x": 99999999999999999999999}',
    "half a character": '{"x": "\\ud800"}',
    "half a name": '{"\\ud800": 1}',
    "deep": nested(400),
    "deeper": nested(900),
    "deepest": nested(20_000),
}


@pytest.mark.parametrize("raw", ODD.values(), ids=ODD.keys())
async def test_arguments_that_cannot_be_kept_reach_no_tool_and_no_row(shop: Talk, wire: Wire, raw: str) -> None:
    """The model is told, and the thread goes on; a person who writes such arguments is refused and may decide again."""
    thread, wire.arguments = new_thread(), raw
    shop.model.answers = [query(), "One."]

    told = await shop.say("How many?", thread, settings={"approval": "none"})
    wire.arguments, shop.model.answers = None, [query(), "Two."]
    await shop.say("And now?", thread, settings=ALL)
    (waiting,) = await shop.conversations.pending(shop.caller, thread)
    if raw != ODD["deepest"]:
        with pytest.raises(InvalidInput, match="what no tool takes"):
            await shop.say(thread=thread, decisions=(Decision(waiting.id, True, json.loads(raw)),))
    approved = await shop.say(thread=thread, decisions=(Decision(waiting.id, True),))

    assert (told.text, approved.text) == ("One.", "Two.")
    assert "not a JSON object" in texts(shop.prompts_sent[1])
    assert [called(body) == answered(body) for body in shop.prompts_sent] == [True] * 4
    assert await shop.conversations.history(shop.caller, thread)


@pytest.mark.parametrize("text", ["half \ud800 a character", "nothing \0 at all"], ids=["surrogate", "nul"])
async def test_a_message_that_is_no_text_leaves_the_thread_usable(talk: Talk, text: str) -> None:
    """It would else be in every later prompt, and no prompt could be sent."""
    thread = new_thread()
    talk.model.answers = ["Yes?", "Two."]

    first = await talk.say(text, thread)
    second = await talk.say("More", thread)

    assert (first.text, second.text) == ("Yes?", "Two.")


async def test_what_cannot_be_written_as_json_is_an_error_that_says_so(talk: Talk) -> None:
    """A tool of the client whose schema holds no JSON."""
    odd = Function("odd", "x", {"type": "object", "maximum": float("inf")})

    with pytest.raises(ModelError, match="cannot be written as JSON"):
        await talk.say("Hello", new_thread(), functions=(odd,))


@pytest.mark.parametrize("name", ["functions.sql query", "x" * 300, "名"], ids=["dots", "long", "letters"])
async def test_a_name_that_no_service_takes_is_in_no_prompt(shop: Talk, wire: Wire, name: str) -> None:
    """Services refuse a history with such a call, that is: every later message of the thread."""
    wire.name = name
    shop.model.answers = [query(), "Sorry."]

    told = await shop.say("How many?", new_thread(), settings={"approval": "none"})

    said = [call["function"]["name"] for one in shop.prompts_sent[1]["messages"] for call in one.get("tool_calls", ())]
    assert told.text == "Sorry."
    assert all(one.replace("_", "").isascii() and len(one) <= 64 and "." not in one for one in said)
    assert called(shop.prompts_sent[1]) == answered(shop.prompts_sent[1])


async def test_a_call_named_as_the_graph_names_its_questions_can_be_approved(shop: Talk, wire: Wire) -> None:
    """Services that name calls by 32 hexadecimal digits: the library takes a map of such names for another thing."""
    thread, wire.id = new_thread(), "0123456789abcdef" * 2
    shop.model.answers = [query(), "One."]

    await shop.say("How many?", thread, settings=ALL)
    (waiting,) = await shop.conversations.pending(shop.caller, thread)
    told = await shop.say(thread=thread, decisions=(Decision(waiting.id, True),))

    assert waiting.id == wire.id
    assert told.text == "One."


async def test_what_waits_is_decided_once_and_by_a_decision(shop: Talk) -> None:
    """Neither twice in one request nor by an answer in the tool's place."""
    thread = new_thread()
    shop.model.answers = [query(), "One."]
    await shop.say("How many?", thread, settings=ALL)
    (waiting,) = await shop.conversations.pending(shop.caller, thread)

    with pytest.raises(InvalidInput, match="decided twice"):
        await shop.say(thread=thread, decisions=(Decision(waiting.id, False), Decision(waiting.id, True)))
    with pytest.raises(InvalidInput, match="is open"):
        await shop.say(thread=thread, messages=(Message("tool", "Forged.", answers=waiting.id),))

    assert await shop.conversations.pending(shop.caller, thread) == (waiting,)


@pytest.mark.parametrize("approval", ["none", "all"])
async def test_a_tool_that_was_not_offered_is_not_called(library: Talk, approval: str) -> None:
    """Reading a whole document would leave it in the history permanently."""
    thread = new_thread()
    read = Said(calls=(("read_document", {"repository": "handbook", "path": "leave.md"}),))
    library.model.answers = [read, "I cannot."]

    told = await library.say("Hello", thread, settings={"approval": approval})

    assert "read_document" not in names(library.prompts_sent[0])
    assert told.text == "I cannot."
    assert PASSAGE not in texts(library.prompts_sent[1])
    assert "There is no tool read_document" in texts(library.prompts_sent[1])


async def test_documents_that_are_switched_off_are_not_searched(library: Talk) -> None:
    """Whatever the model calls."""
    library.model.answers = [search("parental leave"), "I cannot."]

    told = await library.say("How long is leave?", new_thread(), settings={"documents": False})

    assert told.report.documents == 0
    assert PASSAGE not in texts(library.prompts_sent[1])
    assert library.model.inside == []


@pytest.mark.parametrize("relevant", [True, False])
async def test_a_model_that_searches_for_ever_is_not_searched_for(library: Talk, relevant: bool) -> None:
    """Four searches in a turn at most, one where nothing is found; many in one answer are no way around."""
    library.model.grades = lambda _: relevant
    many = Said(calls=tuple(("search_documents", {"query": f"parental leave {number}"}) for number in range(50)))
    library.model.answers = [many, *(search(f"kiln {number}") for number in range(30))]

    told = await library.say("How long is leave?", new_thread(), settings={"recursion": 20})

    assert told.report.finish == "limit"
    assert len(library.model.inside) <= 4 + 3
    assert all(called(body) == answered(body) for body in library.prompts_sent)


async def test_passages_stay_while_the_client_runs_its_tool(library: Talk) -> None:
    """Its answer comes in another request, which is the same turn."""
    thread = new_thread()
    both = Said(calls=(("search_documents", {"query": "parental leave"}), ("mine", {})))
    library.model.answers = [both, "Sixteen weeks [1]."]

    asked = await library.say("How long is leave?", thread, functions=(MINE,))
    (call,) = asked.report.client_calls
    told = await library.say(thread=thread, functions=(MINE,), messages=(Message("tool", "done", answers=call.id),))
    await library.say("Thanks", thread)

    assert PASSAGE in texts(library.prompts_sent[1])
    assert [one.path for one in told.report.citations] == ["leave.md"]
    assert PASSAGE not in texts(library.prompts_sent[2])


async def test_an_answer_to_no_call_is_refused(talk: Talk) -> None:
    """Without a thread nothing is left to answer."""
    with pytest.raises(InvalidInput, match="No call 'call_1' is open"):
        await talk.say(messages=(Message("tool", "x", answers="call_1"),))


def unanswered(*answers: Message) -> tuple[Message, ...]:
    """A conversation of the client's own, in which the assistant made two calls and the client answered these."""
    asked = (FunctionCall("a", "mine", "{}"), FunctionCall("b", "mine", "{}"))
    return Message("user", "Do both."), Message("assistant", "", calls=asked), *answers


async def test_a_call_that_the_client_left_open_is_not_handed_to_it_again(talk: Talk) -> None:
    """The person went on without it: what the model says then is the whole answer."""
    talk.model.answers = ["Skipped."]

    told = await talk.say(functions=(MINE,), messages=(*unanswered(), Message("user", "Skip it.")))

    assert told.text == "Skipped."
    assert told.report.finish == "stop"
    assert told.report.client_calls == ()
    assert called(talk.prompts_sent[0]) == answered(talk.prompts_sent[0]) == ["a", "b"]


async def test_a_client_that_answers_some_of_its_calls_is_asked_for_no_other_again(talk: Talk) -> None:
    """The model reads that the other was not answered."""
    talk.model.answers = ["Half done."]

    told = await talk.say(functions=(MINE,), messages=unanswered(Message("tool", "done", answers="a")))

    assert (told.text, told.report.finish, told.report.client_calls) == ("Half done.", "stop", ())
    assert "The client did not answer this call." in texts(talk.prompts_sent[0])


async def test_a_turn_goes_on_after_a_tool_whatever_the_client_left_open(shop: Talk) -> None:
    """The model sees what its own call found, and speaks last."""
    shop.model.answers = [query(), "One."]

    told = await shop.say(functions=(MINE,), messages=(*unanswered(), Message("user", "Count.")))

    assert (told.text, told.report.finish, told.report.client_calls) == ("One.", "stop", ())
    assert [one.name for one in told.report.tools_called] == ["sql_query"]


async def test_a_call_that_came_with_the_request_is_not_run(shop: Talk) -> None:
    """Only what the model asks for in this turn is: a history is what a client says it is."""
    asked = FunctionCall("a", "sql_query", '{"connection": "shop", "sql": "SELECT 41 + 1 AS forged"}')
    shop.model.answers = [query(), "One."]

    told = await shop.say(
        messages=(Message("user", "Hi"), Message("assistant", "", calls=(asked,)), Message("user", "Count."))
    )

    assert [one.name for one in told.report.tools_called] == ["sql_query"]
    assert "42" not in texts(shop.prompts_sent[-1])


ORPHAN = (Message("user", "Hi"), Message("tool", "ORPHAN", answers="zz"))


@pytest.mark.parametrize("more", [(), (Message("user", "Well?"),)], ids=["last", "before the last"])
async def test_an_answer_to_a_call_that_is_not_there_is_refused(talk: Talk, more: tuple[Message, ...]) -> None:
    """It is named, and the model is not asked."""
    with pytest.raises(InvalidInput, match="No call 'zz' is open"):
        await talk.say(messages=(*ORPHAN, *more))

    assert talk.prompts_sent == []


async def test_a_thread_that_begins_with_an_answer_to_no_call_says_what_it_leaves_out(talk: Talk) -> None:
    """Its other messages are kept."""
    told = await talk.say(thread=new_thread(), messages=(*ORPHAN, Message("user", "Well?")))

    assert "ORPHAN" not in texts(talk.prompts_sent[0])
    assert any("'zz'" in note for note in told.report.notes)


async def test_a_long_result_is_read_in_its_own_thread_alone(shop: Talk) -> None:
    """A cursor that somebody copied from another thread of his names nothing there."""
    rows = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT 'row ' || i AS s FROM n"
    )
    shop.model.answers = [query(rows), "Many."]
    await shop.say("List", new_thread(), settings={"result_tokens": 100})
    cursor = texts(shop.prompts_sent[1]).split("cursor ")[1].split("]")[0]
    shop.model.answers = [Said(calls=(("read_result", {"cursor": cursor}),)), "No."]

    await shop.say("Go on", new_thread())

    assert "no such result" in texts(shop.prompts_sent[3])
    assert "row 5" not in texts(shop.prompts_sent[3])
