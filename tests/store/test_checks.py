"""What a start refuses: unsafe roles, wrong schemas, missing protection."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from tests.support import Databases
from thresher.core import ConfigurationError, SchemaMismatch, UnsafeRole
from thresher.store import Database, migrate
from thresher.store.schema import application_role, head_revision


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A clean database that the test may spoil."""
    name = await databases.create()
    yield name
    await databases.drop(name)


async def _role(databases: Databases, name: str, attributes: str = "", member_of: str = "") -> str:
    """Make a role with the rights of the application's; returns its address for the database."""
    role = f"role_{name}"
    await databases.admin(f"create role {role} login password 'p' {attributes}")
    await databases.admin(f"grant thresher_app to {role}")
    if member_of:
        await databases.admin(f"grant {member_of} to {role}")
    return re.sub(r"//[^@]+@", f"//{role}:p@", databases.url(name))


@pytest.mark.parametrize(
    ("attributes", "member_of", "reason"),
    [
        ("superuser", "", "is a superuser"),
        ("bypassrls", "", "bypasses row-level security"),
        ("", "thresher_owner", "is a member of 'thresher_owner', which owns the table"),
        ("", "thresher_admin", "can become 'thresher_admin', which is a superuser"),
        ("noinherit", "thresher_owner", "is a member of 'thresher_owner', which owns the table"),
    ],
)
async def test_a_role_that_could_pass_by_the_policies_is_refused(
    databases: Databases, name: str, attributes: str, member_of: str, reason: str
) -> None:
    """Superuser, BYPASSRLS, or a member of a role that owns or may do so."""
    url = await _role(databases, name, attributes, member_of)

    with pytest.raises(UnsafeRole, match=reason) as caught:
        await Database.open(url)

    assert "THRESHER_DATABASE_URL" in caught.value.hint
    await databases.admin(f"drop role role_{name}")


@pytest.mark.parametrize("role", ["thresher_owner", "thresher_admin"])
async def test_the_owner_and_the_administrator_are_refused(databases: Databases, name: str, role: str) -> None:
    """The application cannot run in the role that owns the tables."""
    with pytest.raises(UnsafeRole):
        await Database.open(databases.url(name, role))


async def test_the_owner_of_a_single_table_is_refused(databases: Databases, name: str) -> None:
    """One table is enough."""
    await databases.admin("alter table posting owner to thresher_app", name)

    with pytest.raises(UnsafeRole, match="owns the table 'posting'"):
        await Database.open(databases.url(name))


async def test_another_ordinary_role_is_fine(databases: Databases, name: str) -> None:
    """The checks refuse rights, not names."""
    url = await _role(databases, name)

    database = await Database.open(url)

    assert (await database.tenant("a")).id
    await database.close()
    await databases.admin(f"drop role role_{name}")


async def test_an_older_schema_asks_for_a_migration(databases: Databases, name: str) -> None:
    """An empty database is the oldest of all; its error says what to run."""
    empty = f"{name}_empty"
    await databases.admin(f"create database {empty} owner thresher_owner")
    await databases.admin("create extension vector", empty)

    with pytest.raises(SchemaMismatch, match="thresher migrate"):
        await Database.open(databases.url(empty))

    assert migrate(databases.url(empty, "thresher_owner"))[1] == head_revision()
    await (await Database.open(databases.url(empty))).close()
    await databases.drop(empty)


async def test_a_newer_schema_asks_for_a_newer_program(databases: Databases, name: str) -> None:
    """Neither start nor migration touches a schema from the future."""
    await databases.admin("update alembic_version set version_num = '9999'", name)

    with pytest.raises(SchemaMismatch, match="Upgrade Thresher"):
        await Database.open(databases.url(name))
    with pytest.raises(SchemaMismatch, match="9999"):
        migrate(databases.url(name, "thresher_owner"))


async def test_a_schema_that_the_role_may_not_read_asks_for_its_rights(databases: Databases, name: str) -> None:
    """A role without grants is told how to get them."""
    await databases.admin("revoke all on alembic_version from thresher_app", name)

    with pytest.raises(SchemaMismatch, match="rights"):
        await Database.open(databases.url(name))


async def test_a_table_that_lost_its_protection_is_named(databases: Databases, name: str) -> None:
    """Row-level security must be forced on each tenant table."""
    await databases.admin("alter table tool no force row level security", name)

    with pytest.raises(SchemaMismatch, match="not forced on: tool"):
        await Database.open(databases.url(name))


async def test_a_database_without_pgvector_says_how_to_get_it(databases: Databases, name: str) -> None:
    """The start names the statement to run."""
    await databases.admin("drop extension vector cascade", name)

    with pytest.raises(ConfigurationError, match="create extension vector"):
        await Database.open(databases.url(name))


async def test_an_old_pgvector_says_how_to_renew_it(databases: Databases, name: str) -> None:
    """Version 0.8 brought the iterative scans that a filtered search needs."""
    await databases.admin("update pg_extension set extversion = '0.7.4' where extname = 'vector'", name)

    with pytest.raises(ConfigurationError, match=r"0\.7\.4"):
        await Database.open(databases.url(name))


def test_the_application_role_is_read_from_its_address() -> None:
    """Both forms of an address; without a role there is an error."""
    assert application_role("postgresql://app:p@host/db") == "app"
    assert application_role("host=h user=app") == "app"
    for address in ("postgresql://host/db", "not an address", "postgresql://a:b@[broken"):
        with pytest.raises(ConfigurationError, match="names no role"):
            application_role(address)
