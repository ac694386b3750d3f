"""How an answer of find_tools is put together, and what happens on failures."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import Databases
from tests.support.product import CATALOGUE, opened
from thresher.core import Caller, Settings, StoreUnavailable, Tenant, Tool, Why
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.tools import queries as sql
from thresher.knowledge.tools.catalogue import CatalogueCache, ToolCatalogue, snapshot
from thresher.knowledge.tools.composition import choose, fallback_hits
from thresher.knowledge.tools.queries import NameRow, ServerRow
from thresher.search import MAX_QUERIES, Hit
from thresher.services import Services
from thresher.store import Database


def server(number: int) -> ServerRow:
    """A server of the snapshot."""
    return ServerRow(
        number,
        None,
        f"s{number}",
        {},
        None,
        "",
        True,
        "ready",
        "",
        None,
        auto_approve=False,
        trusted=False,
        tools=0,
        held=0,
    )


def row(number: int, *, core: bool = False, enabled: bool = True, server_id: int = 1, digest: bytes = b"") -> NameRow:
    """A tool of the snapshot."""
    name = "twin" if digest else f"t{number}"
    return NameRow(number, server_id, f"s{server_id}", name, enabled, core, 10, digest or bytes([number]), "()")


def hits(*ids: int) -> list[Hit]:
    """Search hits, best first."""
    return [Hit(number, 1 - number / 100, Why("hybrid"), 0.5 - number / 100) for number in ids]


def chosen(
    catalogue: ToolCatalogue,
    *ids: int,
    limit: int | None = None,
    core: bool = True,
    scope: set[int] | None = None,
    text: str = "do it",
) -> list[int]:
    """The ids of the chosen tools."""
    found = choose(catalogue, hits(*ids), [text], limit=limit, scope=scope, core=core)
    return [choice.tool.row.id for choice in found]


def test_core_tools_take_places_from_the_worst_hits() -> None:
    """The cap counts both; a core tool that was found keeps its rank."""
    catalogue = snapshot(1, [server(1)], [row(n, core=n in (3, 9)) for n in range(1, 10)])

    assert chosen(catalogue, 1, 2, 3, 4, 5, limit=4) == [1, 2, 3, 9]
    assert chosen(catalogue, 1, 2, 3, 4, 5, limit=4, core=False) == [1, 2, 3, 4]


def test_an_alias_finds_its_tool_and_gives_way_to_a_tool_of_that_name() -> None:
    """Only a server inside this process has aliases; those in a server's own file are ignored."""
    aliases = {"old": "t1", "older": "t1", "t2": "t1", "gone": "t9"}
    bare = replace(server(1), config={"transport": "local", "prefix": False, "aliases": aliases})
    plain = replace(server(2), config={"transport": "local", "aliases": {"old": "t3"}})
    foreign = replace(server(3), config={"transport": "stdio", "aliases": {"forged": "t4"}})
    rows = [row(1), row(2), row(3, server_id=2), row(4, server_id=3)]
    catalogue = snapshot(1, [bare, plain, foreign], rows, frozenset({"s1", "s2"}))

    found = {name: catalogue.find(name) for name in ("old", "older", "t2", "gone", "s2_old", "forged")}

    assert {name: tool.name for name, tool in found.items() if tool is not None} == {
        "old": "t1", "older": "t1", "t2": "t2", "s2_old": "s2_t3"
    }  # fmt: skip
    assert "old" not in catalogue.by_name


def test_more_core_tools_than_the_limit_are_all_there_up_to_the_cap() -> None:
    """They are included above the limit too, never above 50."""
    catalogue = snapshot(1, [server(1)], [row(n, core=True) for n in range(1, 60)])

    assert len(chosen(catalogue, 1, limit=3)) == 50


def test_what_is_unknown_disabled_or_outside_the_filter_is_never_chosen() -> None:
    """The index may lag behind; the snapshot decides."""
    rows = [row(1), row(2, enabled=False), row(3, server_id=2, core=True)]
    catalogue = snapshot(1, [server(1), server(2)], rows)

    assert chosen(catalogue, 99, 2, 3, 1) == [3, 1]
    assert chosen(catalogue, 99, 2, 3, 1, scope={1}) == [1]
    assert [hit.id for hit in fallback_hits(catalogue, None, core=True)] == [3, 1]
    assert [hit.id for hit in fallback_hits(catalogue, {1}, core=True)] == [1]


def test_twins_are_shown_once_and_named() -> None:
    """The best stays."""
    rows = [row(1, digest=b"x"), row(2, digest=b"x", server_id=2), row(3)]
    catalogue = snapshot(1, [server(1), server(2)], rows)

    choices = choose(catalogue, hits(2, 1, 3), ["do"], limit=None, scope=None, core=True)

    assert [(choice.tool.name, choice.also) for choice in choices] == [("s2_twin", ("s1_twin",)), ("s1_t3", ())]


