"""`thresher db` and `thresher eval sql`: what they print, and their exit codes."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Command

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total NUMERIC);
CREATE TABLE parcels (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL);
INSERT INTO customers VALUES (1, '[bold]Anna[/bold]'), (2, 'Ben' || char(27) || '[2J');
INSERT INTO orders VALUES (1, 1, 19.5), (2, 1, 7), (3, 2, 12);
INSERT INTO parcels VALUES (1, 1), (2, 3);
"""


@pytest.fixture
def shop(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database file, connected under the name `shop` by its relative path."""
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(SHOP)
    connection.close()
    monkeypatch.chdir(tmp_path)
    command("db", "remove", "shop")
    ended = command("db", "add", "shop", "--url", "sqlite:///shop.sqlite", "--description", "Sales")
    assert ended.code == 0, ended.out + ended.err
    assert "It works" in ended.out
    return path


def test_a_database_is_connected_shown_asked_and_removed(command: Command, shop: Path) -> None:
    """Names and cells are printed as they are, but for what a terminal would obey."""
    refreshed = command("db", "refresh", "shop")
    listed = command("db", "list")
    schema = command("db", "schema", "shop")
    tables = command("db", "tables", "shop", "-s", "order")
    columns = command("db", "columns", "shop", "orders")
    found = command("db", "find", "orders of customers", "-c", "shop")
    rows = command("db", "query", "shop", "SELECT name FROM customers ORDER BY id")
    plan = command("db", "explain", "shop", "SELECT name FROM customers")
    relations = command("db", "relations", "shop")
    session = command("db", "session", "shop")
    removed = command("db", "remove", "shop")
    after = command("db", "list")

    ended = (refreshed, listed, schema, tables, columns, found, rows, plan, relations, session, removed, after)
    assert [one.code for one in ended] == [0] * len(ended)
    assert "shop: 3 tables, ready" in refreshed.out
    assert all(word in listed.out for word in ("shop", "sqlite", "ready", "Sales"))
    assert "customer_id" in schema.out
    assert "orders" in tables.out
    assert "orders (customer_id) -> customers (id)" in columns.out
    assert "orders" in found.out
    assert "[bold]Anna[/bold]" in rows.out
    assert "Ben<U+001B>[2J" in rows.out
    assert "(2 rows;" in rows.out
    assert "SCAN" in plan.out
    assert "parcels (order_id) -> orders (id)" in relations.out
    assert "Removed shop." in removed.out
    assert "thresher db add" in after.out


def test_rows_go_on_where_they_ended(command: Command, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By cursor; the statement may come by standard input."""
    sql = "SELECT id FROM orders\nORDER BY id"
    monkeypatch.setattr("sys.stdin", io.StringIO(sql))
    first = command("db", "query", "shop", "-", "-n", "2", "--json").json
    rest = command("db", "query", "shop", sql, "-n", "2", "--cursor", first["cursor"], "--json").json

    assert (first["rows"], first["truncated"]) == ([[1], [2]], True)
    assert (rest["rows"], rest["first_row"], rest["cursor"]) == ([[3]], 2, None)


def test_what_may_not_run_ends_with_a_code_of_its_own(command: Command, shop: Path) -> None:
    """In one line with the place; a database's own error has another code."""
    codes = {
        15: [("query", "shop", "DELETE FROM orders"), ("explain", "shop", "DROP TABLE orders"), ("query", "shop", "")],
        14: [("query", "shop", "SELECT nothing FROM orders")],
        3: [("query", "nobody", "SELECT 1"), ("schema", "shop", "nothing"), ("columns", "shop", "nothing")],
        2: [
            ("add", "a b", "--url", "sqlite:////x.db"),
            ("add", "a", "--url", "nothing"),
            ("add", "a", "--url", "postgresql://me:${NOT_SET_HERE}@host/x"),
            ("query", "shop", "SELECT 1", "-n", "0"),
        ],
        4: [("add", "shop", "--url", "sqlite:///shop.sqlite")],
    }
    for code, commands in codes.items():
        for arguments in commands:
            ended = command("db", *arguments)

            assert ended.code == code, (arguments, ended)
            assert ended.out == ""
            assert "Traceback" not in ended.err


def test_a_password_is_warned_of_and_never_printed(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer has an exit code of its own; the connection is kept only where that is wanted."""
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    shown = command("db", "add", "away", "--url", "postgresql://me:hunter2@127.0.0.1:1/shop")
    unkept = command("db", "test", "away")
    url = "postgresql://me:${SHOP_PASSWORD}@127.0.0.1:1/shop"
    hidden = command("db", "add", "away", "--url", url, "--no-test")
    tested = command("db", "test", "away", "--json")
    asked = command("db", "query", "away", "SELECT 1")
    doctor = command("doctor")
    command("db", "remove", "away")

    assert "list of processes" in shown.err
    assert hidden.err == ""
    assert (shown.code, unkept.code, hidden.code, tested.code, asked.code) == (13, 3, 0, 13, 13)
    assert tested.json["problem"]
    assert "databases" in doctor.out
    assert all("hunter2" not in one.out + one.err for one in (shown, hidden, tested, asked, doctor))


def test_the_guard_is_measured_on_known_statements(command: Command, tmp_path: Path) -> None:
    """Shares, times, and what was judged otherwise than expected."""
    file = tmp_path / "statements.tsv"
    file.write_text(
        "# reads\nallow\tSELECT * FROM {{T}}\nallow\tDELETE FROM {{T}}\tno read at all\n"
        "deny\tDROP TABLE {{T2}}\ndeny\tSELECT 1\tharmless\n",
        encoding="utf-8",
    )
    arguments = ("eval", "sql", "--statements", str(file), "--dialect", "postgres")
    figures = command(*arguments, "--json").json
    shown = command(*arguments)
    wrong = command("eval", "sql", "--statements", str(file), "--dialect", "access")
    absent = command("eval", "sql", "--statements", str(tmp_path / "absent"), "--dialect", "sqlite")

    assert (figures["dialect"], figures["reads_accepted"], figures["hostile_accepted"]) == ("postgresql", 0.5, 1)
    assert [(line["line"], line["rule"]) for line in figures["wrong"]] == [(3, figures["wrong"][0]["rule"]), (5, "")]
    assert 0 < figures["p50_ms"] <= figures["p99_ms"]
    assert "ACCEPTED SELECT 1" in shown.out
    assert (wrong.code, absent.code) == (2, 2)
    assert json.dumps(figures)
