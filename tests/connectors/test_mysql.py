"""Sessions with MariaDB, on a server made of Debian's packages; MySQL by what would be sent to it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.connectors.contract import SECRET, TABLES, TAG, ConnectorContract, Subject, ask, connector_of, leave_behind
from tests.support.mariadb import MariaServer
from tests.support.waiting import eventually
from thresher.connectors import Caps, open_connector
from thresher.connectors.addresses import read_address
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.mysql import MySQLEngine, MySQLSession, open_mysql, writable_rights
from thresher.core import InvalidInput, QueryFailed, QueryTimeout, StatementRefused
from thresher.sqlguard import judge

WRITES = (
    "delete from order_line",
    "insert into customer values (9, 'x', 'x')",
    "update orders set total = 0",
    "create table t (id int)",
    "drop view big_order",
    "truncate order_line",
    "select nextval(counter)",
    "load data local infile '/etc/hostname' into table customer",
    "call wipe()",
    "select wiped()",
    "optimize table customer",
    "grant all on *.* to current_user()",
)


@pytest.fixture(scope="module")
async def subject(mariadb: MariaServer) -> AsyncIterator[Subject]:
    """A database with a role that may read."""
    name = f"shop_{secrets.token_hex(4)}"
    await mariadb.admin(f"create database {name} character set utf8mb4")

    async def admin(*statements: str) -> list[tuple[object, ...]]:
        return await mariadb.admin(*statements, database=name)

    await admin(
        *TABLES,
        "create sequence counter",
        "create procedure wipe() delete from order_line",
        "create function wiped() returns int modifies sql data begin delete from order_line; return 1; end",
        f"create user {name}@'%' identified by '{SECRET}'",
        f"grant select on {name}.* to {name}",
    )
    url = mariadb.url(name, SECRET, name)
    connector = open_connector(url)
    numbers = "select seq from seq_1_to_1000 order by 1"
    yield Subject(url, connector, "select sleep(60)", WRITES, admin, shows_sessions=True, numbers=numbers)
    await connector.close()
    await mariadb.admin(f"drop database {name}", f"drop user {name}")


class TestContract(ConnectorContract):
    """What every connector must do."""


async def test_rights_that_could_write_are_reported(subject: Subject, mariadb: MariaServer) -> None:
    """Rights beyond reading are reported."""
    async with connector_of(mariadb.url()) as connector:
        health = await connector.test()

    assert health.writable == ("ALL PRIVILEGES on *.*",)


def test_grants_are_read_as_servers_write_them() -> None:
    """Columns in parentheses, roles, and harmless rights beside dangerous ones."""
    found = writable_rights(
        [
            "GRANT USAGE ON *.* TO `r`@`%` IDENTIFIED BY PASSWORD '*1'",
            "GRANT SELECT, SHOW VIEW ON `shop`.* TO `r`@`%`",
            "GRANT SELECT (`a`, `b`), UPDATE (`a`) ON `shop`.`t` TO `r`@`%`",
            "GRANT `reader`@`%` TO `r`@`%`",
            "GRANT FILE, PROCESS ON *.* TO `r`@`%`",
        ]
    )

    assert found == ("UPDATE on shop.t", "FILE on *.*")


async def test_nothing_of_a_session_is_left(subject: Subject) -> None:
    """Variables of one question are gone before the next; locks go as soon as the server has heard of the end."""
    await ask(subject, "select get_lock('thresher-test', 0), @left := 5")
    found = await ask(subject, "select @left")

    assert found.rows == ((None,),)

    async def unlocked() -> bool:
        return (await ask(subject, "select is_used_lock('thresher-test')")).rows == ((None,),)

    await eventually(unlocked)


async def test_a_statement_that_does_not_heed_is_left_behind(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cancelling does nothing, the session is ended under its statement, and its place is free again."""
    assert (await leave_behind(subject, MySQLSession, monkeypatch)).rows == ((1,),)


async def test_a_statement_is_stopped_on_the_server(subject: Subject) -> None:
    """After a time-out, and after a page that was enough, nothing of it runs there any more."""
    with pytest.raises(QueryTimeout):
        await ask(subject, "select sleep(61)", seconds=0.2)
    await ask(subject, "select repeat('x', 9000), sleep(0.001) from seq_1_to_100000", rows=3)
    running = (
        "select count(*) from information_schema.processlist where id <> connection_id() "
        "and (info like '%sleep(61)%' or info like '%seq_1_to_100000%')"
    )
    async with asyncio.timeout(30):
        while await subject.admin(running) != [(0,)]:
            await asyncio.sleep(0.02)


