"""PostgreSQL: a statement is read by its own grammar, and every node of its tree is on a list of what only reads.

Invariant: to know the statement that asks for a catalog does not load the grammar; `statements` does.
"""

from __future__ import annotations

from thresher.sqlguard.postgresql.catalog import CATALOG_SQL, functions_of

__all__ = ["CATALOG_SQL", "functions_of"]
