"""Fixtures of models: the service, users of a tenant, and a fake service that streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from cryptography.fernet import Fernet

from tests.fakes.chat_server import ChatServer
from thresher.agent import Models
from thresher.core import Caller, Settings, Tenant
from thresher.store import Database, SecretBox

KEY = "sk-very-secret-key-of-a-model"


@pytest.fixture
def fake() -> Iterator[ChatServer]:
    """A chat service that runs."""
    server = ChatServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def secrets() -> SecretBox:
    """Seals keys."""
    return SecretBox(Fernet.generate_key())


@pytest.fixture
async def models(database: Database, secrets: SecretBox) -> AsyncIterator[Models]:
    """The service under test; no model comes from the settings."""
    models = Models(database, secrets, Settings(model_hosts=("models.example.com", "127.0.0.1:9")))
    yield models
    await models.close()


@pytest.fixture
def ada(tenant: Tenant) -> Caller:
    """A user."""
    return Caller(tenant, "ada")


@pytest.fixture
def bob(tenant: Tenant) -> Caller:
    """Another user of the same tenant."""
    return Caller(tenant, "bob")


@pytest.fixture
def everybody(tenant: Tenant) -> Caller:
    """A caller who stands for the tenant."""
    return Caller(tenant)
