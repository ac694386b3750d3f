"""The queue: who owns its tables, who may use them, and what happens to the jobs of dead workers."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from tests.support import Databases, assert_sealed_off, eventually, fill, without_tenant_conditions
from thresher.core import Caller, Tenant
from thresher.jobs import Job, Jobs, queries
from thresher.jobs.queries import LOCK_CLASS, NO_TENANT
from thresher.store import Database
from thresher.store.migrations.versions.r0019_baseline import LAST_SCRIPT, schema_file

TASK = "documents.index"


async def defer(database: Database, tenant: Tenant, subject: int = 1) -> Job:
    """Defer a job."""
    async with database.transaction(tenant) as connection:
        return await Jobs(database).defer(connection, tenant, TASK, subject)


async def taken(database: Database, worker: int) -> int:
    """Take the next job like a worker; return its number in the queue."""
    async with database.transaction(NO_TENANT) as connection:
        found = await connection.execute(
            text("select id from jobs.procrastinate_fetch_job_v2(null, :worker)"), {"worker": worker}
        )
        return found.scalar_one()


async def registered(database: Database) -> int:
    """Register a worker."""
    async with database.transaction(NO_TENANT) as connection:
        return (await connection.execute(text("select * from jobs.procrastinate_register_worker_v1()"))).scalar_one()


def test_a_revision_runs_every_script_of_the_library() -> None:
    """For a newer release of procrastinate, write a revision that runs its new scripts, and name the last one there."""
    folder = schema_file().with_name("migrations")

    assert sorted(path.name for path in folder.glob("*.sql"))[-1] == LAST_SCRIPT


@pytest.mark.parametrize(
    "statement",
    [
        "insert into jobs.procrastinate_jobs (queue_name, task_name) values ('a', 'b')",
        "update jobs.procrastinate_jobs set args = '{}'",
        "delete from jobs.procrastinate_jobs",
        "select * from jobs.procrastinate_jobs",
        "select * from jobs.procrastinate_workers",
        "select * from jobs.procrastinate_events",
        "select jobs.procrastinate_cancel_job_v1(1, true, true)",
        "select jobs.procrastinate_defer_jobs_v1(null)",
        "create table jobs.mine (a int)",
    ],
)
async def test_the_application_reaches_the_queue_only_through_its_functions(
    database: Database, tenant: Tenant, statement: str
) -> None:
    """A statement admitted by mistake is refused."""
    with pytest.raises(ProgrammingError, match="permission denied"):
        async with database.transaction(tenant) as connection:
            await connection.exec_driver_sql(statement)


async def test_a_tenants_session_neither_ends_nor_removes_anothers_job(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Not even one whose number in the queue it knows."""
    await defer(database, other_tenant)
    worker = await registered(database)
    place = await taken(database, worker)

    async with database.transaction(tenant) as connection:
        await connection.execute(text("select jobs.cancel(:place)"), {"place": place})
        await connection.execute(text("select jobs.finish(:place)"), {"place": place})

        assert (await connection.execute(text("select count(*) from jobs.to_abort()"))).scalar_one() == 0
        assert [held[0] for held in await queries.of_worker(connection, worker)] == [place]
    async with database.transaction(other_tenant) as connection:
        await queries.finish(connection, place)

        assert await queries.of_worker(connection, worker) == []


async def test_functions_of_the_queue_use_only_their_own_tables(databases: Databases, database: Database) -> None:
    """Whatever the session's search path; only the application may call them."""
    rows = await databases.admin(
        "select proname, prosecdef, proconfig, has_function_privilege('public', oid, 'execute') "
        "from pg_proc where pronamespace = 'jobs'::regnamespace",
        (psycopg.conninfo.conninfo_to_dict(database.address))["dbname"],  # type: ignore[arg-type]
    )

    assert len(rows) > 10
    for name, definer, configuration, public in rows:
        assert (definer, configuration, public) == (True, ["search_path=pg_catalog, jobs, pg_temp"], False), name


async def test_a_running_job_waits_again_as_soon_as_its_worker_holds_no_lock(
    database: Database, tenant: Tenant
) -> None:
    """Not earlier, however long it is silent."""
    await defer(database, tenant)
    worker = await registered(database)
    place = await taken(database, worker)
    async with await psycopg.AsyncConnection.connect(database.address, autocommit=True) as life:
        await life.execute("select pg_advisory_lock(%s::int, %s::int)", (LOCK_CLASS, worker))
        async with database.transaction(NO_TENANT) as connection:
            while_alive = await queries.take_up(connection)

    async def taken_up() -> int:
        async with database.transaction(NO_TENANT) as connection:
            return await queries.take_up(connection)

    assert while_alive == 0
    assert await eventually(taken_up) == 1
    assert await taken(database, worker) == place


async def test_a_tenant_reaches_no_job_of_another_even_without_a_tenant_condition(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Row-level security enforces what the conditions would."""
    mine, _ = await defer(database, tenant), await defer(database, other_tenant)
    jobs = Jobs(database)
    async with without_tenant_conditions(database) as rewritten:
        listed = await jobs.list(Caller(tenant))
        async with database.transaction(tenant) as connection:
            withdrawn = await jobs.withdraw(connection, tenant, TASK, 1)

    assert [job.id for job in listed] == [job.id for job in withdrawn] == [mine.id]
    assert rewritten.statements
    assert [job.state for job in await jobs.list(Caller(other_tenant))] == ["waiting"]


async def test_row_level_security_covers_plain_sql(database: Database, tenant: Tenant, other_tenant: Tenant) -> None:
    """Every tenant table, including that of jobs."""
    for one in (tenant, other_tenant):
        await fill(database, one)

    await assert_sealed_off(database, tenant, other_tenant)


async def test_old_jobs_are_purged_with_the_logs_and_open_ones_never(database: Database, tenant: Tenant) -> None:
    """By the time when they ended."""
    jobs = Jobs(database)
    ended, waiting = await defer(database, tenant, 1), await defer(database, tenant, 2)
    await jobs.cancel(Caller(tenant), ended.id)
    async with database.transaction(tenant) as connection:
        await connection.execute(text("update job set created_at = created_at - interval '1 year'"))
        await connection.execute(text("select purge_logs(now() + interval '1 second')"))

    assert [job.id for job in await jobs.list(Caller(tenant))] == [waiting.id]
