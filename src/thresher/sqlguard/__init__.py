"""The guard: reads a SQL statement as its engine would and decides whether it only reads.

Invariant: pure functions of the text and of what is known about the database; nothing is run. Whatever is not on an
allow-list is refused.

Uses: nothing.
"""

from thresher.sqlguard.function_lists import CATALOG_SQL, functions_of
from thresher.sqlguard.records import (
    DIALECTS,
    Dialect,
    Functions,
    Knowledge,
    Rule,
    SqlLocation,
    StatementLimits,
    Verdict,
)
from thresher.sqlguard.verdicts import judge

__all__ = [
    "CATALOG_SQL",
    "DIALECTS",
    "Dialect",
    "Functions",
    "Knowledge",
    "Rule",
    "SqlLocation",
    "StatementLimits",
    "Verdict",
    "functions_of",
    "judge",
]
