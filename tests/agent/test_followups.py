"""A question that goes on from the last one is read with what it leaves out; one that does not is left alone."""

from __future__ import annotations

import pytest

from thresher.agent.assistant.questions import place_of, resolve, topic_of
from thresher.agent.assistant.records import AssistantCall, RememberedTurn, ResultSubject

ADD = "How do I add a watcher to a Jira ticket?"
SUBJECTS = tuple(
    ResultSubject(
        "endpoint", f"result {number}", AssistantCall("get_api_endpoint", {"endpoint_id": str(number)}), ("jira",)
    )
    for number in range(1, 6)
)
TURNS = (RememberedTurn(ADD, ADD, "search", SUBJECTS, ("jira",), AssistantCall("search_api_docs", {"cursor": "c"})),)


@pytest.mark.parametrize(
    ("query", "understood"),
    [
        ("and the one to delete it?", "delete watcher Jira ticket"),
        ("now list them", "list watcher Jira ticket"),
        ("delete it", "delete watcher Jira ticket"),
        ("what about deleting?", "deleting watcher Jira ticket"),
        ("how do I update it?", "update watcher Jira ticket"),
        ("and for projects?", "add projects"),
        ("what about comments?", "add comments"),
    ],
)
def test_what_is_left_out_is_taken_over(query: str, understood: str) -> None:
    """The topic where only the action is new, the action where only the topic is; and where to look."""
    asked = resolve(query, TURNS)

    assert asked.text == understood
    assert asked.sources == ("jira",)
    assert asked.notes == (f"understood as: {understood}",)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("the second one", "result 2"),
        ("#3", "result 3"),
        ("open number four", "result 4"),
        ("the last one please", "result 5"),
        ("the 3rd one", "result 3"),
        ("the fifth", "result 5"),
        ("give me an example request for the second one", "result 2"),
        ("what about its parameters?", "result 1"),
        ("what does it return?", "result 1"),
        ("which scopes does that endpoint need", "result 1"),
        ("how do I call it from python", "result 1"),
        ("what about error responses?", "result 1"),
        ("what are the required fields?", "result 1"),
    ],
)
def test_a_result_is_referred_to(query: str, name: str) -> None:
    """By its place, by a pronoun, or by asking for nothing but a part of it."""
    asked = resolve(query, TURNS)

    assert asked.subject is not None
    assert asked.subject.name == name
    assert (asked.text, asked.topic) == (query, ADD)


@pytest.mark.parametrize(
    "query",
    [
        "how do I create a dashboard in datadog?",
        "what does the first comment of an issue need",
        "list all users",
        "which operations delete the second disk of a machine",
        "explain to me in great detail how the whole thing with the release works and what it means for us all",
    ],
)
def test_a_question_that_stands_alone_is_left_alone(query: str) -> None:
    """Whatever was asked before."""
    asked = resolve(query, TURNS)

    assert (asked.text, asked.subject, asked.sources, asked.more) == (query, None, (), None)


@pytest.mark.parametrize("query", ["more", "show me more", "next page", "and the rest?", "More, please"])
def test_the_next_page_is_asked_for(query: str) -> None:
    """Of the last answer; where that had no results, or there is none, the answer says so and nothing is searched."""
    first, last = resolve(query, ()), resolve(query, (RememberedTurn(ADD, ADD, "search", sources=("jira",)),))

    assert resolve(query, TURNS).more == TURNS[0]
    assert (first.more, first.lost) == (None, True)
    assert "begins a conversation" in first.notes[0]
    assert (last.more, last.lost, last.topic) == (None, True, ADD)
    assert "no further results" in last.notes[0]


@pytest.mark.parametrize("query", ["the last one", "the second to last one", "number twelve", "the 3 rd one"])
def test_a_place_in_an_answer_without_results_is_not_searched_for(query: str) -> None:
    """Nor one at the beginning of a conversation."""
    assert resolve(query, ()).lost
    assert resolve(query, (RememberedTurn(ADD, ADD, "search"),)).lost


def test_the_same_elsewhere_leaves_the_old_place_out() -> None:
    """Neither its name nor its filter goes along."""
    asked = resolve("same in Datadog", TURNS)

    assert asked.text == "add watcher ticket Datadog"
    assert asked.sources == ()


