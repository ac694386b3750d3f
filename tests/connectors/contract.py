"""What every connector must do for any engine: the same tests, with a database of the same few tables.

A module of tests subclasses `ConnectorContract` and gives the fixture `subject`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest

from tests.support import eventually
from thresher.connectors import Caps, Connector, ConnectorOptions, ForeignKey, Rows, SessionTag, open_connector, pool
from thresher.core import DatabaseUnavailable, QueryFailed, QueryTimeout, ThresherError

TAG = SessionTag(client="desk 'top'; --", thread="chat/7", audit_id=4711)
SECRET = "correct-horse"
"""The password of every role: no message may hold it."""

TABLES = (
    "create table customer (id integer not null primary key, name varchar(40) not null, email varchar(60) unique)",
    "create table orders (id integer not null primary key, customer_id integer not null, total decimal(10,2), "
    "placed date default null, foreign key (customer_id) references customer (id))",
    "create table order_line (order_id integer not null, line_no integer not null, sku varchar(20), "
    "primary key (order_id, line_no), foreign key (order_id) references orders (id))",
    "create table line_note (id integer not null primary key, order_id integer, line_no integer, body varchar(200), "
    "foreign key (order_id, line_no) references order_line (order_id, line_no))",
    "create view big_order as select id, total from orders where total > 100",
    "insert into customer values (1, 'Ada', 'ada@example.org'), (2, 'Böb', null), (3, 'Cy', 'cy@example.org')",
    "insert into orders values (10, 1, 5.50, '2024-02-29'), (11, 1, 250.00, null), (12, 3, 99999999.99, '2025-01-01')",
    "insert into order_line values (10, 1, 'a'), (10, 2, 'b'), (11, 1, 'c')",
)


@dataclass(frozen=True)
class Subject:
    """An engine under test.

    Attributes:
        url: Of the database for a role that may only read, password `SECRET` where there are roles.
        connector: Over it.
        slow: A statement that takes far more than ten seconds, and little memory.
        writes: Statements that must not change anything.
        admin: Runs statements that do change it, past the connector.
        shows_sessions: Whether the server has a view of its sessions that shows the tag.
        numbers: A query of the numbers 1 to 1,000, in order.
    """

    url: str
    connector: Connector
    slow: str
    writes: Sequence[str]
    admin: Callable[..., Awaitable[Any]]
    shows_sessions: bool
    numbers: str


async def ask(subject: Subject, sql: str, **caps: Any) -> Rows:
    """The rows of a statement."""
    return await subject.connector.run(sql, TAG, replace(Caps(), **caps))


@asynccontextmanager
async def connector_of(url: str, **options: Any):
    """A connector of this test's own."""
    connector = open_connector(url, options=ConnectorOptions(**options))
    try:
        yield connector
    finally:
        await connector.close()


async def begun(connector: Any, subject: Subject) -> asyncio.Task[Rows]:
    """The slow statement, once a session has it and it has had a moment to reach the server."""
    asking = asyncio.create_task(connector.run(subject.slow, TAG, Caps(seconds=60)))
    await eventually(lambda: connector._busy)  # pyright: ignore[reportPrivateUsage] - nothing else shows it
    await asyncio.wait((asking,), timeout=0.2)
    assert not asking.done()
    return asking


