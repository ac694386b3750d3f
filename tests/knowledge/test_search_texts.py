"""Words and rewrites of tools, on a real database and encoder; servers are child processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.product import CATALOGUE, ListedServer, known, listed, opened
from thresher.core import Caller, HeldBack, InvalidInput, NotAllowed, NotFound, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.tools import FoundTool, ToolService, why_text
from thresher.services import Services
from thresher.store import Database

MAIL, LOG = "mail_send_email", "git_git_log"


async def chosen(tools: ToolService, caller: Caller, name: str, query: str) -> FoundTool:
    """A tool in the answer to a query."""
    answer = await tools.find_tools(caller, queries=[query], threshold=0, budget=4_000)
    return next(tool for tool in answer.tools if tool.name == name)


async def first(tools: ToolService, caller: Caller, query: str) -> FoundTool:
    """The best tool of a search without threshold."""
    return (await tools.find_tools(caller, queries=[query], threshold=0)).tools[0]


async def nearness(tools: ToolService, caller: Caller, name: str, query: str) -> float:
    """How near a tool is to a query by meaning."""
    return (await chosen(tools, caller, name, query)).why.dense.score or 0.0


@pytest.fixture
async def stocked(tools: ToolService, caller: Caller) -> ToolService:
    """A service with the small catalogue."""
    await tools.import_tools(caller, CATALOGUE)
    return tools


@pytest.fixture
def box(tmp_path: Path) -> ListedServer:
    """A server with two tools."""
    return ListedServer.at(tmp_path, "box", listed("open_box", "Opens a wooden box."), listed("close_box"))


@pytest.fixture
async def boxed(tools: ToolService, caller: Caller, box: ListedServer) -> ToolService:
    """A service with that server."""
    await tools.add_server(caller, box.config)
    await tools.refresh(caller)
    return tools


async def test_words_find_a_tool_that_its_definition_does_not(stocked: ToolService, caller: Caller) -> None:
    """They count in both arms like those of the description, and the reasons name them as the owner's."""
    before = await chosen(stocked, caller, MAIL, "tell Bob about the zorbification")
    await stocked.texts.add_words(caller, MAIL, ["zorbification", "tell Bob that I am late"])
    after = await first(stocked, caller, "tell Bob about the zorbification")
    other = await first(stocked, caller, "show commit history")

    assert before.why.own_words == ()
    assert after.name == MAIL
    assert after.why.source == "hybrid"
    assert after.why.own_words == after.why.terms != ()
    assert (after.why.dense.score or 0) > (before.why.dense.score or 0)
    assert "(owner's words: " in why_text(after.why)
    assert (other.name, other.why.own_words) == (LOG, ())


async def test_a_model_reads_the_same_of_a_tool_with_words_and_a_rewrite(stocked: ToolService, caller: Caller) -> None:
    """Line, gist, definition and cost stay."""

    async def read() -> list[object]:
        found = await first(stocked, caller, "send an email")
        described = (await stocked.describe_tools(caller, [MAIL])).tools
        return [found.line, found.gist, found.tokens, described, await stocked.list_tools(caller)]

    before = await read()
    await stocked.texts.add_words(caller, MAIL, ["zorbify"])
    await stocked.texts.apply_rewrite(caller, MAIL, "Write to somebody by electronic post.")

    assert await read() == before


async def test_words_are_listed_and_removed(stocked: ToolService, caller: Caller) -> None:
    """One by one or all, without repeats, in the order in which they came."""
    texts = stocked.texts
    added = await texts.add_words(caller, MAIL, ["drop a line", " drop  a\nline ", "zorbify"])
    await texts.add_words(caller, LOG, ["blame game"])
    again = await texts.add_words(caller, MAIL, ["zorbify", "ping"])

    every, one = await texts.words(caller), await texts.words(caller, MAIL)
    left = await texts.remove_words(caller, MAIL, ["zorbify"])
    none = await texts.remove_words(caller, MAIL)

    assert added.words == ("drop a line", "zorbify")
    assert again.words == ("drop a line", "zorbify", "ping")
    assert {entry.name: entry.words for entry in every} == {MAIL: again.words, LOG: ("blame game",)}
    assert [entry.name for entry in one] == [MAIL]
    assert (left.words, none.words) == (("drop a line", "ping"), ())
    assert await texts.words(caller, MAIL) == ()
    assert (await first(stocked, caller, "zorbify")).why.own_words == ()


