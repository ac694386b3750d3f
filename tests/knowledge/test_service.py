"""The verbs of the tools kind, on a real database, encoder and child processes."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.support.product import CATALOGUE, ListedServer, known, listed
from thresher.core import Caller, Conflict, InvalidInput, NotFound, Tenant, Tool, UpstreamError
from thresher.knowledge.tools import ToolService
from thresher.services import Services
from thresher.store import Database, SecretBox
from thresher.upstream import ServerConfig

SECRET = "hunter2-hunter2-hunter2"


async def names(tools: ToolService, caller: Caller, *queries: str, **more: object) -> list[str]:
    """The names that a search finds, best first; without threshold, since it is fitted on larger catalogues."""
    found = await tools.find_tools(caller, queries=list(queries), **({"threshold": 0} | more))  # type: ignore[arg-type]
    return [tool.name for tool in found.tools]


@pytest.fixture
async def stocked(tools: ToolService, caller: Caller) -> ToolService:
    """A service with the small catalogue."""
    await tools.import_tools(caller, CATALOGUE, {"git": "Version control. More."})
    return tools


async def test_each_question_finds_its_tool_first(stocked: ToolService, caller: Caller) -> None:
    """The small catalogue has one right tool for each."""
    first = [
        (await names(stocked, caller, query))[0]
        for query in (
            "show commit history",
            "convert time between zones",
            "send an email",
            "weather forecast of a city",
        )
    ]

    assert first == ["git_git_log", "time_convert_time", "mail_send_email", "weather_get_forecast"]


async def test_an_answer_tells_what_it_cost_and_why(stocked: ToolService, caller: Caller) -> None:
    """Tokens sent and saved, times, reasons, a trace id."""
    found = await stocked.find_tools(caller, message="show me the commit history", threshold=0)

    assert 0 < found.tokens_sent < found.tokens_all
    assert found.total_searched == len(CATALOGUE)
    assert found.trace_id
    assert found.duration_ms > 0
    assert found.tools[0].why.terms
    assert 0 <= found.tools[0].score <= 1
    assert found.tools[0].tool.key == CATALOGUE[0].key
    assert found.tools[0].line == "git_git_log(repo_path?) - Show the commit history of a repository"
    assert found.tools[0].line in found.text
    assert not found.degraded
    assert not found.fallback


async def test_a_discovery_leaves_a_row_without_the_text(stocked: ToolService, services: Services) -> None:
    """Ids, scores and times; never the question."""
    found = await stocked.find_tools(services.caller, message="show me the secret commit history")
    await stocked.settle()

    async with services.database.transaction(services.caller.tenant) as connection:
        result = await connection.exec_driver_sql("select to_jsonb(d) from discovery d")
        rows = [row[0] for row in result]
    assert len(rows) == 1
    assert rows[0]["trace_id"] == found.trace_id
    assert len(rows[0]["chosen"]) == len(rows[0]["scores"]) == len(found.tools)
    assert "secret" not in json.dumps(rows)


async def test_a_second_import_embeds_nothing_and_drops_what_is_gone(tools: ToolService, caller: Caller) -> None:
    """Counts of a batch upsert: embedded, kept, removed."""
    first = await tools.import_tools(caller, CATALOGUE)
    again = await tools.import_tools(caller, CATALOGUE)
    fewer = await tools.import_tools(caller, [tool for tool in CATALOGUE if tool.name != "git_diff"])

    assert (first.embedded + first.kept, first.removed) == (len(CATALOGUE), 0)
    assert (again.embedded, again.kept, again.removed) == (0, len(CATALOGUE), 0)
    assert (fewer.embedded, fewer.removed) == (0, 1)
    assert "git_git_diff" not in await names(tools, caller, "show uncommitted changes")


async def test_limit_and_cap_hold(tools: ToolService, caller: Caller) -> None:
    """By default the budget decides; a limit and a budget hold together."""
    many = [known("git", f"git_log_{number}", f"Show commit history number {number}.") for number in range(30)]
    await tools.import_tools(caller, many)

    assert len(await names(tools, caller, "show commit history", limit=3)) <= 3
    found = [
        await tools.find_tools(caller, message="show commit history", budget=budget, threshold=0)
        for budget in (60, 150, 600)
    ]
    assert all(one.tokens_sent <= budget for one, budget in zip(found, (60, 150, 600), strict=True))
    assert len(found[0].tools) < len(found[1].tools) <= len(found[2].tools)
    assert "full" in {tool.form for tool in found[1].tools}


async def test_the_server_filter_holds_and_an_unknown_server_is_named(stocked: ToolService, caller: Caller) -> None:
    """A similar name is offered."""
    inside = await names(stocked, caller, "read a text file", servers=["time"])

    with pytest.raises(NotFound, match="Did you mean 'weather'"):
        await names(stocked, caller, "x", servers=["wether"])
    assert all(name.startswith("time_") for name in inside)


async def test_core_tools_are_always_there_and_count_towards_the_cap(stocked: ToolService, caller: Caller) -> None:
    """Unless the caller excludes them, or the filter does."""
    await stocked.set_tool(caller, "mail_send_email", core=True)

    found = await stocked.find_tools(caller, queries=["show commit history"], limit=2, threshold=0)
    without = await names(stocked, caller, "show commit history", limit=2, include_core_tools=False)
    elsewhere = await names(stocked, caller, "show commit history", servers=["git"])

    assert [tool.name for tool in found.tools] == ["git_git_log", "mail_send_email"]
    assert found.tools[1].why.source == "core"
    assert "mail_send_email" not in without
    assert "mail_send_email" not in elsewhere
    assert [item.name for item in await stocked.core_tools(caller)] == ["mail_send_email"]


async def test_exact_duplicates_across_servers_are_shown_once(tools: ToolService, caller: Caller) -> None:
    """The best stays, and names the others."""
    twin = [known(server, "send_email", "Send an email to a person.") for server in ("mail", "post")]
    await tools.import_tools(caller, [*twin, known("git", "git_log", "Show history.")])

    found = await tools.find_tools(caller, queries=["send an email"], threshold=0)

    shown = [tool for tool in found.tools if tool.name.endswith("send_email")]
    assert len(shown) == 1
    assert {shown[0].name, *shown[0].also} == {"mail_send_email", "post_send_email"}


async def test_a_disabled_tool_is_absent_from_every_path(stocked: ToolService, caller: Caller) -> None:
    """Search, description, call and listing of core tools; switching it on again embeds nothing."""
    await stocked.set_tool(caller, "git_git_log", enabled=False, core=True)

    assert "git_git_log" not in await names(stocked, caller, "show commit history")
    assert await stocked.core_tools(caller) == ()
    assert "git_git_log" not in [item.name for item in await stocked.all_tools(caller)]
    with pytest.raises(NotFound):
        await stocked.describe_tools(caller, ["git_git_log"])
    with pytest.raises(NotFound):
        await stocked.resolve(caller, "git_git_log")
    with pytest.raises(NotFound):
        await stocked.set_tool(caller, "git_git_lag", enabled=True)
    again = await stocked.set_tool(caller, "git_git_log", enabled=True)

    assert again.enabled
    assert again.core
    assert (await names(stocked, caller, "show commit history"))[0] == "git_git_log"


async def test_describing_gives_whole_definitions_and_near_names(stocked: ToolService, caller: Caller) -> None:
    """Unknown names come back with similar ones; if no name is known, it is an error."""
    found = await stocked.describe_tools(caller, ["time_convert_time", "git_gitlog", "time_convert_time"])

    with pytest.raises(NotFound, match="git_git_log"):
        await stocked.describe_tools(caller, "git_gitlog")
    with pytest.raises(InvalidInput):
        await stocked.describe_tools(caller, [])
    assert [item.tool for item in found.tools] == [CATALOGUE[2]]
    assert found.unknown["git_gitlog"][0] == "git_git_log"


async def test_an_imported_tool_cannot_be_called(stocked: ToolService, caller: Caller) -> None:
    """It has no server, and the error says so."""
    with pytest.raises(UpstreamError, match="without a live server"):
        await stocked.resolve(caller, "git_git_log")


async def test_tools_are_listed_with_their_switches(stocked: ToolService, caller: Caller) -> None:
    """Including disabled ones; by server on request."""
    await stocked.set_tool(caller, "git_git_diff", enabled=False)

    listed_tools = await stocked.list_tools(caller, "git")

    assert [(item.name, item.enabled, item.tokens > 0) for item in listed_tools] == [
        ("git_git_diff", False, True),
        ("git_git_log", True, True),
    ]
    assert len(await stocked.list_tools(caller)) == len(CATALOGUE)
    assert (await stocked.overview(caller))["git"] == 1


async def test_an_overview_counts_servers_that_people_call_the_same_together(
    stocked: ToolService, caller: Caller
) -> None:
    """A model reads each name once, and a pack's server without its suffix."""
    local = [Tool("git:deploy", "deploy", "", "Deploys."), Tool("ship:pack:02b3a5fd", "send", "", "Sends.")]
    await stocked.import_tools(caller, [*CATALOGUE, *local])

    overview = await stocked.overview(caller)

    assert overview["git"] == 3
    assert overview["ship"] == 1


