"""The health of a catalogue: rules over definitions, and the search for each tool by its own words."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.product import CATALOGUE, ListedServer, known, listed
from tests.support.waiting import eventually
from thresher.core import Caller, NotFound, Tool
from thresher.knowledge.tools import Definition, ToolService, queries
from thresher.knowledge.tools.findability import (
    HealthFinding,
    Trial,
    findings_of_definition,
    findings_of_servers,
    findings_of_trials,
)
from thresher.services import Services


def defined(tool: Tool) -> Definition:
    """The tool under the name that clients see."""
    return Definition(f"{tool.server}_{tool.name}", tool)


def rules(description: str, **parameters: object) -> list[str]:
    """The rules that find something in a definition."""
    schema = {"type": "object", "properties": parameters}
    tool = Tool("files", "read_file", description=description, input_schema=schema)
    return [finding.rule for finding in findings_of_definition(defined(tool))]


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ("", ["no-description"]),
        ("File reader", ["short-description"]),
        ("A useful tool that handles your data", ["vague-description"]),
        ("The weather forecast of a city", ["no-verb"]),
        ("Read a text file from disk.", []),
        ("Denoises the picture of a camera.", []),
        ("Shows the commit logs", []),
        ("Liest eine Datei von der Platte und gibt ihren Text", []),
        ("读取磁盘上的文本文件", []),
    ],
)
def test_a_description_is_judged_by_its_words(description: str, found: list[str]) -> None:
    """One rule at most applies; other languages are not judged by English rules."""
    assert rules(description) == found


def test_parameters_need_more_words_than_their_names() -> None:
    """Listed values are words, too."""
    bare = rules("Read a text file.", path={"type": "string"}, mode={"description": "Mode"})
    clear = rules("Read a text file.", path={"description": "Where the file is"}, mode={"enum": ["text", "bytes"]})

    assert (bare, clear) == (["parameters-without-words"], [])


def test_tools_of_several_servers_that_share_a_name_or_a_description_are_named_once() -> None:
    """On one server, an alias with the same description is no finding."""
    tools = [
        known("a", "read", "Read a file."), known("b", "read", "Read a file."),
        known("b", "load", "Load a file."), known("c", "open", "Load a file."), known("c", "get", "Load a file."),
    ]  # fmt: skip
    found = [(one.rule, one.tool, one.about) for one in findings_of_servers([defined(tool) for tool in tools])]

    assert found == [("same-name", "a_read", ("b_read",)), ("same-description", "b_load", ("c_open", "c_get"))]


def test_trials_name_what_nobody_finds_and_its_rivals() -> None:
    """A tool that one query finds is only confused."""
    tool = defined(CATALOGUE[0])
    lost = list(findings_of_trials(tool, [Trial("log", False, "git_git_diff"), Trial("history", False)]))
    confused = list(findings_of_trials(tool, [Trial("log", True), Trial("history", False, "git_git_diff")]))

    assert [one.rule for one in lost] == ["not-found", "confused"]
    assert [(one.rule, one.about) for one in confused] == [("confused", ("git_git_diff",))]


async def test_a_healthy_catalogue_is_found_by_its_own_words(tools: ToolService, caller: Caller) -> None:
    """Every tool is searched for; progress is reported; nothing enters the figures of searches."""
    await tools.import_tools(caller, CATALOGUE)
    steps: list[tuple[int, int]] = []
    health = await tools.health.health(caller, progress=lambda done, total: steps.append((done, total)))
    await tools.settle()

    assert (health.tools, health.left_out, health.degraded) == (len(CATALOGUE), 0, "")
    assert health.queries >= 3 * len(CATALOGUE)
    assert (health.found or 0) > 0.9
    assert {one.rule for one in health.findings} <= {"confused", "parameters-without-words"}
    assert steps[-1] == (len(CATALOGUE), len(CATALOGUE))
    assert (await tools.stats(caller)).discoveries == 0


async def test_a_tool_whose_words_mislead_is_named(tools: ToolService, caller: Caller) -> None:
    """Beside its siblings, and with the rule that its description breaks; other servers are left out."""
    misleading = Tool("git", "xq7", description="A useful tool that handles your data")
    await tools.import_tools(caller, [*CATALOGUE, misleading])
    health = await tools.health.health(caller, "git")

    assert health.tools == 3
    assert {one.server for one in health.findings} == {"git"}
    assert ("vague-description", misleading.name) in {(one.rule, last(one)) for one in health.findings}


def last(finding: HealthFinding) -> str:
    """The server's own name for the tool of a finding."""
    return finding.tool.rpartition("_")[2]


