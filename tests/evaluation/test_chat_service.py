"""Scripted conversations with a deterministic model over real HTTP, beside the same script in the standard pattern."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.conftest import _a_busy_machine_is_waited_for, encoder, untaught
from tests.fakes.chat_server import ChatServer
from tests.fakes.policy import Policy
from tests.support.product import opened
from thresher.agent import Models
from thresher.core import InvalidInput, Settings, Tenant
from thresher.embedding import Encoder
from thresher.evaluation import (
    ChatFigures,
    ChatRun,
    ChatTrial,
    Script,
    ScriptedCall,
    ScriptedTurn,
    SentPrompt,
    evaluate_chat,
    figures_of_chat,
    open_trial,
    stale_documents,
)
from thresher.gateway import build_gateway
from thresher.knowledge.documents import origin_of
from thresher.knowledge.intents import Sources
from thresher.store import Database

__all__ = ["_a_busy_machine_is_waited_for", "encoder", "untaught"]

SEARCH = ScriptedCall("search_documents")
READ = ScriptedCall("read_result")
ORDERS = ScriptedCall("sql_query", {"connection": "shop", "sql": "select * from orders order by id", "max_rows": 1000})
TOTAL = ScriptedCall("sql_query", {"connection": "shop", "sql": "select sum(total) from orders"})
LEAVE = "Parents have sixteen weeks of paid leave after a child is born. They ask for it eight weeks before it begins."
KILN = "A kiln is heated to eleven hundred degrees. It cools for a whole day before anybody opens the kiln again."


@pytest.fixture
def llm() -> object:
    """The model's service."""
    server = ChatServer()
    yield server
    server.stop()


@pytest.fixture
async def trial(
    database: Database,
    tenant: Tenant,
    settings: Settings,
    encoder: Encoder,
    untaught: Path,
    llm: ChatServer,
    tmp_path: Path,
) -> AsyncIterator[ChatTrial]:
    """A product with two documents and a database, evaluated with a service that is not registered."""
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(
            opened(database, tenant, settings, encoder, Sources(built_in=untaught))
        )
        folder = tmp_path / "handbook"
        folder.mkdir()
        (folder / "leave.md").write_text(f"# Leave\n\n{LEAVE}\n")
        (folder / "kiln.md").write_text(f"# Kilns\n\n{KILN}\n")
        await services.documents.index_here(services.caller, "handbook", origin_of(str(folder)))
        with sqlite3.connect(path := tmp_path / "shop.sqlite") as shop:
            shop.execute("create table orders (id integer primary key, customer text, total numeric)")
            rows = [(f"customer number {number}", number * 7) for number in range(300)]
            shop.executemany("insert into orders (customer, total) values (?, ?)", rows)
        shop.close()
        await services.databases.add_connection(services.caller, "shop", f"sqlite:///{path}")
        await services.databases.refresh_schema(services.caller, "shop")
        gateway = build_gateway(services)
        await stack.enter_async_context(gateway._lifespan_manager())
        opening = open_trial(services, services.caller, model="fake", url=llm.url)
        yield await stack.enter_async_context(opening)


async def evaluated(trial: ChatTrial, llm: ChatServer, one: Script) -> tuple[ChatFigures, ChatRun]:
    """The figures of a conversation with a model that follows it, and what was sent."""
    llm.model = Policy([one])
    done, _ = await evaluate_chat(trial, [one], lambda *_: None)
    figures, _ = figures_of_chat(done)
    assert (figures.stale_documents, figures.unanswered_tool_calls, figures.internal_tools_visible) == (0, 0, 0)
    assert (figures.failed, figures.right_tools_called) == (0, 1.0)
    return figures, done[0]


def texts(prompt: SentPrompt) -> str:
    """All that a prompt says, but for what it says of the repositories that there are."""
    return "\n".join(str(message["content"]) for message in prompt.messages if message["role"] != "system")


def script(name: str, *turns: ScriptedTurn) -> Script:
    """A conversation."""
    return Script(name, turns)


