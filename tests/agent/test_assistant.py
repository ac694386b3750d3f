"""The assistant answers through the gateway: over what is installed, for any caller, whatever fails."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.agent.conftest import add_shop, add_tracker
from tests.support.product import ListedServer, listed
from tests.support.tracker import FORGED
from thresher.agent import Assistant
from thresher.agent.assistant import intents
from thresher.agent.assistant.records import AssistantCall
from thresher.agent.assistant.toolbox import Toolbox
from thresher.core import Caller, InvalidInput, NotFound, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.knowledge.documents import origin_of
from thresher.services import Services

NAMES = ("orders", "customers", "totals")


async def test_with_nothing_installed_it_says_what_to_add(assistant: Assistant, caller: Caller) -> None:
    """And is no error: there is just nothing to ask."""
    answer = await assistant.ask(caller, "add a watcher to a ticket")

    assert answer.response.results == ()
    assert "thresher apis add NAME SOURCE" in answer.response.text
    assert answer.response.type == "search"


async def test_a_database_is_asked_by_its_tables(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """The schema that the question needs, and later the table that it is about."""
    await add_shop(services, tmp_path)

    found = await assistant.ask(caller, "which table holds the orders?")
    table = await assistant.ask(caller, "show the columns of the table customers", session_id=found.session_id)

    assert found.response.results[0]["kind"] == "schema"
    assert "orders" in found.response.results[0]["tables"]
    assert "query_database_schema" in found.intent.tools
    assert table.response.results[0]["tables"] == ["customers"]
    assert table.session_id == found.session_id


@pytest.mark.parametrize(
    ("query", "context"), [("", ""), ("  \n", ""), ("x" * 4_001, ""), ("x", "y" * 20_001), ("\0", "")]
)
async def test_a_question_that_is_none_is_refused(
    assistant: Assistant, caller: Caller, query: str, context: str
) -> None:
    """Before anything is asked of anybody."""
    with pytest.raises(InvalidInput) as refused:
        await assistant.ask(caller, query, context=context)

    assert refused.value.hint


@pytest.mark.parametrize(("name", "error"), [("unknown-conversation", NotFound), ("' or 1=1", InvalidInput)])
async def test_a_conversation_that_is_none_is_refused(
    assistant: Assistant, caller: Caller, name: str, error: type[Exception]
) -> None:
    """With what to do instead."""
    with pytest.raises(error, match="conversation"):
        await assistant.ask(caller, "list all issues", session_id=name)


async def test_held_out_questions_are_understood(services: Services, encoder: Encoder, caller: Caller) -> None:
    """Nine in ten get their type, and what wants nothing of the kind is a search with low confidence."""
    file = Path(intents.__file__).with_name("lines") / "evals.jsonl"
    questions = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    reader = intents.IntentReader(services.database, encoder)
    await reader.prepare(caller.tenant)
    lines = {line for some in intents.training_lines().values() for line in some}

    wishes = [await reader.read(caller.tenant, question["query"]) for question in questions]

    right = [
        (wish.confidence <= intents.UNRECOGNISED if question["type"] == "other" else wish.type == question["type"])
        for wish, question in zip(wishes, questions, strict=True)
    ]
    assert sum(right) >= 0.9 * len(questions)
    assert lines.isdisjoint(question["query"] for question in questions)


async def test_a_conversation_goes_on(assistant: Assistant, services: Services, caller: Caller, tmp_path: Path) -> None:
    """From a search to its opposite, to a part of it, to another result, to code for it, to the next page."""
    await add_tracker(services, tmp_path)

    found = await assistant.ask(caller, "how do I add a watcher to a tracker issue?")
    gone = await assistant.ask(caller, "and the one to delete it?", session_id=found.session_id)
    parameters = await assistant.ask(caller, "what about its parameters?", session_id=found.session_id)
    second = await assistant.ask(caller, "show me a curl for the second one", session_id=found.session_id)
    end = await assistant.ask(caller, "more", session_id=found.session_id)

    best = found.response.results[0]
    assert found.intent.type == "search"
    assert "search_api_docs" in found.intent.tools
    assert (best["kind"], best["method"], best["path"]) == ("endpoint", "POST", "/issues/{key}/watchers")
    assert best["next"] == {"tool": "get_api_endpoint", "arguments": {"endpoint_id": best["id"]}}
    assert found.response.filters_applied["providers"] == ["tracker"]
    assert gone.response.results[0]["method"] == "DELETE"
    assert gone.response.query == "delete watcher tracker issue"
    assert (parameters.intent.type, parameters.intent.tools) == ("endpoint_info", ("get_api_endpoint",))
    assert "`key` (path, string, required): Key of the issue." in parameters.response.text
    assert "```bash" not in parameters.response.text
    assert second.response.results[0]["id"] == gone.response.results[1]["id"]
    assert "```bash\ncurl" in second.response.text
    assert end.response.notes == ("that was all",)


async def test_an_operation_is_read_by_what_names_it(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Its method and path with values in it, its name, its id; one that is not there is said so."""
    await add_tracker(services, tmp_path)

    by_path = await assistant.ask(caller, "what does POST /issues/PAY-1/watchers take?")
    by_name = await assistant.ask(caller, "which fields does createIssue need?")
    by_id = await assistant.ask(caller, by_path.response.results[0]["id"])
    missing = await assistant.ask(caller, "what does GET /nothing/like/this return?")

    assert by_path.response.results[0]["path"] == "/issues/{key}/watchers"
    assert by_name.response.results[0]["request"]["project"] == "PAY"
    assert by_id.response.results[0]["id"] == by_path.response.results[0]["id"]
    assert FORGED not in by_path.response.text
    assert by_path.intent.confidence >= 0.9
    assert (missing.response.type, missing.response.results) == ("error", ())
    assert missing.response.notes


