"""The tools of databases: the verbs of the databases kind, and how their answers read for a model.

Invariant: a model reads the contents of a database as data between lines of ours; programs get the whole record as
structured content.
"""

from __future__ import annotations

from dataclasses import replace

from thresher.audit import AuditPage
from thresher.context import Situation
from thresher.knowledge.databases import Connection
from thresher.packs import current
from thresher.packs.results import removed_text
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
from thresher.verbs import AUDIT, DATABASES

PREFIX = False
LISTED = (
    *("query_database_schema", "get_table_columns", "sql_query", "sql_explain", "sql_list_tables"),
    *("sql_connection_list", "sql_connection_test", "sql_session_info", "sql_activity_log"),
    *("add_connection", "remove_connection"),
)
ALIASES = {"sql_table_info": "get_table_columns"}


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Return whether there is a database, or the client may connect one."""
    services = current().services
    return services.settings.admin_tools or await services.databases.sees_any(situation.caller)


def _added_text(connection: Connection) -> str:
    return connections_text((connection,))


def _activity_text(page: AuditPage) -> str:
    return records_text("statements, newest first", page.entries, page.next)


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
remove_connection = tool_of(DATABASES["remove_connection"], removed_text)
_LIMIT = AUDIT["sql_activity_log"].parameters["limit"]
sql_activity_log = tool_of(
    AUDIT["sql_activity_log"], _activity_text, without=("actor",), instead=(replace(_LIMIT, default=20),)
)
