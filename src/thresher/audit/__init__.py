"""The audit log: who had which statement run where, what was decided, and what came of it.

Invariant: append-only and chained by hashes; the decision is on disk before its statement runs.

Uses: core, store.
"""

from thresher.audit.log import AuditLog
from thresher.audit.records import Attempt, Ended, Entries, Entry, Outcome, Problem, Verification

__all__ = [
    "Attempt",
    "AuditLog",
    "Ended",
    "Entries",
    "Entry",
    "Outcome",
    "Problem",
    "Verification",
]
