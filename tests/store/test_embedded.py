"""The embedded server in ordinary life: start, stop, what is private, who owns it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import psycopg
import pytest

from tests.store.conftest import SpawnOwner, StartServer
from tests.support import eventually
from thresher.core import ConfigurationError, Conflict, Settings, StoreUnavailable
from thresher.store import Database, migrate, open_store
from thresher.store.postmaster import serves


async def _query(url: str, statement: str) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        return await (await connection.execute(statement)).fetchall()  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [16, 18])
async def test_rows_outlive_the_server(settings: Settings, start_server: StartServer, version: int) -> None:
    """What one run wrote, the next one reads; between them no process is left."""
    settings = settings.model_copy(update={"server_version": version})
    first = await start_server(settings)
    migrate(first.owner_url)
    database = await Database.open(first.application_url)
    tenant = await database.tenant("kept")
    await database.close()
    pid = first.pid
    await first.stop()
    assert not serves(pid, settings.data_dir / "postgres" / str(version))

    second = await start_server(settings)

    database = await Database.open(second.application_url)
    assert await database.tenant("kept") == tenant
    assert await _query(second.application_url, "select current_setting('server_version_num')::int / 10000") == [
        (version,)
    ]
    await database.close()


async def test_nothing_is_open_to_others(settings: Settings, start_server: StartServer) -> None:
    """No TCP port, a socket and files that only their owner can reach, and no entry without a password."""
    server = await start_server()

    shown = await _query(
        server.admin_url, "select current_setting('listen_addresses'), current_setting('data_checksums')"
    )
    assert shown == [("", "on")]
    root = settings.data_dir
    assert stat.S_IMODE((root / "run").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "postgres").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "postgres.json").stat().st_mode) == 0o600
    for url in (server.admin_url, server.application_url):
        with pytest.raises(psycopg.OperationalError, match="password"):
            await psycopg.AsyncConnection.connect(url, password="wrong")
    rules = await _query(server.admin_url, "select distinct auth_method from pg_hba_file_rules")
    assert rules == [("scram-sha-256",)]


async def test_the_application_role_is_an_ordinary_one(start_server: StartServer) -> None:
    """Neither superuser nor owner of the database."""
    server = await start_server()

    facts = await _query(
        server.application_url,
        "select current_user, rolsuper, rolbypassrls, rolcreaterole, pg_get_userbyid(datdba) "
        "from pg_roles, pg_database where rolname = current_user and datname = current_database()",
    )

    assert facts == [("thresher_app", False, False, False, "thresher_owner")]


async def test_a_second_owner_is_told_who_the_first_is(
    settings: Settings, start_server: StartServer, spawn_owner: SpawnOwner
) -> None:
    """Two daemons on one data folder: the second gets a conflict that names the first's process."""
    await start_server()

    _, answer = await spawn_owner(settings.data_dir)

    assert answer["error"] == "conflict"
    assert f"process {os.getpid()}." in answer["message"]


async def test_one_process_cannot_own_a_folder_twice(start_server: StartServer) -> None:
    """The lock holds inside a process too."""
    await start_server()

    with pytest.raises(Conflict):
        await start_server()


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"pid": 7, "host": "elsewhere"}'])
async def test_an_owner_that_left_no_name_is_still_an_owner(
    settings: Settings, start_server: StartServer, content: str
) -> None:
    """The lock counts, not what is written in its file."""
    await start_server()
    (settings.data_dir / "owner.lock").write_text(content)

    with pytest.raises(Conflict, match=r"another process|process 7 on elsewhere"):
        await start_server()


async def test_stopping_twice_is_fine_and_starting_after_it_is_not(start_server: StartServer) -> None:
    """A stopped server stays stopped."""
    server = await start_server()
    await server.stop()

    await server.stop()

    assert server.pid == 0
    with pytest.raises(StoreUnavailable):
        await server.ensure_running()


async def test_a_server_that_cannot_start_tells_its_last_words(settings: Settings, start_server: StartServer) -> None:
    """It fails at once, not after a time limit, and the folder is free again."""
    with pytest.raises(StoreUnavailable, match="shared_buffers"):
        await start_server(options={"shared_buffers": "a lot"})

    assert await start_server()


async def test_a_slow_start_says_what_it_does(settings: Settings, start_server: StartServer) -> None:
    """Recovery may take as long as it needs, and is reported meanwhile."""
    archive = {"wal_level": "replica", "max_wal_senders": "1"}
    server = await start_server(options=archive)
    await server.stop()
    (settings.data_dir / "postgres" / "18" / "recovery.signal").touch()
    said: list[str] = []

    await start_server(options=archive | {"restore_command": "sleep 1.5; false"}, progress=said.append)

    assert said
    assert "starting" in said[0]