def test_another_name_for_the_same_tool_of_a_server_takes_no_place_of_its_own() -> None:
    """The same definition but for a longer name; whatever has no description, or shares one, may do something else."""

    def tool(number: int, name: str, *, server_id: int = 1, line: str = "() - Searches.") -> NameRow:
        return replace(row(number, server_id=server_id), name=name, line=line, body=b"same")

    rows = [tool(1, "search"), tool(2, "wiki_search"), tool(3, "delete"), tool(4, "search", server_id=2)]
    bare = [tool(5, "play", line="()"), tool(6, "now_play", line="()")]
    catalogue = snapshot(1, [server(1), server(2)], [*rows, *bare])

    choices = choose(catalogue, hits(1, 2, 3, 4, 5, 6), ["do"], limit=None, scope=None, core=True)

    assert [(choice.tool.row.id, choice.also) for choice in choices] == [
        (1, ("s1_wiki_search",)), (3, ()), (4, ()), (5, ()), (6, ())
    ]  # fmt: skip


def test_copies_that_differ_in_what_may_be_relied_on_stand_apart() -> None:
    """One may be called as a tool that reads, the other not."""
    rows = [replace(row(1, digest=b"x"), reads=True), replace(row(2, digest=b"x", server_id=2), reads=True)]
    catalogue = snapshot(1, [replace(server(1), trusted=True), server(2)], rows)

    choices = choose(catalogue, hits(1, 2), ["do"], limit=None, scope=None, core=True)

    assert [(choice.tool.name, choice.also) for choice in choices] == [("s1_twin", ()), ("s2_twin", ())]


def test_a_copy_that_is_always_there_keeps_its_better_one_there() -> None:
    """Under the name of that, and once."""
    rows = [row(1, digest=b"x"), row(2, digest=b"x", server_id=2, core=True)]
    catalogue = snapshot(1, [server(1), server(2)], rows)

    found = [Hit(1, 0.9, Why("hybrid"), 0.6), Hit(2, 0.9, Why("hybrid"), 0.5)]
    choices = choose(catalogue, found, ["do"], limit=1, scope=None, core=True)

    assert [(choice.tool.name, choice.also, choice.kept) for choice in choices] == [("s1_twin", ("s2_twin",), True)]


def test_an_exact_name_comes_before_other_spellings_and_before_servers_own_names() -> None:
    """Nobody takes a name over by calling a tool by another server's exposed name."""
    rows = [replace(row(n, server_id=s), name=name) for n, s, name in ((1, 1, "s2_go"), (2, 2, "go"), (3, 2, "g_o"))]
    catalogue = snapshot(1, [server(1), server(2)], rows)

    assert chosen(catalogue, text="run s2_go") == [2]
    assert chosen(catalogue, text="run S2-GO") == [2, 3]
    assert chosen(catalogue, text="login to s2go, backup and to do") == []


@pytest.mark.parametrize("word", ["s1_read_file", "S1-Read-File", "read_file", "readFile", "READ-FILE", "`read.file`"])
def test_a_tool_whose_name_is_written_is_always_chosen(word: str) -> None:
    """In whatever spelling, and whether it was found or not; a disabled one and one outside the filter are not."""
    rows = [replace(row(n), name=name) for n, name in ((1, "other"), (2, "read_file"), (3, "fetch"))]
    catalogue = snapshot(1, [server(1)], rows)

    assert chosen(catalogue, 1, text=f"please run {word}, then fetch it", limit=1) == [2]
    assert chosen(catalogue, 1, 2, text=f"please run {word}", limit=2) == [1, 2]
    assert chosen(catalogue, 1, text=f"please run {word}", scope={7}) == []
    assert chosen(snapshot(1, [server(1)], [rows[0], replace(rows[1], enabled=False)]), 1, text=word) == [1]


async def test_without_an_encoder_the_words_are_searched(
    database: Database, tenant: Tenant, settings: Settings, tmp_path: Path
) -> None:
    """The answer says so."""
    broken = open_encoder(settings.model_copy(update={"model_dir": tmp_path / "nothing"}))
    async with opened(database, tenant, settings, broken) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        found = await services.tools.find_tools(services.caller, queries=["show commit history"])
    await broken.close()

    assert found.degraded
    assert found.tools[0].name == "git_git_log"
    assert found.tools[0].why.source == "lexical"


