"""PostgreSQL: a statement is read by its own grammar, and every node of its tree is on a list of what only reads."""

from __future__ import annotations

from thresher.sqlguard.postgresql.catalog import CATALOG_SQL, functions_of
from thresher.sqlguard.postgresql.statements import read

__all__ = ["CATALOG_SQL", "functions_of", "read"]
