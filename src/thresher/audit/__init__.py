"""The audit log: who ran which statement where, what was decided, and the outcome.

Invariant: append-only and chained by hashes; the decision is committed before its statement runs.

Uses: core, store.
"""

from thresher.audit.log import AuditLog
from thresher.audit.records import Attempt, AuditEntry, AuditPage, AuditProblem, Outcome, StatementOutcome, Verification

__all__ = [
    "Attempt",
    "AuditEntry",
    "AuditLog",
    "AuditPage",
    "AuditProblem",
    "Outcome",
    "StatementOutcome",
    "Verification",
]
