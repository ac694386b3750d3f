"""Settings, errors, records, JSON and logging: the ground that every package stands on.

Invariant: imports nothing of ours.

Uses: nothing.
"""

from thresher.core.breaker import Breaker, Pauses
from thresher.core.calling import acting_caller, acting_for, acting_or
from thresher.core.encoding import dumps, plain
from thresher.core.errors import (
    AccessDenied,
    AuditBroken,
    BrokenFile,
    ConfigurationError,
    Conflict,
    DaemonError,
    DatabaseUnavailable,
    EncoderError,
    HeldBack,
    InvalidInput,
    ModelError,
    ModelTimeout,
    NotAllowed,
    NotFound,
    QueryFailed,
    QueryTimeout,
    SchemaMismatch,
    SourceUnavailable,
    StatementRefused,
    StoreError,
    StoreUnavailable,
    ThresherError,
    Unconfirmed,
    UnsafeRole,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
)
from thresher.core.log import Said, configure_logging, current_trace, event, mask, mask_text, new_trace, traced
from thresher.core.naming import checked_name
from thresher.core.offsets import Lines
from thresher.core.records import JSON, Arm, Caller, ContextPack, LeftOut, Piece, Rule, Scored, Tenant, Tool, Why
from thresher.core.settings import SERVER_USER, Settings, differing, environment, load_settings
from thresher.core.talking import Talk, current_talk, talking_in
from thresher.core.validation import problem_of, problems_of
from thresher.core.wording import did_you_mean, first_sentence, nearest, shortened

__all__ = [
    "JSON",
    "SERVER_USER",
    "AccessDenied",
    "Arm",
    "AuditBroken",
    "Breaker",
    "BrokenFile",
    "Caller",
    "ConfigurationError",
    "Conflict",
    "ContextPack",
    "DaemonError",
    "DatabaseUnavailable",
    "EncoderError",
    "HeldBack",
    "InvalidInput",
    "LeftOut",
    "Lines",
    "ModelError",
    "ModelTimeout",
    "NotAllowed",
    "NotFound",
    "Pauses",
    "Piece",
    "QueryFailed",
    "QueryTimeout",
    "Rule",
    "Said",
    "SchemaMismatch",
    "Scored",
    "Settings",
    "SourceUnavailable",
    "StatementRefused",
    "StoreError",
    "StoreUnavailable",
    "Talk",
    "Tenant",
    "ThresherError",
    "Tool",
    "Unconfirmed",
    "UnsafeRole",
    "UpstreamError",
    "UpstreamRefused",
    "UpstreamTimeout",
    "Why",
    "acting_caller",
    "acting_for",
    "acting_or",
    "checked_name",
    "configure_logging",
    "current_talk",
    "current_trace",
    "did_you_mean",
    "differing",
    "dumps",
    "environment",
    "event",
    "first_sentence",
    "load_settings",
    "mask",
    "mask_text",
    "nearest",
    "new_trace",
    "plain",
    "problem_of",
    "problems_of",
    "shortened",
    "talking_in",
    "traced",
]
