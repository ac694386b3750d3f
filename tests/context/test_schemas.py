"""The part of a database's schema that fits a message, in a context."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.knowledge_intents.packs import write_pack
from thresher.context import ContextService
from thresher.core import Caller
from thresher.services import Services

QUESTION = "ask the database which customers have not paid"
LINES = (
    QUESTION,
    "query the database",
    "run sql on the shop",
    "how many rows has the table",
    "select from the database",
)


@pytest.fixture
async def shop(services: Services, tmp_path: Path) -> str:
    """A connection with a known schema."""
    file = tmp_path / "shop.db"
    link = sqlite3.connect(file)
    link.executescript(
        "create table customer (customer_id integer primary key, name text);"
        "create table invoice (invoice_id integer primary key, customer_id integer references customer, paid_on date);"
    )
    link.close()
    await services.databases.add_connection(services.caller, "shop", f"sqlite:///{file}")
    await services.databases.refresh_schema(services.caller, "shop")
    return "shop"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with a pack of databases and another one."""
    folder = tmp_path / "shelf"
    write_pack(folder, "databases", LINES, rules="Ask for the schema first.")
    write_pack(folder, "mail", ("send a mail to ana", "write an email", "mail the report"), rules="Sign it.")
    return folder


async def test_a_slice_comes_with_the_rules_of_databases(context: ContextService, caller: Caller, shop: str) -> None:
    """Tables, keys and joins of the connection, in both forms."""
    pack = await context.get_context(caller, QUESTION)

    given = pack.data["schemas"][0]
    assert given["connection"] == shop
    assert set(given["tables"]) == {"customer", "invoice"}
    assert given["schema"] in pack.text
    assert "invoice.customer_id = customer.customer_id" in given["schema"]


async def test_other_messages_cost_nothing(context: ContextService, caller: Caller, shop: str) -> None:
    """If other rules were chosen, schemas are not mentioned."""
    pack = await context.get_context(caller, "send a mail to ana")

    assert "schemas" not in pack.data


async def test_without_a_connection_nothing_is_said_of_schemas(context: ContextService, caller: Caller) -> None:
    """There is not even an empty list."""
    pack = await context.get_context(caller, QUESTION)

    assert "schemas" not in pack.data
