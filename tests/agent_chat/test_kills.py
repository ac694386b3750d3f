"""Processes that are killed in the middle of a turn: the thread goes on in the next one, and what is said is true."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.agent_chat.conftest import Bell, Body, Talk, Told, add_bell, answered, called, new_thread, search, texts
from tests.fakes.chat_answers import Said
from tests.support.databases import Databases
from tests.support.waiting import eventually
from thresher.agent.exchange import Decision
from thresher.agent.transcript import UNANSWERED
from thresher.core import Conflict
from thresher.store import Database

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9")

PASSAGE = "weeks before it begins"
RING = Said(calls=(("bell_ring", {"times": 1}),))
BOTH = Said(calls=(*search("parental leave").calls, *RING.calls))
ASK_ALL = {"approval": "all"}
ASK_NONE = {"approval": "none"}


@dataclass
class Talker:
    """Another process that answers; see `talker`."""

    process: asyncio.subprocess.Process

    async def ask(
        self,
        text: str,
        thread: UUID,
        settings: Mapping[str, Any] | None = None,
        decisions: tuple[dict[str, Any], ...] = (),
    ) -> None:
        """Have it begin a turn."""
        assert self.process.stdin
        asked = {"text": text, "thread": str(thread), "settings": settings or {}, "decisions": decisions}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        await self.process.stdin.drain()

    async def until(self, *kinds: str) -> str:
        """Read on until one of these events; returns its text."""
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            kind, text = json.loads(line)
            if kind in kinds:
                return str(text)
        raise AssertionError(f"the process ended before any of {kinds}")

    async def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        await self.process.wait()


@pytest.fixture
async def process(talk: Talk, database: Database, untaught: Path, tmp_path: Path) -> AsyncIterator[Talker]:
    """A second process over the same tenant and model; it starts while the test sets up the rest."""
    given = database.address, talk.caller.tenant.name, talk.server.url, str(untaught), str(tmp_path)
    command = [sys.executable, "-m", "tests.agent_chat.talker", *given]
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield Talker(process)
    if process.returncode is None:
        process.kill()
        await process.wait()


@pytest.fixture
async def house(process: Talker, library: Talk, bell: Bell) -> Talk:
    """Documents and a bell, with the other process ready."""
    await add_bell(library, bell)
    async with asyncio.timeout(60):
        await process.until("ready")
    return library


async def say(talk: Talk, text: str = "", thread: UUID | None = None, **more: Any) -> Told:
    """Say something as soon as the database knows that the other process is dead."""

    async def told() -> Told | None:
        try:
            return await talk.say(text, thread, **more)
        except Conflict as refused:
            if "is being answered" not in refused.message:
                raise
            return None

    return await eventually(told)


def assert_whole(bodies: list[Body]) -> None:
    """Every call in these prompts is answered, once."""
    assert bodies
    for body in bodies:
        assert called(body) == answered(body)


def results(body: Body) -> list[str]:
    """What a prompt says of its calls."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


async def stop_in_a_tool(house: Talk, process: Talker, bell: Bell) -> UUID:
    """The tool runs, beside a search that has ended."""
    thread = new_thread()
    house.model.answers = [BOTH]
    bell.free.clear()
    await process.ask("How long is leave? Ring the bell.", thread, ASK_NONE)
    await bell.reached.wait()
    return thread


async def stop_at_the_model(house: Talk, process: Talker, *script: str) -> UUID:
    """A turn that searches; the last one of the model's answers does not come to an end."""
    thread = new_thread()
    house.model.answers = [search("parental leave"), "Sixteen weeks [1]."]
    house.server.reached.clear()
    house.server.script.extend(script)
    await process.ask("How long is leave?", thread)
    assert await asyncio.to_thread(house.server.reached.wait, 20)
    if script[-1] == "trickle":
        await process.until("Delta")
    return thread


