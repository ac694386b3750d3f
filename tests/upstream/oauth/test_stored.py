"""Where sign-ins are kept: other processes, a database that goes away, other keys."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest
from cryptography.fernet import Fernet

from tests.support import Databases
from tests.support.waiting import eventually
from tests.upstream.oauth.conftest import Add
from tests.upstream.oauth.guarded import Guarded, ask, signed_in, whoami
from thresher.core import Caller, ConfigurationError, Tenant
from thresher.knowledge.tools import CredentialStore, queries
from thresher.store import Database, SecretBox
from thresher.upstream import ServerConfig, auth_for, sign_out
from thresher.upstream.oauth.credential import read_credential

KEY = Fernet.generate_key().decode()


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A database of a test's own."""
    name = await databases.create()
    yield name
    await databases.drop(name)


@pytest.fixture
async def database(databases: Databases, name: str) -> AsyncIterator[Database]:
    """Connections with it."""
    database = await databases.open(name)
    yield database
    await database.close()


@pytest.fixture
def box() -> SecretBox:
    """A key that another process can be given."""
    return SecretBox(KEY)


def another_process(databases: Databases, name: str, config: ServerConfig) -> subprocess.Popen[str]:
    """Call once from a process of its own."""
    arguments = (databases.url(name), KEY, str(config.tenant), config.url)
    command = [sys.executable, "-m", "tests.upstream.oauth.renewing", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def test_another_process_uses_the_stored_sign_in(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, databases: Databases, name: str
) -> None:
    """With the tokens and their end; it asks the authorization server nothing."""
    await signed_in(config, store)
    tokens = await guarded.seen("token refresh_token")

    out, _ = await asyncio.to_thread(another_process(databases, name, config).communicate, timeout=60)

    assert out.strip() == "ada"
    assert await guarded.seen("token refresh_token") == tokens


async def test_two_processes_renew_once(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, databases: Databases, name: str
) -> None:
    """The one that is too late takes what the other has got, with a refresh token that serves only once."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    await guarded.becomes(seconds="3600", delay="3")
    others = [another_process(databases, name, config) for _ in range(2)]

    mine = await whoami(config, store)
    said = [(await asyncio.to_thread(other.communicate, timeout=60))[0].strip() for other in others]

    assert [mine, *said] == ["ada"] * 3
    assert await guarded.seen("token refresh_token") == 1
    assert await guarded.seen("reuses") == 0


async def test_a_process_that_is_killed_while_it_renews_strands_nobody(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, databases: Databases, name: str
) -> None:
    """Its claim ends, and the next process renews."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    await guarded.becomes(seconds="3600", delay="100")
    other = another_process(databases, name, config)
    await eventually(lambda: guarded.seen("token refresh_token"), seconds=60)
    other.kill()
    other.communicate()
    await guarded.becomes(delay="0")

    held = read_credential(config, await store.load(config))
    assert held is not None
    assert held.claim is not None
    # As it will be when its time is over.
    await store.save(config, held.changed(claim=held.claim.model_copy(update={"at": 1.0})).dump())

    assert await whoami(config, store) == "ada"


async def test_a_renewed_token_waits_for_a_database_that_is_away(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, databases: Databases, name: str
) -> None:
    """The old refresh token is used up, the new one is kept until it can be stored, and only then the call is made."""
    await guarded.becomes(seconds="0")
    await signed_in(config, store)
    messages = await guarded.seen("messages")
    await guarded.becomes(seconds="3600", delay="1")
    call = asyncio.create_task(whoami(config, store))
    await eventually(lambda: guarded.seen("token refresh_token"))
    await databases.admin(f"alter database {name} allow_connections false")
    await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
    await asyncio.wait({call}, timeout=3)
    away = (call.done(), await guarded.seen("messages"))
    await databases.admin(f"alter database {name} allow_connections true")

    who = await call

    assert away == (False, messages)
    assert who == "ada"
    assert await guarded.seen("token refresh_token") == 1
    assert await whoami(config, store) == "ada"


async def test_a_known_token_serves_while_the_database_is_away(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, databases: Databases, name: str
) -> None:
    """A call needs the database only to learn or to keep something."""
    await signed_in(config, store)
    async with httpx2.AsyncClient(auth=auth_for(config, store)) as client:
        await ask(config, client)
        await databases.admin(f"alter database {name} allow_connections false")
        await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")

        assert await ask(config, client) == "ada"


async def test_another_key_opens_nothing_and_says_what_to_do(
    config: ServerConfig, store: CredentialStore, database: Database
) -> None:
    """With a lost key, a person can still sign out and in again."""
    await signed_in(config, store)
    other = CredentialStore(database, SecretBox(Fernet.generate_key()))

    with pytest.raises(ConfigurationError, match="cannot be opened") as failed:
        await whoami(config, other)
    assert "thresher servers login guarded" in failed.value.hint
    assert await sign_out(config, other) is False
    await signed_in(config, other)

    assert await whoami(config, other) == "ada"


async def test_sign_ins_go_with_their_server(
    guarded: Guarded, add: Add, config: ServerConfig, store: CredentialStore, database: Database
) -> None:
    """A later server of the same name starts without them."""
    await signed_in(config, store)
    tenant = Tenant(config.tenant, "")
    async with database.transaction(tenant) as connection:
        (row,) = await queries.servers(connection, Caller(tenant))
        await queries.delete_server(connection, tenant, row.id)
    await add(guarded)

    assert await store.load(config) is None


async def test_tenants_never_share(
    guarded: Guarded, config: ServerConfig, store: CredentialStore, database: Database
) -> None:
    """The same server name in another tenant is another server."""
    await signed_in(config, store)
    other = await database.tenant("another")
    moved = ServerConfig(config.name, "http", url=config.url, tenant=other.id)

    assert await store.load(moved) is None
    assert not await store.exchange(moved, None, {"address": config.url})
