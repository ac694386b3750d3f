"""Sessions with PostgreSQL, on the server that comes with Thresher."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator

import psycopg
import pytest
from sqlalchemy import make_url

from tests.connectors.contract import SECRET, TABLES, TAG, ConnectorContract, Subject, ask, connector_of, leave_behind
from tests.support import Databases
from thresher.connectors import Caps, Health, open_connector
from thresher.connectors.postgresql import PostgresSession
from thresher.core import QueryFailed, QueryTimeout, StatementRefused

WRITES = (
    "delete from order_line",
    "insert into customer values (9, 'x', 'x')",
    "update orders set total = 0",
    "create table t (id int)",
    "drop view big_order",
    "truncate order_line",
    "with gone as (delete from order_line returning *) select * from gone",
    "select * into t from customer",
    "select nextval('counter')",
    "commit",
    "set session characteristics as transaction read write",
    "copy customer to '/tmp/thresher-copy'",
    "do $$ begin delete from order_line; end $$",
    "lock table customer",
    "call wipe()",
    "select wiped()",
)

_ASKS = """
import asyncio, sys
from thresher.connectors import Caps, SessionTag, open_connector
asyncio.run(open_connector(sys.argv[1]).run("select pg_sleep(62)", SessionTag("", "", 1), Caps(seconds=60)))
"""


@pytest.fixture(scope="module")
async def subject(databases: Databases) -> AsyncIterator[Subject]:
    """A database with a role that may read, and one that owns it."""
    name = f"shop_{secrets.token_hex(4)}"
    await databases.admin(f"create database {name}")

    async def admin(*statements: str) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for statement in statements:
            rows = await databases.admin(statement, name)
        return rows

    await admin(
        f"create role {name} login password '{SECRET}'",
        *TABLES,
        "create sequence counter",
        "create procedure wipe() language sql as 'delete from order_line'",
        "create function wiped() returns int language sql as 'delete from order_line; select 1'",
        f"grant select on all tables in schema public to {name}",
        f"alter default privileges in schema public grant select on tables to {name}",
        "analyze",
    )
    address = make_url(databases.url(name)).set(drivername="postgresql", username=name, password=SECRET)
    url = address.render_as_string(hide_password=False)
    connector = open_connector(url)
    numbers = "select i from generate_series(1, 1000) i order by 1"
    yield Subject(url, connector, "select pg_sleep(60)", WRITES, admin, shows_sessions=True, numbers=numbers)
    await connector.close()
    await databases.drop(name)
    await databases.admin(f"drop role {name}")


class TestContract(ConnectorContract):
    """What every connector must do."""


async def test_a_role_that_may_write_is_reported(subject: Subject, databases: Databases) -> None:
    """Each right that could change something is named, and each reading one is not."""
    name = make_url(subject.url).username
    await subject.admin(
        f"grant insert on orders to {name}", f"grant create on schema public to {name}", f"alter role {name} createdb"
    )
    health: Health = await subject.connector.test()
    await subject.admin(
        f"revoke insert on orders from {name}",
        f"revoke create on schema public from {name}",
        f"alter role {name} nocreatedb",
    )

    assert health.writable == (
        "databases (CREATEDB)",
        "new objects in schema public",
        "rows of 1 table, public.orders",
    )


async def test_what_outlives_a_transaction_is_taken_away(subject: Subject) -> None:
    """Locks and settings of one question are gone before the next, in the same session."""
    async with connector_of(subject.url, sessions=1) as connector:
        session = (
            "select pg_backend_pid(), current_setting('work_mem'), count(*) from pg_locks where locktype = 'advisory'"
        )
        before = await connector.run(session, TAG, Caps())
        await connector.run("select pg_advisory_lock(5), set_config('work_mem', '77MB', false)", TAG, Caps())
        after = await connector.run(session, TAG, Caps())

    assert before.rows == after.rows
    assert before.rows[0][2] == 0


async def test_a_statement_that_does_not_heed_is_left_behind(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cancelling does nothing, the session is ended under its statement, and its place is free again."""
    assert (await leave_behind(subject, PostgresSession, monkeypatch)).rows == ((1,),)


async def test_a_statement_is_stopped_on_the_server(subject: Subject) -> None:
    """After a time-out nothing of it runs there any more."""
    with pytest.raises(QueryTimeout):
        await ask(subject, "select pg_sleep(61)", seconds=0.2)
    running = "select count(*) from pg_stat_activity where query = 'select pg_sleep(61)' and state = 'active'"
    async with asyncio.timeout(30):
        while await subject.admin(running) != [(0,)]:
            await asyncio.sleep(0.02)


