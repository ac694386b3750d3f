"""`/v1/intents` over a real port."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.serving import Served, assert_problem


async def test_intents_are_listed_with_their_thresholds(keyless: Served) -> None:
    """As the command line shows them."""
    services = keyless.app.services
    await services.intents.prepare(services.caller)
    intents = (await keyless.web.get("/v1/intents")).json()["intents"]

    tools = next(intent for intent in intents if intent["name"] == "tools")
    assert tools["lines"] >= 100
    assert tools["threshold"] == tools["fitted"]
    assert tools["by_hand"] is None


async def test_a_message_is_explained_intent_by_intent(keyless: Served) -> None:
    """Scores, thresholds, margins, best lines."""
    services = keyless.app.services
    await services.intents.prepare(services.caller)
    body = {"message": "which tool can send an email?", "history": ["hello"], "queries": [], "files": ["a.py"]}
    answer = (await keyless.web.post("/v1/intents/explain", json=body)).json()

    best = answer["scores"][0]
    assert {score["intent"] for score in answer["scores"]} >= {"git", "tools"}
    assert best["margin"] == pytest.approx(best["score"] - best["threshold"])
    assert answer["pass_through"] == (not any(score["matched"] for score in answer["scores"]))
    assert answer["trace_id"]


async def test_statistics_are_those_of_the_caller(product: Served) -> None:
    """Another tenant's decisions are not among them."""
    services = product.app.services
    await services.intents.route(services.caller, "which tool can send an email?")
    await services.intents.settle()
    mine = (await product.web.get("/v1/intents/stats", params={"days": 1})).json()
    _, key = await product.key("other")
    theirs = (await product.web.get("/v1/intents/stats", headers=key)).json()

    assert mine["decisions"] == 1
    assert theirs["decisions"] == 0
    assert theirs["pass_through_rate"] is None


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 422), ({"message": 7}, 422), ({"message": "a", "project": "/etc"}, 422), ({"message": " "}, 422)],
)
async def test_a_body_that_does_not_fit_is_a_problem(keyless: Served, body: dict[str, Any], status: int) -> None:
    """Nobody names a project over HTTP."""
    assert_problem(await keyless.web.post("/v1/intents/explain", json=body), status, "invalid_input")


@pytest.mark.parametrize("days", ["0", "-1", "x", "nan", "1e9"])
async def test_a_period_that_is_none_is_a_problem(keyless: Served, days: str) -> None:
    """As on the command line."""
    assert_problem(await keyless.web.get("/v1/intents/stats", params={"days": days}), 422, "invalid_input")


@pytest.mark.parametrize(
    ("path", "named"), [("process_prompt", "prompt"), ("context", "message"), ("intents/explain", "message")]
)
async def test_half_a_character_is_no_failure(keyless: Served, path: str, named: str) -> None:
    """JSON can hold a lone surrogate, UTF-8 cannot: it becomes a question mark wherever the message is repeated."""
    body = f'{{"{named}": "commit \\ud800 this", "history": ["\\udc00"], "files": ["\\udc00.py"]}}'
    answer = await keyless.web.post(f"/v1/{path}", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 200
