"""Tools that claim to only read: whose word counts, who is asked, and what a yes is remembered for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agent_chat.conftest import Talk, answered, called, last, new_thread
from tests.fakes.chat_answers import Said
from tests.gateway_rows.gateway import Child, reading
from tests.support.product import listed
from thresher.agent.exchange import Decision
from thresher.core import Caller, InvalidInput, NotFound

PEEK = ("box_peek", {})


@dataclass(frozen=True, slots=True)
class Box:
    """A conversation, and a server whose tool claims to only read."""

    talk: Talk
    child: Child

    async def ask(self, **settings: str) -> tuple[str, ...]:
        """Have the model call the tool in a new thread; returns why the call waits, if it does."""
        self.talk.model.answers = [Said(calls=(PEEK,)), "Seen."]
        told = await self.talk.say("Peek into the box", new_thread(), settings=settings)
        return tuple(one.why for one in told.report.approvals)

    async def redefine(self, description: str) -> None:
        """Have the server list its tool with other words, which a person approves."""
        tools, caller = self.talk.services.tools, self.talk.caller
        self.child.lists(reading("peek", description))
        await tools.refresh(caller, "box")
        await tools.approve_tools(caller, {one.name: one.digest for one in await tools.held_tools(caller)})


@pytest.fixture
async def box(talk: Talk, tmp_path: Path) -> Box:
    """A server that is not marked as trusted."""
    child = Child.at(tmp_path, "box", reading("peek", "Peek into the box."))
    await talk.services.tools.add_server(talk.caller, child.config)
    await talk.services.tools.refresh(talk.caller, "box")
    await talk.services.tools.set_tool(talk.caller, "box_peek", core=True)
    return Box(talk, child)


async def test_a_claim_counts_only_for_a_server_that_a_person_trusts(box: Box) -> None:
    """Until then calls wait under every setting but none."""
    untrusted = await box.ask()
    destructive = await box.ask(approval="destructive")
    await box.talk.services.tools.set_server_trusted(box.talk.caller, "box", True)
    trusted = await box.ask()

    assert untrusted == destructive == ("its server says that it only reads, and is not marked as trusted",)
    assert trusted == ()


async def test_a_remembered_yes_holds_for_one_definition_and_one_user(box: Box) -> None:
    """The tool is not asked about again, until its definition changes or the yes is taken back."""
    thread, consents = new_thread(), box.talk.services.tools.consents
    box.talk.model.answers = [Said(calls=(PEEK, PEEK)), Said(calls=(PEEK,)), "Seen."]
    told = await box.talk.say("Peek into the box", thread)
    decisions = tuple(Decision(one.id, True, remember=True) for one in told.report.approvals)
    after = await box.talk.say(thread=thread, decisions=decisions)
    again = await box.ask()
    others = await consents.list(Caller(box.talk.caller.tenant, "bob"))
    await box.redefine("Peek into the other box.")
    changed, kept = await box.ask(), await consents.list(box.talk.caller)
    await consents.forget(box.talk.caller, "box_peek")

    assert len({one.definition for one in told.report.approvals}) == 1
    assert after.report.approvals == again == ()
    assert others == ()
    assert changed
    assert [(one.tool, one.holds) for one in kept] == [("box_peek", False)]
    with pytest.raises(NotFound, match="No consent"):
        await consents.forget(box.talk.caller, "box_peek")


async def test_a_call_is_not_made_with_another_definition_than_was_asked_about(box: Box) -> None:
    """The server has changed it while the person was thinking; the model reads why."""
    thread = new_thread()
    box.talk.model.answers = [Said(calls=(PEEK,)), "I see."]
    told = await box.talk.say("Peek into the box", thread)
    await box.redefine("Peek, and tidy up.")

    await box.talk.say(thread=thread, decisions=(Decision(told.report.approvals[0].id, True),))

    sent = box.talk.prompts_sent[-1]
    assert "has changed since the person was asked" in last(sent)
    assert called(sent) == answered(sent)
    assert box.child.heard("tools/call") == 0


async def test_a_yes_to_a_tool_that_writes_cannot_be_remembered(talk: Talk, tmp_path: Path) -> None:
    """It waits each time; the decision is refused, and the call waits on."""
    child = Child.at(tmp_path, "box", listed("fill", "Fill the box."))
    await talk.services.tools.add_server(talk.caller, child.config)
    await talk.services.tools.refresh(talk.caller, "box")
    await talk.services.tools.set_tool(talk.caller, "box_fill", core=True)
    thread = new_thread()
    talk.model.answers = [Said(calls=(("box_fill", {}),))]
    told = await talk.say("Fill the box", thread)

    with pytest.raises(InvalidInput, match="cannot be remembered"):
        await talk.say(thread=thread, decisions=(Decision(told.report.approvals[0].id, True, remember=True),))

    assert told.report.approvals[0].definition == ""
    assert await talk.conversations.pending(talk.caller, thread) == told.report.approvals


async def test_no_request_goes_below_the_floor(box: Box) -> None:
    """The turn is told; what is stored for a thread or its owner goes no lower either."""
    settings, caller = box.talk.services.chat_settings, box.talk.caller
    await settings.set_floor(caller, "writes")
    thread = new_thread()
    box.talk.model.answers = [Said(calls=(PEEK,))]

    told = await box.talk.say("Peek into the box", thread, settings={"approval": "none"})
    stored = await settings.put(caller, {"approval": "destructive"})
    stricter = await settings.of(caller, None, {"approval": "all"})

    assert told.report.finish == "approval"
    assert any("approval is 'writes' and not 'none'" in note for note in told.report.notes)
    assert (stored.settings.approval, stored.sources["approval"], stricter.approval) == ("writes", "floor", "all")


async def test_another_program_under_the_same_name_starts_without_trust(box: Box, tmp_path: Path) -> None:
    """Trust, the taking over of changes and every remembered yes were in the program before."""
    tools, caller = box.talk.services.tools, box.talk.caller
    thread = new_thread()
    box.talk.model.answers = [Said(calls=(PEEK,)), "Seen."]
    told = await box.talk.say("Peek into the box", thread)
    await box.talk.say(thread=thread, decisions=(Decision(told.report.approvals[0].id, True, remember=True),))
    await tools.set_server_auto_approve(caller, "box", True)

    (tmp_path / "other").mkdir()
    other = Child.at(tmp_path / "other", "box", reading("peek", "Peek into the box."))
    added = await tools.add_server(caller, other.config, replace=True)
    await tools.refresh(caller, "box")

    assert (added.auto_approve, added.trusted) == (False, False)
    assert await tools.consents.list(caller) == ()
    assert await box.ask()