async def test_words_survive_a_second_listing_and_another_definition(
    boxed: ToolService, caller: Caller, box: ListedServer, services: Services, settings: Settings, encoder: Encoder
) -> None:
    """Also a restart; and they count at once when the new definition is approved."""
    await boxed.texts.add_words(caller, "box_open_box", ["zorbify"])
    await boxed.refresh(caller)
    box.lists(listed("open_box", "Opens a box with a crowbar."), listed("close_box"))
    await boxed.refresh(caller)
    during = await boxed.texts.words(caller)
    await boxed.approve_tools(caller, {tool.name: tool.digest for tool in await boxed.held_tools(caller)})
    found = await first(boxed, caller, "zorbify")
    async with opened(services.database, caller.tenant, settings, encoder) as fresh:
        await fresh.tools.refresh(caller)
        later = await first(fresh.tools, caller, "zorbify")

    assert [(entry.name, entry.words, entry.there) for entry in during] == [("box_open_box", ("zorbify",), True)]
    assert found.name == later.name == "box_open_box"
    assert found.why.own_words
    assert later.why.own_words


async def test_words_are_there_again_when_a_server_returns(
    boxed: ToolService, caller: Caller, box: ListedServer
) -> None:
    """While it is away they are listed as such; a user's own server of the name does not get them."""
    await boxed.texts.add_words(caller, "box_open_box", ["zorbify"])
    await boxed.texts.apply_rewrite(caller, "box_close_box", "Shut the lid of a chest.")
    await boxed.remove_server(caller, "box")
    away = [*await boxed.texts.words(caller), *await boxed.texts.rewrites(caller)]
    ann = Caller(caller.tenant, "ann")
    await boxed.add_server(ann, box.config)
    await boxed.refresh(ann)
    hers = await boxed.find_tools(ann, queries=["zorbify"], threshold=0)
    await boxed.remove_server(ann, "box")
    await boxed.add_server(caller, box.config)
    await boxed.refresh(caller)

    assert [(entry.name, entry.there) for entry in away] == [("box/open_box", False), ("box/close_box", False)]
    assert all(not tool.why.own_words for tool in hers.tools)
    assert (await first(boxed, caller, "zorbify")).why.own_words
    assert [one.holds for one in await boxed.texts.rewrites(caller)] == [True]


async def test_texts_of_a_tool_that_is_gone_can_be_removed(boxed: ToolService, caller: Caller) -> None:
    """By the names of server and tool; only by their owner."""
    await boxed.texts.add_words(caller, "box_open_box", ["zorbify", "ping"])
    await boxed.remove_server(caller, "box")
    with pytest.raises(NotFound):
        await boxed.texts.remove_words(Caller(caller.tenant, "ann"), "box/open_box")
    left = await boxed.texts.remove_words(caller, "box/open_box", ["ping"])
    await boxed.texts.remove_words(caller, "box/open_box")

    assert (left.words, left.there) == (("zorbify",), False)
    assert await boxed.texts.words(caller) == ()


async def test_a_rewrite_is_embedded_and_indexed_in_place_of_the_description(
    stocked: ToolService, caller: Caller
) -> None:
    """By default it is what the rules propose; without it the server's description is searched again."""
    query = "a quux for the meteorologist"
    before = await nearness(stocked, caller, MAIL, query)
    await stocked.texts.apply_rewrite(caller, MAIL, "A quux for the meteorologist.")
    during, found = await nearness(stocked, caller, MAIL, query), await chosen(stocked, caller, MAIL, query)
    proposed = await stocked.texts.apply_rewrite(caller, MAIL)
    listed_now = await stocked.texts.rewrites(caller)
    removed = await stocked.texts.remove_rewrite(caller, MAIL)
    after = await nearness(stocked, caller, MAIL, query)

    assert during > before == pytest.approx(after, abs=1e-6)
    assert found.why.terms
    assert found.why.own_words == ()
    assert "send" in proposed.description.lower()
    assert "mail" in proposed.description.lower()
    assert listed_now == (proposed,)
    assert removed == MAIL
    assert await stocked.texts.rewrites(caller) == ()


