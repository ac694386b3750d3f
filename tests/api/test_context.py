"""`/v1/process_prompt` and `/v1/context` over a real port."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp_types import Implementation
from pydantic import SecretStr

from tests.api.serving import Served, assert_problem, served
from tests.knowledge_intents.packs import write_pack
from tests.support import Databases
from tests.support.product import CATALOGUE, ListedServer, listed
from thresher.calling import RULES_META
from thresher.core import Settings, dumps
from thresher.embedding import count_tokens

LOG = ("show the git log", "what was committed last week", "list the last commits", "who did this", "git history")
SHOW = "show the git log of last week"


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """The product with one pack more and a catalogue, shared by all tests of this module."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    write_pack(folder / "shelf", "history", LOG, rules="Never rewrite history.\n" * 200, metadata=["servers: git"])
    write_pack(folder / "shelf", "box", ("open the box", "close the box"), metadata=["servers: box"])
    settings = Settings(
        data_dir=folder,
        allow_root=True,
        database_url=SecretStr(databases.url(name)),
        packs=(folder / "shelf",),
        home_packs="off",
    )
    async with served(settings) as product:
        services = product.app.services
        await services.tools.import_tools(services.caller, CATALOGUE)
        await services.intents.prepare(services.caller)
        yield product
    await databases.drop(name)


async def post(product: Served, path: str, body: dict[str, Any]) -> Any:
    """The answer's body."""
    answer = await product.web.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_prompt_gets_its_rules_and_tools(product: Served) -> None:
    """The text for the model, and the same as data."""
    told = await post(product, "process_prompt", {"prompt": SHOW})

    assert "Never rewrite history." in told["text"]
    assert "history" in [rules["pack"] for rules in told["rules"]]
    assert "git" in told["context"]["servers"]
    assert told["request"] == SHOW
    assert told["pass_through"] is False


async def test_nothing_that_fits_passes_through(product: Served) -> None:
    """`PASS_THROUGH`, exactly, and no rules."""
    told = await post(product, "process_prompt", {"prompt": "good morning, how are you?"})

    assert (told["text"], told["pass_through"]) == ("PASS_THROUGH", True)
    assert "rules" not in told


async def test_a_context_stays_inside_its_budget_and_its_cursor_brings_the_rest(product: Served) -> None:
    """Text and data each; what is left out comes with the cursor, and each kind's share says why."""
    told = await post(product, "context", {"message": SHOW, "budget": 500})
    data = {name: value for name, value in told.items() if name not in ("text", "budget", "why")}
    rest = await post(product, "context", {"message": SHOW, "budget": 20_000, "cursor": told["next"]})

    assert told["spent"] == max(count_tokens(dumps(data)), count_tokens(told["text"])) <= 500
    assert [entry["name"] for entry in told["left_out"]] == [rules["pack"] for rules in rest["rules"]] == ["history"]
    assert (rest["left_out"], rest["tools"]) == ([], [])
    assert "next" not in rest
    shares = {share["kind"]: share for share in told["why"]}
    assert (shares["rules"]["offered"], shares["rules"]["taken"]) == (1, 0)
    assert "1 over the budget" in shares["rules"]["why"]
    assert shares["tools"]["taken"] == len(told["tools"]) > 0


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("process_prompt", {}, "prompt"),
        ("process_prompt", {"prompt": ""}, "prompt is empty"),
        ("process_prompt", {"prompt": "x" * 1_048_576}, "the limit is 200000"),
        ("process_prompt", {"prompt": "x", "history": [1]}, "history"),
        ("process_prompt", {"prompt": "x", "colour": "red"}, "colour"),
        ("context", {"message": SHOW, "budget": 0}, "budget"),
        ("context", {"message": SHOW, "budget": "many"}, "budget"),
        ("context", {"message": SHOW, "budget": 10**30}, "budget"),
        ("context", {"message": SHOW, "budget": 5}, "too small for anything"),
    ],
)
async def test_bad_bodies_are_problems(product: Served, path: str, body: dict[str, Any], said: str) -> None:
    """422, with the field or the sentence that says what is wrong."""
    answer = await product.web.post(f"/v1/{path}", json=body)

    assert said in dumps(assert_problem(answer, 422, "invalid_input"))


async def test_a_cursor_of_something_else_is_a_problem(product: Served) -> None:
    """It says so, and how to go on."""
    answer = await product.web.post("/v1/context", json={"message": SHOW, "cursor": "x"})

    assert "without a cursor" in assert_problem(answer, 422, "invalid_cursor")["hint"]


async def test_rules_come_first_once_for_each_client_without_sessions(product: Served, tmp_path: Path) -> None:
    """Clients of one key are told apart by what they call themselves."""
    services = product.app.services
    _, shown = await product.key(services.caller.tenant.name)
    await services.tools.add_server(services.caller, ListedServer.at(tmp_path, "box", listed("open_box")).config)
    await services.tools.refresh(services.caller, "box")
    held: list[bool] = []
    for name in ("one", "one", "two", "two"):
        transport = StreamableHttpTransport(str(product.web.base_url.join("/mcp")), headers=shown)
        async with Client(transport, client_info=Implementation(name=name, version="1")) as client:
            answer = await client.call_tool_mcp("call_tool_write", {"name": "box_open_box", "arguments": {}})
            held.append(RULES_META in (answer.meta or {}))

    assert held == [True, False, True, False]


async def test_a_message_is_explained_with_the_texts_that_a_model_gets(product: Served) -> None:
    """Rules, tools, kinds, pieces and budgets; what is tried holds for this request alone."""
    body = {"message": SHOW, "budget": 900}
    plain = await post(product, "context/explain", {**body, "expected": ["git_git_lag", "mail_send_email"]})
    tried = await post(
        product, "context/explain", {**body, "thresholds": {"*": 1}, "kinds": ["tools"], "servers": ["git"]}
    )
    given = await post(product, "context", body)
    found = await post(product, "tools/find", {"message": SHOW})

    assert plain["get_context"]["text"] == given["text"]
    assert plain["find_tools"]["text"] == found["text"]
    assert plain["get_context"]["tokens"] + plain["get_context"]["left"] == 900
    assert next(one for one in plain["decision"]["scores"] if one["intent"] == "history")["matched"]
    fates = {tool["name"]: tool["fate"] for tool in plain["tools"]["ranked"] if tool["expected"]}
    assert fates["git_git_lag"] == "unknown"
    assert fates["mail_send_email"] != "given"
    assert tried["process_prompt"]["text"] == "PASS_THROUGH"
    assert {piece["kind"] for piece in tried["pieces"]} == {"tools"}
    assert tried["trial"]["servers"] == ["git"]


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"message": ""}, "invalid_input"),
        ({"threshold": 2}, "invalid_input"),
        ({"thresholds": {"history": -1}}, "invalid_input"),
        ({"kinds": ["tricks"]}, "invalid_input"),
        ({"budget": 5}, "invalid_input"),
        ({"servers": ["gut"]}, "not_found"),
        ({"thresholds": {"histry": 0.5}}, "not_found"),
    ],
)
async def test_a_bad_try_is_a_problem(product: Served, wrong: dict[str, Any], kind: str) -> None:
    """With what to do about it."""
    answer = await product.web.post("/v1/context/explain", json={"message": SHOW, **wrong})

    assert_problem(answer, 404 if kind == "not_found" else 422, kind)
