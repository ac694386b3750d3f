"""Descriptions proposed for tools, and the queries that try them."""

from __future__ import annotations

from dataclasses import replace

from tests.support.product import CATALOGUE, known
from thresher.core import Tool
from thresher.knowledge.tools import description_rule, propose, trial_queries
from thresher.search import terms

PATH = {"path": {"type": "string", "description": "Where the file is"}}
DELETE = Tool("files", "delete_file", "", "Handles things.", {"properties": PATH, "required": ["path"]})


def test_a_proposal_has_verb_object_synonym_and_parameters_in_words() -> None:
    """An empty description is replaced."""
    text = propose(DELETE, ())

    assert text == "Delete the file. That is, remove or erase the file. Takes path (Where the file is)."


def test_no_proposal_breaks_a_rule() -> None:
    """Whatever the description was."""
    old = ("", "Misc", "A useful tool that handles your data", "The contents of a file")
    proposals = [propose(replace(tool, description=text), ()) for tool in CATALOGUE for text in old]

    assert [text for text in proposals if description_rule(text) is not None] == []


def test_what_a_description_says_is_kept() -> None:
    """A missing verb is put before it, and later sentences stay."""
    tool = known("weather", "get_forecast", "The outlook for a city. Covers seven days.", {"city": {}})
    text = propose(tool, ())

    assert text.startswith("Get the outlook for a city")
    assert text.endswith("Covers seven days.")


def test_a_sibling_of_nearly_the_same_name_is_told_apart() -> None:
    """By the parameters that only the tool has."""
    sibling = known("files", "delete_file_version", "Handles things.", {"path": {}, "version": {}})

    assert propose(sibling, (DELETE,)).endswith("Unlike delete_file, it takes version.")


def test_queries_of_a_trial_do_not_depend_on_the_description() -> None:
    """Nor do their paraphrases use the words that a proposal adds."""
    first, second = (trial_queries(replace(DELETE, description=text)) for text in ("Handles things.", "Erase a file"))
    added = {*terms(propose(DELETE, ()))} - {*terms("delete file files path where")}

    assert first == second
    assert len(first) >= 4
    assert not added & {*terms(" ".join(first))}
