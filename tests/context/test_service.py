"""Enrichment over the real services."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.knowledge_intents.packs import write_pack
from tests.support.product import CATALOGUE, opened
from thresher.context import ContextService, Note, prompt_data
from thresher.context.cursors import rules_cursor
from thresher.core import Caller, EncoderError, InvalidInput, Settings, Tenant, dumps
from thresher.embedding import Encoder, Matrix, count_tokens, open_encoder
from thresher.knowledge.intents import Sources
from thresher.services import Services
from thresher.store import Database

SHOW = "show the git log of last week"
SEND = "send an email to the whole team"


class Counting:
    """An encoder that records the requested texts; everything else is the wrapped encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._encoder, name)

    async def embed_queries(self, texts: list[str], *, prefixed: bool = False) -> Matrix:
        """Record and embed."""
        self.asked += texts
        return await self._encoder.embed_queries(texts, prefixed=prefixed)


async def test_the_tools_are_those_that_find_tools_gives_for_the_servers_of_the_pack(
    context: ContextService, services: Services, caller: Caller
) -> None:
    """The same tools, in the same order, with the same text."""
    prompt = await context.process_prompt(caller, SHOW)
    found = await services.tools.find_tools(caller, message=SHOW, servers=["git"], include_core_tools=False)

    assert [tool.name for tool in prompt.tools] == [tool.name for tool in found.tools]
    assert [tool.line for tool in prompt.tools] == [tool.line for tool in found.tools]
    assert prompt.facts.servers == ("git",)


async def test_variables_are_filled_where_the_pack_asks_for_it(context: ContextService, caller: Caller) -> None:
    """Lines whose variable has no value are left out, unknown variables stay, and both are listed."""
    ana = replace(caller, user="ana", project="/projects/shop")

    prompt = await context.process_prompt(ana, SEND)

    assert prompt.rules[0].text.strip() == "Sign as ana of shop.\nName the ticket: {{TICKET}}"
    assert prompt.without_value == ("ACTIVE_SOLUTION",)
    assert prompt.unknown == {"mail": ("TICKET",)}
    assert "unknown variables in the rules of mail: TICKET" in prompt.text
    assert prompt_data(prompt)["unknown_variables"] == {"mail": ["TICKET"]}


async def test_foreign_text_with_braces_stays_untouched(context: ContextService, caller: Caller) -> None:
    """Only a pack that declares it has variables."""
    prompt = await context.process_prompt(caller, "write the release notes of this version")

    assert prompt.rules[0].text.strip() == "Fill in {{USER_NAME}} by hand."
    assert (prompt.without_value, prompt.unknown, prompt.notes) == ((), {}, ())


async def test_what_a_pack_names_and_is_not_there_is_said(context: ContextService, caller: Caller) -> None:
    """A missing server or tool never makes the answer fail."""
    prompt = await context.process_prompt(caller, SEND)

    assert [tool.name for tool in prompt.tools] == ["mail_send_email"]
    assert Note("named by these packs, and not connected or not in use", "pigeons, mail_gone") in prompt.notes


async def test_a_disabled_tool_is_not_offered(context: ContextService, services: Services, caller: Caller) -> None:
    """Even if a pack names it; a pack without other tools needs no rules."""
    await services.tools.set_tool(caller, "mail_send_email", enabled=False)

    prompt = await context.process_prompt(caller, SEND)

    assert (prompt.text, prompt.tools) == ("PASS_THROUGH", ())
    assert "mail fits" in str(prompt.notes[-1])


async def test_what_was_given_is_noted_for_that_session_alone(
    context: ContextService, services: Services, caller: Caller
) -> None:
    """The guard of tools uses it."""
    first, second = replace(caller, client="one"), replace(caller, client="two")

    await context.process_prompt(first, SHOW)
    pack = await context.get_context(second, SEND)

    assert [piece.name for piece in pack.pieces if piece.kind == "rules"] == ["mail"]
    given = [
        await services.intents.was_given(who, name) for who in (first, second) for name in ("history", "mail", "notes")
    ]
    assert given == [True, False, False, False, True, False]


async def test_rules_that_a_person_reads_do_not_count_as_given(
    context: ContextService, services: Services, caller: Caller
) -> None:
    """Commands print them; the models in the same project have not seen them."""
    await context.process_prompt(caller, SHOW, delivers=False)
    await context.get_context(caller, SHOW, delivers=False)

    assert not await services.intents.was_given(caller, "history")
    assert not await services.intents.was_given(replace(caller, client="one"), "history")


