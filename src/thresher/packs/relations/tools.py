"""The tools of relations, and of workspaces: verbs of the solutions kind, and how their answers read for a model.

Invariant: a model reads the contents of a workspace as data between lines of ours; programs get the whole record as
structured content.
"""

from __future__ import annotations

from thresher.context import Situation
from thresher.packs import current
from thresher.packs.objects import (
    backups_text,
    change_text,
    context_text,
    deleted_text,
    listing_text,
    relation_text,
    workspace_text,
)
from thresher.packs.results import removed_text
from thresher.packs.verbs import tool_of
from thresher.verbs import SOLUTIONS

PREFIX = False
LISTED = (
    *("open_relation", "update_relation", "rename_relation", "delete_relations", "list_relations"),
    *("get_solution_context", "set_solution_context", "undo_solution_change", "list_solution_changes"),
    *("add_workspace", "remove_workspace"),
)


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Return whether there is a workspace, or the client may add one."""
    services = current().services
    return services.settings.admin_tools or await services.solutions.sees_any(situation.caller)


open_relation = tool_of(SOLUTIONS["open_relation"], relation_text)
update_relation = tool_of(SOLUTIONS["update_relation"], relation_text)
rename_relation = tool_of(SOLUTIONS["rename_relation"], relation_text)
delete_relations = tool_of(SOLUTIONS["delete_relations"], deleted_text)
list_relations = tool_of(SOLUTIONS["list_relations"], listing_text)
get_solution_context = tool_of(SOLUTIONS["get_solution_context"], context_text)
set_solution_context = tool_of(SOLUTIONS["set_solution_context"], context_text)
undo_solution_change = tool_of(SOLUTIONS["undo_solution_change"], change_text)
list_solution_changes = tool_of(SOLUTIONS["list_solution_changes"], backups_text)
add_workspace = tool_of(SOLUTIONS["add_workspace"], workspace_text, without=("replace",))
remove_workspace = tool_of(SOLUTIONS["remove_workspace"], removed_text)
