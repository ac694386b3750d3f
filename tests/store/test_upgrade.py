"""Moving the data of an embedded server from PostgreSQL 16 to 18."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.store.conftest import SpawnOwner, StartServer
from tests.support import eventually, fill
from tests.support.isolation import fingerprint
from thresher.core import ConfigurationError, Settings, StoreError, Tenant
from thresher.store import Database, migrate
from thresher.store.postmaster import orphans


async def _written_by_16(settings: Settings, start_server: StartServer) -> tuple[Tenant, dict[str, str]]:
    """A data folder with rows in every table, written by 16; returns their tenant and digests."""
    server = await start_server(settings.model_copy(update={"server_version": 16}))
    migrate(server.owner_url)
    database = await Database.open(server.application_url)
    tenant = await database.tenant("kept")
    await fill(database, tenant)
    digests = await fingerprint(database, tenant)
    await database.close()
    await server.stop()
    return tenant, digests


async def test_everything_moves_and_the_old_cluster_goes_at_the_end(
    settings: Settings, start_server: StartServer
) -> None:
    """Rows, roles, policies and passwords are the same under 18, and only then is 16's copy removed."""
    tenant, digests = await _written_by_16(settings, start_server)
    said: list[str] = []

    server = await start_server(progress=said.append)

    database = await Database.open(server.application_url)
    assert await fingerprint(database, tenant) == digests
    assert server.binaries.major == 18
    assert not (settings.data_dir / "postgres" / "16").exists()
    assert "16 to 18" in said[0]
    await database.close()


async def test_data_of_a_newer_version_is_refused(settings: Settings, start_server: StartServer) -> None:
    """There is no way back, and the message says what to set."""
    await (await start_server()).stop()

    with pytest.raises(ConfigurationError, match="THRESHER_SERVER_VERSION=18"):
        await start_server(settings.model_copy(update={"server_version": 16}))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_move_that_was_killed_starts_over(
    settings: Settings, start_server: StartServer, spawn_owner: SpawnOwner
) -> None:
    """After `kill -9` in the middle of it, the next start moves the untouched old cluster again."""
    tenant, digests = await _written_by_16(settings, start_server)
    draft = settings.data_dir / "postgres" / "18.upgrade"
    spawning = asyncio.ensure_future(spawn_owner(settings.data_dir))
    await eventually(lambda: orphans(draft))  # the new server is at work on its half-made cluster
    owner = int((settings.data_dir / "owner.lock").read_text().split('"pid": ')[1].split(",")[0])
    os.kill(owner, signal.SIGKILL)
    await asyncio.gather(spawning, return_exceptions=True)
    assert not (settings.data_dir / "postgres" / "18").exists()

    server = await start_server()

    database = await Database.open(server.application_url)
    assert await fingerprint(database, tenant) == digests
    assert not draft.exists()
    await database.close()


async def test_a_move_that_ended_before_the_old_cluster_was_removed_is_finished(
    settings: Settings, start_server: StartServer
) -> None:
    """With both clusters there, the new one serves and the old one goes."""
    await (await start_server()).stop()
    old = settings.data_dir / "postgres" / "16"
    old.mkdir()
    (old / "PG_VERSION").write_text("16\n")

    await start_server()

    assert not old.exists()


async def test_a_move_that_fails_leaves_the_old_cluster(settings: Settings, start_server: StartServer) -> None:
    """An obstacle is named; once it is gone, the move succeeds."""
    tenant, digests = await _written_by_16(settings, start_server)
    obstacle = Path(settings.data_dir / "upgrade")
    obstacle.write_text("in the way")

    with pytest.raises((StoreError, ConfigurationError)):
        await start_server()

    assert (settings.data_dir / "postgres" / "16" / "PG_VERSION").exists()
    obstacle.unlink()
    database = await Database.open((await start_server()).application_url)
    assert await fingerprint(database, tenant) == digests
    await database.close()
