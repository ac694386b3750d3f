"""Test cases: messages that a person saved, with what should come for them, asked as a client asks.

Invariant: a run changes nothing but its own record; what it logs counts in no figure.

Uses: context, core, knowledge, store.
"""

from thresher.cases.matching import PARTS, meets, names_of, server_names
from thresher.cases.records import (
    Case,
    CaseChange,
    CaseChanges,
    CaseOutcome,
    CaseRun,
    CasesImported,
    CaseVerb,
    checked_names,
)
from thresher.cases.service import Cases

__all__ = [
    "PARTS",
    "Case",
    "CaseChange",
    "CaseChanges",
    "CaseOutcome",
    "CaseRun",
    "CaseVerb",
    "Cases",
    "CasesImported",
    "checked_names",
    "meets",
    "names_of",
    "server_names",
]
