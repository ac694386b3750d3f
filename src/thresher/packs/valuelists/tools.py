"""The tools of value lists: verbs of the solutions kind, and how their answers read for a model.

Invariant: a model reads the contents of a workspace as data between lines of ours; programs get the whole record as
structured content.
"""

from __future__ import annotations

from thresher.context import Situation
from thresher.packs import current
from thresher.packs.objects import deleted_text, listing_text, value_list_text
from thresher.packs.verbs import tool_of
from thresher.verbs import SOLUTIONS

PREFIX = False
LISTED = ("open_value_list", "update_value_list", "rename_value_list", "delete_value_lists", "list_value_lists")


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Return whether there is a workspace, or the client may add one."""
    services = current().services
    return services.settings.admin_tools or await services.solutions.sees_any(situation.caller)


open_value_list = tool_of(SOLUTIONS["open_value_list"], value_list_text)
update_value_list = tool_of(SOLUTIONS["update_value_list"], value_list_text)
rename_value_list = tool_of(SOLUTIONS["rename_value_list"], value_list_text)
delete_value_lists = tool_of(SOLUTIONS["delete_value_lists"], deleted_text)
list_value_lists = tool_of(SOLUTIONS["list_value_lists"], listing_text)
