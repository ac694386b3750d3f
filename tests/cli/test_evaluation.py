"""`thresher eval tools` and `thresher eval relations` from files to figures."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from tests.cli.conftest import Command

KEYS = {
    "recall_at_1", "recall_at_3", "recall_at_5", "recall_at_10", "ndcg_at_10", "all_in_10", "abstention_auc",
    "abstention_accuracy", "tokens_saved", "p50_ms", "p95_ms", "cached_p50_ms", "index_seconds", "tools_per_second",
    "needed_at_150", "needed_at_300", "needed_at_600", "signature_at_300", "confusion", "full_precision",
    "foreign_refused", "tokens_mean", "tools_mean", "intervals", "needed_by_tasks", "repeated",
}  # fmt: skip
POOL = [
    {"server": "git", "name": "log", "description": "Show the commit history of a repository."},
    {"server": "time", "name": "now", "description": "Get the current time in a time zone."},
    {"server": "Mail & Co", "name": "send", "description": "Send an email to a person.", "inputSchema": {}},
    {
        "server": "files",
        "name": "read",
        "description": "Read a text file from disk.",
        "inputSchema": {"type": "object"},
    },
    {"server": "twin", "name": "read", "description": "Read a text file from disk.", "inputSchema": {"type": "object"}},
]
QUERIES = [
    {"query": "show me the commit history", "relevant": ["git/log"]},
    {"query": "what is the current time in Tokyo", "relevant": ["time/now", "no/such"]},
    {
        "query": "mail Ada, then read notes.txt",
        "queries": ["send an email", "read a file"],
        "relevant": ["Mail & Co/send", "twin/read"],
    },
    {"query": "tell me a joke about elephants", "relevant": []},
]


def written(folder: Path, pool: object, queries: list[object]) -> tuple[str, ...]:
    """The arguments for these files."""
    (folder / "pool.json").write_text(json.dumps(pool))
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(query) for query in queries))
    return ("eval", "tools", "--pool", str(folder / "pool.json"), "--queries", str(folder / "queries.jsonl"))


def test_the_figures_have_their_names_and_bounds(command: Command, tmp_path: Path) -> None:
    """Shares lie between 0 and 1, counts are integers, an exact duplicate counts for its twin."""
    arguments = written(tmp_path, POOL, [*QUERIES])
    figures = command(*arguments, "--json").json

    assert set(figures) >= KEYS
    assert (figures["tools"], figures["queries"], figures["queries_without_tool"]) == (5, 4, 1)
    assert figures["unknown_relevant"] == 1
    shares = {
        name
        for name in KEYS
        if name.startswith(("recall", "ndcg", "all", "abst", "needed_at", "signature", "confusion", "tokens_saved"))
    }
    assert all(0 <= figures[name] <= 1 for name in shares)
    assert figures["recall_at_10"] >= 0.8
    assert figures["index_seconds"] > 0
    assert "recall_at_5" in command(*arguments).out


def test_without_messages_that_no_tool_fits_abstention_is_null(command: Command, tmp_path: Path) -> None:
    """Figures without data are null."""
    figures = command(*written(tmp_path, POOL[:2], [QUERIES[0]]), "--json").json

    assert (figures["abstention_auc"], figures["abstention_accuracy"]) == (None, None)


def test_the_users_own_catalogue_is_left_alone(command: Command, tmp_path: Path) -> None:
    """It contains nothing of the pool, before or after."""
    before = command("servers", "list", "--json").json, command("tools", "list", "--json").json
    assert command(*written(tmp_path, POOL, [*QUERIES]), "--json").code == 0

    assert (command("servers", "list", "--json").json, command("tools", "list", "--json").json) == before


def test_a_wrong_file_is_named_with_its_line(command: Command, tmp_path: Path) -> None:
    """Before anything is indexed."""
    ended = command(*written(tmp_path, POOL, [QUERIES[0], {"query": "a"}]))

    assert ended.code == 2
    assert "queries.jsonl, line 2" in ended.err


RELATION_KEYS = {
    "precision",
    "recall",
    "f1",
    "average_precision",
    "declared",
    "found",
    "right",
    "tables",
    "databases",
    "wrong",
}
SCHEMA = {
    "db_id": "shop",
    "table_names_original": ["customers", "orders"],
    "column_names_original": [[-1, "*"], [0, "id"], [1, "id"], [1, "customer_id"], [1, "secret"]],
    "column_types": ["text", "number", "number", "number", "number"],
    "primary_keys": [1, 2],
    "foreign_keys": [[3, 1], [4, 1]],
}


def test_schemas_of_a_file_give_figures_and_what_was_missed(command: Command, tmp_path: Path) -> None:
    """As JSON, and for a reader."""
    path = tmp_path / "tables.json"
    path.write_text(json.dumps([SCHEMA]))
    figures = command("eval", "relations", "--schemas", str(path), "--json").json
    shown = command("eval", "relations", "--schemas", str(path)).out

    assert set(figures) >= RELATION_KEYS
    assert (figures["precision"], figures["recall"], figures["with_data"]) == (1.0, 0.5, False)
    assert [(one["kind"], one["child"]) for one in figures["wrong"]] == [("missed", "orders(secret)")]
    assert "orders(secret) -> customers(id)" in shown


def test_a_database_is_looked_at_with_and_without_its_data(command: Command, tmp_path: Path) -> None:
    """A relative path is meant from here; values refute what names suggest."""
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.executescript(
            "create table customers (id integer primary key); create table orders (id integer primary key,"
            " customer_id integer); insert into customers values (1), (2); insert into orders values (1, 8), (2, 9);"
        )
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    with_data = command("eval", "relations", "--database", url, "--json").json
    alone = command("eval", "relations", "--database", url, "--no-data", "--json").json

    assert (with_data["found"], with_data["with_data"]) == (0, True)
    assert (alone["found"], alone["with_data"]) == (1, False)


def test_one_of_both_must_be_given(command: Command, tmp_path: Path) -> None:
    """Neither, both, and an address that is not valid."""
    both = command("eval", "relations", "--database", "sqlite:////x.db", "--schemas", str(tmp_path))
    unknown = command("eval", "relations", "--database", "mongo://here/x", "--json")

    assert (both.code, unknown.code) == (2, 2)
    assert "--schemas" in both.err
    assert "unknown kind of database" in unknown.out
