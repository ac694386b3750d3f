"""Where each verb is served over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from thresher.api.verbs import Route
from thresher.verbs import APIS, DATABASES, DOCUMENTS, JOBS, Kind

_APIS = (
    Route("list_api_providers", "GET", "/v1/apis"),
    Route("add_api", "POST", "/v1/apis", HTTPStatus.ACCEPTED),
    Route("sync_api", "POST", "/v1/apis/{name}/sync", HTTPStatus.ACCEPTED),
    Route("set_api_active", "PATCH", "/v1/apis/{name}"),
    Route("remove_api", "DELETE", "/v1/apis/{name}", HTTPStatus.NO_CONTENT),
    Route("search_api_docs", "POST", "/v1/search_api_docs"),
    Route("get_api_endpoint", "POST", "/v1/get_api_endpoint"),
    Route("analyze_api_usage", "POST", "/v1/analyze_api_usage"),
    Route("suggest_api_improvements", "POST", "/v1/suggest_api_improvements"),
)
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
_DOCUMENTS = (
    Route("retrieve_document", "POST", "/v1/retrieve_document"),
    Route("search_documents", "POST", "/v1/search_documents"),
    Route("read_document", "POST", "/v1/read_document"),
    Route("list_repositories", "GET", "/v1/repositories"),
    Route("index_documents", "POST", "/v1/repositories", HTTPStatus.ACCEPTED),
    Route("show_repository", "GET", "/v1/repositories/{name}"),
    Route("skipped_files", "GET", "/v1/repositories/{name}/skipped"),
    Route("refresh_repository", "POST", "/v1/repositories/{name}/refresh", HTTPStatus.ACCEPTED),
    Route("set_guide", "POST", "/v1/repositories/{name}/guide"),
    Route("remove_repository", "DELETE", "/v1/repositories/{name}", HTTPStatus.NO_CONTENT),
)
_JOBS = (
    Route("list_jobs", "GET", "/v1/jobs"),
    Route("show_job", "GET", "/v1/jobs/{job}"),
    Route("cancel_job", "POST", "/v1/jobs/{job}/cancel"),
)
ROUTES: Sequence[tuple[Kind, Sequence[Route]]] = (
    (APIS, _APIS),
    (DATABASES, _DATABASES),
    (DOCUMENTS, _DOCUMENTS),
    (JOBS, _JOBS),
)
"""By kind."""