async def test_a_catalogue_that_is_not_indexed_yet_falls_back(services: Services, tools: ToolService) -> None:
    """All enabled tools inside the filter, capped and marked, until the index has caught up."""
    caller = services.caller
    await tools.import_tools(caller, CATALOGUE)
    ids = [row.id for row in await _rows(services)]
    await services.index.remove(caller.tenant, "tool", ids)

    found = await tools.find_tools(caller, queries=["show commit history"], servers=["git"])

    assert found.fallback
    assert "not indexed" in found.degraded
    assert [tool.name for tool in found.tools] == ["git_git_log", "git_git_diff"]
    assert {tool.why.source for tool in found.tools} == {"fallback"}


async def _rows(services: Services) -> list:  # type: ignore[type-arg]
    async with services.database.transaction(services.caller.tenant) as connection:
        return list(await connection.exec_driver_sql("select id from tool"))


async def test_an_empty_catalogue_answers_with_nothing(tools: ToolService, caller: Caller) -> None:
    """No tools and no error."""
    found = await tools.find_tools(caller, message="anything at all")

    assert found.tools == ()
    assert found.total_searched == 0
    assert not found.fallback


async def test_tenants_see_their_own_tools_only(
    stocked: ToolService, caller: Caller, other_tenant: Tenant, database: Database
) -> None:
    """Search, names and servers."""
    other = Caller(other_tenant)
    await stocked.import_tools(other, [known("git", "git_log", "Show commit history, elsewhere.")])

    found = await stocked.find_tools(other, queries=["show commit history"], threshold=0)

    with pytest.raises(NotFound):
        await stocked.describe_tools(other, "mail_send_email")
    assert len(found.tools) == 1
    assert "elsewhere" in found.tools[0].line
    assert [server.name for server in await stocked.list_servers(other)] == ["git"]
    assert (await stocked.describe_tools(caller, "git_git_log")).tools[0].tool == CATALOGUE[0]


