"""What a question says outright is read out of it, and nothing that it does not say."""

from __future__ import annotations

import time

import pytest

from thresher.agent.assistant.endpoints import reviewed_in
from thresher.agent.assistant.questions import named_in, read_cues


@pytest.mark.parametrize(
    ("text", "method", "path"),
    [
        ("what does POST /issues take?", "POST", "/issues"),
        ("describe get /users/{id}.", "GET", "/users/{id}"),
        ("a DELETE request? no: delete to /pets/7", "DELETE", "/pets/7"),
        ("PUT https://api.example.com/v1/things?x=1 fails", "PUT", "/v1/things"),
        ("post an issue", "", ""),
        ("get all users", "", ""),
    ],
)
def test_a_method_with_its_path_is_read(text: str, method: str, path: str) -> None:
    """A verb alone is a word like any other."""
    cues = read_cues(text)

    assert (cues.method, cues.path) == (method, path)
    assert cues.names_call == bool(path)


def test_names_and_ids_are_read_as_programs_write_them() -> None:
    """In camel case, with underscores or between backquotes; an endpoint's id is no name."""
    assert read_cues("what does addWatcher return").names == ("addWatcher",)
    assert read_cues("describe the tool git_log").names == ("git_log",)
    assert read_cues("explain `issues/create`").names == ("issues/create",)
    assert read_cues("show op_0123456789ab").endpoint_id == "op_0123456789ab"
    assert read_cues("show op_0123456789ab").names == ()
    assert read_cues("Add a watcher to a Jira ticket").names == ()


@pytest.mark.parametrize(
    ("text", "time_range"),
    [
        ("searches today", "1d"),
        ("the last week", "7d"),
        ("in the past 30 days", "30d"),
        ("this quarter", "90d"),
        ("top queries", ""),
    ],
)
def test_a_period_is_read(text: str, time_range: str) -> None:
    """Days, weeks, months and quarters in the words of people."""
    assert read_cues(text).time_range == time_range


def test_figures_and_feedback_are_read() -> None:
    """One kind of feedback alone narrows; a question after figures is no review."""
    figures = read_cues("which searches found nothing, and how slow are they per day?")
    review = read_cues("which operations lack examples?")

    assert set(figures.metrics) == {"zero_result_queries", "latency", "per_day"}
    assert not figures.improving
    assert (review.improving, review.feedback) == (True, "examples")
    assert read_cues("suggest improvements of examples and security").feedback == ""


def test_parts_of_an_operation_and_tables_are_read() -> None:
    """What a question about details is after."""
    assert read_cues("what about its error responses").sections == ("responses",)
    assert read_cues("a curl example").sections == ("samples",)
    assert read_cues("columns of the table sales.orders").table == "sales.orders"
    assert read_cues("describe the `customers` table").table == "customers"
    assert read_cues("which rows are there").data


def test_things_are_found_by_all_that_they_are_called() -> None:
    """As whole words, whatever their case, the first mentioned first."""
    names = [("jira", ("jira", "Jira Cloud")), ("kubernetes", ("kubernetes", "k8s")), ("go", ("go",))]

    assert named_in("from K8s to jira-cloud", names) == ("kubernetes", "jira")
    assert named_in("google it", names) == ()
    assert named_in("", names) == ()


NAMES = ("orders", "weather", "billing", "tmdb", "search-api", "Jira Cloud", "review", "history")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "what is wrong with the description of {}?",
        "what is wrong with the {} description",
        "What's wrong with {}'s description?",
        "how can the description of {} be improved?",
        "how could we improve the docs of the {} API?",
        "which problems does the {} OpenAPI description have?",
        "review the documentation of our {} API",
        "rate the {} spec",
        "how good is the description that {} has",
        "does the {} description lack anything?",
        "is the description of {} clear?",
        "how well is the {} API documented?",
        "where does the {} description fail its readers",
        "is {}'s documentation complete?",
        "check the description of {}",
        "the description of {} is hard to understand, why?",
        "what would make the OpenAPI document of {} better",
        "what is wrong with the {} API?",
        "improve {}",
        "please lint the {} API",
    ],
)
def test_a_review_is_asked_for_by_the_name_of_an_api_and_words_about_its_description(text: str, name: str) -> None:
    """Whatever the API is called, in many wordings."""
    names = [(one, (one,)) for one in NAMES]

    assert reviewed_in(text.format(name), names) == (name,)


@pytest.mark.parametrize(
    "text",
    [
        "which table holds the orders?",
        "what is wrong with the orders?",
        "how many orders are there",
        "what is wrong with the weather today?",
        "what is wrong with the description of the table orders?",
        "improve the description of the orders table",
        "what will the weather be in London",
        "how do I change the description of an issue in weather?",
        "find the description of the orders API",
        "which parameters does the weather API take?",
        "what is the rate limit of the weather API?",
        "where are the docs of billing?",
        "check the docs of billing for webhooks",
        "look up the rate limits in the docs of weather",
        "how do I improve the description of a product in the orders API?",
        "which orders have the better quality",
        "how do I review an order",
        "which API descriptions are weak?",
        "post a review to tmdb",
    ],
)
def test_the_name_of_an_api_alone_asks_for_no_review(text: str) -> None:
    """Nor does a description of something else: tables, products and the weather have the same names."""
    names = [(one, (one,)) for one in NAMES if one != "review"]

    assert reviewed_in(text, names) == ()


def test_several_apis_are_reviewed_in_the_order_in_which_they_are_named() -> None:
    """By all that they are called."""
    names = [("orders", ("orders", "shop orders")), ("weather", ("weather", "Met Office"))]

    assert reviewed_in("compare the quality of the descriptions of Met Office and shop orders", names) == (
        "weather",
        "orders",
    )


def test_a_hostile_text_costs_little() -> None:
    """Long runs of what patterns look for are read in no time."""
    texts = [
        "a_" * 50_000,
        "GET " * 50_000,
        "has " * 50_000,
        "`" * 100_000,
        "aA" * 50_000,
        "what do " * 20_000,
        "of the " * 20_000,
    ]

    started = time.thread_time()
    for text in texts:
        read_cues(text)
        reviewed_in(text, [("a", ("a", "has")), ("get", ("get",))])
        reviewed_in(f"improve description {text}", [("what", ("what",)), ("of", ("of",))])

    assert time.thread_time() - started < 2
