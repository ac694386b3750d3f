from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.upstream.oauth.guarded import Guarded
from thresher.core import Caller, Tenant
from thresher.knowledge.tools import CredentialStore, queries
from thresher.store import Database, SecretBox
from thresher.upstream import ServerConfig

Add = Callable[..., Awaitable[ServerConfig]]


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    """A guarded server of a test's own."""
    server = Guarded.start()
    yield server
    server.stop()


@pytest.fixture
def box() -> SecretBox:
    """The secret key of a test's own."""
    return SecretBox(Fernet.generate_key())


@pytest.fixture
def store(database: Database, box: SecretBox) -> CredentialStore:
    """Where sign-ins are kept, as the product keeps them."""
    return CredentialStore(database, box)


@pytest.fixture
def add(database: Database, tenant: Tenant) -> Add:
    """Adds servers to the catalogue, without connecting to them."""

    async def add(server: Guarded, name: str = "guarded", **more: Any) -> ServerConfig:
        caller = Caller(tenant)
        async with database.transaction(tenant) as connection:
            values = {"config": {"transport": "http", "url": server.url}, "sealed": None, "description": ""}
            await queries.put_server(connection, caller, name, enabled=True, **values)
        config = ServerConfig(name, "http", url=server.url, tenant=tenant.id)
        return replace(config, **more)

    return add


@pytest.fixture
async def config(guarded: Guarded, add: Add) -> ServerConfig:
    """The guarded server as its tenant knows it."""
    return await add(guarded)
