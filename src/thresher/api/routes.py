"""Where each verb is served over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from thresher.api.verbs import Route
from thresher.verbs import DATABASES, Kind

_DATABASES = (
    Route("sql_connection_list", "GET", "/v1/connections"),
    Route("add_connection", "POST", "/v1/connections", HTTPStatus.CREATED),
    Route("sql_connection_show", "GET", "/v1/connections/{name}"),
    Route("remove_connection", "DELETE", "/v1/connections/{name}", HTTPStatus.NO_CONTENT),
    Route("sql_connection_test", "POST", "/v1/connections/{name}/test"),
    Route("refresh_schema", "POST", "/v1/connections/{name}/refresh"),
    Route("query_database_schema", "GET", "/v1/connections/{name}/schema"),
    Route("query_database_schema", "POST", "/v1/query_database_schema"),
    Route("get_table_columns", "POST", "/v1/get_table_columns"),
    Route("get_table_columns", "POST", "/v1/sql_table_info"),
    Route("sql_list_tables", "POST", "/v1/sql_list_tables"),
    Route("search_schema", "POST", "/v1/search_schema"),
    Route("find_relations", "POST", "/v1/find_relations"),
    Route("sql_session_info", "POST", "/v1/sql_session_info"),
    Route("sql_query", "POST", "/v1/sql_query"),
    Route("sql_explain", "POST", "/v1/sql_explain"),
)
ROUTES: Sequence[tuple[Kind, Sequence[Route]]] = ((DATABASES, _DATABASES),)
"""By kind."""
