"""Databases over a real port: connections, schemas, rows, problems."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, assert_problem, served
from tests.support import Databases
from thresher.core import Settings
from thresher.embedding import count_tokens

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total NUMERIC);
CREATE TABLE parcels (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL);
INSERT INTO customers VALUES (1, 'Anna'), (2, 'Ben');
INSERT INTO orders VALUES (1, 1, 19.5), (2, 1, 7), (3, 2, 12);
INSERT INTO parcels VALUES (1, 1), (2, 3);
"""


def written(path: Path) -> Path:
    """A database file."""
    connection = sqlite3.connect(path)
    connection.executescript(SHOP)
    connection.close()
    return path


@pytest.fixture(scope="module")
async def product(
    databases: Databases, open_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    """The product with one connection, shared by all tests of this module."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    settings = Settings(
        data_dir=folder, allow_root=True, database_url=SecretStr(databases.url(name)), home_packs="off", workers=0
    )
    async with served(settings) as product:
        url = f"sqlite:///{written(tmp_path_factory.mktemp('shop') / 'shop.sqlite')}"
        added = await product.web.post("/v1/connections", json={"name": "shop", "url": url, "description": "Sales"})
        assert added.status_code == 201, added.text
        yield product
    await databases.drop(name)


async def post(product: Served, verb: str, **body: Any) -> Any:
    """The answer's body."""
    answer = await product.web.post(f"/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_connection_is_kept_tested_and_shown(product: Served) -> None:
    """In the list and by itself, its schema read again; nobody sees its address in full."""
    refreshed = (await product.web.post("/v1/connections/shop/refresh")).json()
    tested = (await product.web.post("/v1/connections/shop/test")).json()
    listed = (await product.web.get("/v1/connections")).json()["connections"]
    shown = (await product.web.get("/v1/connections/shop")).json()

    assert (refreshed["state"], refreshed["tables"]) == ("ready", 3)
    assert (tested["ok"], tested["problem"]) == (True, "")
    assert listed == [shown]
    assert (shown["name"], shown["dialect"], shown["description"], shown["owner"]) == ("shop", "sqlite", "Sales", None)
    assert "url" not in shown


async def test_a_schema_keeps_its_budget(product: Served) -> None:
    """Whole, by table, by name and by what tables hold."""
    whole = await post(product, "query_database_schema", connection="shop", budget=800)
    short = (await product.web.get("/v1/connections/shop/schema", params={"budget": 800})).json()
    table = await post(product, "query_database_schema", connection="shop", table="customers")
    columns = await post(product, "get_table_columns", connection="shop", table="orders")
    same = await post(product, "sql_table_info", connection="shop", table="orders")
    listed = await post(product, "sql_list_tables", connection="shop", limit=2)
    found = await post(product, "search_schema", query="what did people buy", limit=2)
    relations = await post(product, "find_relations", connection="shop")

    assert whole["token_count"] == count_tokens(whole["content"]) <= 800
    assert short["content"] == whole["content"]
    assert whole["foreign_keys"][0][1]["table"] == "customers"
    assert table["table"]["primary_key"] == ["id"]
    assert table["incoming"][0]["table"] == "orders"
    assert columns == same
    assert [column["name"] for column in columns["columns"]] == ["id", "customer_id", "total"]
    assert (len(listed["tables"]), listed["total"]) == (2, 3)
    assert listed["cursor"]
    assert set(found) == {"query", "tables", "degraded"}
    assert [one["table"] for one in relations["potential"]] == ["parcels"]


async def test_rows_come_page_by_page(product: Served) -> None:
    """With names and types, and the number under which the audit log has it."""
    sql = "SELECT id, total FROM orders ORDER BY id"
    first = await post(product, "sql_query", connection="shop", sql=sql, max_rows=2)
    rest = await post(product, "sql_query", connection="shop", sql=sql, max_rows=2, cursor=first["cursor"])
    plan = await post(product, "sql_explain", connection="shop", sql=sql)
    session = await post(product, "sql_session_info", connection="shop")

    assert [column["name"] for column in first["columns"]] == ["id", "total"]
    assert (first["row_count"], first["truncated"], first["first_row"]) == (2, True, 0)
    assert (rest["row_count"], rest["truncated"], rest["first_row"], rest["cursor"]) == (1, False, 2, None)
    assert rest["audit_id"] > first["audit_id"] > 0
    assert plan["row_count"] >= 1
    assert session["session"]


async def test_what_is_asked_stands_in_the_log(product: Served) -> None:
    """With the program that asked."""
    await post(product, "sql_query", connection="shop", sql="SELECT 41 + 1")
    services = product.app.services
    (entry, *_) = (await services.audit.entries(services.caller)).entries

    assert (entry.attempt.sql, entry.attempt.tool) == ("SELECT 41 + 1", "sql_query")
    assert "httpx" in entry.attempt.client


async def test_a_connection_is_removed_and_its_file_left_alone(product: Served, tmp_path: Path) -> None:
    """A name is taken once, unless it is given a new address on purpose."""
    body = {"name": "more", "url": f"sqlite:///{written(tmp_path / 'more.sqlite')}"}
    added = await product.web.post("/v1/connections", json=body)
    again = await product.web.post("/v1/connections", json=body)
    replaced = await product.web.post("/v1/connections", json={**body, "replace": True})
    removed = await product.web.delete("/v1/connections/more")
    gone = await product.web.get("/v1/connections/more")

    assert (added.status_code, replaced.status_code, removed.status_code) == (201, 201, 204)
    assert_problem(again, 409, "conflict")
    assert_problem(gone, 404, "not_found")
    assert (tmp_path / "more.sqlite").exists()


@pytest.mark.parametrize(
    ("verb", "body", "status", "kind"),
    [
        ("sql_query", {"connection": "shop", "sql": ""}, 403, "statement_refused"),
        ("sql_query", {"connection": "shop", "sql": "DELETE FROM orders"}, 403, "statement_refused"),
        ("sql_query", {"connection": "shop", "sql": "SELECT nothing FROM orders"}, 422, "query_failed"),
        ("sql_query", {"connection": "shop", "sql": "SELECT 1", "max_rows": 0}, 422, "invalid_input"),
        ("sql_query", {"connection": "shop", "sql": "SELECT 1", "cursor": "x"}, 422, "invalid_cursor"),
        ("sql_query", {"connection": "shop", "sql": "SELECT 1", "who": "me"}, 422, "invalid_input"),
        ("sql_query", {"connection": "shp", "sql": "SELECT 1"}, 404, "not_found"),
        ("query_database_schema", {"connection": "shop", "budget": 1}, 422, "invalid_input"),
        ("query_database_schema", {"connection": "shop", "table": "order"}, 404, "not_found"),
        ("get_table_columns", {"connection": "shop", "table": "nothing"}, 404, "not_found"),
        ("sql_list_tables", {"connection": "shop", "limit": 0}, 422, "invalid_input"),
        ("search_schema", {"query": " "}, 422, "invalid_input"),
        ("connections", {"name": "a b", "url": "sqlite:////tmp/x.db"}, 422, "invalid_input"),
        ("connections", {"name": "a", "url": "access:///x.mdb"}, 422, "invalid_input"),
        ("connections", {"name": "a", "url": "no address"}, 422, "invalid_input"),
    ],
)
async def test_wrong_requests_are_problems(
    product: Served, verb: str, body: dict[str, Any], status: int, kind: str
) -> None:
    """In words, and never as a traceback."""
    answer = await product.web.post(f"/v1/{verb}", json=body)

    assert_problem(answer, status, kind)


async def test_an_address_is_never_told(product: Served) -> None:
    """Not in a problem, not in an answer, not where it cannot be reached."""
    url = "postgresql://reader:hunter2@127.0.0.1:1/shop"
    wrong = await product.web.post("/v1/connections", json={"name": "bad", "url": url.replace("1/shop", "x/shop")})
    kept = await product.web.post("/v1/connections", json={"name": "away", "url": url})
    tested = await product.web.post("/v1/connections/away/test")
    asked = await product.web.post("/v1/sql_query", json={"connection": "away", "sql": "SELECT 1"})
    listed = await product.web.get("/v1/connections")
    await product.web.delete("/v1/connections/away")

    assert kept.status_code == 201
    assert tested.json()["ok"] is False
    assert asked.status_code == 502
    assert all("hunter2" not in answer.text for answer in (wrong, kept, tested, asked, listed))


async def test_a_key_connects_only_to_what_was_named_for_it(product: Served, tmp_path: Path) -> None:
    """And sees no connection of another tenant."""
    _, header = await product.key("acme", "ann")
    body = {"name": "mine", "url": f"sqlite:///{written(tmp_path / 'mine.sqlite')}"}
    answer = await product.web.post("/v1/connections", json=body, headers=header)
    listed = await product.web.get("/v1/connections", headers=header)

    assert_problem(answer, 403, "not_allowed")
    assert listed.json() == {"connections": []}


async def test_half_a_surrogate_in_a_search_is_replaced(keyless: Served) -> None:
    """The answer repeats the question, and has to be written as UTF-8."""
    answer = await keyless.web.post(
        "/v1/search_schema", content=b'{"query": "invoices \\ud800"}', headers={"content-type": "application/json"}
    )

    assert answer.status_code < 500, answer.text
