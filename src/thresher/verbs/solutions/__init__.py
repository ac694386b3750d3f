"""The verbs of solutions: workspaces, the active solution, relations and value lists, and changes that can be undone.

Invariant: relations and value lists change only what the caller names; what is made or changed outside of the active
solution needs a yes.

Uses: connectors, core, knowledge, servoy.
"""

from __future__ import annotations

from thresher.verbs.solutions import relations, value_lists, workspaces
from thresher.verbs.solutions.workspaces import SOLUTIONS

__all__ = ["SOLUTIONS", "relations", "value_lists", "workspaces"]
