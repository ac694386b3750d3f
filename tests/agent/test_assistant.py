"""The assistant answers through the gateway: over what is installed, for whoever asks, whatever fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agent.conftest import add_shop
from thresher.agent import Assistant, intents
from thresher.core import Caller, InvalidInput, NotFound
from thresher.embedding import Encoder
from thresher.services import Services


async def test_with_nothing_installed_it_says_what_to_add(assistant: Assistant, caller: Caller) -> None:
    """And is no error: there is just nothing to ask."""
    answer = await assistant.ask(caller, "add a watcher to a ticket")

    assert answer.response.results == ()
    assert "thresher apis add NAME SOURCE" in answer.response.text
    assert answer.response.type == "search"


async def test_a_database_is_asked_by_its_tables(
    assistant: Assistant, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """The schema that the question needs, and later the table that it is about."""
    await add_shop(services, tmp_path)

    found = await assistant.ask(caller, "which table holds the orders?")
    table = await assistant.ask(caller, "show the columns of the table customers", session_id=found.session_id)

    assert found.response.results[0]["kind"] == "schema"
    assert "orders" in found.response.results[0]["tables"]
    assert "query_database_schema" in found.intent.tools
    assert table.response.results[0]["tables"] == ["customers"]
    assert table.session_id == found.session_id


@pytest.mark.parametrize(
    ("query", "context"), [("", ""), ("  \n", ""), ("x" * 4_001, ""), ("x", "y" * 20_001), ("\0", "")]
)
async def test_a_question_that_is_none_is_refused(
    assistant: Assistant, caller: Caller, query: str, context: str
) -> None:
    """Before anything is asked of anybody."""
    with pytest.raises(InvalidInput) as refused:
        await assistant.ask(caller, query, context=context)

    assert refused.value.hint


@pytest.mark.parametrize(("name", "error"), [("unknown-conversation", NotFound), ("' or 1=1", InvalidInput)])
async def test_a_conversation_that_is_none_is_refused(
    assistant: Assistant, caller: Caller, name: str, error: type[Exception]
) -> None:
    """With what to do instead."""
    with pytest.raises(error, match="conversation"):
        await assistant.ask(caller, "list all issues", session_id=name)


async def test_held_out_questions_are_understood(services: Services, encoder: Encoder, caller: Caller) -> None:
    """Nine in ten get their type, and what wants nothing of the kind is a search with low confidence."""
    file = Path(intents.__file__).with_name("lines") / "evals.jsonl"
    questions = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    reader = intents.IntentReader(services.database, encoder)
    await reader.prepare(caller.tenant)
    lines = {line for some in intents.training_lines().values() for line in some}

    wishes = [await reader.read(caller.tenant, question["query"]) for question in questions]

    right = [
        (wish.confidence <= intents.UNRECOGNISED if question["type"] == "other" else wish.type == question["type"])
        for wish, question in zip(wishes, questions, strict=True)
    ]
    assert sum(right) >= 0.9 * len(questions)
    assert lines.isdisjoint(question["query"] for question in questions)