async def leave_behind(subject: Subject, session: type, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """Cancel a caller whose statement does not heed that; returns what the only session answers next.

    For engines whose sessions can be ended by another thread while they are busy.
    """
    monkeypatch.setattr(pool, "_STOPPING", 0.1)
    monkeypatch.setattr(session, "cancel", lambda _: None)
    async with connector_of(subject.url, sessions=1) as connector:
        await connector.run("select 1", TAG, Caps())
        asking = await begun(connector, subject)
        asking.cancel()
        await asyncio.wait((asking,))
        return await asyncio.wait_for(connector.run("select 1", TAG, Caps()), 30)


class ConnectorContract:
    """The tests."""

    async def test_values_are_exact_json(self, subject: Subject) -> None:
        """Numbers keep their digits, dates are ISO, text its letters, and NULL is null."""
        answer = await ask(
            subject,
            "select o.id, c.name, total, placed, email from orders o "
            "join customer c on c.id = o.customer_id order by 1",
        )

        assert [column.name for column in answer.columns] == ["id", "name", "total", "placed", "email"]
        assert answer.rows[0][0] == 10
        assert [Decimal(str(row[2])) for row in answer.rows] == [Decimal("5.5"), 250, Decimal("99999999.99")]
        assert [row[3] for row in answer.rows] == ["2024-02-29", None, "2025-01-01"]
        assert (answer.truncated, answer.more, answer.ms > 0) == ("", False, True)
        assert (await ask(subject, "select name from customer where id = 2")).rows == (("Böb",),)

    async def test_an_empty_answer_has_columns(self, subject: Subject) -> None:
        """An empty result is not an error."""
        answer = await ask(subject, "select id, name from customer where id = 999")

        assert ([column.name for column in answer.columns], answer.rows, answer.more) == (["id", "name"], (), False)

    async def test_pages_together_are_the_whole_answer(self, subject: Subject) -> None:
        """`skip` goes on where the last page ended, and only the last one has no more."""
        pages = [await ask(subject, subject.numbers, rows=400, skip=skip) for skip in (0, 400, 800)]

        assert [row[0] for page in pages for row in page.rows] == list(range(1, 1001))
        assert [(page.more, page.truncated) for page in pages] == [(True, "rows"), (True, "rows"), (False, "")]

    async def test_bytes_and_cells_are_capped(self, subject: Subject) -> None:
        """A small answer stays small whatever the rows hold."""
        short = await ask(subject, subject.numbers, bytes=100)
        clipped = await ask(subject, "select 'abcdefghijklmnopqrstuvwxyz'", cell=5)

        assert (short.truncated, short.more, 0 < len(short.rows) < 30) == ("bytes", True, True)
        assert clipped.clipped == 1
        assert clipped.rows[0][0].startswith("abcde")

    async def test_nothing_can_be_changed(self, subject: Subject) -> None:
        """Every write fails or leaves no trace, and the session goes on."""
        before = await self._everything(subject)
        failures = [await self._failure(subject, sql) for sql in subject.writes]

        assert all(failures), dict(zip(subject.writes, failures, strict=True))
        assert await self._everything(subject) == before

    async def test_a_second_statement_never_runs(self, subject: Subject) -> None:
        """One text is one statement."""
        assert await self._failure(subject, "select 1; delete from order_line")
        assert await self._failure(subject, "select 1; commit; delete from order_line")
        assert (await ask(subject, "select count(*) from order_line")).rows == ((3,),)

    async def test_a_statement_that_takes_too_long_is_cancelled(self, subject: Subject) -> None:
        """The time-out ends it, and the next question has an answer at once."""
        async with asyncio.timeout(30):
            with pytest.raises(QueryTimeout):
                await ask(subject, subject.slow, seconds=0.3)

            assert (await ask(subject, "select 1")).rows == ((1,),)

    async def test_a_caller_that_goes_takes_its_statement_along(self, subject: Subject) -> None:
        """Cancelling the caller stops the statement; the only session is free again."""
        async with connector_of(subject.url, sessions=1) as connector:
            await connector.run("select 1", TAG, Caps())
            asking = await begun(connector, subject)
            asking.cancel()
            async with asyncio.timeout(30):  # half of what the statement may take
                with pytest.raises(asyncio.CancelledError):
                    await asking

                assert (await connector.run("select 1", TAG, Caps())).rows == ((1,),)

    async def test_closing_stops_what_runs(self, subject: Subject) -> None:
        """No caller waits for a statement after the connector was closed, and closing again has no effect."""
        async with connector_of(subject.url) as connector:
            await connector.run("select 1", TAG, Caps())
            asking = await begun(connector, subject)
            await asyncio.wait_for(connector.close(), 30)
            await connector.close()

            with pytest.raises(ThresherError):
                await asyncio.wait_for(asking, 30)
            with pytest.raises(DatabaseUnavailable):
                await connector.run("select 1", TAG, Caps())

    async def test_an_error_is_the_databases_own_words(self, subject: Subject) -> None:
        """A wrong name is named; nothing of the address or the driver is."""
        with pytest.raises(QueryFailed) as caught:
            await ask(subject, "select nonsense_x from customer")
        with pytest.raises(QueryFailed) as broken:
            await ask(subject, "selec 1")

        assert "nonsense_x" in str(caught.value)
        for text in (str(caught.value), str(broken.value)):
            assert SECRET not in text
            assert "Traceback" not in text
            assert "127.0.0.1" not in text

    async def test_many_ask_at_once(self, subject: Subject) -> None:
        """More questions than sessions wait for one another, and each gets its own answer."""
        async with connector_of(subject.url, sessions=2) as connector:
            answers = await asyncio.gather(*(connector.run(f"select {number}", TAG, Caps()) for number in range(12)))

        assert [answer.rows[0][0] for answer in answers] == list(range(12))

    async def test_who_finds_no_session_is_told(self, subject: Subject) -> None:
        """A request does not wait forever for another."""
        async with connector_of(subject.url, sessions=1, connect_seconds=2) as connector:
            asking = await begun(connector, subject)
            with pytest.raises(DatabaseUnavailable, match="busy"):
                await connector.run("select 1", TAG, Caps())
            asking.cancel()
            await asyncio.wait((asking,))

    async def test_the_schema_is_read(self, subject: Subject) -> None:
        """Tables, views, columns, keys of several columns, and unique ones."""
        schema = await subject.connector.reflect()
        tables = {table.name: table for table in schema.tables}
        home = tables["orders"].schema

        assert set(tables) >= {"customer", "orders", "order_line", "line_note", "big_order"}
        assert tables["big_order"].kind == "view"
        assert [column.name for column in tables["customer"].columns] == ["id", "name", "email"]
        assert [column.family for column in tables["orders"].columns] == ["integer", "integer", "decimal", "date"]
        assert [column.nullable for column in tables["customer"].columns] == [False, False, True]
        assert tables["order_line"].primary_key == ("order_id", "line_no")
        assert tables["customer"].unique == (("email",),)
        assert [replace(key, name="") for key in tables["line_note"].foreign_keys] == [
            ForeignKey("", ("order_id", "line_no"), home, "order_line", ("order_id", "line_no"))
        ]
        assert home == schema.default_schema
        assert (schema.dialect, schema.left_out) == (subject.connector.dialect, 0)

    async def test_a_large_schema_is_cut_and_says_so(self, subject: Subject) -> None:
        """Tables beyond the limit are counted."""
        schema = await subject.connector.reflect(2)

        assert len(schema.tables) == 2
        assert schema.left_out >= 3

    async def test_the_stamp_changes_with_the_schema(self, subject: Subject) -> None:
        """Rows do not change it; a new column, a dropped table do."""
        stamps = [await subject.connector.stamp()]
        await subject.admin("insert into line_note values (1, 10, 1, 'x')")
        stamps.append(await subject.connector.stamp())
        for statement in (
            "create table extra (id integer)",
            "alter table extra add column more integer",
            "drop table extra",
        ):
            await subject.admin(statement)
            stamps.append(await subject.connector.stamp())

        assert stamps[0] == stamps[1]
        assert len({*stamps[1:4]}) == 3
        assert stamps[4] != stamps[3]

    async def test_samples_tell_what_columns_hold(self, subject: Subject) -> None:
        """Counts, nulls, extremes and values, for what was asked for."""
        schema = await subject.connector.reflect()
        home = schema.default_schema
        wanted = {(home, "customer", "email"), (home, "orders", "customer_id"), (home, "nowhere", "x")}
        profiles = await subject.connector.profiles(schema, wanted, 10)

        email, key = profiles.columns[home, "customer", "email"], profiles.columns[home, "orders", "customer_id"]
        assert (email.count, email.nulls, email.distinct) == (3, 1, 2)
        assert (key.values, key.complete) == (frozenset({"1", "3"}), True)
        assert len(profiles.columns) == 2

    async def test_a_plan_is_shown_without_running(self, subject: Subject) -> None:
        """The slow statement's plan comes at once."""
        plan = await subject.connector.explain(subject.slow, TAG, 5)

        assert plan.rows
        assert plan.columns

    async def test_a_test_tells_what_it_found(self, subject: Subject) -> None:
        """Version and time; a role that only reads can change nothing."""
        health = await subject.connector.test()

        assert (health.ok, health.problem, health.writable) == (True, "", ())
        assert health.version
        assert health.ms > 0

    async def test_the_guard_is_told_what_it_must_know(self, subject: Subject) -> None:
        """Asked twice, the same is said."""
        knowledge = await subject.connector.knowledge()

        assert knowledge == await subject.connector.knowledge()

    async def test_sessions_are_tagged(self, subject: Subject) -> None:
        """The server's own view shows client, thread and audit id, cleaned."""
        shown = str((await subject.connector.sessions(TAG)).rows)

        if subject.shows_sessions:
            assert "4711" in shown
            assert "desk_top" in shown
            assert "chat_7" in shown
            assert ";" not in shown

    async def test_the_address_is_shown_without_what_is_secret(self, subject: Subject) -> None:
        """Neither `location` nor any representation holds the password."""
        assert SECRET not in f"{subject.connector.location} {subject.connector!r} {vars(subject.connector)}"
        assert subject.connector.location.startswith(f"{subject.connector.dialect}://")

    async def _failure(self, subject: Subject, sql: str) -> str:
        try:
            await ask(subject, sql, seconds=5)
        except ThresherError as error:
            return type(error).__name__
        return ""

    async def _everything(self, subject: Subject) -> object:
        schema = await subject.connector.reflect()
        counts = [
            (await ask(subject, f"select * from {table} order by 1, 2")).rows
            for table in ("customer", "orders", "order_line")
        ]
        return replace(schema, stamp=""), counts