async def test_documents_are_paid_for_in_their_turn_alone(trial: ChatTrial, llm: ChatServer) -> None:
    """Another topic, and back again: the standard pattern pays for each passage in every later request."""
    asked = ["How long is the leave of parents?", "How hot is a kiln?", "When do parents ask for leave?"]
    conversation = script("topics", *(ScriptedTurn(text, ((SEARCH,),)) for text in asked))
    llm.model = Policy([conversation])

    done, answers = await evaluate_chat(trial, [conversation], lambda *_: None)
    figures, rows = figures_of_chat(done)

    assert [len(found) > 0 for found in done[0].found] == [True] * 3
    assert "[1]" in answers[1].answer
    assert KILN in "".join(answers[1].passages)
    assert LEAVE in str(done[0].standard[-1].messages)
    assert (figures.stale_documents, figures.unanswered_tool_calls, figures.internal_tools_visible) == (0, 0, 0)
    assert stale_documents(done[0].standard, done[0].found) > 0
    assert [row.standard_calls for row in rows] == [2, 2, 2]
    assert [row.calls for row in rows] == [3, 4, 4]
    assert (figures.turns, figures.right_tools_offered, figures.right_tools_called) == (3, 1.0, 1.0)


async def test_an_irrelevant_question_leaves_no_document_in_any_answer(trial: ChatTrial, llm: ChatServer) -> None:
    """The search finds what is nearest, and the model says that it does not help."""
    conversation = script("irrelevant", ScriptedTurn("Who composed Figaro?", ((SEARCH,),)), ScriptedTurn("Thanks", ()))

    figures, done = await evaluated(trial, llm, conversation)

    assert figures.document_tokens_per_turn is None
    talk = [texts(prompt) for prompt in done.prompts if len(prompt.messages) > 1]
    assert len(talk) == 3
    assert not [text for text in talk if LEAVE[:40] in text or KILN[:40] in text]


async def test_a_follow_up_reads_on_in_the_stored_result(trial: ChatTrial, llm: ChatServer) -> None:
    """The statement is not run again."""
    conversation = script(
        "follow-up",
        ScriptedTurn("List all orders of the shop", ((ORDERS,),)),
        ScriptedTurn("And those after that?", ((READ,),)),
    )

    _, done = await evaluated(trial, llm, conversation)

    last = done.prompts[-1].messages
    assert "this is a part of it" in last[3]["content"]
    assert "customer number" in last[-1]["content"]
    assert len([prompt for prompt in done.prompts if "select * from orders" in str(prompt.messages[-1])]) == 0


async def test_documents_then_data_in_one_turn(trial: ChatTrial, llm: ChatServer) -> None:
    """One after the other, and both at once."""
    conversation = script(
        "both",
        ScriptedTurn("How hot is a kiln, and what is the total of all orders?", ((SEARCH,), (TOTAL,))),
        ScriptedTurn("How long is the leave of parents, and what is the sum of all orders?", ((SEARCH, TOTAL),)),
    )

    figures, done = await evaluated(trial, llm, conversation)

    assert figures.calls == 4 + 4
    last = {turn: texts(prompt) for prompt in done.prompts if (turn := prompt.turn) is not None}
    assert ["313950" in last[turn] for turn in (0, 1)] == [True, True]
    assert (KILN in last[0], LEAVE in last[1], KILN in last[1]) == (True, True, False)


async def test_threads_of_an_evaluation_are_removed(trial: ChatTrial, llm: ChatServer) -> None:
    """Also where a conversation fails."""
    llm.mode = "401"
    lines = [Script("a", (ScriptedTurn("Hello", ()),))]

    with pytest.raises(Exception, match="wants a key: HTTP 401"):
        await evaluate_chat(trial, lines, lambda *_: None)

    async with trial.conversations._services.database.transaction(trial.caller.tenant) as connection:
        assert (await connection.exec_driver_sql("select count(*) from thread")).scalar_one() == 0


async def test_without_a_model_there_is_nothing_to_evaluate(trial: ChatTrial) -> None:
    """Before anything is said."""
    nobody = Models(trial.models._database, trial.models._secrets, Settings())

    with pytest.raises(InvalidInput, match="no model"):
        await evaluate_chat(
            replace(trial, models=nobody, model=""), [script("a", ScriptedTurn("Hello", ()))], lambda *_: None
        )
