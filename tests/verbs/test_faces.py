"""One declaration, every face: a toy kind over HTTP, as tools, for the daemon's commands, and as commands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import httpx
import pytest
import typer
from fastapi import FastAPI
from rich.text import Text
from starlette.types import Receive, Scope, Send
from typer.testing import CliRunner

from tests.verbs.toys import TOYS, Toys
from thresher.api.door import CALLER
from thresher.api.errors import explain_errors
from thresher.api.verbs import Route, verbs_router
from thresher.cli.commands import add_command
from thresher.core import Caller, InvalidInput, NotFound, Tenant
from thresher.daemon.server.verbs import declared_verbs
from thresher.packs import Request, serving
from thresher.packs.verbs import tool_of
from thresher.verbs import checked

NO_SERVICES = cast("Any", None)  # toys need none
CHILD = Caller(Tenant(7, "nursery"))
ROUTES = (Route("find_toys", "GET", "/v1/toys/{name}"), Route("give_away", "POST", "/v1/give_away"))


@pytest.fixture
async def web() -> AsyncIterator[httpx.AsyncClient]:
    """A client of an API that serves toys, as the child."""
    api = FastAPI()
    explain_errors(api)
    api.include_router(verbs_router(NO_SERVICES, TOYS, ROUTES))

    async def behind_the_door(scope: Scope, receive: Receive, send: Send) -> None:
        await api({**scope, CALLER: CHILD}, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(behind_the_door), base_url="http://toys") as client:
        yield client


async def test_a_route_takes_the_parameters_and_answers_with_the_record(web: httpx.AsyncClient) -> None:
    """Of the path, of the query, of the body; what does not fit is a problem document."""
    found = await web.get("/v1/toys/i", params={"limit": 1})
    given = await web.post("/v1/give_away", json={"names": ["kite", "house"]})
    none = await web.get("/v1/toys/house")
    wrong = await web.get("/v1/toys/i", params={"limit": 101})

    assert (found.status_code, found.json()) == (200, {"owner": "nursery", "names": ["kite"], "left_out": 1})
    assert given.json() == {"given_away": ["kite"]}
    assert (none.status_code, none.json()["hint"]) == (404, "Ask for another one.")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "limit")


async def test_the_description_says_what_the_declaration_says(web: httpx.AsyncClient) -> None:
    """Sentence, bounds, descriptions, record and errors."""
    document = (await web.get("/openapi.json")).json()

    operation = document["paths"]["/v1/toys/{name}"]["get"]
    name, limit = operation["parameters"]
    assert operation["summary"] == "Toys by name."
    assert (name["in"], name["description"]) == ("path", "Part of its name")
    assert limit["schema"] | {"title": ""} == {
        "type": "integer", "minimum": 1, "maximum": 100, "default": 2, "title": "", "description": "Most toys"
    }  # fmt: skip
    assert operation["responses"]["404"]["description"] == "No toy has such a name."
    assert set(document["components"]["schemas"]["Toys"]["properties"]) == {"owner", "names", "left_out"}


async def test_a_tool_has_the_schema_and_a_text_for_the_model() -> None:
    """A program finds the record beside the text; what destroys says so."""
    find = tool_of(TOYS["find_toys"], _toys_text)
    give = tool_of(TOYS["give_away"], ", ".join, without=("names",))

    with serving(Request(NO_SERVICES, CHILD)):
        answer = await find.run({"name": "i"})

    listed = find.to_mcp_tool()
    assert (listed.name, listed.description) == ("find_toys", "Toys by name.")
    assert listed.input_schema["properties"]["limit"]["maximum"] == 100
    assert cast("Any", answer.content[0]).text == "kite, train"
    assert answer.structured_content == {"owner": "nursery", "names": ["kite", "train"], "left_out": 0}
    assert give.to_mcp_tool().input_schema["properties"] == {}
    assert give.to_mcp_tool().annotations.destructive_hint is True  # type: ignore[union-attr]
    assert give.tags == {"admin"}


async def test_the_daemon_checks_and_answers() -> None:
    """Under the verb's name; a list stands under its key."""
    verbs = declared_verbs(Request(NO_SERVICES, CHILD), (TOYS,))

    found = await verbs["find_toys"]({"name": "kite"}, lambda _: None)
    given = await verbs["give_away"]({"names": ["kite"]}, lambda _: None)

    assert found == {"owner": "nursery", "names": ["kite"], "left_out": 0}
    assert given == {"given_away": ["kite"]}
    with pytest.raises(NotFound, match="no toy 'house'"):
        await verbs["find_toys"]({"name": "house"}, lambda _: None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "name: is missing"),
        ({"name": "i", "limit": 0}, "limit is 0; it must be 1 to 100"),
        ({"name": "i", "most": 3}, "no argument 'most'"),
        ({"name": ["i"]}, "name: must be a text"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments: dict[str, Any], message: str) -> None:
    """For every face that has no check of its own."""
    with pytest.raises(InvalidInput, match=message):
        checked(TOYS["find_toys"], arguments)


def test_null_is_an_argument_that_is_left_out() -> None:
    """As for every client in strict mode."""
    assert checked(TOYS["find_toys"], {"name": "i", "limit": None}) == {"name": "i", "limit": 2}


def test_a_command_has_the_sentence_the_parameters_and_the_defaults() -> None:
    """Required ones without a name where that is said, the others as options."""
    commands = typer.Typer()
    add_command(
        commands, "find", TOYS["find_toys"], Text, arguments={"name": "TOY: What it is called"}, flags={"limit": "-n"}
    )
    add_command(commands, "give", TOYS["give_away"], Text)

    found = " ".join(CliRunner().invoke(commands, ["find", "--help"]).output.split())
    given = CliRunner().invoke(commands, ["give", "--help"]).output

    assert "Toys by name." in found
    assert "TOY" in found
    assert "What it is called." in found
    assert "Most toys; 2 by default." in found
    assert "--dry-run" not in found
    assert "--dry-run" in given


def _toys_text(toys: Toys) -> str:
    return ", ".join(toys.names)