async def test_a_process_that_is_killed_leaves_nothing_running(subject: Subject) -> None:
    """The server notices that its client is gone, and stops the statement."""
    running = "select count(*) from pg_stat_activity where state = 'active' and query = 'select pg_sleep(62)'"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _ASKS, subject.url)
    async with asyncio.timeout(30):
        while await subject.admin(running) != [(1,)]:
            await asyncio.sleep(0.05)
        process.kill()
        await process.wait()
        while await subject.admin(running) != [(0,)]:
            await asyncio.sleep(0.05)


async def test_a_lock_of_somebody_else_is_not_waited_for_long(subject: Subject, databases: Databases) -> None:
    """A table under `ACCESS EXCLUSIVE` gives an error within the lock's time, not the statement's."""
    url = databases.url(make_url(subject.url).database or "", "thresher_admin")
    async with await psycopg.AsyncConnection.connect(url) as other:
        await other.execute("lock table customer in access exclusive mode")
        async with connector_of(subject.url, lock_seconds=0.1) as connector:
            with pytest.raises(QueryTimeout, match="lock"):
                await asyncio.wait_for(connector.run("select * from customer", TAG, Caps(seconds=60)), 30)


async def test_what_a_planner_holds_too_dear_is_refused(subject: Subject) -> None:
    """A product of tables is refused before it runs, by cost and by rows."""
    product = "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b"
    async with connector_of(subject.url, most_cost=None) as connector:
        with pytest.raises(StatementRefused) as rows:
            await connector.run(product, TAG, Caps())
    async with connector_of(subject.url, most_cost=1e6, most_rows=None) as connector:
        with pytest.raises(StatementRefused) as cost:
            await connector.run(product, TAG, Caps())
        assert (await connector.run("select 1", TAG, Caps())).rows == ((1,),)

    assert (rows.value.rule, cost.value.rule) == ("cost", "cost")


async def test_a_session_that_died_is_replaced(subject: Subject) -> None:
    """A restart of the server causes no errors."""
    async with connector_of(subject.url) as connector:
        pid = (await connector.run("select pg_backend_pid()", TAG, Caps())).rows[0][0]
        await subject.admin(f"select pg_terminate_backend({pid}, 5000)")

        assert (await connector.run("select 1", TAG, Caps())).rows == ((1,),)


async def test_idle_sessions_are_closed(subject: Subject) -> None:
    """Unused sessions are not kept open."""
    async with connector_of(subject.url, idle_seconds=0.05) as connector:
        pid = (await connector.run("select pg_backend_pid()", TAG, Caps())).rows[0][0]
        async with asyncio.timeout(30):
            while (await subject.admin(f"select count(*) from pg_stat_activity where pid = {pid}")) != [(0,)]:
                await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("select 'infinity'::date", "infinity"),
        ("select '0044-03-15 BC'::date", "0044-03-15 BC"),
        ("select '2024-01-02 03:04:05+02'::timestamptz at time zone 'UTC'", "2024-01-02T01:04:05"),
        ("select '1 year 2 days 3 hours'::interval", "P1Y2DT3H"),
        ("select 12345678901234567890123.450::numeric", "12345678901234567890123.450"),
        ("select 9007199254740993::int8", "9007199254740993"),
        ("select 'NaN'::float8", "NaN"),
        ("select '{\"a\": 1e400}'::json", {"a": "1e400"}),
        ("select '[1,5)'::int4range", "[1,5)"),
        ("select array[[1,2],[3,null]]", [[1, 2], [3, None]]),
        ("select 'a'::\"char\"", "a"),
        ("select row(1, 'x')", "(1,x)"),
        ("select null::int", None),
        ("select '10.0.0.1/8'::inet", "10.0.0.1/8"),
    ],
)
async def test_values_that_python_would_lose_are_kept(subject: Subject, sql: str, value: object) -> None:
    """Values without a Python equivalent are shown in PostgreSQL's notation."""
    found = (await ask(subject, sql)).rows[0][0]

    assert found == value or (sql.startswith("select row") and found == ["1", "x"])


async def test_an_error_tells_its_place(subject: Subject) -> None:
    """The place counts in what was asked, not in what was sent around it."""
    with pytest.raises(QueryFailed, match=r"line 2, column 8"):
        await ask(subject, "select 1 +\n       nope from customer")


async def test_texts_are_read_as_the_guard_reads_them(subject: Subject) -> None:
    """A database that is set to read backslashes as escapes does not do so for us."""
    name = make_url(subject.url).database
    await subject.admin(f"alter database {name} set standard_conforming_strings = off")
    async with connector_of(subject.url) as connector:
        found = await connector.run(r"select 'a\'", TAG, Caps())
    await subject.admin(f"alter database {name} reset standard_conforming_strings")

    assert found.rows == (("a\\",),)