async def test_figures_and_reviews_come_from_their_tools(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """For the period and the provider that the question names."""
    await add_tracker(services, tmp_path)

    usage = await assistant.ask(caller, "API usage statistics of tracker this month")
    await assistant.ask(caller, "add a watcher to an issue")
    missed = await assistant.ask(caller, "which searches found nothing last week?")
    second = await assistant.ask(caller, "the second one")
    review = await assistant.ask(caller, "suggest improvements of the examples of bugs")
    more = await assistant.ask(caller, "more", session_id=review.session_id)

    assert usage.response.results[0]["kind"] == "usage"
    assert usage.response.filters_applied == {"providers": ["tracker"], "time_range": "30d"}
    assert "No data:" in usage.response.text
    assert missed.response.filters_applied["metrics"] == ["zero_result_queries"]
    assert (second.response.results, second.response.notes[0][:16]) == ((), "no former result")
    assert [item["kind"] for item in review.response.results[:2]] == ["score", "finding"]
    assert {item["feedback"] for item in review.response.results[1:]} == {"examples"}
    assert more.intent.type == "analytics"


@pytest.mark.parametrize("name", ["orders", "weather", "billing"])
async def test_an_api_is_reviewed_by_its_name_whatever_else_is_called_so(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path, name: str
) -> None:
    """Said together with its description; a table of the same name, and the thing itself, are asked about as ever."""
    await add_shop(services, tmp_path)
    await add_tracker(services, tmp_path, name)

    review = await assistant.ask(caller, f"what is wrong with the description of {name}?")
    other = await assistant.ask(caller, f"how can the {name} description be improved?", session_id=review.session_id)
    table = await assistant.ask(caller, "which table holds the orders?")
    counted = await assistant.ask(caller, "how many orders are there?")
    weather = await assistant.ask(caller, "what will the weather be tomorrow?")

    assert (review.intent.type, review.response.filters_applied["providers"]) == ("analytics", [name])
    assert [item["kind"] for item in review.response.results[:2]] == ["score", "finding"]
    assert other.response.results[0]["provider"] == name
    assert other.response.results[0]["kind"] == "score"
    assert table.response.results[0]["kind"] == "schema"
    assert counted.response.results[0]["kind"] != "score"
    assert weather.intent.type != "analytics"


async def test_a_failing_tool_costs_its_own_part(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not answer in time leaves the others their time; where none answers, that is said."""
    await add_shop(services, tmp_path)
    monkeypatch.setattr("thresher.agent.assistant.toolbox.CALL_SECONDS", 0.0)

    answer = await assistant.ask(caller, "which table holds the orders?")

    assert answer.response.type == "error"
    assert answer.response.text.startswith("No tool could answer.")
    assert any("did not answer within 0 s" in note for note in answer.response.notes)


async def test_arguments_that_a_tool_does_not_take_are_not_sent(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Nor is a tool that is not there."""
    await add_shop(services, tmp_path)
    async with build_gateway(services)._lifespan_manager():
        box = await Toolbox.of(services.calling, caller)
        wrong = await box.call(AssistantCall("sql_list_tables", {"connection": "shop", "limit": 0}))
        unknown = await box.call(AssistantCall("sql_list_tables", {"connection": "shop", "made_up": 1}))
        missing = await box.call(AssistantCall("no_such_tool"))
        refused = await box.call(AssistantCall("sql_list_tables", {"connection": "nobody"}))
        called = tuple(box.called)

    assert "was not called" in wrong.problem
    assert "in limit" in wrong.problem
    assert "made_up" in unknown.problem
    assert missing.problem == "There is no tool no_such_tool."
    assert "nobody" in refused.problem
    assert called == ("sql_list_tables",)


async def test_turns_at_once_are_answered_and_kept(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Each for itself, in one conversation."""
    await add_shop(services, tmp_path)
    first = await assistant.ask(caller, "show the tables of the database")

    answers = await asyncio.gather(
        *(assistant.ask(caller, f"which table holds the {what}?", session_id=first.session_id) for what in NAMES)
    )

    kept = (await assistant.sessions.open(caller, first.session_id)).turns
    assert {answer.session_id for answer in answers} == {first.session_id}
    assert len(kept) == 1 + len(NAMES)


async def test_an_answer_is_for_its_caller_alone(
    assistant: Assistant, services: Services, caller: Caller, other_tenant: Tenant, tmp_path: Path
) -> None:
    """Another tenant sees neither what is installed nor the conversation."""
    await add_tracker(services, tmp_path)
    mine = await assistant.ask(caller, "add a watcher to a tracker issue")
    stranger = Caller(other_tenant)

    theirs = await assistant.ask(stranger, "add a watcher to a tracker issue")

    assert mine.response.results
    assert theirs.response.results == ()
    with pytest.raises(NotFound):
        await assistant.ask(stranger, "and the one to delete it?", session_id=mine.session_id)


CLOCK = listed(
    "current_time",
    "Get the current time in a timezone.",
    {"timezone": {"type": "string", "description": "IANA timezone name"}},
    annotations={"readOnlyHint": True},
)
CLOCK["inputSchema"]["required"] = ["timezone"]
ALARM = listed("set_alarm", "Set an alarm clock to a time of day.", {"time": {"type": "string"}})
ALARM["inputSchema"]["required"] = ["time"]


async def test_a_tool_that_only_reads_is_called_with_what_the_question_says(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Of a server that is trusted; also where the next question names nothing but another place."""
    server = ListedServer.at(tmp_path, "clock", CLOCK, ALARM)
    await services.tools.add_server(caller, server.config, trusted=True)
    await services.tools.refresh(caller, "clock")

    tokyo = await assistant.ask(caller, "what time is it in Tokyo?")
    lisbon = await assistant.ask(caller, "and in Lisbon?", session_id=tokyo.session_id)

    first, second = tokyo.response.results[:2]
    assert (first["kind"], first["server"], first["arguments"]) == ("tool_result", "clock", {"timezone": "Asia/Tokyo"})
    assert json.loads(first["text"]) == {"timezone": "Asia/Tokyo"}
    assert second["call"]["tool"] == "call_tool"
    assert lisbon.response.results[0]["arguments"] == {"timezone": "Europe/Lisbon"}
    assert "call_tool" in tokyo.intent.tools


async def test_a_tool_that_may_change_something_is_named_and_not_called(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """With the call that would be made, and what the question does not say."""
    server = ListedServer.at(tmp_path, "clock", CLOCK, ALARM)
    await services.tools.add_server(caller, server.config)
    await services.tools.refresh(caller, "clock")

    ready = await assistant.ask(caller, "set an alarm clock to 7:30 am")
    short = await assistant.ask(caller, "set an alarm clock")

    called = {"tool": "call_tool_write", "arguments": {"name": "clock_set_alarm", "arguments": {"time": "07:30"}}}
    assert (ready.response.results[0]["kind"], ready.response.results[0]["call"]) == ("tool", called)
    assert not {"call_tool", "call_tool_write"} & set(ready.intent.tools)
    assert short.response.results[0]["missing"] == ["time"]
    assert "the question does not say: `time`" in short.response.text


async def test_rows_are_counted_where_the_question_asks_for_nothing_else(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """By one statement through the guard; a count with a condition shows the tables."""
    await add_shop(services, tmp_path)

    counted = await assistant.ask(caller, "how many orders are in shop?")
    some = await assistant.ask(caller, "and how many of them are above 100?", session_id=counted.session_id)

    rows = counted.response.results[0]
    assert (rows["kind"], rows["sql"], rows["rows"]) == ("rows", 'SELECT count(*) FROM "orders"', [[0]])
    assert "**0** rows in `orders` of `shop`" in counted.response.text
    assert some.response.results[0]["kind"] == "schema"
    assert "sql_query" not in some.intent.tools


@pytest.mark.parametrize(
    "query",
    [
        "how many orders are not in shop?",
        "how many orders aren't in shop?",
        "how many orders do they not have in shop?",
        "how many orders have no customers in shop?",
        "how many of my orders are in shop?",
        "how many orders do I have in shop?",
        "how many of our orders are there in shop?",
        "how many orders of theirs are in shop?",
        "how many other orders are in shop?",
    ],
)
async def test_a_negation_or_an_owner_is_a_condition_on_what_is_counted(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path, query: str
) -> None:
    """All rows are not the answer to it: the schema is shown, and no statement runs."""
    await add_shop(services, tmp_path)

    answer = await assistant.ask(caller, query)

    assert "rows" not in {item["kind"] for item in answer.response.results}
    assert "sql_query" not in answer.intent.tools


@pytest.mark.parametrize(
    "query",
    [
        "how many orders are there in our database shop?",
        "how many orders do we have?",
        "number of rows in orders of shop",
        "count all orders in shop",
        "how many orders are in the shop database in total",
    ],
)
async def test_words_that_leave_a_count_as_it_is_are_passed_over(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path, query: str
) -> None:
    """Every row of the table is meant."""
    await add_shop(services, tmp_path)

    answer = await assistant.ask(caller, query)

    assert answer.response.results[0]["kind"] == "rows"


async def test_the_operations_of_an_api_are_listed_tag_by_tag(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Each with its method and path, not the tags alone."""
    await add_tracker(services, tmp_path)

    answer = await assistant.ask(caller, "list tracker apis")

    kinds = {item["kind"] for item in answer.response.results}
    groups = [item["group"] for item in answer.response.results]
    assert kinds == {"endpoint"}
    assert groups == sorted(groups, key=groups.index)
    assert {"Issues", "Users"} <= set(groups)
    assert "**Issues**\n\n1. `GET /issues`" in answer.response.text


async def test_a_list_is_shown_whole_page_by_page_where_operations_have_no_tags(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """No operation falls between two pages, and each can be named by its place."""
    paths = [f"/{name}/{number}" for name in ("movies", "series", "people") for number in range(15)]
    operations = {path: {"get": {"summary": f"Get {path}", "responses": {}}} for path in paths}
    file = tmp_path / "films.json"
    file.write_text(json.dumps({"openapi": "3.0.3", "info": {"title": "Films", "version": "1"}, "paths": operations}))
    await services.apis.add(caller, "films", [str(file)])
    await services.apis.index_here(caller, "films")

    first = await assistant.ask(caller, "list films apis")
    second = await assistant.ask(caller, "more", session_id=first.session_id)
    end = await assistant.ask(caller, "more", session_id=first.session_id)
    named = await assistant.ask(caller, "the 20th one", session_id=first.session_id)

    pages = [[item["path"] for item in answer.response.results] for answer in (first, second)]
    assert [len(page) for page in pages] == [25, 20]
    assert sorted(pages[0] + pages[1]) == sorted(paths)
    assert end.response.notes == ("that was all",)
    assert named.response.results[0]["path"] == pages[1][19]


async def test_an_api_that_is_named_goes_before_documents(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Although a document says the very words."""
    await add_tracker(services, tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# Watchers\n\nTo add a watcher to an issue is a matter of courtesy.\n", encoding="utf-8")
    await services.documents.index_here(caller, "etiquette", origin_of(str(page)))

    answer = await assistant.ask(caller, "add a watcher to an issue in tracker")

    assert answer.response.results[0]["kind"] == "endpoint"
