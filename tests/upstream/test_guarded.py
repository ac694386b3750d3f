"""The `sql` part of a server's definition, the statements of a call, and addresses that are handed to a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from thresher.core import InvalidInput, NotFound
from thresher.sqlguard import DIALECTS
from thresher.upstream import GuardedSql, ServerConfig, parse_servers, public_config, restore_config, statements_in
from thresher.upstream import config as module
from thresher.upstream.pool import fill_connections, names_connections

SECRET = "postgresql://reader:p%40ss-word-9@db.example.org/shop"


def test_the_dialects_are_the_guards() -> None:
    """Both packages lie side by side and cannot ask each other."""
    assert module.DIALECTS == DIALECTS


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"dialect": "sqlite"}, GuardedSql("sqlite", ("sql", "query"), ())),
        ({"dialect": "mysql", "argument": "statement"}, GuardedSql("mysql", ("statement",), ())),
        ({"dialect": "mssql", "argument": ["a", "b"], "tools": ["run"]}, GuardedSql("mssql", ("a", "b"), ("run",))),
        ({"dialect": "duckdb", "tools": "run"}, GuardedSql("duckdb", ("sql", "query"), ("run",))),
        (None, None),
    ],
)
def test_an_entry_of_a_file_says_what_is_sql(entry: Any, expected: GuardedSql | None) -> None:
    """It is stored with the public part, and comes back as it was."""
    (config,) = parse_servers({"mcpServers": {"db": {"command": "x", "sql": entry}}}, {})

    assert config.sql == expected
    assert restore_config("db", public_config(config), {}).sql == expected


@pytest.mark.parametrize(
    "entry",
    ["postgresql", [], {}, {"dialect": "nosql"}, {"dialect": 1}, {"dialect": "sqlite", "argument": []},
     {"dialect": "sqlite", "argument": [""]}, {"dialect": "sqlite", "argument": {"a": 1}},
     {"dialect": "sqlite", "tools": [1]}, {"dialect": "sqlite", "arguments": ["sql"]}],
)  # fmt: skip
def test_a_wrong_entry_is_named_and_its_server_not_used(entry: Any) -> None:
    """A server that its owner wanted guarded never runs unguarded by a slip."""
    found = parse_servers({"mcpServers": {"db": {"command": "x", "sql": entry}}}, {})

    assert list(found) == []
    assert "sql" in str(found.problems[0]).lower()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, set()),
        ({"sql": "select 1"}, {"select 1"}),
        ({"SQL": "select 1", "limit": 5}, {"select 1"}),
        ({"sql": ["a", "b"], "query": "c"}, {"a", "b", "c"}),
        ({"batch": [{"sql": "a"}, {"steps": {"query": "b"}}]}, {"a", "b"}),
        ({"sql": None, "query": ""}, {""}),
        ({"text": "select 1"}, set()),
    ],
)
def test_statements_are_found_wherever_they_stand(arguments: Any, expected: set[str]) -> None:
    """At any depth, in lists, under any of the names in any case."""
    assert set(statements_in(arguments, ("sql", "query"))) == expected


@pytest.mark.parametrize("value", [1, True, {"text": "select 1"}, ["a", 2], [["a"]], {}])
def test_what_cannot_be_read_as_a_statement_is_refused(value: Any) -> None:
    """It is unknown what the server would run."""
    with pytest.raises(InvalidInput, match="as a text"):
        statements_in({"sql": value}, ("sql",))


def test_very_deep_arguments_are_read() -> None:
    """Without running out of stack."""
    arguments: Any = {"sql": "at the bottom"}
    for _ in range(5_000):
        arguments = {"in": [arguments]}

    assert statements_in(arguments, ("sql",)) == ("at the bottom",)


async def address(config: ServerConfig, name: str) -> str:
    """The one connection that there is, to its owner's servers."""
    if (config.owner, name) != ("ada", "shop"):
        raise NotFound(f"There is no connection '{name}'.")
    return SECRET


async def test_an_address_is_filled_in_where_the_definition_names_it() -> None:
    """In environment, arguments, headers and address; the stored definition keeps the name."""
    document = {
        "mcpServers": {
            "db": {"command": "x", "args": ["--url=${connection:shop}", "${connection:shop}"],
                   "env": {"DATABASE_URL": "${connection:shop}", "A": "${HOME}"}},
            "web": {"url": "https://db.example.org/mcp", "headers": {"X-Database": "${connection:shop}"}},
        }
    }  # fmt: skip
    local, remote = (
        restore_config(config.name, public_config(config), {"env": config.env, "headers": config.headers})
        for config in parse_servers(document, {"HOME": "/home/ada"})
    )
    filled, sent = [await fill_connections(replace(one, owner="ada"), address) for one in (local, remote)]

    assert names_connections(local)
    assert filled.env == {"DATABASE_URL": SECRET, "A": "/home/ada"}
    assert filled.args == (f"--url={SECRET}", SECRET)
    assert sent.headers == {"X-Database": SECRET}
    assert SECRET not in repr(filled) + repr(sent) + repr(local)
    assert "p%40ss" not in repr(filled)
    assert not names_connections(filled)


async def test_a_server_of_somebody_else_gets_no_address() -> None:
    """The error is the connection's own."""
    config = ServerConfig("db", "stdio", command="x", env={"U": "${connection:shop}"}, owner="eve")

    with pytest.raises(NotFound, match="shop"):
        await fill_connections(config, address)