async def test_what_looks_at_too_many_rows_is_refused(subject: Subject) -> None:
    """The server's own bound on joins is set, and its refusal is the guard's rule `cost`."""
    async with connector_of(subject.url, most_rows=1000) as connector:
        with pytest.raises(StatementRefused) as caught:
            await connector.run("select count(*) from seq_1_to_1000 a, seq_1_to_1000 b", TAG, Caps())

    assert caught.value.rule == "cost"


async def test_sequences_are_known_to_the_guard(subject: Subject) -> None:
    """They are read like tables, and named as such in no list of functions."""
    await subject.admin("create sequence customer_seq")
    async with connector_of(subject.url) as connector:
        knowledge = await connector.knowledge()

    assert "customer_seq" in knowledge.sequences
    assert judge("SELECT * FROM customer_seq", "mariadb", knowledge).rule == "relation"
    assert judge("SELECT * FROM customer", "mariadb", knowledge).allowed


async def test_texts_are_read_as_the_guard_reads_them(subject: Subject, mariadb: MariaServer) -> None:
    """A server that is set to other quotes and escapes does not read so for us."""
    await mariadb.admin("set global sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'")
    found = await ask(subject, """select "a", 'b\\'', 0 || 1""")
    await mariadb.admin("set global sql_mode = default")

    assert found.rows == (("a", "b'", 1),)


async def test_no_file_of_this_machine_is_handed_over(subject: Subject, tmp_path: Path) -> None:
    """A server that asks for a file in the middle of an answer gets none."""
    file = tmp_path / "private"
    file.write_text("secret")

    with pytest.raises(QueryFailed):
        await ask(subject, f"load data local infile '{file}' into table customer")


async def test_another_engine_at_the_address_is_named(subject: Subject) -> None:
    """MariaDB reads some texts otherwise than MySQL: the address must say which it is."""
    async with connector_of(subject.url.replace("mariadb://", "mysql://")) as connector:
        health = await connector.test()

    assert (health.ok, "mariadb://" in health.problem) == (False, True)


def test_an_address_needs_a_user() -> None:
    """The account that runs this process is never used to sign in."""
    with pytest.raises(InvalidInput, match="user"):
        open_connector("mysql://db.example.org/shop")


def test_files_for_tls_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """The driver's own error does not name the file."""
    address = read_address(f"mysql://u:p@h/d?ssl_ca={tmp_path}/gone.pem")

    with pytest.raises(InvalidInput, match="TLS"):
        MySQLEngine(address, ConnectorOptions()).connection(1.0)


def test_mysql_is_told_its_own_time_limit() -> None:
    """MySQL knows `max_execution_time` in milliseconds where MariaDB has `max_statement_time` in seconds."""
    engine = open_mysql(read_address("mysql://u:p@h/d"), ConnectorOptions(most_rows=None))
    session = engine.open()
    assert isinstance(session, MySQLSession)
    statements = list(session.beginning(seconds=1.5))

    assert statements[0] == "set session transaction read only"
    assert "max_execution_time = 1500" in statements[1]
    assert "sql_mode = 'STRICT_TRANS_TABLES" in statements[1]
    assert statements[2] == "start transaction read only"


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("select cast('0000-00-00' as date)", "0000-00-00"),
        ("select timestamp '2024-01-02 03:04:05.250000'", "2024-01-02T03:04:05.250000"),
        ("select cast('-25:10:00' as time)", "-25:10:00"),
        ("select 18446744073709551615", "18446744073709551615"),
        ("select 1.50", "1.50"),
        ("select b'101'", {"bytes": 1, "sha256": "e77b9a9ae9e30b0dbdb6f510a264ef9de781501d7b6b92ae89eb059c5ab743db"}),
        ("select x'00ff'", {"bytes": 2, "sha256": "06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8"}),
        ("select year(20240102)", 2024),
    ],
)
async def test_values_that_python_would_lose_are_kept(subject: Subject, sql: str, value: object) -> None:
    """Values without a Python equivalent are shown in MariaDB's notation."""
    assert (await ask(subject, sql)).rows[0][0] == value


@pytest.mark.parametrize(
    ("written", "family"),
    [("tinyint(1)", "boolean"), ("enum('a','b')", "text"), ("double", "float"), ("bigint unsigned", "integer")],
)
async def test_types_have_families(subject: Subject, written: str, family: str) -> None:
    """Types are classified by the values that they hold."""
    await subject.admin("drop table if exists typed", f"create table typed (a {written} comment 'what it is')")
    tables = {table.name: table for table in (await subject.connector.reflect()).tables}
    await subject.admin("drop table typed")

    assert (tables["typed"].columns[0].family, tables["typed"].columns[0].comment) == (family, "what it is")
