"""Names commands in hints in place of the tools and arguments that models use.

Invariant: every tool that a hint may name is in the table; a test looks for others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

COMMANDS: Final[Mapping[str, str]] = {
    "find_tools": "tools find",
    "describe_tools": "tools show",
    "list_tools": "tools list",
    "process_prompt": "prompt",
    "get_context": "context",
    "sql_connection_list": "db list",
    "sql_list_tables": "db tables",
    "sql_table_info": "db columns",
    "get_table_columns": "db columns",
    "query_database_schema": "db schema",
    "search_schema": "db find",
    "sql_query": "db query",
    "sql_explain": "db explain",
    "find_relations": "db relations",
    "list_repositories": "docs list",
    "retrieve_document": "docs retrieve",
    "retrieve_documents": "docs compare",
    "search_documents": "docs search",
    "read_document": "docs read",
    "index_documents": "index docs",
    "list_api_providers": "apis list",
    "search_api_docs": "apis search",
    "get_api_endpoint": "apis show",
    "call_api_endpoint": "apis call",
    "suggest_api_improvements": "apis improve",
    "get_solution_context": "solutions context",
    "set_solution_context": "solutions use",
    "list_workspaces": "solutions list",
    "list_relations": "solutions relations",
    "open_relation": "solutions open-relation",
    "update_relation": "solutions update-relation",
    "delete_relations": "solutions delete-relations",
    "list_value_lists": "solutions value-lists",
    "open_value_list": "solutions open-value-list",
    "update_value_list": "solutions update-value-list",
    "delete_value_lists": "solutions delete-value-lists",
    "undo_solution_change": "solutions undo",
}
"""The command of each tool, without `thresher`."""
_OPTIONS: Final[Mapping[str, str]] = {
    "confirm: true": "--confirm",
    "force: true": "--force",
    "items, or primary_column and foreign_column": "--item 'LEFT = RIGHT'",
    "Say items,": "Say --item,",
    "custom_values": "--value",
    "or datasource and": "or --datasource and",
    "or relation and": "or --relation and",
    "display_column": "--display-column",
    "return_column": "--return-column",
    "global_method": "--global-method",
    "such as join_type": "such as --join-type",
    "such as sort.": "such as --sort.",
    "with scope `all`": "with --scope all",
    "with `solution`": "with --solution",
}
"""The option of each argument."""

_TOOL: Final = re.compile(rf"`?\b({'|'.join(COMMANDS)})\b`?(?!=)")


def for_command_line(text: str) -> str:
    """A hint with commands in place of tools, and options in place of arguments.

    Args:
        text: A hint of Thresher.
    """
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return _TOOL.sub(lambda found: f"`thresher {COMMANDS[found[1]]}`", text)
