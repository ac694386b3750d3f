"""The product behind a real port, and people with browsers."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.console.filling import used_product
from tests.console.person import Person, person
from tests.support import Databases
from thresher.core import Settings


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """The product, empty, for all tests of a module; its owner needs no key."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    url = SecretStr(databases.url(name))
    async with served(Settings(data_dir=folder, allow_root=True, database_url=url)) as product:
        yield product
    await databases.drop(name)


@pytest.fixture
async def owner(product: Served) -> AsyncIterator[Person]:
    """The owner of the product's process."""
    async with person(product) as owner:
        yield owner


@pytest.fixture(scope="module")
async def used(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product that was used, for all tests of a module."""
    async with used_product(databases, open_folder) as product:
        yield product


@pytest.fixture
async def user(used: Served) -> AsyncIterator[Person]:
    """The owner of the product that was used."""
    async with person(used) as user:
        yield user


@pytest.fixture
async def stranger(used: Served) -> AsyncIterator[Person]:
    """A user of another tenant of it, with a key."""
    other = await used.app.services.database.tenant("others")
    text, _ = await used.app.services.keys.add(other, secrets.token_hex(4), "eve")
    async with person(used) as stranger:
        await stranger.sign_in(text)
        yield stranger
