"""Fixtures of the intents service: packs in a folder of the test's own, the real encoder, a fresh tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.knowledge_intents.packs import write_pack
from tests.support.product import opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.intents import IntentService, Sources
from thresher.services import Services
from thresher.store import Database


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with two packs."""
    folder = tmp_path / "shelf"
    write_pack(folder, "relations", RELATIONS)
    write_pack(folder, "deploy", DEPLOY)
    return folder


@pytest.fixture
def sources(shelf: Path, tmp_path: Path) -> Sources:
    """That folder as configured, and an empty home."""
    return Sources(configured=(shelf,), home=tmp_path / "home")


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, sources: Sources
) -> AsyncIterator[Services]:
    """Services of a fresh tenant with those packs."""
    async with opened(database, tenant, settings, encoder, sources) as services:
        yield services


@pytest.fixture
async def intents(services: Services) -> IntentService:
    """The service under test, its router fitted."""
    await services.intents.prepare(services.caller)
    return services.intents


@pytest.fixture
def caller(services: Services) -> Caller:
    """The owner."""
    return services.caller


RELATIONS = (
    "create a relation between orders and customers",
    "make a relation from order lines to products",
    "add a relation that joins invoices with payments",
    "I need a new relation customers to addresses",
    "relation orders_to_employees please",
    "connect the two tables with a relation",
    "change the relation so that it sorts by date",
    "delete the relation contacts_to_companies",
)
DEPLOY = (
    "deploy the application to production",
    "roll out the new release on the server",
    "ship the build to staging",
    "push the release live tonight",
    "deploy version 3 to the test server",
    "undo the last deployment",
    "how do we release to production",
    "start the deployment pipeline",
)