async def test_words_that_a_killed_process_had_sent_are_kept(house: Talk, process: Talker) -> None:
    """As far as the last write, a fifth of a second before; the next turn has them in its prompt."""
    thread = await stop_at_the_model(house, process, "good", "good", "trickle")

    async def drafted() -> str | None:
        last = (await house.conversations.history(house.caller, thread))[-1]
        return last.text if last.cut else None

    words = await eventually(drafted)
    await process.kill()
    house.model.answers = ["Fine."]
    await say(house, "Go on", thread)
    entries = await house.conversations.history(house.caller, thread)

    assert words
    assert [(one.text, one.cut) for one in entries[-3:]] == [(words, True), ("Go on", False), ("Fine.", False)]
    assert words in texts(house.prompts_sent[-1])


async def test_the_next_process_goes_on_with_turns_that_were_killed(house: Talk, process: Talker, bell: Bell) -> None:
    """The former question is there, no call is open, no document is left, and nothing waits for a clock."""
    async with asyncio.timeout(60):
        stopped = {
            "in a tool": await stop_in_a_tool(house, process, bell),
            "while grading": await stop_at_the_model(house, process, "good", "slow"),
            "after retrieving": await stop_at_the_model(house, process, "good", "good", "slow"),
            "while streaming": await stop_at_the_model(house, process, "good", "good", "trickle"),
        }
    await process.kill()
    bell.free.set()
    house.model.grades = lambda line: "kiln" in line.lower()

    for where, thread in stopped.items():
        before = len(house.prompts_sent)
        house.model.answers = [RING, "It rang.", search("kiln heat"), "Hot [1]."]
        first = await say(house, "And now? Ring the bell.", thread, settings=ASK_NONE)
        second = await house.say("How hot is a kiln?", thread)

        after = house.prompts_sent[before:]
        assert (first.text, second.text) == ("It rang.", "Hot [1]."), where
        assert len(after) == 4, where
        assert_whole(after)
        assert all("How long is leave?" in texts(body) for body in after), where
        assert not any(PASSAGE in texts(body) for body in after), where
        assert not any("not run" in told for body in after for told in results(body)), where
        assert [one.path for one in second.report.citations] == ["kiln.md"], where
    assert bell.rung == 1 + len(stopped)


@asynccontextmanager
async def between_writes(databases: Databases, talk: Talk, thread: UUID, process: Talker) -> AsyncIterator[None]:
    """Kill the process when what a step wrote is stored, and the checkpoint that has it is not."""
    written = "select count(*) from checkpoint_write where thread_id = %s and channel = 'messages'"
    async with talk.services.database.transaction(talk.caller.tenant) as connection:

        async def count() -> int:
            return int((await connection.exec_driver_sql(written, (thread,))).scalar_one())

        async def more() -> bool:
            return await count() > before

        before = await count()
        await connection.exec_driver_sql("select from thread where id = %s for no key update", (thread,))
        yield
        await eventually(more, seconds=20)
        await eventually(lambda: databases.any_waits(talk.services.database.address), seconds=20)
        await process.kill()


@pytest.mark.parametrize("step", ["the model", "a tool"])
async def test_what_a_step_wrote_before_it_was_killed_stays_once(
    house: Talk, process: Talker, bell: Bell, databases: Databases, step: str
) -> None:
    """The next turn answers each call once, and so does the one after it, which reads the thread again."""
    thread = new_thread()
    house.model.answers = [RING, "Rung."]
    bell.free.clear()
    if step == "the model":
        house.server.release.clear()
        house.server.script.append("slow")
    async with asyncio.timeout(40):
        await process.ask("Ring the bell.", thread, ASK_NONE)
        await (asyncio.to_thread(house.server.reached.wait) if step == "the model" else bell.reached.wait())
        async with between_writes(databases, house, thread, process):
            (house.server.release if step == "the model" else bell.free).set()
    bell.free.set()

    house.model.answers = ["One.", "Two."]
    told = [await say(house, text, thread) for text in ("And now?", "And then?")]

    assert [one.text for one in told] == ["One.", "Two."]
    for body in house.prompts_sent[-2:]:
        assert called(body) == answered(body)
        assert len(called(body)) == 1
        assert results(body) == [UNANSWERED] if step == "the model" else ["The bell has rung 1 times."]
    assert texts(house.prompts_sent[-1]).startswith(texts(house.prompts_sent[-2]))


