"""The embedded server in trouble: killed owners, killed servers, wrong process numbers, full disks."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.store.conftest import SpawnOwner, StartServer
from tests.support import eventually
from thresher.core import Settings, StoreError, StoreUnavailable, Tenant
from thresher.store import Database, EmbeddedServer, migrate, open_store, run_retrying
from thresher.store.cluster import recorded_pid
from thresher.store.postmaster import _serves_by_command, orphans, serves

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


async def _add(database: Database, tenant: Tenant, name: str = "git") -> None:
    async with database.transaction(tenant) as connection:
        await connection.exec_driver_sql(
            "insert into server (tenant_id, name, config) values (%s, %s, '{}')", (tenant.id, name)
        )


async def _names(database: Database, tenant: Tenant) -> list[str]:
    async with database.transaction(tenant) as connection:
        return list((await connection.exec_driver_sql("select name from server order by name")).scalars())


@pytest.fixture
def cluster(settings: Settings) -> Path:
    """The folder of the server's data."""
    return settings.data_dir / "postgres" / "18"


async def test_a_server_ends_with_its_killed_owner(
    settings: Settings, cluster: Path, spawn_owner: SpawnOwner, start_server: StartServer
) -> None:
    """`kill -9` of the owner stops the server, and the next owner finds the data."""
    process, told = await spawn_owner(settings.data_dir)
    database = await Database.open(told["url"])
    tenant = await database.tenant("kept")
    await database.close()

    process.kill()
    await eventually(lambda: not serves(told["server"], cluster))

    database = await Database.open((await start_server()).application_url)
    assert await database.tenant("kept") == tenant
    await database.close()


@linux_only
async def test_a_server_that_outlived_owner_and_guard_is_stopped_by_the_next_owner(
    settings: Settings, cluster: Path, spawn_owner: SpawnOwner, start_server: StartServer
) -> None:
    """With the guard killed too, the server is still there; the next owner stops it in order and starts its own."""
    process, told = await spawn_owner(settings.data_dir)
    guard = _parent(told["server"])
    watch = [pid for pid in _children(guard) if pid != told["server"]]
    for pid in [guard, *watch]:
        os.kill(pid, signal.SIGKILL)
    process.kill()
    await process.wait()
    assert serves(told["server"], cluster)

    server = await start_server()

    assert server.pid != told["server"]
    assert not serves(told["server"], cluster)
    log = (settings.data_dir / "postgres.log").read_text()
    assert "not properly shut down" not in log


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_a_killed_server_is_started_again_and_the_database_recovers(start_server: StartServer) -> None:
    """`ensure_running` brings it back at the same address; committed rows are there, the pool mends itself."""
    server = await start_server()
    migrate(server.owner_url)
    database = await Database.open(server.application_url)
    tenant = await database.tenant("a")
    await _add(database, tenant)
    os.kill(server.pid, signal.SIGKILL)
    await server._postmaster.exited()
    await eventually(lambda: _unavailable(database, tenant))  # a backend may answer for a moment more

    assert await server.ensure_running()

    assert await _names(database, tenant) == ["git"]
    assert not await server.ensure_running()
    await database.close()


async def _unavailable(database: Database, tenant: Tenant) -> bool:
    try:
        await _names(database, tenant)
    except StoreUnavailable:
        return True
    return False


@linux_only
async def test_a_backend_that_still_answers_for_a_killed_server_is_not_asked_again(
    cluster: Path, start_server: StartServer
) -> None:
    """A stopped backend lives on behind its postmaster; after the restart the pool reads from the new server."""
    server = await start_server()
    migrate(server.owner_url)
    database = await Database.open(server.application_url, pool_size=1)
    tenant = await database.tenant("a")
    await _add(database, tenant)
    async with database.transaction(tenant) as connection:
        backend = (await connection.exec_driver_sql("select pg_backend_pid()")).scalar_one()
    os.kill(backend, signal.SIGSTOP)  # holds the moment in which it has not noticed yet
    os.kill(server.pid, signal.SIGKILL)
    await server._postmaster.exited()
    assert serves(backend, cluster)

    assert await server.ensure_running()

    assert not serves(backend, cluster)
    assert await _names(database, tenant) == ["git"]
    await database.close()


async def test_open_store_brings_a_killed_server_back_by_itself(settings: Settings, cluster: Path) -> None:
    """Work that retries goes on over the death of the server."""
    async with open_store(settings) as database:
        tenant = await database.tenant("a")
        await _add(database, tenant)
        os.kill(recorded_pid(cluster), signal.SIGKILL)

        found = await run_retrying(database, tenant, lambda c: c.exec_driver_sql("select name from server"))

        assert found.scalars().all() == ["git"]


@linux_only
@pytest.mark.parametrize("whose", ["ours", "a zombie's", "nobody's", "unreadable", "cut off", "empty"])
async def test_a_stale_process_number_does_not_block(cluster: Path, start_server: StartServer, whose: str) -> None:
    """The number in `postmaster.pid` may belong to any process by now; only a server of this folder counts."""
    server = await start_server()
    os.kill(server.pid, signal.SIGKILL)
    await server._postmaster.exited()
    await eventually(lambda: not orphans(cluster))
    await server.stop()
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    lines = (cluster / "postmaster.pid").read_text().split("\n")
    number = {"ours": os.getpid(), "a zombie's": zombie.pid, "nobody's": 4_000_000}.get(whose, "?")
    content = {"cut off": "12", "empty": ""}.get(whose, "\n".join([str(number), *lines[1:]]))
    (cluster / "postmaster.pid").write_text(content)

    server = await start_server()

    assert serves(server.pid, cluster)
    zombie.wait()


