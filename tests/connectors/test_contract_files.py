"""Databases in files keep the contract of every connector."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.connectors.contract import TABLES, ConnectorContract, Subject
from thresher.connectors import open_connector

_WRITES = (
    "delete from order_line",
    "insert into customer values (9, 'x', 'x')",
    "update orders set total = 0",
    "create table t (id int)",
    "drop view big_order",
    "attach ':memory:' as other",
    "create temp table t (id int)",
)


def _runner(connect: Callable[[], Any]) -> Callable[..., Awaitable[None]]:
    def change(*statements: str) -> None:
        with closing(connect()) as database:
            for statement in statements:
                database.execute(statement)

    async def admin(*statements: str) -> None:
        await asyncio.to_thread(change, *statements)

    return admin


def _writing(file: Path) -> duckdb.DuckDBPyConnection:
    """One process opens a file in one way at a time, and a session may just be closing in the background."""
    until = time.monotonic() + 30
    while True:
        try:
            return duckdb.connect(str(file))
        except duckdb.ConnectionException:
            if time.monotonic() > until:
                raise


@pytest.fixture(scope="module")
async def sqlite_subject(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Subject]:
    """A SQLite file, and a connector over it."""
    file = tmp_path_factory.mktemp("sqlite") / "shop.db"
    admin = _runner(lambda: sqlite3.connect(file, isolation_level=None))
    await admin(*TABLES)
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select i from n"
    slow = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    connector = open_connector(f"sqlite:///{file}")
    yield Subject(f"sqlite:///{file}", connector, slow, _WRITES, admin, shows_sessions=False, numbers=numbers)
    await connector.close()


@pytest.fixture(scope="module")
async def duckdb_subject(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Subject]:
    """A DuckDB file, and a connector over it."""
    file = tmp_path_factory.mktemp("duckdb") / "shop.duckdb"
    admin = _runner(lambda: _writing(file))
    await admin(*TABLES)
    slow = "select sum(a.range * b.range % 7) from range(1000000) a, range(1000000) b"
    numbers = "select range + 1 from range(1000) order by 1"
    connector = open_connector(f"duckdb:///{file}")
    yield Subject(f"duckdb:///{file}", connector, slow, _WRITES, admin, shows_sessions=False, numbers=numbers)
    await connector.close()


class TestSqlite(ConnectorContract):
    """SQLite."""

    @pytest.fixture
    def subject(self, sqlite_subject: Subject) -> Subject:
        """The one of this engine."""
        return sqlite_subject


class TestDuckdb(ConnectorContract):
    """DuckDB."""

    @pytest.fixture
    def subject(self, duckdb_subject: Subject) -> Subject:
        """The one of this engine."""
        return duckdb_subject
