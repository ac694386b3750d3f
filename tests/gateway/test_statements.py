"""SQL servers behind the gateway: guarded, noted, and given our addresses; a fake one and one from PyPI."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from fastmcp import Client

from tests.audit.conftest import attempt
from tests.gateway.talking import connect, served, text
from tests.support.product import opened
from tests.support.pypi import program
from thresher.audit import AuditEntry, AuditLog
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database, SecretBox
from thresher.upstream import GuardedSql, ServerConfig

FAKE = Path(__file__).parent.parent / "fakes" / "sql_server.py"
HOSTILE = (
    "drop table invoices",
    "SELECT 1; DELETE FROM invoices",
    "with gone as (delete from invoices returning *) select * from gone",
    "/* only reads */ update invoices set total = 0",
    "attach database '/tmp/other.db' as other",
    "select load_extension('x')",
    "select writefile('/tmp/x', 'y')",
    "pragma writable_schema = on",
    "vacuum into '/tmp/copy.db'",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with two invoices."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table invoices (id integer primary key, total real)")
        connection.execute("insert into invoices values (1, 9.5), (2, 12)")
    connection.close()
    return path


def invoices(file: Path) -> list[Any]:
    """What is in the file now."""
    connection = sqlite3.connect(file)
    rows = connection.execute("select * from invoices").fetchall()
    connection.close()
    return rows


async def add(services: Services, file: Path, sql: GuardedSql | None, **more: Any) -> None:
    """Put the fake server into the catalogue as `db`, and list it."""
    given: dict[str, Any] = {"env": {"DATABASE_URL": f"sqlite:///{file}"}, "sql": sql, **more}
    config = ServerConfig("db", "stdio", command=sys.executable, args=(str(FAKE),), **given)
    await services.tools.add_server(services.caller, config, replace=True, trusted=True)
    await services.tools.refresh(services.caller, "db")


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, services: Services, file: Path) -> AsyncIterator[Client[Any]]:
    """Clients of both eras, in front of a guarded server."""
    await add(services, file, GuardedSql("sqlite", ("sql",), ("query",)))
    async with Client(build_gateway(services), mode=request.param) as client:
        yield client


async def ask(client: Client[Any], tool: str, /, **arguments: Any) -> tuple[bool, str]:
    """Whether a tool call failed, and its text."""
    meta = "call_tool" if tool in ("db_query", "pypi_read_query") else "call_tool_write"
    result = await client.call_tool_mcp(meta, {"name": tool, "arguments": arguments})
    return bool(result.is_error), text(result)


async def noted(services: Services, **filters: Any) -> list[AuditEntry]:
    """The log, oldest first."""
    return [*reversed((await services.audit.entries(services.caller, **filters)).entries)]


async def eventually_noted(services: Services, fits: Callable[[AuditEntry], bool]) -> None:
    """Wait for a line in the log."""
    async with asyncio.timeout(20):
        while not any(fits(entry) for entry in await noted(services)):
            await asyncio.sleep(0.01)


async def test_a_statement_that_reads_is_noted_and_run(client: Client[Any], services: Services) -> None:
    """The decision before, the outcome after, with who asked and by which client."""
    failed, told = await ask(client, "db_query", sql="select count(*) from invoices")

    (entry,) = await noted(services)
    assert (failed, told) == (False, "[[[2]]]")
    assert (entry.attempt.connection, entry.attempt.dialect, entry.attempt.tool) == ("db", "sqlite", "query")
    assert (entry.attempt.sql, entry.attempt.allowed) == ("select count(*) from invoices", True)
    assert entry.attempt.client
    assert entry.attempt.actor == services.caller.tenant.name
    assert entry.ended is not None
    assert (entry.ended.outcome, entry.ended.error) == ("ok", "")
    assert entry.ended.ms > 0


async def test_what_may_change_something_never_reaches_the_server(
    client: Client[Any], services: Services, file: Path
) -> None:
    """Whichever of its tools is called; the caller reads the rule, the log has the verdict."""
    before = invoices(file)
    for sql in HOSTILE:
        for tool in ("db_query", "db_execute", "db_die"):
            failed, told = await ask(client, tool, sql=sql)
            assert failed, (tool, sql)
            assert "was not run" in told

    entries = await noted(services)
    assert invoices(file) == before
    assert {entry.attempt.allowed for entry in entries} == {False}
    assert {entry.ended for entry in entries} == {None}
    assert all(entry.attempt.rule for entry in entries)
    assert len(entries) == 3 * len(HOSTILE)


async def test_a_batch_runs_whole_or_not_at_all(client: Client[Any], services: Services, file: Path) -> None:
    """One bad statement stops those before it too, and their decisions say so."""
    good = await ask(client, "db_batch", batch=[{"sql": "select 1"}, {"sql": "select 2"}])
    bad = await ask(client, "db_batch", batch=[{"sql": "select 3"}, {"sql": "drop table invoices"}])

    outcomes = sorted((one.attempt.sql, one.ended.outcome if one.ended else None) for one in await noted(services))
    assert good == (False, "[[[1]], [[2]]]")
    assert bad[0]
    assert [outcome for outcome in outcomes if outcome[0] in ("select 1", "select 2")] == [
        ("select 1", "ok"),
        ("select 2", "ok"),
    ]
    assert ("drop table invoices", None) in outcomes
    assert set(outcomes) <= {
        ("select 1", "ok"), ("select 2", "ok"), ("select 3", "cancelled"), ("drop table invoices", None),
    }  # fmt: skip


async def test_a_call_has_a_hundred_statements_at_most(client: Client[Any], services: Services) -> None:
    """More are refused before any is read, and nothing is noted."""
    many = await ask(client, "db_batch", batch=[{"sql": "select 1"}] * 101)

    assert many[0]
    assert "One call has 101 statements; the most are 100." in many[1]
    assert await noted(services) == []


async def test_an_error_of_the_server_is_noted(client: Client[Any], services: Services) -> None:
    """Of its database, and of itself when it ends in mid-call."""
    wrong = await ask(client, "db_query", sql="select * from nowhere")
    died = await ask(client, "db_die", sql="select 1")

    first, second = await noted(services)
    assert (wrong[0], died[0]) == (True, True)
    assert first.ended is not None
    assert second.ended is not None
    assert (first.ended.outcome, second.ended.outcome) == ("error", "error")
    assert "no such table: nowhere" in first.ended.error
    assert second.ended.error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_goes_is_noted(services: Services, file: Path, mode: str) -> None:
    """Its statement was passed on; that it was given up is its outcome."""
    await add(services, file, GuardedSql("sqlite"))
    async with served(services) as url, connect(url, mode) as client:
        calling = asyncio.ensure_future(ask(client, "db_hang", sql="select 1"))
        await eventually_noted(services, lambda entry: entry.attempt.sql == "select 1")
        calling.cancel()
        await asyncio.wait([calling])

        await eventually_noted(services, lambda entry: entry.ended is not None)

    (entry,) = await noted(services)
    assert entry.ended is not None
    assert entry.ended.outcome == "cancelled"


async def test_a_call_that_takes_too_long_is_noted(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, file: Path
) -> None:
    """As a time-out."""
    impatient = settings.model_copy(update={"upstream_call_seconds": 1.0})
    async with opened(database, tenant, impatient, encoder) as services:
        await add(services, file, GuardedSql("sqlite"))
        async with Client(build_gateway(services)) as client:
            failed, _ = await ask(client, "db_hang", sql="select 1")

        (entry,) = await noted(services)

    assert failed
    assert entry.ended is not None
    assert (entry.ended.outcome, entry.ended.ms >= 900) == ("timeout", True)


async def test_a_named_tool_cannot_be_called_without_its_statement(client: Client[Any], services: Services) -> None:
    """And none with something that is no text; tools without SQL are not touched."""
    missing = await client.call_tool_mcp("call_tool", {"name": "db_query", "arguments": {"sql": None}})
    odd = await ask(client, "db_batch", batch=[{"sql": {"text": "drop table invoices"}}])
    where = await ask(client, "db_where")

    assert missing.is_error
    assert odd[0]
    assert "as a text" in odd[1]
    assert not where[0]
    assert await noted(services) == []


async def test_a_log_that_is_broken_lets_nothing_through(
    database: Database, services: Services, client: Client[Any], tenant: Tenant
) -> None:
    """No line, no statement."""
    await AuditLog(database, SecretBox(Fernet.generate_key())).decide(Caller(tenant), attempt())

    failed, told = await ask(client, "db_query", sql="select 1")

    assert failed
    assert "audit verify" in told


async def test_calls_at_once_are_each_noted(client: Client[Any], services: Services) -> None:
    """None waits for another, none is lost, and the chain is whole."""
    await asyncio.gather(*(ask(client, "db_query", sql=f"select {number}") for number in range(20)))

    entries = await noted(services)
    assert {entry.attempt.sql for entry in entries} == {f"select {number}" for number in range(20)}
    assert all(entry.ended is not None and entry.ended.outcome == "ok" for entry in entries)
    assert (await services.audit.verify(services.caller.tenant)).problems == ()


async def test_an_unmarked_server_is_not_touched(services: Services, file: Path) -> None:
    """Until its owner marks it; marking it anew takes effect with the next call."""
    await add(services, file, None)
    async with Client(build_gateway(services)) as client:
        await ask(client, "db_execute", sql="insert into invoices values (3, 1)")
        await add(services, file, GuardedSql("sqlite"))
        failed, _ = await ask(client, "db_execute", sql="insert into invoices values (4, 1)")

    assert failed
    assert [row[0] for row in invoices(file)] == [1, 2, 3]
    assert len(await noted(services)) == 1


async def test_a_connection_of_ours_is_handed_over_by_name(services: Services, file: Path) -> None:
    """At its start the server gets the address; the stored definition has the name, and its log no address."""
    await services.databases.add_connection(services.caller, "shop", f"sqlite:///{file}")
    await add(services, file, GuardedSql("sqlite"), env={"DATABASE_URL": "${connection:shop}"})
    async with Client(build_gateway(services)) as client:
        told = await ask(client, "db_query", sql="select sum(total) from invoices")
        where = await ask(client, "db_where")

    assert told == (False, "[[[21.5]]]")
    assert where == (False, f"sqlite:///{file}")
    assert services.upstreams.log("db") == ("connecting to ***",)


async def test_a_connection_that_is_not_there_is_named(services: Services, file: Path) -> None:
    """And the tenant's is not handed to a server of one user."""
    tenant = services.caller.tenant
    await services.databases.add_connection(services.caller, "shop", f"sqlite:///{file}")
    for caller, name in ((services.caller, "nowhere"), (Caller(tenant, "ada"), "shop")):
        config = ServerConfig(
            "db", "stdio", command=sys.executable, args=(str(FAKE),), env={"DATABASE_URL": f"${{connection:{name}}}"}
        )
        await services.tools.add_server(caller, config)
        refreshed = await services.tools.refresh(caller, "db")

        assert f"'{name}'" in refreshed.failures["db"]


