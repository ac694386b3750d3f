"""A PostgreSQL database with schemas, comments and names with capitals."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import make_url

from tests.support import Databases
from thresher.core import Caller, QueryFailed, StatementRefused
from thresher.knowledge.databases import DatabaseService

TABLES = (
    "create schema sales",
    'create table sales."Customer" ("CustomerId" int primary key, "Name" text not null)',
    'create table sales.bill (bill_id int primary key, "CustomerId" int references sales."Customer", total numeric)',
    "create table public.note (note_id int primary key, bill_id int, body text)",
    "comment on table sales.bill is 'what customers owe us'",
    "insert into sales.\"Customer\" values (1, 'Ada')",
    "grant usage on schema sales to {role}",
    "grant select on all tables in schema sales, public to {role}",
    "analyze",
)


@pytest.fixture(scope="module")
async def address(databases: Databases) -> AsyncIterator[str]:
    """The address of a database with a few tables, for a role that may read them."""
    name = f"erp_{secrets.token_hex(4)}"
    await databases.admin(f"create database {name}")
    await databases.admin(f"create role {name} login password 'reader'")
    for statement in TABLES:
        await databases.admin(statement.format(role=name), name)
    url = make_url(databases.url(name)).set(drivername="postgresql", username=name, password="reader")
    yield url.render_as_string(hide_password=False)
    await databases.drop(name)
    await databases.admin(f"drop role {name}")


async def test_schemas_comments_and_capitals_are_shown(service: DatabaseService, caller: Caller, address: str) -> None:
    """Tables outside the default schema stand with their schema's name."""
    await service.add_connection(caller, "erp", address)

    answer = await service.query_database_schema(caller, "erp")

    assert set(answer.shown) == {"note", "sales.Customer", "sales.bill"}
    assert "what customers owe us" in answer.content
    assert 'write "' in answer.content
    assert "CustomerId integer -> sales.Customer" in answer.content


async def test_a_name_that_lacks_its_quotes_is_offered_with_them(
    service: DatabaseService, caller: Caller, address: str
) -> None:
    """The commonest mistake with capitals."""
    await service.add_connection(caller, "erp", address)
    await service.query_database_schema(caller, "erp")

    with pytest.raises(QueryFailed) as failed:
        await service.query(caller, "erp", 'select CustomerId from sales."Customer"')
    rows = await service.query(caller, "erp", 'select "CustomerId", "Name" from sales."Customer"')

    assert '"CustomerId"' in failed.value.hint
    assert rows.rows == ((1, "Ada"),)


async def test_the_session_is_tagged_and_only_reads(service: DatabaseService, caller: Caller, address: str) -> None:
    """The server itself reports that; a statement that writes does not reach it."""
    await service.add_connection(caller, "erp", address)

    info = await service.session_info(caller, "erp")
    health = await service.test_connection(caller, "erp")

    assert "thresher" in repr(dict(info.session))
    assert health.ok
    with pytest.raises(StatementRefused):
        await service.query(caller, "erp", 'update sales."Customer" set "Name" = \'x\'')
