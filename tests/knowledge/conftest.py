"""Fixtures of the tools kind: the real encoder once per process, fresh services per test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.product import opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.tools import ToolService
from thresher.services import Services
from thresher.store import Database


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings, encoder: Encoder) -> AsyncIterator[Services]:
    """Services of a fresh tenant."""
    async with opened(database, tenant, settings, encoder) as services:
        yield services


@pytest.fixture
def tools(services: Services) -> ToolService:
    """The service under test."""
    return services.tools


@pytest.fixture
def caller(services: Services) -> Caller:
    """The fresh tenant's caller."""
    return services.caller
