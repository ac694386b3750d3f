"""Fixtures of the APIs service: small descriptions of a shop, the real encoder, a fresh tenant."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.product import opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.apis import ApiService
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
def service(services: Services) -> ApiService:
    """The service under test."""
    return services.apis


@pytest.fixture
def caller(services: Services) -> Caller:
    """The fresh tenant's caller."""
    return services.caller


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The description of a small shop."""
    return write(tmp_path / "shop.json", described(SHOP))


SHOP = {
    "GET /orders": "List orders",
    "POST /orders": "Place an order",
    "GET /orders/{id}": "Read an order",
    "DELETE /orders/{id}": "Cancel an order",
    "GET /customers": "List customers",
}
"""Method and path to summary."""


def described(operations: dict[str, str], version: str = "1.2.0", **more: Any) -> dict[str, Any]:
    """A description with these operations and nothing else."""
    paths: dict[str, Any] = {}
    for key, summary in operations.items():
        method, path = key.split()
        paths.setdefault(path, {})[method.lower()] = {"summary": summary, "responses": {"200": {"description": "Fine"}}}
    return {"openapi": "3.0.3", "info": {"title": "Shop", "version": version}, "paths": paths, **more}


def write(file: Path, document: Any) -> Path:
    """Write a description as JSON."""
    file.write_text(json.dumps(document), encoding="utf-8")
    return file
