"""The door to the database: transactions, lost connections, retries."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.support import Databases
from thresher.core import ConfigurationError, StoreUnavailable, Tenant
from thresher.store import Database, driver, run_retrying

_INSERT = "insert into server (tenant_id, name, config) values (%s, %s, '{}')"


async def _add(connection: AsyncConnection, tenant: Tenant, name: str) -> None:
    await connection.exec_driver_sql(_INSERT, (tenant.id, name))


async def _names(database: Database, tenant: Tenant) -> list[str]:
    async with database.transaction(tenant) as connection:
        return list((await connection.exec_driver_sql("select name from server order by name")).scalars())


async def _backend(connection: AsyncConnection) -> int:
    return int((await connection.exec_driver_sql("select pg_backend_pid()")).scalar_one())


async def _within(database: Database, tenant: Tenant, work: Callable[[AsyncConnection], Awaitable[None]]) -> None:
    async with database.transaction(tenant) as connection:
        await work(connection)


async def test_what_is_written_is_read_back(database: Database, tenant: Tenant) -> None:
    """A committed row is there in the next transaction, whether SQLAlchemy or the driver wrote it."""
    async with database.transaction(tenant) as connection:
        await _add(connection, tenant, "by SQLAlchemy")
    async with database.transaction(tenant) as connection:
        await (await driver(connection)).execute(_INSERT, (tenant.id, "by driver"))

    assert await _names(database, tenant) == ["by SQLAlchemy", "by driver"]


async def test_an_exception_undoes_everything(database: Database, tenant: Tenant) -> None:
    """Nothing of a failed block stays, and the exception arrives as it is."""

    async def work(connection: AsyncConnection) -> None:
        await _add(connection, tenant, "a")
        await (await driver(connection)).execute(_INSERT, (tenant.id, "b"))
        _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await _within(database, tenant, work)

    assert await _names(database, tenant) == []


async def test_a_broken_constraint_reaches_its_author_without_parameters(database: Database, tenant: Tenant) -> None:
    """Such errors are not ours to translate; their text does not repeat what was bound."""
    with pytest.raises(IntegrityError) as caught:
        async with database.transaction(tenant) as connection:
            await connection.exec_driver_sql(
                "insert into tool (tenant_id, server_id, name, input_schema, annotations, enriched, content_hash, "
                "definition_hash) values (%s, 12345, %s, '{}', '{}', '', '', '')",
                (tenant.id, "secret-word"),
            )

    assert "secret-word" not in str(caught.value)


async def test_the_embedding_cache_gives_vectors_by_hash(database: Database, tenant: Tenant) -> None:
    """What was remembered under a hash comes back under it, for that model alone; the first vector stays."""
    vectors = [np.arange(3, dtype=np.float32), np.ones(3, dtype=np.float32)]
    remember = "select remember_embeddings(%s, %s, %s)"
    cached = "select * from cached_embeddings(%s, %s)"
    async with database.transaction(tenant) as connection:
        raw = await driver(connection)
        await raw.execute(remember, ("m", [b"a", b"b"], vectors))
        await raw.execute(remember, ("m", [b"b"], [np.zeros(3, dtype=np.float32)]))

    async with database.transaction(tenant) as connection:
        raw = await driver(connection)
        found = await (await raw.execute(cached, ("m", [b"b", b"x"]), binary=True)).fetchall()
        other = await (await raw.execute(cached, ("n", [b"b"]))).fetchall()

    assert [(bytes(key), vector.to_list()) for key, vector in found] == [(b"b", [1.0, 1.0, 1.0])]
    assert other == []


async def test_connections_that_died_in_the_pool_are_replaced(databases: Databases, database: Database) -> None:
    """All idle connections are cut at once: the next transactions work, and no caller notices."""
    tenant = await database.tenant("replaced")
    await asyncio.gather(*(_names(database, tenant) for _ in range(5)))
    name = (await _one(database, tenant, "select current_database()"))[0]
    await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")

    found = await asyncio.gather(*(_names(database, tenant) for _ in range(5)))

    assert found == [[]] * 5


async def _one(database: Database, tenant: Tenant, statement: str) -> Any:
    async with database.transaction(tenant) as connection:
        return (await connection.exec_driver_sql(statement)).one()


async def test_a_connection_lost_in_mid_work_leaves_nothing_half_written(
    databases: Databases, database: Database, tenant: Tenant
) -> None:
    """The caller gets an error worth a retry, and no row."""

    async def work(connection: AsyncConnection) -> None:
        await _add(connection, tenant, "half")
        await databases.admin(f"select pg_terminate_backend({await _backend(connection)})")
        await _add(connection, tenant, "other half")

    with pytest.raises(StoreUnavailable) as caught:
        await _within(database, tenant, work)

    assert caught.value.hint
    assert await _names(database, tenant) == []


async def test_retried_work_is_done_once(databases: Databases, database: Database, tenant: Tenant) -> None:
    """The first two attempts lose their connection in mid-work; the third is the only one that counts."""
    attempts = 0

    async def work(connection: AsyncConnection) -> str:
        nonlocal attempts
        attempts += 1
        await _add(connection, tenant, f"attempt {attempts}")
        if attempts < 3:
            await databases.admin(f"select pg_terminate_backend({await _backend(connection)})")
        await _add(connection, tenant, f"end of {attempts}")
        return f"result {attempts}"

    result = await run_retrying(database, tenant, work)

    assert result == "result 3"
    assert await _names(database, tenant) == ["attempt 3", "end of 3"]


async def test_work_is_not_retried_when_it_is_wrong(database: Database, tenant: Tenant) -> None:
    """A wrong statement fails once, and so does the work's own error."""
    attempts = 0

    async def work(connection: AsyncConnection) -> None:
        nonlocal attempts
        attempts += 1
        await connection.exec_driver_sql("select no_such_column from server")

    with pytest.raises(DBAPIError, match="no_such_column"):
        await run_retrying(database, tenant, work)

    assert attempts == 1


