"""What the logs tell: use over time, messages without an answer, calls; and the log of delivered contexts.

Invariant: reading changes nothing. A user counts their own rows, a caller without a user all rows of the tenant; each
statement reads one period of one tenant.

Uses: core, embedding, store.
"""

from thresher.insight.context_log import ContextLog
from thresher.insight.records import (
    Attention,
    AttentionItem,
    CallEntry,
    CallPage,
    IntentDay,
    IntentHistory,
    ServerUsage,
    ToolUsage,
    Unanswered,
    UnansweredMessages,
    Usage,
    UsageDay,
    UsageSummary,
)
from thresher.insight.service import Insight

__all__ = [
    "Attention",
    "AttentionItem",
    "CallEntry",
    "CallPage",
    "ContextLog",
    "Insight",
    "IntentDay",
    "IntentHistory",
    "ServerUsage",
    "ToolUsage",
    "Unanswered",
    "UnansweredMessages",
    "Usage",
    "UsageDay",
    "UsageSummary",
]
