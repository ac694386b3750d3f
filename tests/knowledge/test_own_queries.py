"""Queries made from a tool's own definition."""

from __future__ import annotations

import pytest

from tests.support.product import CATALOGUE, known
from thresher.core import Tool
from thresher.knowledge.tools.own_queries import action_of, own_queries, request_of, verb_of

READ = known("files", "read_text_file", "Reads the contents of a file.", {"path": {}, "head": {}})


def test_name_sentence_synonyms_and_parameters_each_give_a_query() -> None:
    """In this order, without repeats."""
    assert own_queries(READ) == (
        "read text file",
        "read the contents of a file",
        "open text file",
        "view the contents of a file",
        "read text file with path and head",
    )


def test_queries_are_the_same_each_time_and_contain_no_identifier() -> None:
    """A name as it is written would always be found."""
    first, second = ([own_queries(tool) for tool in CATALOGUE] for _ in range(2))

    assert first == second
    assert all(3 <= len(queries) <= 5 for queries in first)
    assert not any(tool.name in query for tool, queries in zip(CATALOGUE, first, strict=True) for query in queries)


@pytest.mark.parametrize(
    ("sentence", "request_"),
    [
        ("Returns the tags of a post.", "return the tags of a post"),
        ("This tool can be used to rename a worksheet (xlsx).", "rename a worksheet"),
        ("A tool that converts units", "convert units"),
        ("Use this when you delete a branch", "delete a branch"),
        ("HTTP status of a site", "HTTP status of a site"),
    ],
)
def test_a_sentence_becomes_a_request(sentence: str, request_: str) -> None:
    """Lead-ins go, and the verb is put in its base form."""
    assert request_of(sentence) == request_


def test_the_verb_of_a_name_is_found_where_it_stands() -> None:
    """At the beginning, at the end, or behind the server's name."""
    names = {"excel_rename_sheet": ("rename", "sheet"), "file_delete": ("delete", "file"), "weather": ("", "weather")}
    found = {name: action_of(Tool("excel", name)) for name in names}

    assert {name: (action.verb, action.object) for name, action in found.items()} == names


def test_inflections_of_a_verb_are_known() -> None:
    """Other words are no verbs."""
    assert [verb_of(word) for word in ("Deletes", "deleting", "deleted", "banana")] == ["delete"] * 3 + [""]


def test_a_bare_name_gives_what_it_can() -> None:
    """Without description and parameters."""
    assert own_queries(Tool("x", "graph")) == ("graph",)