async def test_a_deadlock_is_retried(database: Database, tenant: Tenant) -> None:
    """Two transactions that lock the same rows in opposite order both succeed in the end."""
    async with database.transaction(tenant) as connection:
        await _add(connection, tenant, "a")
        await _add(connection, tenant, "b")
    both_hold_one = asyncio.Barrier(2)
    waited: set[str] = set()

    async def work(connection: AsyncConnection, first: str, second: str) -> None:
        update = "update server set description = description || %s where name = %s"
        await connection.exec_driver_sql(update, (first, first))
        if first not in waited:
            waited.add(first)
            await both_hold_one.wait()
        await connection.exec_driver_sql(update, (first, second))

    await asyncio.gather(
        run_retrying(database, tenant, lambda c: work(c, "a", "b")),
        run_retrying(database, tenant, lambda c: work(c, "b", "a")),
    )

    rows = await _all(database, tenant, "select description from server")
    assert {"".join(sorted(row[0])) for row in rows} == {"ab"}


async def _all(database: Database, tenant: Tenant, statement: str) -> list[Any]:
    async with database.transaction(tenant) as connection:
        return list((await connection.exec_driver_sql(statement)).all())


@asynccontextmanager
async def _cutting_proxy(url: str, armed: asyncio.Event, *, answer_lost: bool) -> AsyncIterator[str]:
    """A way to the server that, once armed, breaks at a COMMIT: before the server gets it, or before the answer."""
    given = psycopg.conninfo.conninfo_to_dict(url)
    target = f"{given['host']}/.s.PGSQL.{given['port']}"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(target)
        answers = asyncio.create_task(_copy(server_reader, writer))
        try:
            while data := await reader.read(65536):
                if re.search(rb"\bCOMMIT\b", data) and armed.is_set():
                    armed.clear()
                    answers.cancel()
                    await asyncio.gather(answers, return_exceptions=True)
                    if answer_lost:
                        server_writer.write(data)
                        await server_reader.read(65536)
                    break
                server_writer.write(data)
        finally:
            for side in (server_writer, writer):
                side.close()
            answers.cancel()

    with tempfile.TemporaryDirectory(prefix="thr-", dir="/tmp") as folder:
        proxy = await asyncio.start_unix_server(serve, Path(folder) / ".s.PGSQL.5432")
        async with proxy:
            yield url.replace(given["host"].replace("/", "%2F"), folder.replace("/", "%2F"))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)


@pytest.mark.parametrize("answer_lost", [True, False])
async def test_a_commit_whose_answer_was_lost_is_not_done_twice(databases: Databases, answer_lost: bool) -> None:
    """The server is asked whether it happened: done when it did, done again when it did not, once either way."""
    name = await databases.create()
    direct = await databases.open(name)
    tenant = await direct.tenant("a")
    attempts = 0

    async def work(connection: AsyncConnection) -> int:
        nonlocal attempts
        attempts += 1
        await _add(connection, tenant, f"attempt {attempts}")
        return attempts

    armed = asyncio.Event()
    async with _cutting_proxy(databases.url(name), armed, answer_lost=answer_lost) as url:
        database = await Database.open(url)
        armed.set()
        result = await run_retrying(database, tenant, work)
        await database.close()

    assert result == attempts == (1 if answer_lost else 2)
    assert await _names(direct, tenant) == [f"attempt {attempts}"]
    await direct.close()
    await databases.drop(name)


async def test_a_cancelled_caller_gives_its_connection_back(databases: Databases) -> None:
    """With a pool of one, the next transaction gets it, and nothing was written."""
    name = await databases.create()
    database = await databases.open(name, pool_size=1)
    tenant = await database.tenant("a")
    started = asyncio.Event()

    async def long_work() -> None:
        async with database.transaction(tenant) as connection:
            await _add(connection, tenant, "a")
            started.set()
            await connection.exec_driver_sql("select pg_sleep(60)")

    task = asyncio.create_task(long_work())
    await started.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert await _names(database, tenant) == []
    await database.close()
    await databases.drop(name)


async def test_a_full_pool_is_an_error_worth_a_retry(databases: Databases) -> None:
    """Waiting too long for a connection raises an error that says so."""
    name = await databases.create()
    database = await Database.open(databases.url(name), pool_size=1, pool_timeout=0.05)
    tenant = await database.tenant("a")

    async with database.transaction(tenant):
        with pytest.raises(StoreUnavailable, match="in use"):
            await _names(database, tenant)

    await database.close()
    await databases.drop(name)


async def test_a_server_that_is_not_there_is_unavailable(databases: Databases, open_folder: Path) -> None:
    """The error names no password."""
    url = f"postgresql://thresher_app:pass-word@/thresher?host={open_folder}/nowhere"

    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        await Database.open(url)

    assert "pass-word" not in str(caught.value)


async def test_a_wrong_password_or_database_is_a_setting_to_correct(databases: Databases) -> None:
    """No retry helps, so it is another kind of error."""
    good = databases.url("thresher")
    for url in (re.sub(r":[^:@/]+@", ":wrong@", good), databases.url("no_such_database")):
        with pytest.raises(ConfigurationError, match="refuses"):
            await Database.open(url)
