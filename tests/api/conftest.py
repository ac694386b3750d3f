"""A product a test, on a database of its own that a running server already holds."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.support import Databases
from thresher.core import Settings


@pytest.fixture
async def own_settings(databases: Databases, settings: Settings) -> AsyncIterator[Settings]:
    """Settings with a fresh database."""
    settings.data_dir.mkdir(parents=True)
    name = await databases.create()
    yield settings.model_copy(update={"database_url": SecretStr(databases.url(name))})
    await databases.drop(name)


@pytest.fixture
async def product(own_settings: Settings) -> AsyncIterator[Served]:
    """The product and a client."""
    async with served(own_settings) as product:
        yield product


@pytest.fixture(scope="module")
async def keyless(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product that a module's tests share and leave as it is: no key, no server."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    async with served(
        Settings(data_dir=folder, allow_root=True, database_url=SecretStr(databases.url(name)))
    ) as product:
        yield product
    await databases.drop(name)