def test_an_own_object_keeps_the_place_alone() -> None:
    """The words stand as they are, and are looked for where the last ones were found."""
    asked = resolve("and the one to list projects?", TURNS)

    assert (asked.text, asked.sources) == ("and the one to list projects?", ("jira",))


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("the 1st one", 0),
        ("the eleventh one", 10),
        ("the twelfth", 11),
        ("the 20th one", 19),
        ("that twentieth result", 19),
        ("the 21st one", 20),
        ("the twenty-first one", 20),
        ("the twenty third one", 22),
        ("number twelfth", 11),
        ("number twelve", 11),
        ("number twenty-one", 20),
        ("number ninety", None),
        ("the 3 rd one", 2),
        ("the last one", 24),
        ("the second to last one", 23),
        ("the second-to-last", 23),
        ("the second last result", 23),
        ("the penultimate one", 23),
        ("the last but one", 23),
        ("the last but two", 22),
        ("the next to last one", 23),
        ("the third from last", 22),
        ("the third from the end", 22),
        ("the ninetieth from the end", None),
        ("the 90th one", None),
        ("the ninetieth one", None),
        ("the ninety-ninth one", None),
        ("the hundredth one", None),
    ],
)
def test_a_place_is_named_by_any_ordinal(query: str, place: int | None) -> None:
    """In digits or in words; one that no result has is not searched for as words."""
    subjects = tuple(ResultSubject("endpoint", str(number), AssistantCall("get_api_endpoint")) for number in range(25))

    asked = resolve(query, (RememberedTurn(ADD, ADD, "search", subjects, ("jira",)),))

    assert place_of(query, 25) == place
    assert asked.subject == (None if place is None else subjects[place])
    assert asked.lost == (place is None)


@pytest.mark.parametrize("query", ["the ninth one", "number 0", "#99", "number 6"])
def test_a_place_that_no_result_has_is_none(query: str) -> None:
    """A number beyond the list names nothing."""
    assert place_of(query, len(SUBJECTS)) is None


def test_the_first_question_of_a_conversation_stands_alone() -> None:
    """There is nothing to go on from."""
    assert resolve("and the one to delete it?", ()).text == "and the one to delete it?"
    assert resolve("the second one", (RememberedTurn("x", "", "search"),)).subject is None


@pytest.mark.parametrize(
    "query", ["the second one", "#9", "show me a curl for the ninth one", "its parameters, number 9"]
)
def test_a_result_that_there_is_not_is_not_guessed(query: str) -> None:
    """Nothing is searched for in words that only point; the answer says why."""
    first, beyond = resolve(query, ()), resolve(query.replace("second", "ninth"), TURNS)

    assert first.lost
    assert "begins a conversation" in first.notes[0]
    assert beyond.lost
    assert "has 5" in beyond.notes[0]


@pytest.mark.parametrize(
    "query",
    [
        "delete the second one",
        "the last commit",
        "the second to last commit",
        "number twelve downing street",
        "404",
        "page 2 of the report",
        "the first turn",
        "the 2nd quarter of 2024",
    ],
)
def test_a_place_in_other_words_is_searched_for(query: str) -> None:
    """A number in a question need not be that of a result."""
    assert not resolve(query, ()).lost


def test_a_topic_is_a_question_without_its_action() -> None:
    """Names in capitals are no actions."""
    assert topic_of("How can I get the LIST of pods?") == "LIST pods"
    assert topic_of("add a watcher to a Jira ticket", ("jira",)) == "watcher ticket"
    assert topic_of("") == ""


def test_figures_are_asked_for_elsewhere() -> None:
    """What is counted stays, and the period; the name is another."""
    last = RememberedTurn("usage of jira this week", "usage of jira this week", "analytics", (), ("jira",))

    assert resolve("and for datadog?", (last,)).text == "usage week datadog"


def test_a_place_is_looked_for_in_the_list_before() -> None:
    """Also when one of its results was read since; "it" is what was read."""
    turns = (*TURNS, RememberedTurn("the second one", "the second one", "endpoint_info", SUBJECTS[1:2], ("jira",)))

    assert resolve("and the third one", turns).subject == SUBJECTS[2]
    assert resolve("what does it return?", turns).subject == SUBJECTS[1]