async def test_a_rewrite_is_dropped_when_the_server_changes_the_definition(
    boxed: ToolService, caller: Caller, box: ListedServer
) -> None:
    """The refresh and the list say so; it is used again if the server takes the change back."""
    await boxed.texts.apply_rewrite(caller, "box_open_box", "Zorbify a chest.")
    await boxed.set_server_auto_approve(caller, "box", True)
    box.lists(listed("open_box", "Opens a box with a crowbar."), listed("close_box"))
    changed = await boxed.refresh(caller)
    dropped = await boxed.texts.rewrites(caller)
    words = (await first(boxed, caller, "zorbify a chest")).why.terms
    box.lists(listed("open_box", "Opens a wooden box."), listed("close_box"))
    back = await boxed.refresh(caller)

    assert (changed.lapsed, back.lapsed) == (("box_open_box",), ())
    assert [(one.holds, one.there) for one in dropped] == [(False, True)]
    assert words == ()
    assert (await first(boxed, caller, "zorbify a chest")).name == "box_open_box"


async def test_a_held_tool_gets_words_and_no_rewrite(boxed: ToolService, caller: Caller, box: ListedServer) -> None:
    """Nobody has read its new definition yet."""
    box.lists(listed("open_box", "Opens a box with a crowbar."), listed("close_box"))
    await boxed.refresh(caller)

    await boxed.texts.add_words(caller, "box_open_box", ["zorbify"])
    with pytest.raises(HeldBack):
        await boxed.texts.apply_rewrite(caller, "box_open_box")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "1 to 20"),
        ([f"word{number}" for number in range(21)], "1 to 20"),
        (["x" * 301], "301 characters"),
        ([""], "no word that a search uses"),
        (["the of"], "no word that a search uses"),
        (["\0\ud800"], "no word that a search uses"),
    ],
)
async def test_words_have_bounds(stocked: ToolService, caller: Caller, words: list[str], reason: str) -> None:
    """Nothing is stored of a request with a wrong one."""
    with pytest.raises(InvalidInput, match=reason):
        await stocked.texts.add_words(caller, MAIL, ["fine", *words] if words == ["the of"] else words)

    assert await stocked.texts.words(caller) == ()


async def test_a_tool_has_so_many_words_and_no_more(stocked: ToolService, caller: Caller) -> None:
    """Also when they are added at the same time."""
    await stocked.texts.add_words(caller, MAIL, [f"word{number}" for number in range(15)])
    more = [stocked.texts.add_words(caller, MAIL, [f"{name}{number}" for number in range(4)]) for name in "abc"]
    done = await asyncio.gather(*more, return_exceptions=True)

    assert sum(isinstance(one, InvalidInput) for one in done) == 2
    assert len((await stocked.texts.words(caller))[0].words) == 19


@pytest.mark.parametrize("description", ["", "  ", "the", "x" * 2_001])
async def test_a_rewrite_has_bounds(stocked: ToolService, caller: Caller, description: str) -> None:
    """An empty one is no way to remove it."""
    with pytest.raises(InvalidInput):
        await stocked.texts.apply_rewrite(caller, MAIL, description)

    assert await stocked.texts.rewrites(caller) == ()


async def test_unknown_names_and_words_are_not_found(stocked: ToolService, caller: Caller) -> None:
    """Each error says what is missing."""
    texts = stocked.texts
    for refused in (
        texts.add_words(caller, "nothing", ["x1"]),
        texts.words(caller, "nothing"),
        texts.rewrites(caller, "nothing"),
        texts.apply_rewrite(caller, "nothing"),
        texts.remove_words(caller, "nothing"),
        texts.remove_words(caller, MAIL),
        texts.remove_rewrite(caller, MAIL),
    ):
        with pytest.raises(NotFound):
            await refused
    await texts.add_words(caller, MAIL, ["ping"])
    with pytest.raises(NotFound, match="'pong'"):
        await texts.remove_words(caller, MAIL, ["ping", "pong"])
    assert (await texts.words(caller, MAIL))[0].words == ("ping",)


