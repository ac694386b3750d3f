"""The audit log: what is written, in which order, and who sees it."""

from __future__ import annotations

import asyncio
import datetime as dt
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from sqlalchemy.exc import DBAPIError

from tests.audit.conftest import KEY, attempt
from thresher.audit import AuditLog, StatementOutcome
from thresher.core import AuditBroken, Caller, InvalidInput, NotFound, StoreUnavailable, Tenant, traced
from thresher.store import Database, SecretBox

SOON = dt.timedelta(seconds=5)


async def test_a_decision_and_its_outcome_are_one_entry(log: AuditLog, caller: Caller) -> None:
    """Everything that was noted comes back, exactly, under the trace of its request."""
    with traced("0123456789abcdef"):
        decision = await log.decide(caller, attempt("select 'ü\U0001f600'"))
    await log.end(caller, decision, StatementOutcome("ok", 3, 1.5))

    found = await log.entries(caller)

    (entry,) = found.entries
    assert (entry.id, entry.attempt, entry.ended) == (
        1,
        attempt("select 'ü\U0001f600'"),
        StatementOutcome("ok", 3, 1.5),
    )
    assert entry.trace_id == "0123456789abcdef"
    assert abs(dt.datetime.now(dt.UTC) - entry.at) < SOON
    assert found.next == ""


async def test_many_at_once_get_a_place_each(log: AuditLog, caller: Caller) -> None:
    """Lines of one process go in together, each under its own number."""
    places = await asyncio.gather(*(log.decide(caller, attempt(f"select {n}")) for n in range(120)))

    found = await log.entries(caller, limit=500)

    assert sorted(places) == list(range(1, 121))
    assert {one.id: one.attempt.sql for one in found.entries} == {
        place: f"select {n}" for n, place in enumerate(places)
    }


async def test_several_processes_write_one_chain(database: Database, secrets: SecretBox, caller: Caller) -> None:
    """Replicas take turns; every line is there once and the chain is whole."""
    logs = [AuditLog(database, secrets) for _ in range(4)]

    async def work(log: AuditLog, name: int) -> None:
        for number in range(15):
            decision = await log.decide(caller, attempt(f"select {name}, {number}"))
            await log.end(caller, decision, StatementOutcome("ok", 1, 0.1))

    await asyncio.gather(*(work(log, name) for name, log in enumerate(logs)))

    found = await logs[0].verify(caller.tenant)
    statements = [one.attempt.sql for one in (await logs[0].entries(caller, limit=500)).entries]
    assert (found.links, found.entries, found.problems) == (120, 60, ())
    assert len(set(statements)) == 60


async def test_tenants_have_chains_of_their_own(log: AuditLog, tenant: Tenant, other_tenant: Tenant) -> None:
    """Each counts from one, and sees nothing of the other."""
    await log.decide(Caller(tenant), attempt("select mine"))
    place = await log.decide(Caller(other_tenant), attempt("select theirs"))

    found = await log.entries(Caller(other_tenant))

    assert place == 1
    assert [one.attempt.sql for one in found.entries] == ["select theirs"]


async def test_a_user_sees_his_own_lines_and_the_tenant_all(log: AuditLog, tenant: Tenant) -> None:
    """As with every log."""
    for user in ("ada", "bob", None):
        await log.decide(Caller(tenant, user), attempt(f"select '{user}'"))

    seen = {user: len((await log.entries(Caller(tenant, user))).entries) for user in ("ada", "bob", "eve", None)}

    assert seen == {"ada": 1, "bob": 1, "eve": 0, None: 3}


async def test_filters_narrow_what_is_seen(log: AuditLog, caller: Caller) -> None:
    """By connection, verdict, person, moment and part of the statement."""
    await log.decide(caller, attempt("select 1 from Orders"))
    await log.decide(caller, attempt("delete from orders", allowed=False))
    await log.decide(caller, attempt("select 100%_", connection="other"))
    await log.decide(caller, replace(attempt("select 4"), actor="bob"))
    later = dt.datetime.now(dt.UTC) + SOON

    async def found(**filters: object) -> list[int]:
        return [one.id for one in (await log.entries(caller, **filters)).entries]  # type: ignore[arg-type]

    assert await found(connection="other") == [3]
    assert await found(allowed=False) == [2]
    assert await found(actor="bob") == [4]
    assert await found(text="ORDERS") == [2, 1]
    assert await found(text="0%_") == [3]
    assert await found(text="%") == [3]
    assert await found(since=later) == []
    assert await found(since=(later - 2 * SOON).replace(tzinfo=None), allowed=False) == [2]
    assert await found(since=later - 2 * SOON, allowed=True) == [4, 3, 1]


async def test_pages_follow_one_another(log: AuditLog, caller: Caller) -> None:
    """Newest first, nothing twice, whatever is written meanwhile."""
    for number in range(5):
        await log.decide(caller, attempt(f"select {number}"))
    first = await log.entries(caller, limit=2)
    await log.decide(caller, attempt("select 5"))
    second = await log.entries(caller, limit=2, cursor=first.next)
    third = await log.entries(caller, limit=2, cursor=second.next)

    assert [[one.id for one in page.entries] for page in (first, second, third)] == [[5, 4], [3, 2], [1]]
    assert third.next == ""


