"""Every verb has a form that its declaration makes, and an answer below it."""

from __future__ import annotations

import pytest

from tests.api.serving import Served
from tests.console.person import Person, said
from thresher.console.forms import arguments, fields
from thresher.core import InvalidInput
from thresher.verbs import DOCUMENTS, KINDS, TOOLS, Verb

VERBS = [verb for kind in KINDS for verb in kind]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_every_parameter_of_a_verb_is_a_field(verb: Verb) -> None:
    """Nothing that a verb takes is out of reach."""
    made = fields(verb)

    assert [one.name for one in made] == list(verb.parameters)
    assert all(one.kind != "choice" or one.choices for one in made)


def test_fields_are_of_the_kind_of_their_values() -> None:
    """Text, lines, numbers with bounds, switches, choices."""
    made = {one.name: one for one in (*fields(TOOLS["find_tools"]), *fields(DOCUMENTS["retrieve_document"]))}

    assert made["queries"].kind == "list"
    assert made["message"].kind == "long"
    assert (made["limit"].kind, made["limit"].least, made["limit"].most) == ("number", 1, 50)
    assert (made["include_core_tools"].kind, made["include_core_tools"].default) == ("switch", "yes")
    assert (made["search_type"].kind, tuple(made["search_type"].choices)) == ("choice", ("hybrid", "text", "semantic"))
    assert made["repository"].required


def test_a_form_becomes_arguments() -> None:
    """Empty fields are omitted."""
    form = {"queries": "show the log\n\n commit ", "limit": "3", "include_core_tools": "no", "message": " "}

    given = arguments(TOOLS["find_tools"], form)

    assert given == {"queries": ["show the log", "commit"], "limit": 3, "include_core_tools": False}


@pytest.mark.parametrize(("name", "text"), [("limit", "many"), ("limit", "1e"), ("threshold", "0,5")])
def test_what_is_no_number_is_named(name: str, text: str) -> None:
    """With the field."""
    with pytest.raises(InvalidInput, match=f"{name} is not a number"):
        arguments(TOOLS["find_tools"], {name: text})


def test_json_of_very_many_values_is_refused_before_it_is_read() -> None:
    """A million empty lists would keep others waiting."""
    with pytest.raises(InvalidInput, match="server has more than 100,000 values"):
        arguments(TOOLS["add_server"], {"server": "[" + "[]," * 100_001 + "[]]"})


async def test_an_action_shows_its_answer(product: Served, owner: Person) -> None:
    """Below the form, which keeps what was written."""
    await owner.see("/actions/tools/find_tools")

    answer = await owner.send("/actions/tools/find_tools", message="how late is it in Paris?", limit="3")

    assert answer.status_code == 200
    assert "how late is it in Paris?</textarea>" in answer.text
    assert "No tool fits" in said(answer.text)


async def test_a_wrong_field_keeps_the_others(product: Served, owner: Person) -> None:
    """What happened, what to do, and nothing lost."""
    await owner.see("/actions/tools/find_tools")

    answer = await owner.send("/actions/tools/find_tools", message="keep me", limit="1000")

    assert answer.status_code == 422
    assert "limit is 1000; it must be 1 to 50" in said(answer.text)
    assert "keep me</textarea>" in answer.text


async def test_nothing_is_removed_that_was_not_named_twice(product: Served, owner: Person) -> None:
    """A slip does not remove a server."""
    await owner.see("/actions/tools/remove_server")

    answer = await owner.send("/actions/tools/remove_server", name="shop", confirm="shops")

    assert "Nothing was removed" in said(answer.text)
    answer = await owner.send("/actions/tools/remove_server", name="shop", confirm="shop")
    assert "There is no server" in said(answer.text)


async def test_an_unknown_action_names_the_nearest(product: Served, owner: Person) -> None:
    """As commands do."""
    page = said(await owner.see("/actions/tools/find_tool", 404))

    assert "find_tools" in page
