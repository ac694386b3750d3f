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
from thresher.cli.verbs import add_command
from thresher.verbs import DATABASES

commands = typer.Typer(help="Ask and manage connections to databases.", no_args_is_help=True, rich_markup_mode=None)

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


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _sql(text: str) -> str:
    return sys.stdin.read() if text == STANDARD_INPUT else text


def _fail_unless_it_works(tested: dict[str, Any]) -> None:
    if not tested["ok"]:
        raise typer.Exit(UNREACHABLE)


_NAME = {"connection": "NAME: A connection, as `db list` names it"}
_TABLE = _NAME | {"table": "TABLE"}
_STATEMENT = _NAME | {"sql": "SQL: One statement that reads; - is standard input"}

add_command(commands, "list", DATABASES["sql_connection_list"], connection_list)
add_command(commands, "test", DATABASES["sql_connection_test"], health, arguments=_NAME, check=_fail_unless_it_works)
add_command(commands, "session", DATABASES["sql_session_info"], session, arguments=_NAME)
add_command(commands, "remove", DATABASES["remove_connection"], removed, arguments=_NAME)
add_command(commands, "refresh", DATABASES["refresh_schema"], refreshed, arguments=_NAME)
add_command(
    commands,
    "schema",
    DATABASES["query_database_schema"],
    schema_text,
    arguments=_TABLE,
    flags={"question": "-q", "budget": "-b"},
)
add_command(commands, "tables", DATABASES["sql_list_tables"], table_list, arguments=_NAME, flags={"search": "-s"})
add_command(
    commands,
    "find",
    DATABASES["search_schema"],
    found_tables,
    arguments={"query": "QUERY"},
    flags={"connection": "--connection -c"},
)
add_command(commands, "columns", DATABASES["get_table_columns"], columns, arguments=_TABLE)
add_command(
    commands,
    "query",
    DATABASES["sql_query"],
    rows,
    arguments=_STATEMENT,
    flags={"max_rows": "-n"},
    read={"sql": _sql},
)
add_command(commands, "explain", DATABASES["sql_explain"], rows, arguments=_STATEMENT, read={"sql": _sql})
add_command(commands, "relations", DATABASES["find_relations"], relations, arguments=_NAME)
