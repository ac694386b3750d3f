"""The guard: reads a SQL statement as its engine would, and says whether it can only read.

Invariant: pure functions of the text and of what is known of the database: nothing is run. What is not on a list of
what may be is refused.

Uses: nothing.
"""

from thresher.sqlguard.function_lists import CATALOG_SQL, functions_of
from thresher.sqlguard.records import DIALECTS, Dialect, Functions, Knowledge, Limits, Place, Rule, Verdict
from thresher.sqlguard.verdicts import judge

__all__ = [
    "CATALOG_SQL",
    "DIALECTS",
    "Dialect",
    "Functions",
    "Knowledge",
    "Limits",
    "Place",
    "Rule",
    "Verdict",
    "functions_of",
    "judge",
]
