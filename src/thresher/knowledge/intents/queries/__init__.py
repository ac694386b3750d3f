"""The SQL of the intents kind, but for the rows of its log.

Invariant: every statement runs in a transaction of one tenant; the tenant in each WHERE is for the planner, the
row-level policy keeps tenants apart even without it.
"""

from thresher.knowledge.intents.queries.pack_state import (
    StandingRow,
    StoredFit,
    delete_threshold,
    delete_trust,
    given_rules,
    put_fit,
    put_threshold,
    put_trust,
    read_fit,
    read_standing,
    touch_fit,
    trusted_texts,
)

__all__ = [
    "StandingRow",
    "StoredFit",
    "delete_threshold",
    "delete_trust",
    "given_rules",
    "put_fit",
    "put_threshold",
    "put_trust",
    "read_fit",
    "read_standing",
    "touch_fit",
    "trusted_texts",
]
