"""`thresher db`: connections to databases, their schemas, and statements that only read."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from thresher.cli.addresses import STANDARD_INPUT, read_address
from thresher.cli.client import ask
from thresher.cli.database_views import (
    added,
    columns,
    connection_list,
    found_tables,
    health,
    refreshed,
    relations,
    removed,
    rows,
    schema_text,
    session,
    table_list,
)
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show

commands = typer.Typer(help="Ask and manage connections to databases.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A connection, as `db list` names it.")]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="table or schema.table.")]
Statement = Annotated[str, typer.Argument(metavar="SQL", help="One statement that reads; - is standard input.")]
Budget = Annotated[int | None, typer.Option("--budget", "-b", help="Tokens at most.")]
Cursor = Annotated[str | None, typer.Option(help="Of the last answer: what it left out.")]

UNREACHABLE = 13
"""Exit code where a connection was tested and does not work."""


@commands.command("add")
@writes
def add(
    name: Annotated[str, typer.Argument(help="What the connection is called from now on.")],
    url: Annotated[
        str | None,
        typer.Option(help="Such as 'postgresql://me:${PASSWORD}@host/shop'; - reads it from standard input."),
    ] = None,
    description: Annotated[str | None, typer.Option(help="What the database holds, in a few words.")] = None,
    samples: Annotated[bool, typer.Option("--samples/--no-samples", help="Look at values to guess relations.")] = True,
    allow_function: Annotated[
        list[str] | None, typer.Option(help="A function of that database that may be called: schema.name; repeatable.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Give an existing name this address.")] = False,
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Connect first, and keep the connection only if it works.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Keep a connection under a name, try it, and say what its role could change.

    Without --url the address is asked for and not shown. It is stored encrypted.
    """
    arguments = {"name": name, "url": read_address(url), "samples": samples, "description": description}
    more = {"allow_functions": allow_function, "replace": replace or None, "test": test}
    show(ask("add_connection", _given(arguments | more)), as_json, added)


@commands.command("list")
def list_connections(as_json: AsJson = False) -> None:
    """List the connections: engine, place, how many tables, how they stand."""
    show(ask("sql_connection_list")["connections"], as_json, connection_list)


@commands.command("test")
def try_connection(name: Name, as_json: AsJson = False) -> None:
    """Connect, ask something harmless, and say what the role could change."""
    tested = ask("sql_connection_test", {"connection": name})
    show(tested, as_json, health)
    _fail_unless(tested)


@commands.command("session")
def session_info(name: Name, as_json: AsJson = False) -> None:
    """Show what the database's server says of a session of ours."""
    show(ask("sql_session_info", {"connection": name}), as_json, session)


@commands.command("remove")
@writes
def remove(name: Name, as_json: AsJson = False) -> None:
    """Forget a connection and what is known of its schema; the database is left alone."""
    show(ask("remove_connection", {"connection": name}), as_json, removed)


@commands.command("refresh")
@writes
def refresh(name: Name, as_json: AsJson = False) -> None:
    """Read a connection's schema again now."""
    show(ask("refresh_schema", {"connection": name}), as_json, refreshed)


@commands.command("schema")
def schema(
    name: Name,
    table: Annotated[str | None, typer.Argument(help="table or schema.table: this one in full.")] = None,
    question: Annotated[str | None, typer.Option("--question", "-q", help="Only what answers this.")] = None,
    budget: Budget = None,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """Print what a model is told of a schema: tables, keys, potential relations."""
    arguments = {"connection": name, "table": table, "question": question, "budget": budget, "cursor": cursor}
    show(ask("query_database_schema", _given(arguments)), as_json, schema_text)


@commands.command("tables")
def tables(
    name: Name,
    search: Annotated[str | None, typer.Option("--search", "-s", help="Words of names or comments.")] = None,
    schema: Annotated[str | None, typer.Option(help="Only of this schema.")] = None,
    limit: Annotated[int | None, typer.Option(help="Tables at most, 1 to 1,000.")] = None,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """List tables and views."""
    arguments = {"connection": name, "search": search, "schema": schema, "limit": limit, "cursor": cursor}
    show(ask("sql_list_tables", _given(arguments)), as_json, table_list)


@commands.command("find")
def find(
    query: Annotated[str, typer.Argument(help="Any words, such as 'which table holds invoices'.")],
    name: Annotated[str | None, typer.Option("--connection", "-c", help="Only this connection.")] = None,
    limit: Annotated[int | None, typer.Option(help="Tables at most, 1 to 50.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find tables by what they hold, in one connection or in all."""
    show(ask("search_schema", _given({"query": query, "connection": name, "limit": limit})), as_json, found_tables)


@commands.command("columns")
def table_columns(name: Name, table: Table, as_json: AsJson = False) -> None:
    """List a table's columns and keys."""
    show(ask("get_table_columns", {"connection": name, "table": table}), as_json, columns)


@commands.command("query")
def query(
    name: Name,
    sql: Statement,
    max_rows: Annotated[int | None, typer.Option("--max-rows", "-n", help="Rows at most; 200 unless told.")] = None,
    cursor: Cursor = None,
    as_json: AsJson = False,
) -> None:
    """Run one statement that reads, and print its rows."""
    arguments = {"connection": name, "sql": _sql(sql), "max_rows": max_rows, "cursor": cursor}
    show(ask("sql_query", _given(arguments)), as_json, rows)


@commands.command("explain")
def explain(name: Name, sql: Statement, as_json: AsJson = False) -> None:
    """Print how the database would run a statement; it is not run."""
    show(ask("sql_explain", {"connection": name, "sql": _sql(sql)}), as_json, rows)


@commands.command("relations")
def find_relations(name: Name, as_json: AsJson = False) -> None:
    """Print declared keys, and columns that look like undeclared ones, with the reasons."""
    show(ask("find_relations", {"connection": name}), as_json, relations)


def _sql(text: str) -> str:
    return sys.stdin.read() if text == STANDARD_INPUT else text


def _fail_unless(tested: dict[str, Any]) -> None:
    if not tested["ok"]:
        raise typer.Exit(UNREACHABLE)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