@pytest.mark.parametrize(("limit", "cursor"), [(0, ""), (501, ""), (10, "x"), (10, "-1"), (10, "9" * 30), (10, "²")])
async def test_questions_out_of_bounds_are_refused(log: AuditLog, caller: Caller, limit: int, cursor: str) -> None:
    """With a hint what would do."""
    with pytest.raises(InvalidInput) as caught:
        await log.entries(caller, limit=limit, cursor=cursor)

    assert caught.value.hint


@pytest.mark.parametrize("expect", ["x", "1:", "0:abc", "1:" + "g" * 64, "1:" + "A" * 64])
async def test_what_is_expected_must_be_a_head(log: AuditLog, tenant: Tenant, expect: str) -> None:
    """A person may have cut it."""
    with pytest.raises(InvalidInput, match="position:hash"):
        await log.verify(tenant, expect=expect)


async def test_an_empty_log_is_sound(log: AuditLog, tenant: Tenant) -> None:
    """And its head can be expected."""
    found = await log.verify(tenant)

    assert (found.links, found.head, found.problems) == (0, "0:", ())
    assert (await log.verify(tenant, expect=found.head)).sound


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("", ""),
        ("select '\0'", "select '␀'"),
        ("select '\ud800'", "select '?'"),
        ("x" * 100_000, "x" * 100_000),
        ("é" * 100_001, "é" * 100_000 + "… (100001 characters, SHA-256 "),
        ('{"a": "\\u0000", "b": %(x)s}', '{"a": "\\u0000", "b": %(x)s}'),
    ],
    ids=["empty", "zero byte", "lone surrogate", "long", "too long", "escapes"],
)
async def test_any_text_can_be_noted(log: AuditLog, caller: Caller, sql: str, kept: str) -> None:
    """What the database cannot hold is shown; the chain stays sound."""
    await log.decide(caller, attempt(sql, allowed=False))

    (entry,) = (await log.entries(caller)).entries
    assert entry.attempt.sql.startswith(kept)
    assert len(entry.attempt.sql) == len(kept) or kept.endswith("SHA-256 ")
    assert (await log.verify(caller.tenant)).sound


async def test_an_error_is_noted_without_its_credentials(log: AuditLog, caller: Caller) -> None:
    """Whatever the database said, a password in it is masked, and it is cut."""
    decision = await log.decide(caller, attempt())
    await log.end(
        caller, decision, StatementOutcome("error", 0, 1.0, "cannot reach mysql://u:hunter2@h/d " + "x" * 9_000)
    )

    (entry,) = (await log.entries(caller)).entries

    assert entry.ended is not None
    assert "hunter2" not in entry.ended.error
    assert len(entry.ended.error) < 4_100


async def test_an_outcome_is_noted_though_its_caller_goes(log: AuditLog, caller: Caller) -> None:
    """The client has gone; the log still says how it ended."""
    decision = await log.decide(caller, attempt())
    ending = asyncio.create_task(log.end(caller, decision, StatementOutcome("cancelled", 0, 3.0)))
    await asyncio.sleep(0)

    ending.cancel()
    await log.settle()

    (entry,) = (await log.entries(caller)).entries
    assert entry.ended == StatementOutcome("cancelled", 0, 3.0)


async def test_a_lost_connection_leaves_no_line_twice(database: Database, log: AuditLog, caller: Caller) -> None:
    """A pooled connection that died is replaced, and a line that is sent again is known."""
    await log.decide(caller, attempt("select 1"))
    with pytest.raises(StoreUnavailable):
        await database.once(
            caller.tenant,
            lambda driver: driver.execute(
                "select pg_terminate_backend(pid, 2000) from pg_stat_activity"
                " where datname = current_database() and usename = current_user order by pid = pg_backend_pid()"
            ),
        )

    await log.decide(caller, attempt("select 2"))

    found = await log.verify(caller.tenant)
    assert (found.links, found.sound) == (2, True)


async def test_two_outcomes_are_told(log: AuditLog, caller: Caller) -> None:
    """And an outcome of nothing; neither is tampering. The first one counts."""
    decision = await log.decide(caller, attempt())
    await log.end(caller, decision, StatementOutcome("ok", 1, 1.0))
    await log.end(caller, decision, StatementOutcome("error", 0, 1.0))
    await log.end(caller, 99, StatementOutcome("ok", 1, 1.0))

    found = await log.verify(caller.tenant)

    assert [(one.kind, one.id, one.fatal) for one in found.problems] == [("outcome", 3, False), ("outcome", 4, False)]
    assert (await log.entries(caller)).entries[0].ended == StatementOutcome("ok", 1, 1.0)


