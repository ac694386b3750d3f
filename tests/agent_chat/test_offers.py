"""What is offered by what is switched on, and what of a turn is there again when it goes on in another request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import add_tracker
from tests.agent_chat.conftest import (
    Bell,
    Scripted,
    Talk,
    add_bell,
    answered,
    called,
    conversing,
    names,
    new_thread,
    search,
    texts,
)
from tests.fakes.chat_answers import Said
from tests.fakes.chat_server import ChatServer
from tests.support.product import opened
from tests.support.waiting import eventually
from thresher.agent.exchange import Decision
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.intents import Sources
from thresher.llm import Function, Message
from thresher.packs import BUILT_IN
from thresher.store import Database

RING = ("bell_ring", {"times": 1})
SEARCH_API = "search the API docs for how to create an issue"
WEATHER = Function("weather", "The weather", {"type": "object", "properties": {}})


@pytest.fixture
async def taught(
    database: Database,
    tenant: Tenant,
    talk_settings: Settings,
    encoder: Encoder,
    llm: ChatServer,
    model: Scripted,
    tmp_path: Path,
) -> AsyncIterator[Talk]:
    """A conversation with the packs as they ship, and the description of an API."""
    async with (
        opened(database, tenant, talk_settings, encoder, Sources(built_in=BUILT_IN)) as services,
        conversing(services) as (conversations, threads),
    ):
        await add_tracker(services, tmp_path)
        yield Talk(conversations, services, threads, llm, model, services.caller)


async def indexed(talk: Talk) -> None:
    """Wait until tools of packs are found: they are embedded beside the first requests."""

    async def found() -> bool:
        found = await talk.services.tools.find_tools(talk.caller, message=SEARCH_API)
        return any(tool.name == "search_api_docs" for tool in found.tools)

    await eventually(found)


@pytest.mark.parametrize("packs", [True, False], ids=["packs", "no packs"])
@pytest.mark.parametrize("servers", [True, False], ids=["servers", "no servers"])
async def test_tools_of_packs_and_of_servers_are_switched_apart(
    library: Talk, bell: Bell, tmp_path: Path, packs: bool, servers: bool
) -> None:
    """Each switch acts on its own; documents and databases have theirs."""
    await add_tracker(library.services, tmp_path)
    await add_bell(library, bell)
    await library.say("Hello")
    await indexed(library)

    await library.say(f"Ring the bell and {SEARCH_API}", settings={"packs": packs, "servers": servers})

    offered = names(library.prompts_sent[1])
    assert ("search_api_docs" in offered) == packs
    assert ("bell_ring" in offered) == servers
    assert "search_documents" in offered


async def test_rules_are_there_again_after_an_approval(taught: Talk) -> None:
    """The request that approves has no message from which they could be found."""
    await taught.say("Hello")
    await indexed(taught)
    thread = new_thread()
    taught.model.answers = [Said(calls=(("search_api_docs", {"query": "create an issue"}),)), "POST /issues."]

    await taught.say(SEARCH_API, thread, settings={"approval": "all"})
    (waiting,) = await taught.conversations.pending(taught.caller, thread)
    await taught.say(thread=thread, decisions=(Decision(waiting.id, True),))

    _, before, after = taught.prompts_sent
    assert "Rules of apis for this message" in texts(before)
    assert "Rules of apis for this message" in texts(after)


async def test_a_clients_call_stays_the_clients_when_its_tools_are_left_out(talk: Talk, bell: Bell) -> None:
    """A request that approves ours need not name theirs again: their call is handed on, and answered by them."""
    await add_bell(talk, bell)
    thread = new_thread()
    talk.model.answers = [Said(calls=(("weather", {}), RING)), "Rain, and it rang."]

    first = await talk.say("Ring the bell. Weather?", thread, functions=(WEATHER,), settings={"approval": "all"})
    second = await talk.say(thread=thread, decisions=(Decision(first.report.approvals[0].id, True),))
    (call,) = second.report.client_calls
    third = await talk.say(thread=thread, messages=(Message("tool", "rain", answers=call.id),))

    assert [one.tool for one in first.report.approvals] == ["bell_ring"]
    assert (second.report.finish, call.name, bell.rung) == ("tool_calls", "weather", 1)
    assert third.text == "Rain, and it rang."
    assert sorted(called(talk.prompts_sent[1])) == sorted(answered(talk.prompts_sent[1]))


async def test_passages_count_once_though_a_clients_call_parts_the_turn(library: Talk) -> None:
    """What later turns save is what was placed, not that twice; the report is of the whole turn's end."""
    thread = new_thread()
    weather: Any = Said(calls=(("weather", {}),))
    library.model.answers = [search("parental leave"), weather, "Sixteen weeks [1], and rain.", "Bye."]

    first = await library.say("How long is leave, and how is the weather?", thread, functions=(WEATHER,))
    call = first.report.client_calls[0]
    await library.say(thread=thread, functions=(WEATHER,), messages=(Message("tool", "rain", answers=call.id),))
    last = await library.say("Bye", thread)

    assert first.report.document_tokens > 0
    assert last.report.tokens_saved == first.report.document_tokens