async def test_lost_passwords_are_replaced(settings: Settings, start_server: StartServer) -> None:
    """The owner of the data folder needs no old password."""
    server = await start_server()
    old = server.application_url
    await server.stop()
    (settings.data_dir / "postgres.json").unlink()

    server = await start_server()

    assert server.application_url != old
    assert await _query(server.application_url, "select 1") == [(1,)]
    assert await _query(server.owner_url, "select 1") == [(1,)]


async def test_a_damaged_password_file_is_named(settings: Settings, start_server: StartServer) -> None:
    """The message says which file and what to do."""
    await (await start_server()).stop()
    (settings.data_dir / "postgres.json").write_text("{}")

    with pytest.raises(ConfigurationError, match=r"postgres\.json"):
        await start_server()


async def test_a_half_made_cluster_is_made_again(settings: Settings, start_server: StartServer) -> None:
    """What a first start that was killed left behind does not disturb the next."""
    await (await start_server()).stop()
    cluster = settings.data_dir / "postgres" / "18"
    cluster.rename(cluster.with_name("18.draft"))
    (settings.data_dir / ".initdb.word").write_text("left")

    server = await start_server()

    assert await _query(server.application_url, "select 1") == [(1,)]
    assert not cluster.with_name("18.draft").exists()


async def test_an_older_extension_is_brought_up_to_date(start_server: StartServer) -> None:
    """After an upgrade of the programs the database's pgvector follows."""
    server = await start_server()
    await _query(server.admin_url, "update pg_extension set extversion = '0.8.4' where extname = 'vector' returning 1")
    await server.stop()

    server = await start_server()

    assert await _query(server.admin_url, "select extversion = '0.8.4' from pg_extension where extname = 'vector'") == [
        (False,)
    ]


async def test_a_long_path_gets_its_socket_elsewhere(
    settings: Settings, open_folder: Path, start_server: StartServer
) -> None:
    """A socket's path has at most 103 bytes; a private folder takes its place and goes with the server."""
    deep = open_folder / ("x" * 60) / ("y" * 60)
    server = await start_server(settings.model_copy(update={"data_dir": deep}))
    elsewhere = Path(psycopg.conninfo.conninfo_to_dict(server.application_url)["host"])

    assert await _query(server.application_url, "select 1") == [(1,)]
    assert not elsewhere.is_relative_to(deep)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700
    await server.stop()
    assert not elsewhere.exists()


async def test_a_stranger_in_the_short_place_is_not_trusted(
    settings: Settings, open_folder: Path, start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name which is not ours is left alone, and the error says what to do."""
    deep = open_folder / ("x" * 60) / ("z" * 60)
    server = await start_server(settings.model_copy(update={"data_dir": deep}))
    elsewhere = Path(psycopg.conninfo.conninfo_to_dict(server.application_url)["host"])
    await server.stop()
    elsewhere.mkdir(mode=0o777)
    elsewhere.chmod(0o777)

    try:
        with pytest.raises(ConfigurationError, match="too long"):
            await start_server(settings.model_copy(update={"data_dir": deep}))
    finally:
        elsewhere.rmdir()


async def test_a_taken_socket_is_named(settings: Settings, start_server: StartServer) -> None:
    """Something else in the socket's place gives an error with its path."""
    await (await start_server()).stop()
    (settings.data_dir / "run" / ".s.PGSQL.5432").mkdir()

    with pytest.raises(ConfigurationError, match=r"\.s\.PGSQL\.5432"):
        await start_server()


async def test_open_store_starts_migrates_and_stops(settings: Settings) -> None:
    """One block from nothing to a usable database, and nothing is left running."""
    async with open_store(settings) as database:
        tenant = await database.tenant("local")
        pid = int((settings.data_dir / "postgres" / "18" / "postmaster.pid").read_text().split()[0])

    assert tenant.name == "local"
    await eventually(lambda: not serves(pid, settings.data_dir / "postgres" / "18"))


async def test_open_store_stops_the_server_when_its_user_fails(settings: Settings) -> None:
    """An error inside the block leaves nothing running either."""
    with pytest.raises(ZeroDivisionError):
        async with open_store(settings):
            _ = 1 / 0

    assert not (settings.data_dir / "postgres" / "18" / "postmaster.pid").exists()