async def test_tools_described_in_another_language_are_found_by_other_forms_of_their_words(
    database: Database, tenant: Tenant, settings: Settings, tmp_path: Path
) -> None:
    """Beside tools in English; here by words alone."""
    german = [
        Tool(
            "rechnungen",
            "anlegen",
            description="Legt eine neue Rechnung für einen Kunden an und verschickt sie an ihn.",
        ),
        Tool(
            "rechnungen",
            "mahnen",
            description="Verschickt eine Mahnung, wenn die Zahlung eines Kunden nicht eingegangen ist.",
        ),
    ]
    broken = open_encoder(settings.model_copy(update={"model_dir": tmp_path / "nothing"}))
    async with opened(database, tenant, settings, broken) as services:
        await services.tools.import_tools(services.caller, [*CATALOGUE, *german])
        found = await services.tools.find_tools(services.caller, queries=["Mahnungen für offene Zahlungen"])
        english = await services.tools.find_tools(services.caller, queries=["show commit history"])
    await broken.close()

    assert found.tools[0].name == "rechnungen_mahnen"
    assert english.tools[0].name == "git_git_log"


async def test_where_search_fails_the_first_tools_are_given_and_marked(services: Services) -> None:
    """A query that the index refuses must not leave the model without any tool."""
    await services.tools.import_tools(services.caller, CATALOGUE)
    await services.tools.set_tool(services.caller, "mail_send_email", core=True)
    async with services.database.transaction(services.caller.tenant) as connection:
        await connection.exec_driver_sql("delete from item")
        await connection.exec_driver_sql("update collection set version = version + 1")

    found = await services.tools.find_tools(services.caller, message="show commit history")

    assert found.fallback
    assert found.degraded
    assert found.tools[0].name == "mail_send_email"
    assert len(found.tools) == len(CATALOGUE)


async def test_as_many_queries_as_may_be_given_are_searched(services: Services) -> None:
    """The verb and the index have the same limit: one query more is refused, and none falls back."""
    await services.tools.import_tools(services.caller, CATALOGUE)

    found = await services.tools.find_tools(services.caller, queries=[f"read file {n}" for n in range(MAX_QUERIES)])

    assert not found.fallback
    assert len(found.clauses) == MAX_QUERIES


async def test_a_late_log_row_does_not_confirm_what_this_process_has_changed(
    database: Database, tenant: Tenant
) -> None:
    """Its version may have been read before the change was written."""
    catalogues, caller = CatalogueCache(database), Caller(tenant)
    before = await catalogues.current(caller)
    async with database.transaction(tenant) as connection:
        await sql.raise_version(connection, tenant)
    catalogues.changed(tenant.id)

    catalogues.confirm(caller, before, before.version)

    assert (await catalogues.current(caller)).version == before.version + 1


async def test_fifty_callers_at_once_get_their_answers_and_their_rows(services: Services) -> None:
    """No answer is mixed up, and no log row lost."""
    await services.tools.import_tools(services.caller, CATALOGUE)
    wanted = {"show commit history": "git_git_log", "send an email": "mail_send_email"}
    asked = [query for query in wanted for _ in range(25)]

    found = await asyncio.gather(
        *(services.tools.find_tools(services.caller, queries=[query], threshold=0) for query in asked)
    )
    await services.tools.settle()

    async with services.database.transaction(services.caller.tenant) as connection:
        rows = (await connection.exec_driver_sql("select count(distinct trace_id) from discovery")).scalar_one()
    assert [result.tools[0].name for result in found] == [wanted[query] for query in asked]
    assert rows == 50


async def test_a_user_is_named_in_the_log_row(services: Services) -> None:
    """The row records whose discovery it was."""
    await services.tools.find_tools(Caller(services.caller.tenant, "ann"), message="anything")
    await services.tools.settle()

    async with services.database.transaction(services.caller.tenant) as connection:
        rows = (await connection.exec_driver_sql("select owner, source, chosen from discovery")).all()
    assert [tuple(row) for row in rows] == [("ann", "none", [])]


async def test_while_the_database_is_away_what_is_at_hand_still_answers(
    databases: Databases, settings: Settings, encoder: Encoder
) -> None:
    """Search from memory and definitions already read work; anything else is an error with a hint."""
    name = await databases.create()
    database = await databases.open(name)
    async with opened(database, await database.tenant("away"), settings, encoder) as services:
        tools, caller = services.tools, services.caller
        await tools.import_tools(caller, CATALOGUE)
        before = await tools.find_tools(caller, queries=["show commit history"], threshold=0)
        await tools.describe_tools(caller, before.tools[0].name)
        await services.index.settle()  # the copy in the process is read behind the first answer
        await databases.admin(f"alter database {name} connection limit 0")
        await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")

        during = await tools.find_tools(caller, queries=["show commit history"], threshold=0)
        described = await tools.describe_tools(caller, before.tools[0].name)
        with pytest.raises(StoreUnavailable):
            await tools.set_tool(caller, "git_git_log", enabled=False)
        with pytest.raises(StoreUnavailable):
            await tools.list_servers(caller)
    await database.close()
    await databases.drop(name)

    assert [tool.name for tool in during.tools] == [tool.name for tool in before.tools]
    assert during.degraded
    assert described.tools[0].tool == CATALOGUE[0]
