"""The tools of databases: thin functions around the verbs of the databases kind.

Invariant: what a model reads of a database stands as data between lines of ours; programs find the whole record as
structured content.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from fastmcp.tools import ToolResult, tool
from pydantic import Field

from thresher.audit import Filters
from thresher.context import Situation
from thresher.core import InvalidInput
from thresher.knowledge.databases import Asker, QueryAnswer
from thresher.packs import current
from thresher.packs.results import result
from thresher.packs.rows import (
    BORDERS,
    columns_text,
    connections_text,
    health_text,
    records_text,
    rows_text,
    schema_text,
    session_text,
    tables_text,
)

PREFIX = False
LISTED = (
    *("query_database_schema", "get_table_columns", "sql_query", "sql_explain", "sql_list_tables"),
    *("sql_connection_list", "sql_connection_test", "sql_session_info", "sql_activity_log"),
    *("add_connection", "remove_connection"),
)
ALIASES = {"sql_table_info": "get_table_columns"}

_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": True}
_REMOVES = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}

Table = Annotated[str, Field(description="table or schema.table")]
Sql = Annotated[str, Field(description="One statement that reads, in the connection's dialect")]
Cursor = Annotated[str, Field(description="Of the last answer: what it left out")]


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Of use where there is a database to ask, or where the client may connect one."""
    services = current().services
    return services.settings.admin_tools or await services.databases.sees_any(situation.caller)


@tool(annotations=_READS)
async def query_database_schema(
    connection: str,
    table: Annotated[str, Field(description="table or schema.table: this one in full")] = "",
    question: Annotated[str, Field(description="What shall be found out: only what it needs")] = "",
    budget: Annotated[int, Field(ge=200, le=100_000, description="Most tokens of the answer")] = 4000,
    cursor: Cursor = "",
) -> ToolResult:
    """A database's tables, columns, foreign keys and potential relations in one call, within a token budget."""
    request = current()
    answer = await request.services.databases.query_database_schema(
        request.caller,
        connection,
        table or None,
        question=question or None,
        budget=budget - BORDERS,
        cursor=cursor or None,
    )
    return result(answer, schema_text(answer))


@tool(annotations=_READS)
async def get_table_columns(connection: str, table: Table) -> ToolResult:
    """Columns of a table: name, type, nullable, default, primary key, comment; and its foreign keys."""
    request = current()
    answer = await request.services.databases.get_table_columns(request.caller, connection, table)
    return result(answer, columns_text(answer))


@tool(annotations=_READS)
async def sql_query(
    connection: str,
    sql: Sql,
    max_rows: Annotated[int, Field(ge=1, le=10_000)] = 200,
    cursor: Annotated[str, Field(description="Of the last answer to the same SQL: the next rows")] = "",
) -> ToolResult:
    """Rows of one SELECT; anything that could change the database is refused."""
    request = current()
    answer = await request.services.databases.query(
        request.caller, connection, sql, max_rows=max_rows, cursor=cursor or None, who=_asker("sql_query")
    )
    return _rows(answer)


@tool(annotations=_READS)
async def sql_explain(connection: str, sql: Annotated[str, Field(description="Without EXPLAIN")]) -> ToolResult:
    """How the database would run a statement; it is not run."""
    request = current()
    return _rows(await request.services.databases.explain(request.caller, connection, sql, who=_asker("sql_explain")))


@tool(annotations=_READS)
async def sql_list_tables(
    connection: str,
    search: Annotated[str, Field(description="Words of names or comments")] = "",
    schema: str = "",
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
    cursor: Cursor = "",
) -> ToolResult:
    """Tables and views of a database by name."""
    request = current()
    found = await request.services.databases.list_tables(
        request.caller, connection, search or None, schema or None, limit=limit, cursor=cursor or None
    )
    return result(found, tables_text(found))


@tool(annotations=_READS)
async def sql_connection_list() -> ToolResult:
    """The database connections, each with its engine, state and description."""
    request = current()
    found = await request.services.databases.list_connections(request.caller)
    return result({"connections": found}, connections_text(found))


@tool(annotations=_READS)
async def sql_connection_test(connection: str) -> ToolResult:
    """Whether a database answers, as whom we are there, and what that role could change."""
    request = current()
    health = await request.services.databases.test_connection(request.caller, connection)
    return result(health, health_text(connection, health))


@tool(annotations=_READS)
async def sql_session_info(connection: str) -> ToolResult:
    """What the database's server says of a session of ours: user, tag, read-only, time-outs."""
    request = current()
    info = await request.services.databases.session_info(request.caller, connection)
    return result(info, session_text(info))


@tool(annotations=_READS)
async def sql_activity_log(
    connection: Annotated[str, Field(description="All unless given")] = "",
    since: Annotated[str, Field(description="ISO date or time")] = "",
    text: Annotated[str, Field(description="Part of the SQL")] = "",
    allowed: Annotated[bool | None, Field(description="false: only refused statements")] = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 20,
    cursor: Cursor = "",
) -> ToolResult:
    """Which statements were asked, by whom, what was decided and what came of them; newest first."""
    request = current()
    filters = Filters(since=_moment(since), connection=connection, allowed=allowed, text=text)
    page = await request.services.audit.entries(request.caller, filters, limit=limit, cursor=cursor)
    return result(page, records_text("statements, newest first", page.entries, page.next))


@tool(annotations=_WRITES, tags={"admin"})
async def add_connection(
    name: Annotated[str, Field(description="Letters, digits, hyphens, dots, underscores")],
    url: Annotated[str, Field(description="Such as postgresql://user:password@host:5432/db or sqlite:////data/x.db")],
    description: Annotated[str, Field(description="What it holds")] = "",
    samples: Annotated[bool, Field(description="Potential relations may look at values")] = True,
) -> ToolResult:
    """Keep a connection to a database under a name; its address is stored encrypted."""
    request = current()
    kept = await request.services.databases.add_connection(
        request.caller, name, url, samples=samples, description=description
    )
    return result(kept, connections_text((kept,)))


@tool(annotations=_REMOVES, tags={"admin"})
async def remove_connection(connection: str) -> ToolResult:
    """Forget a connection and what is known of its schema; the database is left alone."""
    request = current()
    await request.services.databases.remove_connection(request.caller, connection)
    # what a workspace knows of it stands in for it again
    await request.services.solutions.provide_schemas(request.caller)
    return result({"removed": connection}, f"Removed '{connection}'.")


def _asker(name: str) -> Asker:
    request = current()
    return Asker(client=request.client, thread=request.caller.client, tool=name)


def _moment(text: str) -> dt.datetime | None:
    """A moment; a date is its midnight, and one without a zone is UTC."""
    try:
        moment = dt.datetime.fromisoformat(text.strip()) if text.strip() else None
    except ValueError:
        raise InvalidInput(f"'{text[:40]}' is no moment.", hint="Write 2026-03-01 or 2026-03-01T14:30+01:00.") from None
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _rows(answer: QueryAnswer) -> ToolResult:
    return result(answer, rows_text(answer))
