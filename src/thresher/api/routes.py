"""Where each verb is served over HTTP; the verbs of a kind that is not named here are at `POST /v1/VERB`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from thresher.api.answers import (
    ContextResponse,
    FindResponse,
    PromptResponse,
    context_answer,
    found_answer,
    prompt_answer,
)
from thresher.api.verbs import Route, default_routes
from thresher.verbs import (
    APIS,
    ASSISTANT,
    AUDIT,
    CONTEXT,
    DATABASES,
    DOCUMENTS,
    INTENTS,
    JOBS,
    KINDS,
    PROMPTS,
    SETTINGS,
    SOLUTIONS,
    THREADS,
    TOOLS,
    Kind,
)

_ROUTES: Mapping[Kind, Sequence[Route]] = {
    CONTEXT: (
        Route("process_prompt", "POST", "/v1/process_prompt", view=prompt_answer, answer=PromptResponse),
        Route("get_context", "POST", "/v1/context", view=context_answer, answer=ContextResponse),
    ),
    TOOLS: (
        Route("find_tools", "POST", "/v1/tools/find", needs_body=True, view=found_answer, answer=FindResponse),
        Route("tool_health", "GET", "/v1/tools/health"),
        Route("refresh", "POST", "/v1/tools/refresh", needs_body=True),
        Route("learned_tools", "GET", "/v1/tools/learning"),
        Route("replay_learning", "GET", "/v1/tools/learning/replay"),
        Route("list_consents", "GET", "/v1/tools/consents", key="consents"),
        Route("forget_consent", "DELETE", "/v1/tools/consents/{tool}", HTTPStatus.NO_CONTENT),
    ),
    APIS: (
        Route("list_api_providers", "GET", "/v1/apis"),
        Route("add_api", "POST", "/v1/apis", HTTPStatus.ACCEPTED),
        Route("sync_api", "POST", "/v1/apis/{name}/sync", HTTPStatus.ACCEPTED),
        Route("set_api_active", "PATCH", "/v1/apis/{name}"),
        Route("remove_api", "DELETE", "/v1/apis/{name}", HTTPStatus.NO_CONTENT),
        Route("search_api_docs", "POST", "/v1/search_api_docs"),
        Route("get_api_endpoint", "POST", "/v1/get_api_endpoint"),
        Route("analyze_api_usage", "POST", "/v1/analyze_api_usage"),
        Route("suggest_api_improvements", "POST", "/v1/suggest_api_improvements"),
    ),
    DATABASES: (
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
    ),
    DOCUMENTS: (
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
    ),
    JOBS: (
        Route("list_jobs", "GET", "/v1/jobs"),
        Route("show_job", "GET", "/v1/jobs/{job}"),
        Route("cancel_job", "POST", "/v1/jobs/{job}/cancel"),
    ),
    SOLUTIONS: (
        Route("list_workspaces", "GET", "/v1/solutions"),
        Route("add_workspace", "POST", "/v1/solutions", HTTPStatus.CREATED),
        Route("show_workspace", "GET", "/v1/solutions/{name}"),
        Route("remove_workspace", "DELETE", "/v1/solutions/{name}", HTTPStatus.NO_CONTENT),
        Route("list_solution_changes", "GET", "/v1/solutions/{name}/backups", key="backups"),
        Route("undo_solution_change", "POST", "/v1/solutions/{name}/undo", in_path=("workspace",)),
        Route("get_solution_context", "POST", "/v1/get_solution_context"),
        Route("set_solution_context", "POST", "/v1/set_solution_context"),
        Route("open_relation", "POST", "/v1/open_relation"),
        Route("update_relation", "POST", "/v1/update_relation"),
        Route("rename_relation", "POST", "/v1/rename_relation"),
        Route("delete_relations", "POST", "/v1/delete_relations"),
        Route("list_relations", "POST", "/v1/list_relations"),
        Route("open_value_list", "POST", "/v1/open_value_list"),
        Route("update_value_list", "POST", "/v1/update_value_list"),
        Route("rename_value_list", "POST", "/v1/rename_value_list"),
        Route("delete_value_lists", "POST", "/v1/delete_value_lists"),
        Route("list_value_lists", "POST", "/v1/list_value_lists"),
    ),
    PROMPTS: (
        Route("list_prompts", "GET", "/v1/prompts"),
        Route("show_prompt", "GET", "/v1/prompts/{name}"),
        Route("set_prompt", "PUT", "/v1/prompts/{name}"),
        Route("reset_prompt", "DELETE", "/v1/prompts/{name}"),
        Route("list_prompt_versions", "GET", "/v1/prompts/{name}/versions"),
        Route("diff_prompt", "GET", "/v1/prompts/{name}/diff"),
    ),
    SETTINGS: (
        Route("show_settings", "GET", "/v1/settings"),
        Route("set_settings", "PUT", "/v1/settings", body="changes"),
        Route("list_models", "GET", "/v1/settings/models"),
        Route("add_model", "POST", "/v1/settings/models", HTTPStatus.CREATED),
        Route("show_model", "GET", "/v1/settings/models/{name}"),
        Route("switch_model", "PATCH", "/v1/settings/models/{name}"),
        Route("remove_model", "DELETE", "/v1/settings/models/{name}", HTTPStatus.NO_CONTENT),
        Route("check_model", "POST", "/v1/settings/models/{name}/check"),
    ),
    INTENTS: (
        Route("list_intents", "GET", "/v1/intents"),
        Route("intent_stats", "GET", "/v1/intents/stats"),
        Route("explain_intents", "POST", "/v1/intents/explain"),
    ),
    AUDIT: (
        Route("sql_activity_log", "GET", "/v1/audit", exact=True),
        Route("verify_audit", "GET", "/v1/audit/verification"),
    ),
    ASSISTANT: (Route("ask", "POST", "/v1/ai/query", name="query"),),
    THREADS: (
        Route("list_threads", "GET", "/v1/threads"),
        Route("create_thread", "POST", "/v1/threads", HTTPStatus.CREATED, needs_body=True),
        Route("show_thread", "GET", "/v1/threads/{thread}"),
        Route("change_thread", "PATCH", "/v1/threads/{thread}", needs_body=True),
        Route("delete_thread", "DELETE", "/v1/threads/{thread}", HTTPStatus.NO_CONTENT),
        Route("fork_thread", "POST", "/v1/threads/{thread}/fork", HTTPStatus.CREATED),
        Route("list_states", "GET", "/v1/threads/{thread}/states"),
    ),
}
ROUTES: Sequence[tuple[Kind, Sequence[Route]]] = tuple(
    (kind, _ROUTES.get(kind) or default_routes(kind)) for kind in KINDS if not kind.local
)
"""By kind."""
