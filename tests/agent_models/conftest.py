"""Fixtures of models: the service, users of a tenant, and a fake service that streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tests.fakes.chat_http import Connection, Request
from tests.fakes.chat_server import ChatServer
from thresher.agent import ChatSettings, Models, OpenModel
from thresher.agent.models.client import ModelClient
from thresher.agent.models.requests import Service, ServiceDescription
from thresher.core import Breaker, Caller, Pauses, Settings, Tenant
from thresher.llm import host_and_port
from thresher.store import Database, SecretBox

KEY = "sk-very-secret-key-of-a-model"


class Watched(ChatServer):
    """The fake service, which also notes who comes and with which headers, and may know no streams.

    Attributes:
        connections: How many there were.
        headers: Of each request.
        paths: Of each request, with its query.
        streams: Whether it streams where it is asked to.
    """

    def __init__(self) -> None:
        self.connections = 0
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.streams = True
        super().__init__()

    def hang_up(self) -> None:
        """End all connections, as services do with those that were idle for long."""
        done = threading.Event()

        def end() -> None:
            for client in tuple(self._clients):
                client.close()
            self._loop.call_soon(done.set)

        self._loop.call_soon_threadsafe(end)
        done.wait(10)

    def _connection(self) -> Connection:
        self.connections += 1
        return super()._connection()

    async def _serve(self, client: Connection, request: Request) -> None:
        self.headers.append(request.headers)
        self.paths.append(request.path)
        await super()._serve(client, request)

    async def _reply(self, client: Connection, body: dict[str, Any], mode: str) -> None:
        await super()._reply(client, body if self.streams else {**body, "stream": False}, mode)


@pytest.fixture
def fake() -> Iterator[Watched]:
    """A chat service that runs."""
    server = Watched()
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


class Waits:
    """Pauses between tries, which take no time here."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def __call__(self, seconds: float) -> None:
        """Wait, that is: let others go on."""
        self.asked.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def waits() -> Waits:
    """How long was to be waited between tries."""
    return Waits()


Connect = Callable[..., OpenModel]


@pytest.fixture
async def connect(fake: Watched, waits: Waits) -> AsyncIterator[Connect]:
    """Opens models of the fake service and closes them after the test."""
    opened: list[Service] = []

    def opener(
        url: str = fake.url,
        *,
        key: str | None = KEY,
        breaker: Breaker | None = None,
        fair: float = 10.0,
        **chosen: object,
    ) -> OpenModel:
        client = partial(ModelClient, url, "fake", key, "Look at it.")
        about = ServiceDescription("m", "Look at it.", host_and_port(url), key is not None, "there")
        opened.append(Service(client, breaker or Breaker(Pauses()), about, waits, fair=fair))
        settings = {"model_seconds": 10.0, "first_seconds": 10.0, **chosen}
        return OpenModel("m", "127.0.0.1", opened[-1], ChatSettings.model_validate(settings))

    yield opener
    for service in opened:
        await service.close()
