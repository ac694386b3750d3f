"""Routing through the service: the packs on disk, the database, the encoder and the router together."""

from __future__ import annotations

import pytest

from thresher.core import Caller, InvalidInput, NotFound
from thresher.knowledge.intents import IntentService


async def test_a_message_gets_the_rules_that_it_needs(intents: IntentService, caller: Caller) -> None:
    """The pack whose lines it resembles matches, on the fitted router."""
    decision = await intents.route(caller, "please create a relation between products and suppliers")

    assert [score.intent for score in decision.matched] == ["relations"]
    assert (decision.degraded, decision.cached) == ("", False)
    assert decision.trace_id


async def test_a_message_of_another_kind_passes_through(intents: IntentService, caller: Caller) -> None:
    """No intent fits a question about the weather."""
    decision = await intents.route(caller, "what is the weather like in Lisbon tomorrow?")

    assert decision.pass_through


async def test_the_same_question_is_decided_once(intents: IntentService, caller: Caller) -> None:
    """The second answer comes from memory and is the same; another history is another question."""
    first = await intents.route(caller, "deploy it to production")
    again = await intents.route(caller, "deploy it to production")
    other = await intents.route(caller, "deploy it to production", history=["create a relation"])

    assert (first.cached, again.cached, other.cached) == (False, True, False)
    assert again.scores == first.scores


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
async def test_a_threshold_is_a_probability(intents: IntentService, caller: Caller, value: float) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInput):
        await intents.set_threshold(caller, "deploy", value)


async def test_a_threshold_by_hand_holds_at_once(intents: IntentService, caller: Caller) -> None:
    """It decides the next message, though that one was decided before, and shows in the list until it is removed."""
    message = "deploy the application to production"
    before = await intents.route(caller, message)
    await intents.set_threshold(caller, "deploy", 1.0)
    during = await intents.explain(caller, message)
    listed = {info.name: info.by_hand for info in await intents.intents(caller)}
    await intents.set_threshold(caller, "deploy", None)
    after = await intents.route(caller, message)

    assert not before.pass_through
    assert {score.intent: score.threshold for score in during.scores}["deploy"] == 1.0
    assert listed == {"deploy": 1.0, "relations": None}
    assert not after.pass_through
    with pytest.raises(NotFound):
        await intents.set_threshold(caller, "deploy", None)
