"""A verb's declaration: its parameters, its record, its errors."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any

import pytest
from annotated_types import Ge
from typing_extensions import Doc, TypedDict, Unpack

import thresher.core
from thresher.core import InvalidInput
from thresher.verbs import KINDS, Kind, Request, Verb, arguments_model, checked, values_of

TOYS = Kind("toys", "thresher.core")


class Properties(TypedDict, total=False):
    """What can be said of a toy."""

    colour: Annotated[str | None, Doc("Of the toy")]
    sizes: list[int] | None


@TOYS.verb("write")
async def change_toy(
    request: Request,
    name: str,
    *,
    limit: Annotated[int, Ge(1), Doc("Of any number"), Doc("Most toys")] = 10,
    **properties: Unpack[Properties],
) -> dict[str, Any]:
    """Change a toy.

    Raises:
        NotFound: There is no such toy.
        Conflict: It is in use.
    """
    return {"for": request.client, "name": name, "limit": limit, **properties}


async def test_shared_properties_are_parameters_of_their_own() -> None:
    """They come before what is given by name alone; None stands for each that is left out."""
    parameters = {one.name: (one.required, one.default, one.description) for one in change_toy.parameters.values()}
    arguments = checked(change_toy, {"name": "ball", "colour": "red"})
    done = await change_toy.run(Request(None, None, client="a test"), arguments)  # type: ignore[arg-type]

    assert list(parameters) == ["name", "colour", "sizes", "limit"]
    assert parameters["name"][0]
    assert parameters["colour"] == (False, None, "Of the toy")
    assert parameters["limit"] == (False, 10, "Most toys")
    assert done == {"for": "a test", "name": "ball", "colour": "red", "sizes": None, "limit": 10}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "ball", "color": "red"}, "change_toy has no argument 'color'"),
        ({"name": "ball", "limit": 0}, "limit"),
        ({}, "name"),
        ({"name": "ball", "sizes": ["x"]}, "sizes"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    """The message names the argument."""
    with pytest.raises(InvalidInput, match=message):
        checked(change_toy, arguments)


def test_another_spelling_of_a_name_stands_for_it() -> None:
    """In a body, where programs in other languages write it their way."""
    body = arguments_model(change_toy).model_validate({"Name": "ball", "limit": None})

    assert values_of(change_toy, body) == {"name": "ball", "colour": None, "sizes": None, "limit": 10}


@pytest.mark.parametrize("verb", [verb for kind in KINDS for verb in kind], ids=lambda verb: verb.name)
def test_every_declaration_holds_what_faces_need(verb: Verb) -> None:
    """A sentence, a type for its answer, errors that exist, and arguments that can be checked."""
    assert verb.summary.endswith(".")
    assert verb.record is not None
    assert all(hasattr(thresher.core, name) for name in verb.errors)
    assert set(arguments_model(verb).model_json_schema()["properties"] if verb.parameters else {}) == {*verb.parameters}


def test_declarations_import_nothing_heavy() -> None:
    """A command prints its help without the libraries that run it."""
    code = "import sys, thresher.verbs; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"pydantic", "sqlalchemy", "fastmcp", "thresher.servoy", "thresher.services"} & {*loaded}
