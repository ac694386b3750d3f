"""Fixtures of the databases service: a shop in SQLite, the real encoder, a fresh tenant."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest

from tests.support.product import opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.databases import DatabaseService
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
def service(services: Services) -> DatabaseService:
    """The service under test."""
    return services.databases


@pytest.fixture
def caller(services: Services) -> Caller:
    """The fresh tenant's caller."""
    return services.caller


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small shop with one undeclared key."""
    file = tmp_path / "shop.db"
    write(file, SHOP)
    return file


def write(file: Path, script: str) -> None:
    """Run statements on a SQLite file, which is made when it is missing."""
    link = sqlite3.connect(file)
    link.executescript(script)
    link.commit()
    link.close()


def write_as(dialect: str, file: Path, statement: str) -> None:
    """Run one statement on a file of SQLite or DuckDB."""
    if dialect == "sqlite":
        write(file, statement)
    else:
        with duckdb.connect(str(file)) as link:
            link.execute(statement)


SHOP = """
create table customer (customer_id integer primary key, name text not null, city text);
create table "order" (
  order_id integer primary key,
  customer_id integer not null references customer (customer_id),
  ordered_on date
);
create table order_line (
  order_id integer not null references "order" (order_id),
  line integer not null,
  product_id integer not null,
  quantity integer not null,
  primary key (order_id, line)
);
create table product (product_id integer primary key, title text not null, price numeric(10, 2));
insert into customer values (1, 'Ada', 'Bonn'), (2, 'Bob', 'Ulm'), (3, 'Cy', null);
insert into "order" values (1, 1, '2026-01-05'), (2, 2, '2026-02-06');
insert into product values (1, 'Lamp', 12.5), (2, 'Desk', 99);
insert into order_line values (1, 1, 1, 2), (1, 2, 2, 1), (2, 1, 1, 5);
"""


def url(file: Path) -> str:
    """The address of a SQLite file."""
    return f"sqlite:///{file}"