async def test_another_process_sees_a_change_within_the_fresh_seconds(
    services: Services, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two services on one database; a log row tells the second one that its snapshot is outdated."""
    other = ToolService(services.database, services.index, services.upstreams, services.secrets, services.settings)
    await services.tools.import_tools(caller, CATALOGUE)
    assert len(await other.list_tools(caller)) == len(CATALOGUE)
    await services.tools.set_tool(caller, "git_git_log", enabled=False)

    found = await other.find_tools(caller, queries=["show commit history"])
    await other.settle()

    assert "git_git_log" not in [tool.name for tool in found.tools]
    with pytest.raises(NotFound):
        await other.describe_tools(caller, "git_git_log")


async def test_a_live_server_is_listed_described_and_resolved(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """From the configuration to what a call needs."""
    server = ListedServer.at(tmp_path, "box", listed("open_box", "Open a box."), listed("close_box", "Close a box."))
    await tools.add_server(caller, server.config)

    done = await tools.refresh(caller)
    resolved = await tools.resolve(caller, "box_open_box")

    info = (await tools.list_servers(caller))[0]
    assert done.embedded + done.kept == 2
    assert (info.state, info.tools, info.error) == ("ready", 2, "")
    assert info.description == "Keeps a list. More words."
    assert resolved.config.connection == server.config.connection
    assert resolved.config.tenant == caller.tenant.id
    assert not resolved.read_only
    assert resolved.tool == Tool(
        "box", "open_box", description="Open a box.", input_schema={"type": "object", "properties": {}}
    )


async def test_tools_go_only_by_a_good_listing(tools: ToolService, caller: Caller, tmp_path: Path) -> None:
    """An empty or failed listing keeps the last good list, marked stale; a good one removes."""
    server = ListedServer.at(tmp_path, "box", listed("open_box"), listed("close_box"))
    await tools.add_server(caller, server.config)
    await tools.refresh(caller)

    server.lists()
    empty = await tools.refresh(caller, "box")
    after_empty = (await tools.list_servers(caller))[0]
    server.breaks()
    failed = await tools.refresh(caller, "box")
    after_failure = (await tools.list_servers(caller))[0]
    server.lists(listed("open_box"))
    good = await tools.refresh(caller, "box")
    after_good = (await tools.list_servers(caller))[0]

    assert "listed no tools" in empty.failures["box"]
    assert (after_empty.state, after_empty.tools) == ("stale", 2)
    assert "box" in failed.failures
    assert (after_failure.state, after_failure.tools) == ("stale", 2)
    assert (good.removed, good.failures) == (1, {})
    assert (after_good.state, after_good.tools, after_good.error) == ("ready", 1, "")


async def test_a_changed_tool_is_embedded_anew_and_keeps_its_switches(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """Only changes are embedded; a user's switches stay."""
    server = ListedServer.at(tmp_path, "box", listed("open_box"), listed("close_box"))
    await tools.add_server(caller, server.config, auto_approve=True)
    await tools.refresh(caller)
    await tools.set_tool(caller, "box_open_box", core=True)

    server.lists(listed("open_box", "Unlocks a crate with a crowbar."), listed("close_box"))
    done = await tools.refresh(caller)

    assert (done.embedded, done.kept) == (1, 1)
    assert (await tools.core_tools(caller))[0].tool.description == "Unlocks a crate with a crowbar."


async def test_one_tool_is_refreshed_alone(tools: ToolService, caller: Caller, tmp_path: Path) -> None:
    """Its neighbours are not changed; if a good listing lacks it, it is removed."""
    server = ListedServer.at(tmp_path, "box", listed("open_box"), listed("close_box"))
    await tools.add_server(caller, server.config, auto_approve=True)
    await tools.refresh(caller)

    server.lists(listed("open_box", "New words."), listed("close_box", "Newer words."))
    await tools.refresh(caller, tool="box_open_box")
    described = await tools.describe_tools(caller, ["box_open_box", "box_close_box"])
    server.lists(listed("close_box"))
    gone = await tools.refresh(caller, tool="box_open_box")

    with pytest.raises(NotFound, match="box_close_box"):
        await tools.refresh(caller, tool="box_close_bax")
    assert [item.tool.description for item in described.tools] == ["New words.", "Does close_box."]
    assert gone.removed == 1
    assert [item.name for item in await tools.list_tools(caller)] == ["box_close_box"]


async def test_servers_are_listed_side_by_side_and_a_broken_one_harms_none(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """Each is indexed when its listing arrives; progress adds up."""
    good = [ListedServer.at(tmp_path, f"box{number}", listed(f"open_{number}")) for number in range(3)]
    broken = ServerConfig("broken", "stdio", command=sys.executable, args=("-c", "raise SystemExit(3)"))
    for config in (*(server.config for server in good), broken):
        await tools.add_server(caller, config)
    seen: list[tuple[int, int]] = []

    done = await tools.refresh(caller, progress=lambda now, total: seen.append((now, total)))

    states = {server.name: server.state for server in await tools.list_servers(caller)}
    assert done.embedded + done.kept == 3
    assert set(done.failures) == {"broken"}
    assert states == {"box0": "ready", "box1": "ready", "box2": "ready", "broken": "failed"}
    assert seen[-1] == (3, 3)


async def test_a_disabled_server_is_absent_and_comes_back_without_embedding(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """Its tools stay in the catalogue; its refresh is refused while it is disabled."""
    server = ListedServer.at(tmp_path, "box", listed("open_box", "Open a box with a key."))
    await tools.add_server(caller, server.config)
    await tools.refresh(caller)

    off = await tools.set_server_enabled(caller, "box", False)
    hidden = await names(tools, caller, "open a box")
    with pytest.raises(InvalidInput, match="disabled"):
        await tools.refresh(caller, "box")
    await tools.add_server(caller, server.config)  # a restart with the same file
    still_off = (await tools.list_servers(caller))[0]
    await tools.set_server_enabled(caller, "box", True)

    assert (off.enabled, off.tools, hidden) == (False, 1, [])
    assert not still_off.enabled
    assert await names(tools, caller, "open a box") == ["box_open_box"]
    assert (await tools.refresh(caller)).embedded == 0


async def test_a_removed_server_takes_its_tools_along(tools: ToolService, caller: Caller, tmp_path: Path) -> None:
    """Names, index and session."""
    server = ListedServer.at(tmp_path, "box", listed("open_box"))
    await tools.add_server(caller, server.config)
    await tools.refresh(caller)

    await tools.remove_server(caller, "box")

    with pytest.raises(NotFound, match="no server 'box'"):
        await tools.remove_server(caller, "box")
    assert await tools.list_servers(caller) == ()
    assert await names(tools, caller, "open box") == []


async def test_adding_again_is_harmless_and_a_taken_name_is_refused(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """The same configuration changes nothing; another one needs `replace`."""
    first = ListedServer.at(tmp_path, "box", listed("open_box")).config
    other = ListedServer.at(tmp_path, "crate", listed("open_crate")).config
    await tools.add_server(caller, first)

    await tools.add_server(caller, first)
    with pytest.raises(Conflict, match="already a server 'box'"):
        await tools.add_server(caller, replace(other, name="box"))
    replaced = await tools.add_server(caller, replace(other, name="box"), replace=True)
    await tools.add_server(caller, replace(other, name="box", enabled=False), replace=True)
    with pytest.raises(InvalidInput, match="cannot be a server's name"):
        await tools.add_server(caller, replace(first, name="my box"))
    with pytest.raises(Conflict, match="live server 'box'"):
        await tools.import_tools(caller, [known("box", "x")])

    assert "crate.json" in replaced.target
    assert [server.enabled for server in await tools.list_servers(caller)] == [False]


async def test_secrets_are_stored_sealed_and_never_shown(
    tools: ToolService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Environment, headers, and arguments that contain one; the server itself gets them in clear."""
    server = ListedServer.at(tmp_path, "box", listed("open_box"), env={"BOX_TOKEN": SECRET})
    config = replace(server.config, args=(*server.config.args, "--api-key", SECRET))
    await tools.add_server(caller, config)
    await tools.refresh(caller)

    async with services.database.transaction(caller.tenant) as connection:
        stored = await connection.exec_driver_sql("select config::text, encode(sealed, 'escape') from server")
        row = str(stored.one())
    resolved = (await tools.resolve(caller, "box_open_box")).config

    assert SECRET not in row
    assert SECRET not in repr(await tools.list_servers(caller))
    assert resolved.env["BOX_TOKEN"] == SECRET
    assert resolved.args[-1] == SECRET


async def test_many_at_once_agree(tools: ToolService, caller: Caller, tmp_path: Path) -> None:
    """Concurrent refreshes, searches and switches keep catalogue and index in step."""
    server = ListedServer.at(tmp_path, "box", *(listed(f"open_box_{number}") for number in range(12)))
    await tools.add_server(caller, server.config)
    await tools.refresh(caller)

    await asyncio.gather(
        *(tools.refresh(caller) for _ in range(3)),
        *(tools.find_tools(caller, queries=[f"open box {number}"]) for number in range(6)),
        *(tools.set_tool(caller, f"box_open_box_{number}", enabled=number % 2 == 0) for number in range(12)),
    )
    await tools.refresh(caller)
    found = await tools.find_tools(caller, queries=["open box"], limit=10, threshold=0)

    assert found.total_searched == 6
    assert {int(tool.name.rsplit("_", 1)[1]) % 2 for tool in found.tools} == {0}


async def test_a_server_whose_key_is_gone_can_be_added_again(services: Services) -> None:
    """The error of a sealed value says so."""
    server = ServerConfig("mail", "stdio", command="mail-server", env={"TOKEN": SECRET})
    await services.tools.add_server(services.caller, server)
    box = SecretBox(Fernet.generate_key())
    tools = ToolService(services.database, services.index, services.upstreams, box, services.settings)

    added = await tools.add_server(services.caller, server, replace=True)

    assert added.name == "mail"
    async with services.database.transaction(services.caller.tenant) as connection:
        sealed = (await connection.exec_driver_sql("select sealed from server")).scalar_one()
    assert SECRET in box.open(sealed)
