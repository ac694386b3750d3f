"""What one tenant's tools service can reach of another's, even through queries without their condition."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from tests.support import without_tenant_conditions
from tests.support.isolation import fingerprint
from tests.support.product import CATALOGUE, ListedServer, known, listed, opened
from thresher.core import Caller, NotFound, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.tools import ToolService
from thresher.services import Services
from thresher.store import Database


async def seen(tools: ToolService, caller: Caller) -> list[Any]:
    """The answers of every reading verb, without times and ids that differ by run."""
    found = await tools.find_tools(caller, queries=["show commit history", "send an email"], threshold=0)
    return [
        [(tool.name, tool.score, tool.tool) for tool in found.tools],
        found.total_searched,
        found.tokens_all,
        [(server.name, server.tools, server.state) for server in await tools.list_servers(caller)],
        await tools.list_tools(caller),
        await tools.all_tools(caller),
        await tools.core_tools(caller),
        (await tools.describe_tools(caller, ["git_git_log"])).tools,
        await tools.overview(caller),
        await tools.texts.words(caller),
        await tools.texts.rewrites(caller),
    ]


async def test_without_its_conditions_every_verb_answers_the_same(
    services: Services, other_tenant: Tenant, settings: Settings, encoder: Encoder, tmp_path: Path
) -> None:
    """Reading and writing verbs, with `tenant_id = ...` removed from each statement; the other's rows stay."""
    caller, database = services.caller, services.database
    other = Caller(other_tenant)
    await services.tools.import_tools(other, [*CATALOGUE, known("git", "git_blame"), known("secret", "launch")])
    await services.tools.import_tools(caller, CATALOGUE)
    await services.tools.set_tool(caller, "time_convert_time", core=True)
    for one in (caller, other):
        await services.tools.texts.add_words(one, "git_git_log", ["what happened", one.tenant.name])
        await services.tools.texts.apply_rewrite(one, "git_git_diff")
    box = ListedServer.at(tmp_path, "box", listed("open_box"), listed("close_box"))
    before, digest = await seen(services.tools, caller), await fingerprint(database, other_tenant)

    async with (
        without_tenant_conditions(database) as rewritten,
        opened(database, caller.tenant, settings, encoder) as fresh,
    ):
        during = await seen(fresh.tools, caller)
        await fresh.tools.add_server(caller, box.config)
        await fresh.tools.refresh(caller)
        box.lists(listed("open_box"))
        await fresh.tools.refresh(caller, "box")
        await fresh.tools.set_tool(caller, "box_open_box", enabled=False)
        await fresh.tools.texts.add_words(caller, "git_git_log", ["who changed it"])
        await fresh.tools.texts.remove_words(caller, "git_git_log")
        await fresh.tools.texts.apply_rewrite(caller, "git_git_log")
        await fresh.tools.texts.remove_rewrite(caller, "git_git_diff")
        await fresh.tools.texts.purge(caller, dt.datetime.now(dt.UTC))
        await fresh.tools.set_server_enabled(caller, "box", False)
        await fresh.tools.remove_server(caller, "box")
        with pytest.raises(NotFound):
            await fresh.tools.describe_tools(caller, "secret_launch")

    assert during == before
    assert await fingerprint(database, other_tenant) == digest
    assert len(rewritten.statements) > 20


async def test_what_a_user_owns_is_hidden_from_the_tenants_other_users(services: Services, database: Database) -> None:
    """Rows with an owner belong to that user only; the others are shared."""
    tenant = services.caller.tenant
    await services.tools.import_tools(services.caller, CATALOGUE)
    async with database.transaction(tenant) as connection:
        await connection.exec_driver_sql("update server set owner = 'ann' where name = 'mail'")
        await connection.exec_driver_sql("update tool set owner = 'ann' where name = 'send_email'")
        await connection.exec_driver_sql("update collection set version = version + 1 where kind = 'catalogue'")

    fresh = ToolService(database, services.index, services.upstreams, services.secrets, services.settings)
    hers = {tool.name for tool in await fresh.list_tools(Caller(tenant, "ann"))}
    his = {tool.name for tool in await fresh.list_tools(Caller(tenant, "bob"))}

    assert hers - his == {"mail_send_email"}
    with pytest.raises(NotFound):
        await fresh.describe_tools(Caller(tenant, "bob"), "mail_send_email")
