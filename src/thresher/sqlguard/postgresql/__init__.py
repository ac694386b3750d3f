"""PostgreSQL: a statement is read by PostgreSQL's own grammar, and every node of its tree is checked against a list.

Invariant: importing this package does not load the grammar; `statements` does.
"""

from __future__ import annotations

from thresher.sqlguard.postgresql.catalog import CATALOG_SQL, functions_of

__all__ = ["CATALOG_SQL", "functions_of"]
