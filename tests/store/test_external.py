"""External servers, of both versions and too old ones: THRESHER_DATABASE_URL and THRESHER_MIGRATION_URL."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.support import assert_sealed_off, fill
from tests.support.external import DEBIAN_15, ExternalServer, external_server
from thresher.core import ConfigurationError, SchemaMismatch, Settings, StoreUnavailable
from thresher.store import Database, migrate, migrate_external, open_store
from thresher.store.schema import head_revision


@pytest.fixture(scope="module", params=[16, 18])
async def external(request: pytest.FixtureRequest, open_folder: Path) -> AsyncIterator[ExternalServer]:
    """A server over TCP that knows nothing of us."""
    folder = open_folder / f"external{request.param}"
    async with external_server(request.param, folder) as server:
        yield server
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
async def debian(open_folder: Path) -> AsyncIterator[ExternalServer]:
    """Debian's 15, which is too old and has no pgvector."""
    if not (DEBIAN_15 / "postgres").exists():
        pytest.skip("NOT TESTED: Debian's PostgreSQL 15 is not installed, so the errors for old servers are not seen")
    async with external_server(15, open_folder / "external15") as server:
        yield server


def _settings(owner: str, application: str, data_dir: Path) -> Settings:
    return Settings(
        migration_url=SecretStr(owner), database_url=SecretStr(application), data_dir=data_dir, allow_root=True
    )


async def test_two_addresses_are_all_it_needs(external: ExternalServer, data_dir: Path) -> None:
    """`thresher migrate` prepares it, the store opens it, tenants are sealed off, and no data folder is made."""
    owner, application = await external.prepare()
    settings = _settings(owner, application, data_dir)

    assert migrate_external(settings) == (None, head_revision())

    async with open_store(settings) as database:
        one, other = await database.tenant("one"), await database.tenant("other")
        await fill(database, one)
        await fill(database, other)
        await assert_sealed_off(database, one, other)
    assert not data_dir.exists()


async def test_an_extension_that_only_an_administrator_may_create_is_asked_for(external: ExternalServer) -> None:
    """Pgvector is no trusted extension everywhere; the error holds the statement for the superuser."""
    owner, application = await external.prepare(vector=False)
    role = application.split("//")[1].split(":")[0]

    with pytest.raises(ConfigurationError, match="may not set up the schema") as caught:
        migrate(owner, application_role=role)

    assert "create extension if not exists vector" in caught.value.hint
    await external.admin("create extension vector", database=owner.rsplit("/", 1)[1])
    migrate(owner, application_role=role)
    await (await Database.open(application)).close()


async def test_replicas_that_migrate_at_once_do_not_race(external: ExternalServer) -> None:
    """An advisory lock lets one after the other do it."""
    owner, application = await external.prepare()
    role = application.split("//")[1].split(":")[0]

    revisions = await asyncio.gather(*(asyncio.to_thread(migrate, owner, application_role=role) for _ in range(4)))

    assert {after for _, after in revisions} == {head_revision()}
    await (await Database.open(application)).close()


async def test_a_database_that_was_not_migrated_is_refused(external: ExternalServer, data_dir: Path) -> None:
    """The store does not migrate an external database by itself."""
    settings = _settings(*await external.prepare(), data_dir)

    with pytest.raises(SchemaMismatch, match="thresher migrate"):
        async with open_store(settings):
            pass


async def test_a_role_without_rights_cannot_migrate(external: ExternalServer) -> None:
    """The error names the rights that are missing."""
    owner, application = await external.prepare()

    with pytest.raises(ConfigurationError, match="may not set up the schema") as caught:
        migrate(application, application_role=owner.split("//")[1].split(":")[0])

    assert "grant create" in caught.value.hint


async def test_one_role_cannot_be_both(external: ExternalServer) -> None:
    """The owner of the tables would pass by the policies."""
    owner, _ = await external.prepare()

    with pytest.raises(ConfigurationError, match="both owner and application role"):
        migrate_external(_settings(owner, owner, Path("unused")))


async def test_a_missing_application_role_is_named(external: ExternalServer) -> None:
    """The error says how to create it, and nothing was migrated."""
    owner, application = await external.prepare()

    with pytest.raises(ConfigurationError, match="'no_such_role' does not exist"):
        migrate(owner, application_role="no_such_role")
    with pytest.raises(SchemaMismatch):
        await Database.open(application)


def test_both_addresses_are_needed() -> None:
    """The error names the two variables."""
    with pytest.raises(ConfigurationError, match="THRESHER_MIGRATION_URL"):
        migrate_external(Settings(database_url=SecretStr("postgresql://a:b@localhost/c")))


async def test_an_address_without_a_server_is_unavailable(external: ExternalServer) -> None:
    """Migration and start say that it cannot be reached."""
    url = external.url().replace(f":{external.postmaster.address.port}/", ":1/")

    with pytest.raises(StoreUnavailable):
        migrate(url)
    with pytest.raises(StoreUnavailable):
        await Database.open(url)


async def test_all_that_debians_old_server_lacks_is_reported(debian: ExternalServer) -> None:
    """Start and migration name the version and pgvector, with the package to install."""
    for attempt in (Database.open(debian.url()), asyncio.to_thread(migrate, debian.url())):
        with pytest.raises(ConfigurationError, match=r"needs 16 or newer.*has no pgvector") as caught:
            await attempt
        assert "postgresql-18-pgvector" in caught.value.hint


async def test_a_new_server_without_pgvector_says_what_to_install(open_folder: Path) -> None:
    """Where the extension's files are missing, migration names the package."""
    folder = open_folder / "plain"
    async with external_server(18, folder, vector=False) as server:
        owner, application = await server.prepare(vector=False)

        with pytest.raises(ConfigurationError, match="server has no pgvector") as caught:
            migrate(owner, application_role=application.split("//")[1].split(":")[0])

    assert "create extension vector" in caught.value.hint
    shutil.rmtree(folder)