async def test_a_guarded_server_stays_guarded(services: Services, file: Path) -> None:
    """However it is added again, until somebody says otherwise; the list of servers shows it."""
    await add(services, file, GuardedSql("sqlite", ("sql",)))
    await add(services, file, None, description="The same, from another client's file.")
    kept = await services.tools.list_servers(services.caller)
    await services.tools.set_server_sql(services.caller, "db", None)
    ended = await services.tools.list_servers(services.caller)
    async with Client(build_gateway(services)) as client:
        told = await ask(client, "db_query", sql="select 1")

    assert [server.sql for server in (*kept, *ended)] == ["sqlite", ""]
    assert not told[0]
    assert await noted(services) == []


async def test_a_server_from_pypi_is_guarded(services: Services, file: Path) -> None:
    """`mcp-server-sqlite`: reading works, its writing tools do not, and others of its tools go on."""
    command = program("mcp-server-sqlite", "mcp-server-sqlite==2025.4.25", "mcp==1.26.0")
    config = ServerConfig(
        "pypi", "stdio", command=command, args=("--db-path", str(file)), sql=GuardedSql("sqlite", ("query",))
    )
    await services.tools.add_server(services.caller, config, trusted=True)
    await services.tools.refresh(services.caller, "pypi")
    async with Client(build_gateway(services)) as client:
        call = client.call_tool_mcp
        read, write, sneak, create, tables = [
            await call("call_tool_write", {"name": f"pypi_{tool}", "arguments": arguments})
            for tool, arguments in (
                ("read_query", {"query": "SELECT total FROM invoices ORDER BY id"}),
                ("write_query", {"query": "DELETE FROM invoices"}),
                ("write_query", {"query": "WITH x AS (SELECT 1) DELETE FROM invoices"}),
                ("create_table", {"query": "CREATE TABLE mine (id int)"}),
                ("list_tables", {}),
            )
        ]

    assert text(read) == "[{'total': 9.5}, {'total': 12.0}]"
    assert (write.is_error, sneak.is_error, create.is_error) == (True, True, True)
    assert "invoices" in text(tables)
    assert len(invoices(file)) == 2
    assert [entry.attempt.allowed for entry in await noted(services)] == [True, False, False, False]