async def test_an_approval_outlives_the_process_that_asked_for_it(house: Talk, process: Talker, bell: Bell) -> None:
    """It is decided in another one: the passages are there again, and the tool is run once."""
    thread = new_thread()
    house.model.answers = [BOTH, "Sixteen weeks [1], and it rang."]
    async with asyncio.timeout(30):
        await process.ask("How long is leave? Ring the bell.", thread, ASK_ALL)
        await process.until("TurnReport")
    await process.kill()
    waiting = await house.conversations.pending(house.caller, thread)
    rung = bell.rung

    told = await say(house, thread=thread, decisions=(Decision(waiting[0].id, True),))

    assert rung == 0
    assert [one.tool for one in waiting] == ["bell_ring"]
    assert bell.rung == 1
    assert told.text == "Sixteen weeks [1], and it rang."
    assert [one.path for one in told.report.citations] == ["leave.md"]
    assert house.model.inside == ["grade"]
    assert PASSAGE in texts(house.prompts_sent[1])
    assert "The bell has rung 1 times." in texts(house.prompts_sent[1])
    assert_whole(house.prompts_sent)
    with pytest.raises(Conflict, match="Nothing waits"):
        await house.say(thread=thread, decisions=(Decision(waiting[0].id, True),))
    assert bell.rung == 1


async def test_an_approved_call_that_was_killed_is_not_said_to_be_declined(
    house: Talk, process: Talker, bell: Bell
) -> None:
    """It is unknown whether it was run: that is said, it waits no more, and no approval runs it again."""
    thread = new_thread()
    house.model.answers = [RING, "We shall never know."]
    await house.say("Ring the bell.", thread, settings=ASK_ALL)
    (waiting,) = await house.conversations.pending(house.caller, thread)
    bell.free.clear()
    async with asyncio.timeout(30):
        await process.ask("", thread, decisions=({"id": waiting.id, "approved": True},))
        await bell.reached.wait()
    seen = await house.conversations.pending(house.caller, thread)
    await process.kill()
    bell.free.set()

    pending = await house.conversations.pending(house.caller, thread)
    with pytest.raises(Conflict, match="Nothing waits"):
        await say(house, thread=thread, decisions=(Decision(waiting.id, True),))
    told = await house.say("Did it ring?", thread)

    assert seen == pending == ()
    assert bell.rung == 1
    assert told.text == "We shall never know."
    assert results(house.prompts_sent[-1]) == [UNANSWERED]
    assert "may have been run" in UNANSWERED
    assert_whole(house.prompts_sent)


async def test_a_thread_that_another_process_answers_is_refused_at_once(
    house: Talk, process: Talker, bell: Bell
) -> None:
    """That one goes on undisturbed, and then the thread is free."""
    thread = new_thread()
    house.model.answers = [RING, "It rang.", "You are welcome."]
    bell.free.clear()
    async with asyncio.timeout(30):
        await process.ask("Ring the bell.", thread, ASK_NONE)
        await bell.reached.wait()

    async with asyncio.timeout(2):
        with pytest.raises(Conflict, match="is being answered"):
            await house.say("Me too", thread)
        with pytest.raises(Conflict, match="is being answered"):
            await house.conversations.clear(house.caller, thread)
    bell.free.set()
    async with asyncio.timeout(30):
        report = await process.until("TurnReport")
    told = await say(house, "Thanks", thread)

    assert report == "It rang."
    assert told.text == "You are welcome."
    assert "Me too" not in texts(house.prompts_sent[-1])
    assert_whole(house.prompts_sent)
