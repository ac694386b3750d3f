"""A database of its own for each gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from tests.support import Databases
from tests.upstream.conftest import http_server
from thresher.core import Settings

__all__ = ["http_server", "settings"]


@pytest.fixture
async def settings(databases: Databases, settings: Settings) -> AsyncIterator[Settings]:
    """Settings of a gateway on an empty database that runs already; it serves the owner without a key."""
    name = await databases.create()
    url = SecretStr(databases.url(name))
    update = {"database_url": url, "keyless": "on", "upstream_connect_seconds": 20, "upstream_call_seconds": 20}
    yield settings.model_copy(update=update)
    await databases.drop(name)
