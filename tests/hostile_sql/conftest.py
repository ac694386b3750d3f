"""Fixtures of the tests with live engines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hostile_sql.corpus import ENGINES
from tests.hostile_sql.engines import Live, live_duckdb, live_mariadb, live_postgresql, live_sqlite
from tests.support import Databases
from tests.support.mariadb import MariaServer


@pytest.fixture
async def postgresql(databases: Databases, tmp_path: Path) -> AsyncIterator[Live]:
    """On the test server."""
    async with live_postgresql(databases, tmp_path) as live:
        yield live


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[Live]:
    """A file."""
    async with live_sqlite(tmp_path) as live:
        yield live


@pytest.fixture
async def duckdb(tmp_path: Path) -> AsyncIterator[Live]:
    """A file."""
    async with live_duckdb(tmp_path) as live:
        yield live


@pytest.fixture
async def mariadb_database(mariadb: MariaServer, tmp_path: Path) -> AsyncIterator[Live]:
    """On a test server; skips if there is none."""
    async with live_mariadb(mariadb, tmp_path) as live:
        yield live


@pytest.fixture(params=ENGINES)
def live(request: pytest.FixtureRequest) -> Live:
    """A disposable database of each engine; only the requested one is created."""
    name = "mariadb_database" if request.param == "mariadb" else str(request.param)
    return request.getfixturevalue(name)