async def test_rules_without_room_do_not_count_as_given(
    context: ContextService, services: Services, caller: Caller, shelf: Path
) -> None:
    """What is in `left_out` was not read."""
    write_pack(shelf, "history", ("show the git log", "list commits", "git history"), rules="Long rules. " * 900)
    await services.intents.reload(caller)
    await services.intents.prepare(caller)
    session = replace(caller, client="one")

    pack = await context.get_context(session, SHOW, budget=500)

    assert [entry.name for entry in pack.left_out if entry.kind == "rules"] == ["history"]
    assert not await services.intents.was_given(session, "history")
    assert "left out, over the budget: rules history" in pack.text


async def test_a_changed_pack_makes_cursors_stale(
    context: ContextService, services: Services, caller: Caller, shelf: Path
) -> None:
    """A cursor would fetch something else than what was left out."""
    first = await context.get_context(caller, SHOW, budget=200)
    write_pack(shelf, "history", ("show the git log", "list commits", "git history"), rules="Other rules.")
    await services.intents.reload(caller)
    await services.intents.prepare(caller)

    with pytest.raises(InvalidInput, match="content has changed"):
        await context.get_context(caller, SHOW, budget=200, cursor=first.next or "01.000000")


async def test_the_same_question_gives_the_same_context(context: ContextService, caller: Caller) -> None:
    """Pieces, order and cursors do not depend on the time."""
    first = await context.get_context(caller, SHOW, budget=300)
    second = await context.get_context(caller, SHOW, budget=300)

    assert [piece.name for piece in first.pieces] == [piece.name for piece in second.pieces]
    assert (first.left_out, first.next) == (second.left_out, second.next)


async def test_a_message_without_rules_still_gets_its_tools(context: ContextService, caller: Caller) -> None:
    """A context contains all kinds."""
    pack = await context.get_context(caller, "what is the weather in Rome tomorrow?")

    assert pack.intents == {}
    assert "weather_get_forecast" in [piece.name for piece in pack.pieces]
    assert {"embedding", "route", "gather", "total"} == set(pack.timings)
    assert pack.spent == count_tokens(dumps(pack.data)) >= count_tokens(pack.text)


async def test_many_at_once_get_their_own_answers(context: ContextService, caller: Caller) -> None:
    """Twenty concurrent prompts."""
    prompts = await asyncio.gather(
        *(context.process_prompt(caller, SHOW if number % 2 else SEND) for number in range(20))
    )

    assert [prompt.rules[0].intent for prompt in prompts] == ["mail", "history"] * 10


async def test_one_message_is_embedded_once(
    database: Database, tenant: Tenant, settings: Settings, shelf: Path, tmp_path: Path
) -> None:
    """The choice of rules and the search for tools embed the same text, which the encoder caches."""
    encoder = open_encoder(settings)
    counting = Counting(encoder)
    sources = Sources(configured=(shelf,), home=tmp_path / "home")
    async with opened(database, tenant, settings, counting, sources) as services:  # type: ignore[arg-type]
        await services.tools.import_tools(services.caller, CATALOGUE)
        await services.intents.prepare(services.caller)
        counting.asked.clear()
        prompt = await services.context.process_prompt(services.caller, SHOW)
    await encoder.close()

    assert prompt.tools
    assert set(counting.asked) == {SHOW}


async def test_without_the_encoder_the_words_decide_and_the_answer_says_so(
    database: Database, tenant: Tenant, settings: Settings, shelf: Path, tmp_path: Path
) -> None:
    """Text and data say that it is degraded."""

    class Broken(Counting):
        async def embed_queries(self, texts: list[str], *, prefixed: bool = False) -> Matrix:
            raise EncoderError("The model is gone.")

    encoder = open_encoder(settings)
    sources = Sources(configured=(shelf,), home=tmp_path / "home")
    async with opened(database, tenant, settings, Broken(encoder), sources) as services:  # type: ignore[arg-type]
        await services.tools.import_tools(services.caller, CATALOGUE)
        prompt = await services.context.process_prompt(services.caller, "show the git log")
    await encoder.close()

    assert [rule.intent for rule in prompt.rules] == ["history"]
    assert "rules chosen with less than all means" in prompt.text
    assert any("The model is gone." in note for note in prompt_data(prompt)["notes"])


@pytest.mark.parametrize("prompt", ["", " \n", None, 7, ["x"]])
async def test_a_prompt_that_is_no_text_is_refused(context: ContextService, caller: Caller, prompt: object) -> None:
    """Empty, or of another type."""
    with pytest.raises(InvalidInput, match=r"prompt (is empty|must be a text)"):
        await context.process_prompt(caller, prompt)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "more",
    [{"history": [1]}, {"history": 5}, {"queries": ["x"] * 21}, {"queries": ["x" * 2001]}, {"files": ["x"] * 1001}],
)
async def test_lists_that_are_none_or_too_long_are_refused(
    context: ContextService, caller: Caller, more: dict[str, object]
) -> None:
    """Each error names what is wrong."""
    with pytest.raises(InvalidInput, match=next(iter(more))):
        await context.process_prompt(caller, SHOW, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [0, -1, 1_000_001, 10**30, True, 2.5, "400"])
