"""The tools of databases: the verbs of the databases kind, and how their answers read for a model.

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
from thresher.knowledge.databases import Connection
from thresher.packs import current
from thresher.packs.properties import READS, Cursor
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
from thresher.packs.verbs import tool_of
from thresher.verbs import DATABASES

PREFIX = False
LISTED = (
    *("query_database_schema", "get_table_columns", "sql_query", "sql_explain", "sql_list_tables"),
    *("sql_connection_list", "sql_connection_test", "sql_session_info", "sql_activity_log"),
    *("add_connection", "remove_connection"),
)
ALIASES = {"sql_table_info": "get_table_columns"}


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Of use where there is a database to ask, or where the client may connect one."""
    services = current().services
    return services.settings.admin_tools or await services.databases.sees_any(situation.caller)


def _added_text(connection: Connection) -> str:
    return connections_text((connection,))


def _removed_text(name: str) -> str:
    return f"Removed '{name}'."


query_database_schema = tool_of(
    DATABASES["query_database_schema"],
    schema_text,
    adjust=lambda given: {**given, "budget": given["budget"] - BORDERS},
)
get_table_columns = tool_of(DATABASES["get_table_columns"], columns_text)
sql_query = tool_of(DATABASES["sql_query"], rows_text)
sql_explain = tool_of(DATABASES["sql_explain"], rows_text)
sql_list_tables = tool_of(DATABASES["sql_list_tables"], tables_text)
sql_connection_list = tool_of(DATABASES["sql_connection_list"], connections_text)
sql_connection_test = tool_of(DATABASES["sql_connection_test"], health_text)
sql_session_info = tool_of(DATABASES["sql_session_info"], session_text)
add_connection = tool_of(DATABASES["add_connection"], _added_text, without=("allow_functions", "replace"))
remove_connection = tool_of(DATABASES["remove_connection"], _removed_text)


@tool(annotations=READS)
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


def _moment(text: str) -> dt.datetime | None:
    """A moment; a date is its midnight, and one without a zone is UTC."""
    try:
        moment = dt.datetime.fromisoformat(text.strip()) if text.strip() else None
    except ValueError:
        raise InvalidInput(f"'{text[:40]}' is no moment.", hint="Write 2026-03-01 or 2026-03-01T14:30+01:00.") from None
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
