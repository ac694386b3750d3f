"""Fixtures of the assistant: the packs' tools without their training lines, behind the real gateway."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.product import opened
from tests.support.tracker import TRACKER
from thresher.agent import Assistant
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.gateway import build_gateway
from thresher.knowledge.intents import Sources
from thresher.packs import BUILT_IN
from thresher.services import Services
from thresher.store import Database

TAUGHT = ("examples.txt", "not_examples.txt", "evals")
SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total NUMERIC);
"""


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture(scope="session")
def untaught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in packs without lines: their tools are there, and no router is fitted."""
    folder = tmp_path_factory.mktemp("packs")
    for place in BUILT_IN.iterdir():
        if (place / "SKILL.md").is_file():
            shutil.copytree(place, folder / place.name, ignore=shutil.ignore_patterns(*TAUGHT, "__pycache__"))
    return folder


@pytest.fixture(autouse=True)
def _a_busy_machine_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes shows at once, and what people are not kept waiting for, tests wait for."""
    monkeypatch.setattr("thresher.context.readiness.FRESH_SECONDS", 0.0)
    monkeypatch.setattr("thresher.context.readiness.ASKED_SECONDS", 20.0)
    monkeypatch.setattr("thresher.gateway.packs.tools.PATIENCE", 20.0)
    monkeypatch.setattr("thresher.gateway.packs.tools.QUICK_SECONDS", 20.0)


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, untaught: Path
) -> AsyncIterator[Services]:
    """Services of a fresh tenant, with the packs' tools."""
    async with opened(database, tenant, settings, encoder, Sources(built_in=untaught)) as services:
        yield services


@pytest.fixture
async def assistant(services: Services) -> AsyncIterator[Assistant]:
    """The assistant in front of the gateway."""
    gateway = build_gateway(services)
    async with gateway._lifespan_manager():
        await services.assistant.prepare(services.caller)
        yield services.assistant


@pytest.fixture
def caller(services: Services) -> Caller:
    """The fresh tenant's caller."""
    return services.caller


async def add_shop(services: Services, folder: Path) -> None:
    """Connect a database."""
    path = folder / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(SHOP)
    connection.close()
    await services.databases.add_connection(services.caller, "shop", f"sqlite:///{path}")
    await services.databases.refresh_schema(services.caller, "shop")


async def add_tracker(services: Services, folder: Path, name: str = "tracker") -> None:
    """Have an API's description indexed."""
    path = folder / "tracker.yaml"
    path.write_text(TRACKER, encoding="utf-8")
    await services.apis.add(services.caller, name, [str(path)], display_name=name.title(), aliases=["bugs"])
    await services.apis.index_here(services.caller, name)