async def test_a_user_changes_nothing_of_a_shared_server(stocked: ToolService, caller: Caller) -> None:
    """The tenant's words work for its users, who may read them."""
    ann = Caller(caller.tenant, "ann")
    await stocked.texts.add_words(caller, MAIL, ["zorbify"])
    await stocked.texts.apply_rewrite(caller, LOG)
    for refused in (
        stocked.texts.add_words(ann, MAIL, ["ping"]),
        stocked.texts.remove_words(ann, MAIL),
        stocked.texts.apply_rewrite(ann, MAIL),
        stocked.texts.remove_rewrite(ann, LOG),
    ):
        with pytest.raises(NotAllowed):
            await refused

    assert (await first(stocked, ann, "zorbify")).why.own_words
    assert [entry.words for entry in await stocked.texts.words(ann)] == [("zorbify",)]


async def test_a_tenants_words_find_nothing_for_another(
    stocked: ToolService, caller: Caller, other_tenant: Tenant
) -> None:
    """The other has the same tools under the same names."""
    other = Caller(other_tenant)
    await stocked.import_tools(other, [*CATALOGUE, known("zoo", "feed")])
    await stocked.texts.add_words(caller, MAIL, ["zorbify"])
    await stocked.texts.apply_rewrite(caller, LOG, "Zorbify a quux.")
    answer = await stocked.find_tools(other, queries=["zorbify"], threshold=0, budget=4_000)

    assert await stocked.texts.words(other) == await stocked.texts.rewrites(other) == ()
    assert all(not tool.why.terms for tool in answer.tools)
    with pytest.raises(NotFound):
        await stocked.texts.remove_words(other, MAIL)
    assert (await stocked.texts.words(caller))[0].words == ("zorbify",)


async def test_a_second_process_finds_by_new_words(
    stocked: ToolService, caller: Caller, services: Services, settings: Settings, encoder: Encoder
) -> None:
    """Its snapshot is read again."""
    async with opened(services.database, caller.tenant, settings, encoder) as other:
        await first(other.tools, caller, "zorbify")
        await stocked.texts.add_words(caller, MAIL, ["zorbify"])
        other.tools._catalogues.changed(caller.tenant.id)  # as after two seconds
        found = await first(other.tools, caller, "zorbify")

    assert (found.name, bool(found.why.own_words)) == (MAIL, True)


async def test_words_change_nothing_of_a_disabled_tool(stocked: ToolService, caller: Caller) -> None:
    """It is still not found, until it is switched on."""
    await stocked.set_tool(caller, MAIL, enabled=False)
    await stocked.texts.add_words(caller, MAIL, ["zorbify"])
    off = await stocked.find_tools(caller, queries=["zorbify"], threshold=0)
    await stocked.set_tool(caller, MAIL, enabled=True)

    assert MAIL not in [tool.name for tool in off.tools]
    assert (await first(stocked, caller, "zorbify")).name == MAIL


async def test_purge_removes_texts_of_tools_that_are_gone(
    boxed: ToolService, caller: Caller, box: ListedServer, other_tenant: Tenant, database: Database
) -> None:
    """Of removed servers and of tools that are no longer listed, once they are old enough; no other tenant's."""
    other = Caller(other_tenant)
    await boxed.import_tools(other, [known("zoo", "feed")])
    await boxed.texts.add_words(other, "zoo_feed", ["zorbify"])
    await boxed.remove_server(other, "zoo")
    await boxed.import_tools(caller, CATALOGUE)
    for name in ("box_open_box", "box_close_box", MAIL, LOG):
        await boxed.texts.add_words(caller, name, ["zorbify"])
    await boxed.texts.apply_rewrite(caller, MAIL)
    await boxed.remove_server(caller, "mail")
    box.lists(listed("close_box"))
    await boxed.refresh(caller)
    young = await boxed.purge(caller, older_than=1)
    kept = {entry.name for entry in await boxed.texts.words(caller)}
    old = await boxed.purge(caller, older_than=0)

    assert young.rows == 0
    assert kept == {"box/open_box", "box_close_box", "mail/send_email", LOG}
    assert old.rows >= 3
    assert {entry.name for entry in await boxed.texts.words(caller)} == {"box_close_box", LOG}
    assert await boxed.texts.rewrites(caller) == ()
    assert len(await boxed.texts.words(other)) == 1
