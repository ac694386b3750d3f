"""All SQL of the solutions kind.

Invariant: every statement runs inside `Database.transaction(tenant)` or `Database.once`; the tenant in each WHERE is
for the planner, the row-level policy keeps tenants apart even without it.
"""

from thresher.knowledge.solutions.queries.choices import Choice, choices, choose
from thresher.knowledge.solutions.queries.workspaces import (
    Known,
    add_workspace,
    delete_workspace,
    known,
    own_workspaces,
    replace_workspace,
)

__all__ = [
    "Choice",
    "Known",
    "add_workspace",
    "choices",
    "choose",
    "delete_workspace",
    "known",
    "own_workspaces",
    "replace_workspace",
]