async def test_what_is_known_is_not_measured_again(tools: ToolService, caller: Caller) -> None:
    """Until a definition changes, or somebody asks for it."""
    searched: list[tuple[int, int]] = []
    await tools.import_tools(caller, CATALOGUE)
    first = await tools.health.health(caller)
    second = await tools.health.health(caller, progress=lambda *counts: searched.append(counts))
    changed = replace(CATALOGUE[0], description="Show what changed in the working tree.")
    await tools.import_tools(caller, [changed, *CATALOGUE[1:]])
    third = await tools.health.health(caller, progress=lambda *counts: searched.append(counts))
    fourth = await tools.health.health(caller, again=True)

    assert second == first
    siblings = sum(tool.server == changed.server for tool in CATALOGUE)
    assert searched == [(number + 1, siblings) for number in range(siblings)]
    assert third.queries == first.queries
    assert min(filter(None, (fourth.measured_at, third.measured_at))) == third.measured_at
    assert fourth.measured_at != third.measured_at


async def test_a_server_that_was_listed_is_measured_in_the_background(
    tools: ToolService, caller: Caller, tmp_path: Path
) -> None:
    """So that its health is at hand when somebody asks; one that is gone by then ends nothing."""
    gone = ListedServer.at(tmp_path, "gone", listed("fetch_page", "Fetch a page."))
    kept = ListedServer.at(tmp_path, "kept", listed("read_file", "Read a text file."), listed("xq7", "A useful tool"))
    for server in (gone, kept):
        await tools.add_server(caller, server.config)
        await tools.refresh(caller, server.config.name)
    await tools.remove_server(caller, "gone")
    glance = await tools.health.glance(caller, ["kept"])

    background = asyncio.create_task(tools.health.run())
    await eventually(lambda: tools.health.known(caller, "kept"))
    background.cancel()
    searched: list[int] = []
    health = await tools.health.health(caller, "kept", lambda done, _: searched.append(done))

    assert glance["vague-description"] == 1
    assert (health.tools, searched) == (2, [])


async def test_an_unknown_server_is_refused(tools: ToolService, caller: Caller) -> None:
    """Before anything is searched."""
    with pytest.raises(NotFound, match="nowhere"):
        await tools.health.health(caller, "nowhere")


async def test_what_is_kept_of_a_shared_server_does_not_depend_on_who_asks(tools: ToolService, caller: Caller) -> None:
    """A user's own servers change names and compete in that user's searches alone, not in what others are told."""
    await tools.import_tools(caller, CATALOGUE)
    ann = Caller(caller.tenant, "ann")
    before = await tools.health.health(caller, "mail")
    await tools.import_tools(ann, [known("mail_send", "draft", "Draft an email to a person.")])
    assert "mail_send_email" not in {one.name for one in await tools.list_tools(ann)}

    asked = await tools.health.health(ann, "mail", again=True)
    after = await tools.health.health(caller, "mail")

    assert after.findings == before.findings
    assert after.measured_at == asked.measured_at
    assert (await tools.health.health(ann, "mail_send")).tools == 1


async def test_a_server_that_goes_while_its_health_is_written_leaves_none(services: Services, caller: Caller) -> None:
    """The write waits for the removal, and then has nothing to write for: nothing of the background fails."""
    database, tenant = services.database, caller.tenant
    await services.tools.import_tools(caller, CATALOGUE)
    row = queries.HealthRow(b"digest", dt.datetime.now(dt.UTC), {})

    async def write(number: int) -> None:
        async with database.transaction(tenant) as connection:
            await queries.write_health(connection, tenant, number, row)

    async def waits() -> bool:
        async with database.transaction(tenant) as connection:
            blocked = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            return bool((await connection.exec_driver_sql(blocked)).all())

    async with database.transaction(tenant) as connection:
        removed = await connection.exec_driver_sql("delete from server where name = 'mail' returning id")
        number = int(removed.scalar_one())
        writing = asyncio.create_task(write(number))
        await eventually(waits)
    await writing

    async with database.transaction(tenant) as connection:
        assert await queries.read_health(connection, tenant, number) is None