async def test_a_budget_that_is_none_is_refused(context: ContextService, caller: Caller, budget: object) -> None:
    """A whole number of tokens from one to a million."""
    with pytest.raises(InvalidInput, match="whole number of tokens"):
        await context.get_context(caller, SHOW, budget=budget)  # type: ignore[arg-type]


async def test_rules_for_tools_that_nobody_can_call_are_not_given(
    context: ContextService, services: Services, caller: Caller
) -> None:
    """While the pack's only server is disabled, the message passes through, and the data says why."""
    await services.tools.set_server_enabled(caller, "git", False)

    prompt = await context.process_prompt(caller, SHOW)
    pack = await context.get_context(caller, SHOW, budget=4000)

    assert (prompt.text, prompt.rules, prompt.tools) == ("PASS_THROUGH", (), ())
    assert prompt.decision.matched == ()
    told = "history fits, and is not given: none of its servers is connected: git"
    assert told in prompt_data(prompt)["notes"]
    assert told in pack.data["notes"]
    assert [piece.name for piece in pack.pieces if piece.kind == "rules"] == []


async def test_rules_go_with_the_tools_that_a_pack_names_though_its_server_is_away(
    context: ContextService, caller: Caller
) -> None:
    """One tool that can be called is enough."""
    prompt = await context.process_prompt(caller, SEND)

    assert [rule.intent for rule in prompt.rules] == ["mail"]
    assert any("pigeons" in str(note) for note in prompt.notes)


LONG = (
    "# Log\n\n## Goal\n\nAnswer.\n\n## Examples\n\n"
    + "- Show it.\n" * 400
    + "\n## Important rules\n\n1. Rewrite nothing.\n"
)


async def test_long_rules_are_given_in_short_with_the_way_to_the_whole(
    context: ContextService, services: Services, caller: Caller, shelf: Path
) -> None:
    """In the author's short form, else from the important sections; the cursor fetches the full form."""
    lines = "show the git log", "list commits", "git history"
    write_pack(shelf, "history", lines, rules=LONG)
    await services.intents.reload(caller)
    await services.intents.prepare(caller)
    made = await context.process_prompt(caller, SHOW)
    write_pack(shelf, "history", lines, rules=LONG, metadata=["servers: git", "short: Rewrite nothing, ever."])
    await services.intents.reload(caller)
    await services.intents.prepare(caller)

    written = await context.process_prompt(caller, SHOW)
    small, large = [await context.get_context(caller, SHOW, budget=budget) for budget in (600, 4_000)]
    whole = await context.get_context(caller, SHOW, budget=4_000, cursor=written.rules[0].cursor)

    assert made.rules[0].text == "## Goal\n\nAnswer.\n\n## Important rules\n\n1. Rewrite nothing.\n"
    assert written.rules[0].text == "Rewrite nothing, ever."
    assert f"get_context with cursor {written.rules[0].cursor}" in written.text
    assert prompt_data(written)["rules"][0]["in_full"]["cursor"] == written.rules[0].cursor
    assert small.pieces[0].text == "Rewrite nothing, ever."
    assert large.pieces[0].text.strip() == LONG.strip()
    assert [piece.text.strip() for piece in whole.pieces] == [LONG.strip()]
    with pytest.raises(InvalidInput, match="content has changed"):
        await context.get_context(caller, SHOW, cursor=rules_cursor("history", "0123456789"))
    with pytest.raises(InvalidInput, match="content has changed"):
        await context.get_context(caller, SHOW, cursor=rules_cursor("nobody", "0123456789"))


@pytest.mark.parametrize("message", ["thank you, that was helpful!", "hello there", "good night"])
async def test_small_talk_gets_nothing(context: ContextService, caller: Caller, message: str) -> None:
    """No kind is even searched; the answer is a short sentence."""
    pack = await context.get_context(caller, message)

    assert (pack.pieces, pack.left_out, pack.shares) == ((), (), ())
    assert "nothing fits this message" in pack.text
    assert count_tokens(pack.text) < 60


async def test_each_share_is_explained(context: ContextService, caller: Caller) -> None:
    """What was offered and taken, how probably it is needed, what it costs, and why."""
    pack = await context.get_context(caller, SHOW)

    shares = {share.kind: share for share in pack.shares}
    for kind, share in shares.items():
        own = [piece for piece in pack.pieces if piece.kind == kind]
        assert (share.taken, share.tokens) == (len(own), sum(piece.tokens for piece in own))
        assert share.offered >= share.taken
        assert 0 <= share.probability <= 1
        assert share.why
    assert shares["rules"].taken > 0
