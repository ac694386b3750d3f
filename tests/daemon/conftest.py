"""Homes for daemons."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.daemon.home import Home, opened
from tests.support import Databases


@pytest.fixture
async def light(open_folder: Path, databases: Databases) -> AsyncIterator[Home]:
    """A home of a test's own on a database that already runs, so that its daemon starts quickly."""
    name = await databases.create()
    with opened(open_folder / secrets.token_hex(4), THRESHER_DATABASE_URL=databases.url(name)) as home:
        yield home
    await databases.drop(name)
