"""The product with the packs that come with it, one encoder a process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.product import opened
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.intents import Sources
from thresher.packs import BUILT_IN
from thresher.services import Services
from thresher.store import Database


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Services]:
    """Services of a fresh tenant whose tools run before their rules were read; a busy machine has time to load code."""
    monkeypatch.setattr("thresher.gateway.packs.tools.PATIENCE", 20.0)
    monkeypatch.setattr("thresher.gateway.packs.tools.QUICK_SECONDS", 20.0)
    monkeypatch.setattr("thresher.context.readiness.ASKED_SECONDS", 20.0)
    quiet = settings.model_copy(update={"rules_first": "off"})
    async with opened(database, tenant, quiet, encoder, Sources(built_in=BUILT_IN)) as services:
        yield services