@linux_only
async def test_a_backend_that_outlived_its_server_does_not_block(cluster: Path, start_server: StartServer) -> None:
    """A busy backend survives its killed postmaster and holds the shared memory; the next start ends it."""
    server = await start_server()
    connection = await psycopg.AsyncConnection.connect(server.admin_url, autocommit=True)
    busy = asyncio.create_task(
        connection.execute("do $$ declare n int := 0; begin loop n := (n + 1) % 1000; end loop; end $$")
    )
    backend = connection.info.backend_pid
    await eventually(lambda: "DO" in Path(f"/proc/{backend}/cmdline").read_text())
    os.kill(server.pid, signal.SIGKILL)
    await server._postmaster.exited()
    assert serves(backend, cluster)

    await server.ensure_running()

    assert not serves(backend, cluster)
    with pytest.raises(psycopg.OperationalError):
        await busy


async def test_a_full_disk_is_reported_and_nothing_is_half_written(start_server: StartServer) -> None:
    """With a limit on the size of its files the server refuses the transaction, survives, and goes on afterwards."""
    server = await start_server()
    migrate(server.owner_url)
    database = await Database.open(server.application_url)
    tenant = await database.tenant("a")
    await _add(database, tenant, "before")
    await database.close()
    with file_limit(17 << 20):  # log segments of 16 MB still fit
        os.kill(server.pid, signal.SIGKILL)
        await server._postmaster.exited()
        await server.ensure_running()
    database = await Database.open(server.application_url)
    pid = server.pid

    with pytest.raises(StoreError, match="disk is full or a file-size limit") as caught:
        async with database.transaction(tenant) as connection:
            await connection.exec_driver_sql(
                "insert into server (tenant_id, name, config, description) "
                "select %s, n::text, '{}', repeat(md5(n::text), 40) from generate_series(1, 20000) n",
                (tenant.id,),
            )

    assert not isinstance(caught.value, StoreUnavailable)
    assert caught.value.hint
    assert await _names(database, tenant) == ["before"]
    await _add(database, tenant, "small")
    assert await _names(database, tenant) == ["before", "small"]
    assert server.pid == pid
    await database.close()


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """Children started inside may write files of at most this size (a signal that PostgreSQL ignores enforces it)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@linux_only
async def test_a_server_that_ignores_a_shutdown_is_stopped_at_once(cluster: Path, start_server: StartServer) -> None:
    """A stopped process does not act on its signal; once it may run again, the harder one takes effect."""
    server = await start_server()
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    stopping = asyncio.ensure_future(server._postmaster.stop(patience=0.2))
    await eventually(lambda: _pending(pid, signal.SIGQUIT))
    os.kill(pid, signal.SIGCONT)
    await stopping

    assert not serves(pid, cluster)


def _pending(pid: int, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    shared = next(line for line in lines if line.startswith("ShdPnd:"))
    return bool(int(shared.split()[1], 16) >> (number - 1) & 1)


@linux_only
async def test_processes_are_told_apart_without_proc_too(cluster: Path, start_server: StartServer) -> None:
    """Where there is no /proc, the command line tells whose server it is."""
    server = await start_server()

    assert _serves_by_command(server.pid, cluster)
    assert not _serves_by_command(server.pid, cluster.with_name("16"))
    assert not _serves_by_command(os.getpid(), cluster)
    assert not _serves_by_command(4_000_000, cluster)


async def test_a_failed_sync_does_not_keep_the_server_running(cluster: Path, start_server: StartServer) -> None:
    """What the first start does in the background may fail; stopping goes on."""
    server = await start_server()

    async def fail() -> None:
        raise StoreError("no space")

    server._syncing = asyncio.create_task(fail())
    await server.stop()

    assert not (cluster / "postmaster.pid").exists()


async def test_supervision_goes_on_after_a_start_that_failed(
    settings: Settings, cluster: Path, start_server: StartServer
) -> None:
    """What stops the server from starting is logged, and once it is gone the server comes back."""
    server: EmbeddedServer = await start_server()
    supervision = asyncio.create_task(server.supervise())
    (cluster / "postgresql.conf").rename(cluster / "moved.conf")
    os.kill(server.pid, signal.SIGKILL)
    log = settings.data_dir / "postgres.log"
    await eventually(lambda: "could not access the server configuration file" in log.read_text())

    (cluster / "moved.conf").rename(cluster / "postgresql.conf")

    await eventually(lambda: server.pid and serves(server.pid, cluster))
    supervision.cancel()
    await asyncio.gather(supervision, return_exceptions=True)


async def test_a_cancelled_start_leaves_nothing_behind(
    settings: Settings, cluster: Path, start_server: StartServer
) -> None:
    """Ctrl-C during the first start: no process, and the folder is free."""
    task = asyncio.ensure_future(start_server())
    await eventually(lambda: (cluster / "postmaster.pid").exists())

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    await eventually(lambda: not (cluster / "postmaster.pid").exists())
    assert await start_server()