async def test_keeping_house_changes_no_stamp(subject: Subject) -> None:
    """ANALYZE and VACUUM do not change the schema; a comment, a key and a function do."""
    stamps = [await subject.connector.stamp()]
    for statement in (
        "analyze",
        "vacuum",
        "comment on column customer.name is 'who'",
        "alter table customer add constraint named unique (name)",
        "create function lower(int) returns int language sql as 'select 1'",
        "drop function lower(int)",
        "alter table customer drop constraint named",
    ):
        await subject.admin(statement)
        stamps.append(await subject.connector.stamp())

    assert stamps[0] == stamps[1] == stamps[2]
    assert len(set(stamps[2:6])) == 4


async def test_text_that_is_no_utf8_is_an_error_of_ours(subject: Subject) -> None:
    """Half of a surrogate pair reaches no server, and no driver's error comes back."""
    with pytest.raises(QueryFailed):
        await ask(subject, "select '\ud800'")
    with pytest.raises(QueryFailed):
        await ask(subject, "select '\0'")


async def test_only_readable_columns_are_shown(subject: Subject) -> None:
    """A table of which some columns may be read shows these; one without any is not there."""
    name = make_url(subject.url).username
    await subject.admin(
        "create table partly (id int, hidden text)",
        "create table secret (id int)",
        f"revoke all on partly, secret from {name}",
        f"grant select (id) on partly to {name}",
    )
    tables = {table.name: table for table in (await subject.connector.reflect()).tables}
    await subject.admin("drop table partly, secret")

    assert [column.name for column in tables["partly"].columns] == ["id"]
    assert "secret" not in tables


@pytest.fixture
async def payments(subject: Subject) -> AsyncIterator[str]:
    """Payments by month, as partitions of partitions and as children by inheritance, and a key to the former."""
    await subject.admin(
        "create table paid (id int, at date, amount int, primary key (id, at)) partition by range (at)",
        "create table paid_2026 partition of paid for values from ('2026-01-01') to ('2027-01-01')"
        " partition by range (at)",
        "create table paid_2026_01 partition of paid_2026 for values from ('2026-01-01') to ('2026-02-01')",
        "create table paid_rest partition of paid default",
        "create table refund (id int primary key, paid_id int, paid_at date,"
        " foreign key (paid_id, paid_at) references paid)",
        "insert into paid values (1, '2026-01-05', 2), (2, '2026-01-06', 2), (3, '2030-01-06', 2)",
        "create table fee (id int primary key, at date, amount int)",
        "create table fee_2026 (check (at >= '2026-01-01'), primary key (id)) inherits (fee)",
        "create table fee_refunded (reason text) inherits (fee)",
        "insert into fee_2026 values (1, '2026-01-05', 2)",
        "analyze paid, paid_2026_01, paid_rest, fee, fee_2026, fee_refunded",
    )
    yield str(make_url(subject.url).username)
    await subject.admin("drop table refund, paid, fee cascade")


@pytest.mark.usefixtures("payments")
async def test_partitions_and_children_fold_into_their_parent(subject: Subject) -> None:
    """A child with a column of its own stays; a key to a partitioned table is one key; rows are counted over all."""
    tables = {table.name: table for table in (await subject.connector.reflect()).tables}

    assert {name for name in tables if name.startswith(("paid", "fee"))} == {"paid", "fee", "fee_refunded"}
    assert [key.table for key in tables["refund"].foreign_keys] == ["paid"]
    assert (tables["paid"].rows, tables["fee"].rows) == (3, 1)


async def test_a_partition_stays_for_a_role_that_may_not_read_its_parent(subject: Subject, payments: str) -> None:
    """It is the only way to the rows; what lies beneath it folds into it."""
    await subject.admin(f"revoke all on paid from {payments}")
    names = {table.name for table in (await subject.connector.reflect()).tables}

    assert {name for name in names if name.startswith("paid")} == {"paid_2026", "paid_rest"}


@pytest.mark.usefixtures("payments")
async def test_a_key_to_a_part_is_a_key_to_its_table(subject: Subject) -> None:
    """No key leads to a table that is not shown; one to the child of a table leads to that table's rows."""
    await subject.admin(
        "create table reminder (id int primary key, fee_id int references fee_2026)",
        "create table receipt (id int primary key, paid_id int, paid_at date,"
        " foreign key (paid_id, paid_at) references paid_2026_01)",
    )
    tables = {table.name: table for table in (await subject.connector.reflect()).tables}
    await subject.admin("drop table reminder, receipt")

    assert [key.table for key in tables["reminder"].foreign_keys] == ["fee"]
    assert [key.table for key in tables["receipt"].foreign_keys] == ["paid"]