@pytest.mark.parametrize(
    "statement",
    [
        "update audit_link set sql = ''",
        "delete from audit_link",
        "truncate audit_link",
        "truncate audit_link, audit_head",
        "delete from audit_head",
        "update audit_head set id = 0",
        "update audit_head set seal = ''",
        "alter table audit_link disable trigger all",
        "set session_replication_role = replica",
    ],
)
async def test_the_application_itself_cannot_take_anything_back(
    database: Database, log: AuditLog, caller: Caller, statement: str
) -> None:
    """Rights and triggers refuse it, before any hash has to tell."""
    await log.decide(caller, attempt())

    with pytest.raises(DBAPIError, match=r"permission denied|must be owner|only moves on"):
        async with database.transaction(caller.tenant) as connection:
            await connection.exec_driver_sql(statement)


async def test_pruning_leaves_a_chain_that_can_be_checked(log: AuditLog, caller: Caller) -> None:
    """Old links go, a signed one says which; entries and later checks begin behind them."""
    first = await log.decide(caller, attempt("select old"))
    await log.end(caller, first, StatementOutcome("ok", 1, 1.0))
    earlier = await log.verify(caller.tenant)
    running = await log.decide(caller, attempt("select running"))
    removed = await log.prune(caller.tenant, dt.datetime.now(dt.UTC))
    await log.end(caller, running, StatementOutcome("ok", 1, 1.0))

    found = await log.verify(caller.tenant)
    again = await log.prune(caller.tenant, dt.datetime.now(dt.UTC) - SOON)

    assert (removed, again) == (3, 0)
    assert (found.links, found.entries, found.sound) == (2, 0, True)
    assert [one.kind for one in found.problems] == ["pruned"]
    assert (await log.entries(caller)).entries == ()
    assert (await log.verify(caller.tenant, expect=earlier.head)).sound
    assert (await log.prune(caller.tenant, dt.datetime.now(dt.UTC)), (await log.verify(caller.tenant)).sound) == (
        2,
        True,
    )


async def test_a_tenant_that_is_dropped_takes_its_log_along(
    database: Database, log: AuditLog, secrets: SecretBox, tmp_path: Path
) -> None:
    """The triggers let it; when one of its name comes again, the note in the data folder tells."""
    tenant = await database.tenant("gone-and-come")
    await log.decide(Caller(tenant), attempt())
    await database.drop_tenant(tenant)
    again = await database.tenant("gone-and-come")

    found = await AuditLog(database, secrets, tmp_path).verify(again)
    unseen = await AuditLog(database, secrets).verify(again)

    assert (found.sound, unseen.sound) == (False, True)


async def test_a_tenant_that_is_gone_is_an_error_of_its_own(database: Database, log: AuditLog) -> None:
    """Whether or not something was noted before; nothing may run."""
    unknown, known = await database.tenant("gone-unknown"), await database.tenant("gone-known")
    await log.decide(Caller(known), attempt())
    await database.drop_tenant(unknown)
    await database.drop_tenant(known)

    with pytest.raises(NotFound, match="gone"):
        await log.decide(Caller(unknown), attempt())
    with pytest.raises(AuditBroken):
        await log.decide(Caller(known), attempt())


async def test_another_secret_key_is_named_as_the_reason(database: Database, log: AuditLog, caller: Caller) -> None:
    """Nothing is added with it, checks say what is wrong, and a new beginning goes on."""
    await log.decide(caller, attempt())
    other = AuditLog(database, SecretBox(Fernet.generate_key()))

    with pytest.raises(AuditBroken, match="another key"):
        await other.decide(caller, attempt())
    before = await other.verify(caller.tenant)
    await other.restart(caller.tenant)
    await other.decide(caller, attempt("select 2"))

    after = await other.verify(caller.tenant)
    assert {one.kind for one in before.problems if one.fatal} == {"foreign", "head"}
    assert after.sound, after.problems
    assert not (await log.verify(caller.tenant)).sound


async def test_a_folder_that_cannot_be_written_stops_nothing(
    database: Database, secrets: SecretBox, caller: Caller, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The note beside the database is one proof more; that it is missing is logged once."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    log = AuditLog(database, secrets, blocked)

    await log.decide(caller, attempt())
    await log.decide(caller, attempt())

    assert [record.message for record in caplog.records].count("audit log not anchored") == 1
    assert (await log.verify(caller.tenant)).anchored == 0


async def test_a_process_that_is_killed_in_mid_statement_leaves_its_decision(
    database: Database, log: AuditLog, caller: Caller, tmp_path: Path
) -> None:
    """Checks name the decision without an outcome, call it no tampering, and the next process goes on behind it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.audit.dying", str(tmp_path), caller.tenant.name),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{database.address}\n{KEY.decode()}\n".encode())
    decision = int(await process.stdout.readline())
    process.kill()
    await process.wait()

    found = await log.verify(caller.tenant)
    after = await log.decide(caller, attempt())

    assert [(one.kind, one.id, one.fatal) for one in found.problems] == [("without outcome", decision, False)]
    assert (found.anchored, after) == (decision, decision + 1)
    assert [one.ended for one in (await log.entries(caller)).entries] == [None, None]
